//! The answer so far, grown in place from the deltas.

use std::sync::Arc;

use serde_json::{Map, Value};
use thiserror::Error;

use super::arguments::ArgumentsBuilder;
use super::blocks::Blocks;
use super::{Delta, Done, Failure, Metadata, ToolCallHead};
use crate::message::{
    AssistantContent, AssistantMessage, StopReason, Text, Thinking, ThinkingLevel, ToolCall, Usage,
};

/// An answer while it streams: what the model has said up to now.
///
/// It lives in one place only, in the run's state, and is grown there without a copy. Read it by reference at any
/// event; [`snapshot`](Self::snapshot) makes a message of it for those who come late.
#[derive(Debug, Clone)]
pub struct PartialMessage {
    /// Everything but the content: the message that it will be, where it will stay. Its start is told with it.
    head: Arc<AssistantMessage>,
    /// What only a finished answer says.
    thinking_level: Option<ThinkingLevel>,
    blocks: Blocks,
}

/// One block of an answer while it streams.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum PartialBlock {
    /// Text so far.
    Text(Text),
    /// Thinking so far.
    Thinking(Thinking),
    /// A tool call so far.
    ToolCall(PartialToolCall),
}

/// A tool call while its arguments stream.
#[derive(Debug, Clone)]
pub struct PartialToolCall(Progress);

#[derive(Debug, Clone)]
enum Progress {
    Streaming(Box<Streaming>),
    Complete(Arc<ToolCall>),
}

#[derive(Debug, Clone)]
struct Streaming {
    head: Arc<ToolCallHead>,
    arguments: ArgumentsBuilder,
}

impl PartialToolCall {
    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &str {
        match &self.0 {
            Progress::Streaming(call) => &call.head.id,
            Progress::Complete(call) => &call.id,
        }
    }

    /// The name of the tool.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.0 {
            Progress::Streaming(call) => &call.head.name,
            Progress::Complete(call) => &call.name,
        }
    }

    /// The best reading of the arguments so far; `None` until something is certain.
    ///
    /// What it shows never disappears again while the arguments stream: strings grow at their end, and a number, a
    /// literal or a key is shown only when it is complete.
    #[must_use]
    pub fn arguments(&self) -> Option<&Map<String, Value>> {
        match &self.0 {
            Progress::Streaming(call) => call.arguments.object(),
            Progress::Complete(call) => Some(&call.arguments),
        }
    }

    /// The complete call, once it has ended.
    #[must_use]
    pub fn complete(&self) -> Option<&Arc<ToolCall>> {
        match &self.0 {
            Progress::Streaming(_) => None,
            Progress::Complete(call) => Some(call),
        }
    }

    /// The call as far as it came: what could be read, which is never run.
    fn cut_off(&self) -> Arc<ToolCall> {
        match &self.0 {
            Progress::Complete(call) => call.clone(),
            Progress::Streaming(call) => {
                let arguments = call.arguments.object().cloned().unwrap_or_default();
                called(ToolCallHead::clone(&call.head), arguments, None)
            }
        }
    }
}

impl Streaming {
    /// The call as the complete text of its arguments gives it. What was streamed moves into it.
    fn finish(&mut self) -> Arc<ToolCall> {
        // The event that told of the call's start is usually gone by now, so that its head moves as well.
        let head = match Arc::get_mut(&mut self.head) {
            Some(head) => std::mem::take(head),
            None => ToolCallHead::clone(&self.head),
        };
        match std::mem::take(&mut self.arguments).finish() {
            Ok(arguments) => called(head, arguments, None),
            Err(error) => called(head, Map::new(), Some(error.to_string())),
        }
    }
}

fn called(head: ToolCallHead, arguments: Map<String, Value>, error: Option<String>) -> Arc<ToolCall> {
    let ToolCallHead { id, name, thought_signature, namespace } = head;
    Arc::new(ToolCall { id, name, arguments, thought_signature, namespace, arguments_error: error })
}

/// A delta that does not fit the answer so far. The answer it came in fails.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MalformedDelta {
    /// A piece or an end for a block that was never started.
    #[error("the model's stream sent a {kind} for block {index}, which it never started")]
    NoSuchBlock {
        /// The kind of block the delta speaks of.
        kind: &'static str,
        /// The content index.
        index: u32,
    },
    /// A piece or an end for a block of another kind.
    #[error("the model's stream sent a {kind} for block {index}, which is a {started} block")]
    OtherKind {
        /// The kind of block the delta speaks of.
        kind: &'static str,
        /// The kind of block that was started.
        started: &'static str,
        /// The content index.
        index: u32,
    },
    /// A start for a block that was started before.
    #[error("the model's stream started block {index} twice")]
    StartedTwice {
        /// The content index.
        index: u32,
    },
    /// A piece of a tool call that had ended.
    #[error("the model's stream went on with block {index} after its end")]
    AfterEnd {
        /// The content index.
        index: u32,
    },
}

const TEXT: &str = "text";
const THINKING: &str = "thinking";
const TOOL_CALL: &str = "tool call";

impl PartialMessage {
    /// An empty answer; `head` is everything but the content.
    #[must_use]
    pub fn new(head: AssistantMessage) -> Self {
        Self::of(Arc::new(head))
    }

    /// [`new`](Self::new), in the place where the finished message will be.
    pub(crate) fn of(mut head: Arc<AssistantMessage>) -> Self {
        let empty = Arc::make_mut(&mut head);
        empty.stop_reason = StopReason::Pending;
        empty.content.clear();
        let thinking_level = empty.thinking_level.take();
        Self { head, thinking_level, blocks: Blocks::default() }
    }

    /// What is known beside the content: the model, the usage so far, the stop reason `pending`. The thinking level is
    /// only in the finished message.
    #[must_use]
    pub fn head(&self) -> &AssistantMessage {
        &self.head
    }

    /// Tokens used, as far as the stream has told.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.head.usage
    }

    /// The blocks so far, in the order of the finished message.
    #[must_use]
    pub fn blocks(&self) -> impl ExactSizeIterator<Item = &PartialBlock> {
        self.blocks.iter()
    }

    /// The block at a content index, as deltas name it.
    #[must_use]
    pub fn block(&self, index: u32) -> Option<&PartialBlock> {
        self.blocks.get(index)
    }

    /// The answer so far as a message with the stop reason `pending`. It copies the content.
    #[must_use]
    pub fn snapshot(&self) -> AssistantMessage {
        let mut message = AssistantMessage::clone(&self.head);
        message.thinking_level = self.thinking_level;
        message.content = self.blocks.iter().map(PartialBlock::cut_off).collect();
        message
    }

    /// The [`head`](Self::head), shared: the message as its start is told.
    pub(crate) fn shared_head(&self) -> Arc<AssistantMessage> {
        self.head.clone()
    }

    /// Adds a delta. Those that begin or end an answer change nothing here: see [`finish`](Self::finish) and
    /// [`fail`](Self::fail).
    ///
    /// # Errors
    /// When the delta does not fit: the answer is then malformed, and what it had stays as it was.
    #[inline]
    pub fn apply(&mut self, delta: &Delta) -> Result<(), MalformedDelta> {
        self.grow(delta).map(|_| ())
    }

    /// As [`apply`](Self::apply), and says whether the delta is a piece of the answer.
    #[inline]
    pub(crate) fn grow(&mut self, delta: &Delta) -> Result<bool, MalformedDelta> {
        match delta {
            Delta::Text { index, delta } => self.text(*index)?.text.push_str(delta),
            Delta::Thinking { index, delta } => self.thinking(*index)?.thinking.push_str(delta),
            Delta::ToolCall { index, delta } => self.streaming(*index)?.push(delta),
            Delta::TextStart { index } => self.start(*index, PartialBlock::Text(Text::default()))?,
            Delta::ThinkingStart { index } => {
                self.start(*index, PartialBlock::Thinking(Thinking::default()))?;
            }
            Delta::ToolCallStart { index, call } => self.start_call(*index, call)?,
            Delta::TextEnd { index, signature } => {
                let text = self.text(*index)?;
                text.text_signature = signature.as_deref().map(str::to_owned).or(text.text_signature.take());
            }
            Delta::ThinkingEnd { index, signature, redacted } => {
                let thinking = self.thinking(*index)?;
                let known = thinking.thinking_signature.take();
                thinking.thinking_signature = signature.as_deref().map(str::to_owned).or(known);
                if *redacted {
                    thinking.redacted = Some(true);
                }
            }
            Delta::ToolCallEnd { index, call } => self.end_call(*index, call.as_deref())?,
            Delta::Metadata(metadata) => self.know(metadata),
            Delta::Start | Delta::Done(_) | Delta::Error(_) | Delta::Whole { .. } => return Ok(false),
        }
        Ok(true)
    }

    /// Takes over a delta that `grown`, an answer that was equal up to it, has taken already: a finished call is shared,
    /// and not read again.
    pub(crate) fn follow(&mut self, delta: &Delta, grown: &Self) {
        let followed = match delta {
            Delta::ToolCallEnd { index, .. } => self.blocks.follow(*index, &grown.blocks),
            Delta::Metadata(_) => {
                self.head = grown.head.clone();
                true
            }
            _ => self.apply(delta).is_ok(),
        };
        if !followed {
            self.clone_from(grown);
        }
    }

    /// The finished message.
    ///
    /// A call that never ended is read now. When the answer was cut at its length such a call keeps what could be read
    /// of it: it will not run. Otherwise unreadable arguments are an error that the call carries.
    #[must_use]
    pub fn finish(self, done: &Done) -> AssistantMessage {
        Arc::unwrap_or_clone(self.finished(done))
    }

    /// [`finish`](Self::finish), without moving the message.
    pub(crate) fn finished(mut self, done: &Done) -> Arc<AssistantMessage> {
        self.know(&done.metadata);
        let cut = matches!(done.reason, StopReason::Length | StopReason::Error | StopReason::Aborted);
        self.complete(cut, |message| message.stop_reason = done.reason)
    }

    /// The failed, or aborted, message: it keeps what was streamed and its usage.
    #[must_use]
    pub fn fail(self, failure: &Failure) -> AssistantMessage {
        Arc::unwrap_or_clone(self.failed(failure))
    }

    /// [`fail`](Self::fail), without moving the message.
    pub(crate) fn failed(mut self, failure: &Failure) -> Arc<AssistantMessage> {
        self.know(&failure.metadata);
        self.complete(true, |message| {
            message.stop_reason = match failure.reason {
                StopReason::Aborted => StopReason::Aborted,
                _ => StopReason::Error,
            };
            message.error_message = Some(failure.message.clone()).filter(|text| !text.is_empty());
        })
    }

    /// The message with its content, and with how it `ended`; `cut`: a call that never ended keeps what could be read.
    fn complete(self, cut: bool, ended: impl FnOnce(&mut AssistantMessage)) -> Arc<AssistantMessage> {
        let mut complete = self.head;
        let message = Arc::make_mut(&mut complete);
        message.thinking_level = self.thinking_level;
        message.content = self.blocks.into_iter().map(|block| block.into_content(cut)).collect();
        ended(message);
        complete
    }

    #[inline]
    fn open(&mut self, kind: &'static str, index: u32) -> Result<&mut PartialBlock, MalformedDelta> {
        self.blocks.get_mut(index).ok_or(MalformedDelta::NoSuchBlock { kind, index })
    }

    #[inline]
    fn text(&mut self, index: u32) -> Result<&mut Text, MalformedDelta> {
        match self.open(TEXT, index)? {
            PartialBlock::Text(text) => Ok(text),
            other => Err(other.is_not(TEXT, index)),
        }
    }

    #[inline]
    fn thinking(&mut self, index: u32) -> Result<&mut Thinking, MalformedDelta> {
        match self.open(THINKING, index)? {
            PartialBlock::Thinking(thinking) => Ok(thinking),
            other => Err(other.is_not(THINKING, index)),
        }
    }

    #[inline]
    fn call(&mut self, index: u32) -> Result<&mut PartialToolCall, MalformedDelta> {
        match self.open(TOOL_CALL, index)? {
            PartialBlock::ToolCall(call) => Ok(call),
            other => Err(other.is_not(TOOL_CALL, index)),
        }
    }

    #[inline]
    fn streaming(&mut self, index: u32) -> Result<&mut ArgumentsBuilder, MalformedDelta> {
        match &mut self.call(index)?.0 {
            Progress::Streaming(call) => Ok(&mut call.arguments),
            Progress::Complete(_) => Err(MalformedDelta::AfterEnd { index }),
        }
    }

    fn start(&mut self, index: u32, block: PartialBlock) -> Result<(), MalformedDelta> {
        if self.blocks.start(index, block) { Ok(()) } else { Err(MalformedDelta::StartedTwice { index }) }
    }

    fn start_call(&mut self, index: u32, head: &Arc<ToolCallHead>) -> Result<(), MalformedDelta> {
        let call = Streaming { head: head.clone(), arguments: ArgumentsBuilder::default() };
        self.start(index, PartialBlock::ToolCall(PartialToolCall(Progress::Streaming(Box::new(call)))))
    }

    fn end_call(&mut self, index: u32, complete: Option<&ToolCall>) -> Result<(), MalformedDelta> {
        let PartialToolCall(progress) = self.call(index)?;
        let Progress::Streaming(call) = progress else {
            return Err(MalformedDelta::AfterEnd { index });
        };
        let complete = match complete {
            Some(complete) => Arc::new(complete.clone()),
            None => call.finish(),
        };
        *progress = Progress::Complete(complete);
        Ok(())
    }

    /// Takes over what is known beside the content.
    fn know(&mut self, metadata: &Metadata) {
        let Metadata {
            usage,
            api,
            provider,
            response_model,
            response_id,
            provider_thinking_level,
            raw_stop_reason,
            end_turn,
            diagnostics,
            deferred,
        } = metadata;
        let head = Arc::make_mut(&mut self.head);
        if let Some(usage) = usage {
            head.usage = *usage;
        }
        replace(&mut head.api, api);
        replace(&mut head.provider, provider);
        set(&mut head.response_model, response_model);
        set(&mut head.response_id, response_id);
        set(&mut head.provider_thinking_level, provider_thinking_level);
        set(&mut head.raw_stop_reason, raw_stop_reason);
        set(&mut head.end_turn, end_turn);
        set(&mut head.deferred, deferred);
        if !diagnostics.is_empty() {
            head.diagnostics.get_or_insert_default().extend_from_slice(diagnostics);
        }
    }
}

fn set<T: Clone>(known: &mut Option<T>, told: &Option<T>) {
    if told.is_some() {
        known.clone_from(told);
    }
}

fn replace(known: &mut String, told: &Option<String>) {
    if let Some(told) = told {
        known.clone_from(told);
    }
}

impl PartialBlock {
    fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => TEXT,
            Self::Thinking(_) => THINKING,
            Self::ToolCall(_) => TOOL_CALL,
        }
    }

    fn is_not(&self, kind: &'static str, index: u32) -> MalformedDelta {
        MalformedDelta::OtherKind { kind, started: self.kind(), index }
    }

    /// The block as content, as far as it came.
    fn cut_off(&self) -> AssistantContent {
        match self {
            Self::Text(text) => AssistantContent::Text(text.clone()),
            Self::Thinking(thinking) => AssistantContent::Thinking(thinking.clone()),
            Self::ToolCall(call) => AssistantContent::ToolCall(call.cut_off()),
        }
    }

    /// The block as content at the end of the answer; `cut`: a call that never ended keeps what could be read.
    fn into_content(self, cut: bool) -> AssistantContent {
        match self {
            Self::Text(text) => AssistantContent::Text(text),
            Self::Thinking(thinking) => AssistantContent::Thinking(thinking),
            Self::ToolCall(call) if cut => AssistantContent::ToolCall(call.cut_off()),
            Self::ToolCall(PartialToolCall(progress)) => match progress {
                Progress::Complete(call) => AssistantContent::ToolCall(call),
                Progress::Streaming(mut call) => AssistantContent::ToolCall(call.finish()),
            },
        }
    }
}
