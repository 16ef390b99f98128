//! The server's side: any model as the body of a response.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_util::stream::{self, StreamExt};
use thiserror::Error;

use super::{InvalidRequest, parse_request};
use crate::breath::Breath;
use crate::error_text::{drop_foreign, panic_text};
use crate::message::{AssistantContent, AssistantMessage, StopReason, ToolCall};
use crate::model::{
    BoxDeltaStream, Delta, Done, Failure, Metadata, PartialBlock, PartialMessage, Request, StreamFn,
    ToolCallHead,
};

/// The content type of the response.
pub const CONTENT_TYPE: &str = "text/event-stream";

/// Asks the model and gives its answer as the body of the response, which is of [`CONTENT_TYPE`].
///
/// The body keeps the protocol whatever the model does: it begins with `start`, each event fits the ones before, and it
/// ends with one `done` or `error` that tells the usage. A model that panics, stops short or sends nonsense is an
/// `error` for the client.
///
/// # Cancel safety
/// Dropping the body drops the model's stream: a client that goes away cancels its request, provided that the framework
/// drops the body then.
pub fn respond<S: StreamFn + ?Sized>(model: &S, request: Request) -> ResponseBody {
    let answering = catch_unwind(AssertUnwindSafe(|| model.stream(request)));
    let deltas = answering.unwrap_or_else(|panic| stream::iter([panicked(panic)]).boxed());
    ResponseBody {
        deltas: Some(deltas),
        events: VecDeque::new(),
        begun: false,
        answer: PartialMessage::new(AssistantMessage::default()),
    }
}

/// The body of a response, as a stream of chunks; each chunk is a whole event, as it should be sent on at once.
#[must_use = "a body does nothing unless it is sent"]
pub struct ResponseBody {
    /// `None` after the terminal delta.
    deltas: Option<BoxDeltaStream>,
    /// What is to be sent before the next delta is asked for.
    events: VecDeque<Vec<u8>>,
    begun: bool,
    /// The answer so far: what the wire wants told again at the end of blocks and of the answer.
    answer: PartialMessage,
}

impl Stream for ResponseBody {
    type Item = Vec<u8>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Vec<u8>>> {
        let this = &mut *self;
        let mut breath = Breath::default();
        loop {
            if let Some(event) = this.events.pop_front() {
                return Poll::Ready(Some(event));
            }
            let Some(deltas) = &mut this.deltas else { return Poll::Ready(None) };
            ready!(breath.poll(cx));
            let delta = match catch_unwind(AssertUnwindSafe(|| deltas.poll_next_unpin(cx))) {
                Ok(Poll::Pending) => return Poll::Pending,
                Ok(Poll::Ready(Some(delta))) => delta,
                Ok(Poll::Ready(None)) => {
                    Delta::error("the model's stream ended before its answer was complete")
                }
                Err(panic) => panicked(panic),
            };
            match delta {
                Delta::Whole { message } => pieces(&message).into_iter().for_each(|delta| this.send(delta)),
                delta => this.send(delta),
            }
        }
    }
}

impl ResponseBody {
    /// Puts the events for a delta into the queue.
    fn send(&mut self, delta: Delta) {
        if self.deltas.is_none() {
            return;
        }
        let mut delta = match self.answer.apply(&delta) {
            Ok(()) => delta,
            Err(malformed) => Delta::error(malformed.to_string()),
        };
        if !self.begun && !matches!(delta, Delta::Start | Delta::Error(_)) {
            self.events.push_back(event(&Delta::Start));
        }
        let is_repeated = self.begun && matches!(delta, Delta::Start);
        self.begun = true;
        self.complete(&mut delta);
        if delta.is_terminal() {
            drop_foreign(self.deltas.take());
        }
        if !is_repeated {
            self.events.push_back(event(&delta));
        }
    }

    /// Adds what other clients of the protocol need to be told at an end: the complete call, the usage.
    fn complete(&self, delta: &mut Delta) {
        match delta {
            Delta::ToolCallEnd { index, call: call @ None } => *call = self.complete_call(*index),
            Delta::Done(done) => self.complete_metadata(&mut done.metadata),
            Delta::Error(failure) => self.complete_metadata(&mut failure.metadata),
            _ => {}
        }
    }

    fn complete_call(&self, index: u32) -> Option<Box<ToolCall>> {
        match self.answer.block(index)? {
            PartialBlock::ToolCall(call) => call.complete().map(|call| Box::new(ToolCall::clone(call))),
            _ => None,
        }
    }

    fn complete_metadata(&self, metadata: &mut Metadata) {
        let head = self.answer.head();
        metadata.usage.get_or_insert(head.usage);
        if metadata.provider_thinking_level.is_none() {
            metadata.provider_thinking_level.clone_from(&head.provider_thinking_level);
        }
    }
}

/// An event of the stream: one line of JSON, which holds no line ends, and a blank line.
fn event(delta: &Delta) -> Vec<u8> {
    let mut event = b"data: ".to_vec();
    if serde_json::to_writer(&mut event, delta).is_err() {
        let error = Delta::error("the model's answer cannot be written as JSON");
        event = b"data: ".to_vec();
        // It holds nothing but texts: writing it does not fail.
        let _ = serde_json::to_writer(&mut event, &error);
    }
    event.extend_from_slice(b"\n\n");
    event
}

fn panicked(panic: Box<dyn Any + Send>) -> Delta {
    Delta::error(format!("the model's stream panicked: {}", panic_text(panic)))
}

/// A whole message in the pieces that the wire has for it.
fn pieces(message: &AssistantMessage) -> Vec<Delta> {
    let mut deltas = vec![Delta::Start];
    for (index, block) in (0..).zip(&message.content) {
        deltas.extend(block_pieces(index, block));
    }
    let metadata = Metadata {
        usage: Some(message.usage),
        response_model: message.response_model.clone(),
        response_id: message.response_id.clone(),
        provider_thinking_level: message.provider_thinking_level.clone(),
        raw_stop_reason: message.raw_stop_reason.clone(),
        end_turn: message.end_turn,
        diagnostics: message.diagnostics.clone().unwrap_or_default(),
        deferred: message.deferred.clone(),
        ..Metadata::default()
    };
    deltas.push(match message.stop_reason {
        reason @ (StopReason::Error | StopReason::Aborted) => {
            let mut failure = Failure::new(message.error_message.clone().unwrap_or_default());
            failure.reason = reason;
            failure.metadata = metadata;
            failure.into()
        }
        reason => {
            let mut done = Done::new(reason);
            done.metadata = metadata;
            done.into()
        }
    });
    deltas
}

fn block_pieces(index: u32, block: &AssistantContent) -> [Delta; 3] {
    let boxed = |text: &Option<String>| text.as_deref().map(Box::from);
    match block {
        AssistantContent::Text(text) => [
            Delta::TextStart { index },
            Delta::text(index, &text.text),
            Delta::TextEnd { index, signature: boxed(&text.text_signature) },
        ],
        AssistantContent::Thinking(thinking) => [
            Delta::ThinkingStart { index },
            Delta::thinking(index, &thinking.thinking),
            Delta::ThinkingEnd {
                index,
                signature: boxed(&thinking.thinking_signature),
                redacted: thinking.redacted.unwrap_or(false),
            },
        ],
        AssistantContent::ToolCall(call) => {
            let mut head = ToolCallHead::new(&call.id, &call.name);
            head.thought_signature.clone_from(&call.thought_signature);
            head.namespace.clone_from(&call.namespace);
            let arguments = serde_json::Value::Object(call.arguments.clone()).to_string();
            [
                Delta::ToolCallStart { index, call: Arc::new(head) },
                Delta::tool_call(index, arguments),
                Delta::ToolCallEnd { index, call: Some(Box::new(ToolCall::clone(call))) },
            ]
        }
    }
}

/// Reads the request from a body of at most `limit` bytes; no more than that is kept in memory.
///
/// The body is a stream of chunks, as every framework has it.
///
/// # Errors
/// When the body is too long, cannot be received, or is no request to a proxy.
pub async fn read_request<S, B, E>(body: S, limit: usize) -> Result<Request, ReadError>
where
    S: Stream<Item = Result<B, E>>,
    B: AsRef<[u8]>,
    E: fmt::Display,
{
    let mut body = std::pin::pin!(body);
    let mut read = Vec::new();
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|error| ReadError::Broken(error.to_string()))?;
        if read.len() + chunk.as_ref().len() > limit {
            return Err(ReadError::TooLong { limit });
        }
        read.extend_from_slice(chunk.as_ref());
    }
    Ok(parse_request(&read)?)
}

/// Why a request to a proxy could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The body is longer than the host allows.
    #[error("the request is longer than {limit} bytes")]
    TooLong {
        /// The most that is allowed, in bytes.
        limit: usize,
    },
    /// The body did not come in whole.
    #[error("the request could not be received: {0}")]
    Broken(String),
    /// The body is something else.
    #[error(transparent)]
    Invalid(#[from] InvalidRequest),
}

impl ReadError {
    /// The status to answer with.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::TooLong { .. } => 413,
            Self::Broken(_) | Self::Invalid(_) => 400,
        }
    }

    /// The body to answer with, `{"error": "…"}`: clients of the protocol show its text.
    #[must_use]
    pub fn body(&self) -> String {
        serde_json::json!({ "error": self.to_string() }).to_string()
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").field("ended", &self.deltas.is_none()).finish_non_exhaustive()
    }
}
