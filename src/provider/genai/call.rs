//! One tool call, told in growing texts.

use std::sync::Arc;

use genai::chat;
use serde_json::Value;

use crate::message::ToolCall;
use crate::model::arguments::parse_arguments;
use crate::model::{Delta, ToolCallHead};

/// A call as far as it is known.
///
/// genai tells its arguments as all the text so far (a JSON string), or as a whole value at once. What is new is given
/// on as a fragment. Where a text does not go on from the one before, what was given cannot be taken back: then no more
/// is given, and the end of the call brings the whole.
pub(super) struct Call {
    /// The content index, once the block has begun.
    index: Option<u32>,
    /// genai's id, which may stand for several calls.
    told_id: String,
    id: String,
    name: String,
    pub(super) signature: Option<String>,
    /// The arguments' text.
    text: String,
    /// How many bytes of it were given on.
    given: usize,
    /// What was given on is not the beginning of the text any more.
    is_bent: bool,
    /// The arguments came as a whole value: nothing can follow.
    is_whole: bool,
}

impl Call {
    /// A call that nothing is known of but its head.
    pub(super) fn new(piece: &chat::ToolCall, others: &[Self]) -> Self {
        Self {
            index: None,
            told_id: piece.call_id.clone(),
            id: free_id(&piece.call_id, others),
            name: String::new(),
            signature: None,
            text: String::new(),
            given: 0,
            is_bent: false,
            is_whole: false,
        }
    }

    /// The call that a piece belongs to; `None` where a new one begins.
    pub(super) fn find(calls: &[Self], piece: &chat::ToolCall) -> Option<usize> {
        let text = match &piece.fn_arguments {
            Value::String(text) => text.as_str(),
            Value::Null => "",
            // A whole value is a call of its own, unless one was announced.
            _ => {
                let announced = |call: &Self| call.is(piece) && !call.is_whole && call.text.is_empty();
                return calls.iter().rposition(announced);
            }
        };
        // A complete call that is told of again with another text is a second one under the same id.
        let goes_on = |call: &Self| {
            text.starts_with(&call.text) || call.text.is_empty() || parse_arguments(&call.text).is_err()
        };
        calls.iter().rposition(|call| call.is(piece) && !call.is_whole && goes_on(call)).or_else(|| {
            // Before the name comes, the id may be one that genai made up.
            let nameless = |call: &Self| call.name.is_empty() && text.starts_with(&call.text);
            calls.iter().rposition(|call| !piece.fn_name.is_empty() && nameless(call))
        })
    }

    /// Whether genai's call is this one, as far as its head can tell.
    pub(super) fn is(&self, piece: &chat::ToolCall) -> bool {
        let same_name = self.name == piece.fn_name || self.name.is_empty() || piece.fn_name.is_empty();
        self.told_id == piece.call_id && same_name
    }

    /// Takes what a piece tells.
    pub(super) fn take(&mut self, piece: chat::ToolCall) {
        if self.name.is_empty() && !piece.fn_name.is_empty() {
            self.name = piece.fn_name;
            if self.told_id != piece.call_id {
                self.id.clone_from(&piece.call_id);
                self.told_id = piece.call_id;
            }
        }
        match piece.fn_arguments {
            Value::Null => {}
            Value::String(text) => self.grow(text),
            whole => {
                self.grow(whole.to_string());
                self.is_whole = true;
            }
        }
    }

    fn grow(&mut self, text: String) {
        self.is_bent |= !self.text.get(..self.given).is_some_and(|given| text.starts_with(given));
        self.text = text;
    }

    /// Takes the call as genai has it at the end. That counts where it goes on from what is known, where the pieces
    /// did not fit, and where `is_last_word`.
    pub(super) fn settle(&mut self, whole: chat::ToolCall, is_last_word: bool) {
        let (text, is_value) = match whole.fn_arguments {
            Value::Null => return,
            Value::String(text) => (text, false),
            value => (value.to_string(), true),
        };
        // A value is written anew, and so differs from the text it was read from.
        if text.starts_with(&self.text) && (!is_value || self.text.is_empty()) {
            return self.grow(text);
        }
        let is_same = is_value
            && matches!((parse_arguments(&self.text), parse_arguments(&text)), (Ok(a), Ok(b)) if a == b);
        if (self.is_bent || is_last_word) && !is_same {
            self.grow(text);
        }
    }

    /// Whether its block is to begin now.
    pub(super) fn begins(&self, at_end: bool) -> bool {
        self.index.is_none() && (at_end || !self.name.is_empty())
    }

    pub(super) fn start(&mut self, index: u32) -> Delta {
        self.index = Some(index);
        // Every call has an id that its result can name.
        if self.id.is_empty() {
            self.id = format!("call-{index}");
        }
        let mut head = ToolCallHead::new(&self.id, &self.name);
        head.thought_signature.clone_from(&self.signature);
        Delta::ToolCallStart { index, call: Arc::new(head) }
    }

    /// What is new of the arguments.
    pub(super) fn fragment(&mut self) -> Option<Delta> {
        let index = self.index?;
        let fragment =
            self.text.get(self.given..).filter(|fragment| !self.is_bent && !fragment.is_empty())?;
        let delta = Delta::tool_call(index, fragment);
        self.given = self.text.len();
        Some(delta)
    }

    /// The end of the call. In an answer that was cut calls are left open: what is missing of them is not known.
    pub(super) fn end(&self, is_cut: bool) -> Option<Delta> {
        let index = self.index?;
        let call = self.is_bent.then(|| Box::new(self.whole()));
        (!is_cut || call.is_some()).then_some(Delta::ToolCallEnd { index, call })
    }

    fn whole(&self) -> ToolCall {
        let (arguments, error) = match parse_arguments(&self.text) {
            Ok(arguments) => (arguments, None),
            Err(error) => (serde_json::Map::new(), Some(error.to_string())),
        };
        let mut call = ToolCall::new(&self.id, &self.name, arguments);
        call.thought_signature.clone_from(&self.signature);
        call.arguments_error = error;
        call
    }
}

/// The id, or the next of its kind that is free: those that genai makes up for Gemini (`call#name#0`) begin anew with
/// each chunk. Other ids stay, also where a provider repeats one.
fn free_id(id: &str, others: &[Call]) -> String {
    let is_taken = |id: &str| others.iter().any(|call| call.id == id);
    let kind = id.strip_prefix("call#").and_then(|rest| rest.rsplit_once('#'));
    match kind {
        Some((name, _)) if is_taken(id) => {
            let ids = (0..=others.len()).map(|number| format!("call#{name}#{number}"));
            ids.into_iter().find(|id| !is_taken(id)).unwrap_or_else(|| id.to_owned())
        }
        _ => id.to_owned(),
    }
}
