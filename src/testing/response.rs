//! One scripted answer of a model.

use std::sync::Arc;

use serde_json::Value;

use super::Gate;
use crate::message::{AssistantMessage, StopReason, ToolCall, Usage};
use crate::model::{Delta, Done, Failure, ToolCallHead};

/// One scripted answer of a model: its blocks, where it pauses, and how it ends.
///
/// Blocks are streamed as well-formed deltas: a start, the text in one piece (or in [chunks](Self::in_chunks_of)), an
/// end. An answer with a tool call ends with `toolUse`, any other with `stop`, unless another ending is set.
///
/// ```
/// use serde_json::json;
/// use turnstate::testing::Response;
///
/// let calls_two_tools = Response::text("I look at both.")
///     .and_tool_call("c1", "read", json!({ "path": "a.txt" }))
///     .and_tool_call("c2", "read", json!({ "path": "b.txt" }));
/// let breaks = Response::text("I am").failing("overloaded");
/// # let _ = (calls_two_tools, breaks);
/// ```
#[derive(Debug, Clone)]
#[must_use = "a response does nothing until a scripted model gives it"]
pub struct Response {
    steps: Vec<Step>,
    next_index: u32,
    chunk: Option<usize>,
    started: bool,
    usage: Option<Usage>,
    ending: Ending,
}

/// What a scripted stream does next.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Give(Delta),
    Wait(Gate),
    Yield,
    Panic(String),
}

#[derive(Debug, Clone)]
enum Ending {
    /// With `toolUse` if there is a call, with `stop` otherwise.
    Natural,
    Done(StopReason),
    Failed(Box<Failure>),
    Panicked(String),
    /// The stream just ends: no terminal delta is added.
    Unterminated,
}

/// Whole answers.
impl Response {
    fn empty(ending: Ending) -> Self {
        Self { steps: Vec::new(), next_index: 0, chunk: None, started: true, usage: None, ending }
    }

    /// An answer without content.
    pub fn new() -> Self {
        Self::empty(Ending::Natural)
    }

    /// An answer of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new().and_text(text)
    }

    /// An answer that starts with a thinking block.
    pub fn thinking(thinking: impl Into<String>) -> Self {
        Self::new().and_thinking(thinking)
    }

    /// An answer that calls a tool. `arguments` is usually an object; anything else is streamed as its JSON text too,
    /// and becomes an argument error.
    pub fn tool_call(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<Value>) -> Self {
        Self::new().and_tool_call(id, name, arguments)
    }

    /// An answer that fails before it says anything.
    pub fn error(message: impl Into<String>) -> Self {
        Self::new().failing(message)
    }

    /// An answer that the provider aborts before it says anything.
    pub fn aborted(message: impl Into<String>) -> Self {
        Self::new().aborting(message)
    }

    /// A whole message, in one delta.
    pub fn whole(message: AssistantMessage) -> Self {
        Self::deltas([Delta::whole(message)])
    }

    /// Exactly these deltas, well-formed or not; nothing is added at either end.
    pub fn deltas(deltas: impl IntoIterator<Item = Delta>) -> Self {
        let empty = Self { started: false, ..Self::empty(Ending::Unterminated) };
        deltas.into_iter().fold(empty, Self::and_delta)
    }
}

impl Default for Response {
    fn default() -> Self {
        Self::new()
    }
}

/// What comes next in the answer.
impl Response {
    /// Adds a text block.
    pub fn and_text(mut self, text: impl Into<String>) -> Self {
        let index = self.next();
        self.give(Delta::TextStart { index });
        self.give(Delta::text(index, text));
        self.give(Delta::TextEnd { index, signature: None });
        self
    }

    /// Adds a thinking block.
    pub fn and_thinking(mut self, thinking: impl Into<String>) -> Self {
        let index = self.next();
        self.give(Delta::ThinkingStart { index });
        self.give(Delta::thinking(index, thinking));
        self.give(Delta::ThinkingEnd { index, signature: None, redacted: false });
        self
    }

    /// Adds a tool call with complete arguments.
    pub fn and_tool_call(
        self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<Value>,
    ) -> Self {
        let text = arguments.into().to_string();
        self.and_raw_tool_call(id, name, text)
    }

    /// Adds a tool call whose arguments stream as this text, JSON or not.
    pub fn and_raw_tool_call(
        mut self,
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        let index = self.next();
        self.give(Delta::ToolCallStart { index, call: Arc::new(ToolCallHead::new(id, name)) });
        self.give(Delta::tool_call(index, arguments));
        self.give(Delta::ToolCallEnd { index, call: None });
        self
    }

    /// Adds a delta as it is, fitting or not.
    pub fn and_delta(mut self, delta: Delta) -> Self {
        self.next_index =
            delta.index().map_or(self.next_index, |index| self.next_index.max(index.saturating_add(1)));
        self.give(delta);
        self
    }

    /// Waits on a gate here.
    pub fn and_wait(mut self, gate: &Gate) -> Self {
        self.steps.push(Step::Wait(gate.clone()));
        self
    }

    /// Is pending once here, and wakes at once: as a transport does whose next piece has not come yet.
    pub fn and_yield(mut self) -> Self {
        self.steps.push(Step::Yield);
        self
    }

    fn give(&mut self, delta: Delta) {
        self.steps.push(Step::Give(delta));
    }

    fn next(&mut self) -> u32 {
        let index = self.next_index;
        self.next_index = index.saturating_add(1);
        index
    }
}

/// How it is told and how it ends.
impl Response {
    /// Streams texts, thinking and arguments in pieces of this many characters (at least one).
    pub fn in_chunks_of(mut self, characters: usize) -> Self {
        self.chunk = Some(characters.max(1));
        self
    }

    /// Leaves out the `start` delta: the answer is then told only when it is finished.
    pub fn without_start(mut self) -> Self {
        self.started = false;
        self
    }

    /// Sets the tokens used; told at the end.
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Ends for this reason.
    pub fn stopping(mut self, reason: StopReason) -> Self {
        self.ending = Ending::Done(reason);
        self
    }

    /// Fails at its end; what came before is kept.
    pub fn failing(mut self, message: impl Into<String>) -> Self {
        self.ending = Ending::Failed(Box::new(Failure::new(message)));
        self
    }

    /// Is aborted by the provider at its end; what came before is kept.
    pub fn aborting(mut self, message: impl Into<String>) -> Self {
        self.ending = Ending::Failed(Box::new(Failure::aborted(message)));
        self
    }

    /// The stream panics at its end.
    pub fn panicking(mut self, message: impl Into<String>) -> Self {
        self.ending = Ending::Panicked(message.into());
        self
    }

    /// The stream ends without a terminal delta.
    pub fn unterminated(mut self) -> Self {
        self.ending = Ending::Unterminated;
        self
    }

    /// Everything the stream does, in order.
    pub(super) fn into_steps(self) -> Vec<Step> {
        let has_call = self.steps.iter().any(|step| matches!(step, Step::Give(Delta::ToolCallStart { .. })));
        let mut steps = Vec::with_capacity(self.steps.len() + 2);
        if self.started {
            steps.push(Step::Give(Delta::Start));
        }
        for step in self.steps {
            match (step, self.chunk) {
                (Step::Give(delta), Some(characters)) => steps.extend(chunked(delta, characters)),
                (step, _) => steps.push(step),
            }
        }
        let natural = if has_call { StopReason::ToolUse } else { StopReason::Stop };
        let done = |reason| {
            let mut done = Done::new(reason);
            done.metadata.usage = self.usage;
            Some(Step::Give(done.into()))
        };
        steps.extend(match self.ending {
            Ending::Natural => done(natural),
            Ending::Done(reason) => done(reason),
            Ending::Failed(mut failure) => {
                failure.metadata.usage = self.usage;
                Some(Step::Give(Delta::Error(failure)))
            }
            Ending::Panicked(message) => Some(Step::Panic(message)),
            Ending::Unterminated => None,
        });
        steps
    }
}

/// A text is an answer of it.
impl From<&str> for Response {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

/// A call is an answer that makes it.
impl From<ToolCall> for Response {
    fn from(call: ToolCall) -> Self {
        Self::tool_call(call.id, call.name, Value::Object(call.arguments))
    }
}

/// A piece in smaller pieces; what is no piece of text stays as it is.
fn chunked(delta: Delta, characters: usize) -> Vec<Step> {
    match delta {
        Delta::Text { index, delta } => in_pieces(index, &delta, characters, Delta::text),
        Delta::Thinking { index, delta } => in_pieces(index, &delta, characters, Delta::thinking),
        Delta::ToolCall { index, delta } => in_pieces(index, &delta, characters, Delta::tool_call),
        other => vec![Step::Give(other)],
    }
}

fn in_pieces(index: u32, text: &str, characters: usize, piece: fn(u32, String) -> Delta) -> Vec<Step> {
    let characters_of_text: Vec<char> = text.chars().collect();
    characters_of_text
        .chunks(characters)
        .map(|part| Step::Give(piece(index, part.iter().collect())))
        .collect()
}
