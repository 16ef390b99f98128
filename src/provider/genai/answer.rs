//! genai's events in, deltas out. Pure: no I/O, no clock.

use std::collections::VecDeque;

use genai::chat::{self, ChatStreamEvent, StreamEnd};

use super::call::Call;
use super::frames::Note;
use super::protocol::Protocol;
use crate::error_text::excerpt;
use crate::message::{StopReason, Usage};
use crate::model::{Delta, Done, Failure, Metadata};
use crate::provider::ending::{Counts, EARLY, FAILED, FILTERED, unknown_reason};

/// How much of the word of a content filter is shown, in bytes.
const SHOWN: usize = 200;

/// An answer that is put together from genai's events, and from what only the frames say.
///
/// It gives one terminal delta, at the latest after [`broken_off`](Self::broken_off).
pub(super) struct Assembly {
    protocol: Protocol,
    effort: Option<&'static str>,
    deltas: VecDeque<Delta>,
    has_begun: bool,
    has_ended: bool,
    /// How many blocks have begun.
    blocks: u32,
    open: Option<Open>,
    calls: Vec<Call>,
    /// Gemini's signatures come before the part that they belong to.
    waiting_signatures: VecDeque<String>,
    /// Whether a signature came while the answer streamed.
    was_signed: bool,
    refusal: Option<String>,
}

/// The text or thinking block that is growing.
struct Open {
    index: u32,
    kind: Kind,
    /// As far as it came; empty where there is none.
    signature: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Thinking,
}

impl Assembly {
    pub(super) fn new(protocol: Protocol, effort: Option<&'static str>) -> Self {
        Self {
            protocol,
            effort,
            deltas: VecDeque::new(),
            has_begun: false,
            has_ended: false,
            blocks: 0,
            open: None,
            calls: Vec::new(),
            waiting_signatures: VecDeque::new(),
            was_signed: false,
            refusal: None,
        }
    }

    pub(super) fn next_delta(&mut self) -> Option<Delta> {
        self.deltas.pop_front()
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the terminal delta was made.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes what the frames say, before the event that came with them.
    pub(super) fn note(&mut self, note: Note) {
        if self.has_ended {
            return;
        }
        self.begin();
        match note {
            Note::Begun => {}
            Note::Head { id, model } => {
                self.know(Metadata { response_id: id, response_model: model, ..Metadata::default() });
            }
            Note::Border => self.close(),
            Note::Redacted(payload) => {
                let index = self.open(Kind::Thinking);
                self.open = None;
                let signature = Some(payload.into());
                self.deltas.push_back(Delta::ThinkingEnd { index, signature, redacted: true });
            }
            Note::Signature(signature) => {
                self.sign_thinking(&signature);
                self.close();
            }
            Note::Refused(reason) => self.refusal = Some(reason),
            Note::Unreadable(why) => {
                self.fail(Failure::new(format!("the provider sent an event that cannot be read ({why})")));
            }
        }
    }

    pub(super) fn event(&mut self, event: ChatStreamEvent) {
        if self.has_ended {
            return;
        }
        match event {
            // It comes before the request is sent.
            ChatStreamEvent::Start | ChatStreamEvent::Heartbeat => {}
            ChatStreamEvent::Chunk(chunk) => self.text(chunk.content),
            ChatStreamEvent::ReasoningChunk(chunk) => self.thinking(chunk.content),
            ChatStreamEvent::ThoughtSignatureChunk(chunk) => self.signature(chunk.content),
            ChatStreamEvent::ToolCallChunk(chunk) => self.call(chunk.tool_call),
            ChatStreamEvent::End(end) => self.end(end),
        }
    }

    /// The stream is over without an end.
    pub(super) fn broken_off(&mut self) {
        self.fail(Failure::new(EARLY));
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        if self.has_ended {
            return;
        }
        self.has_ended = true;
        let failure = match self.refusal.take() {
            None => failure,
            Some(reason) => {
                let mut refused = Failure::new(format!("the provider refused the prompt: {reason}"));
                refused.metadata = failure.metadata;
                refused
            }
        };
        self.deltas.push_back(failure.into());
    }

    fn begin(&mut self) {
        if self.has_begun {
            return;
        }
        self.has_begun = true;
        self.deltas.push_back(Delta::Start);
        if let Some(effort) = self.effort {
            self.know(Metadata { provider_thinking_level: Some(effort.to_owned()), ..Metadata::default() });
        }
    }

    fn know(&mut self, metadata: Metadata) {
        self.deltas.push_back(Delta::Metadata(Box::new(metadata)));
    }

    fn next_index(&mut self) -> u32 {
        let index = self.blocks;
        self.blocks = self.blocks.saturating_add(1);
        index
    }

    /// Begins a block of its own.
    fn open(&mut self, kind: Kind) -> u32 {
        self.begin();
        self.close();
        let index = self.next_index();
        self.open = Some(Open { index, kind, signature: String::new() });
        self.deltas.push_back(match kind {
            Kind::Text => Delta::TextStart { index },
            Kind::Thinking => Delta::ThinkingStart { index },
        });
        index
    }

    /// Ends the text or thinking block that is open.
    fn close(&mut self) {
        let Some(Open { index, kind, signature }) = self.open.take() else { return };
        let signature = Some(signature).filter(|signature| !signature.is_empty()).map(String::into_boxed_str);
        self.deltas.push_back(match kind {
            Kind::Text => Delta::TextEnd { index, signature },
            Kind::Thinking => Delta::ThinkingEnd { index, signature, redacted: false },
        });
    }

    fn text(&mut self, delta: String) {
        if delta.is_empty() {
            return;
        }
        // A part with a signature stays one block of its own, so that it goes back as it came.
        let signature = self.waiting_signatures.pop_front();
        let index = match &self.open {
            Some(open) if open.kind == Kind::Text && open.signature.is_empty() && signature.is_none() => {
                open.index
            }
            _ => self.open(Kind::Text),
        };
        if let (Some(open), Some(signature)) = (&mut self.open, signature) {
            open.signature = signature;
        }
        self.deltas.push_back(Delta::Text { index, delta });
    }

    fn thinking(&mut self, delta: String) {
        if delta.is_empty() {
            return;
        }
        let has_borders = self.protocol.has_borders();
        let index = match &self.open {
            // Where frames tell no borders, a signature is the end of its block.
            Some(open) if open.kind == Kind::Thinking && (has_borders || open.signature.is_empty()) => {
                open.index
            }
            _ => self.open(Kind::Thinking),
        };
        self.deltas.push_back(Delta::Thinking { index, delta });
    }

    fn signature(&mut self, signature: String) {
        match self.protocol {
            _ if signature.is_empty() => {}
            Protocol::Gemini => self.waiting_signatures.push_back(signature),
            _ => self.sign_thinking(&signature),
        }
    }

    /// Adds to the signature of the thinking block, which may have no text at all.
    fn sign_thinking(&mut self, signature: &str) {
        if !self.open.as_ref().is_some_and(|open| open.kind == Kind::Thinking) {
            self.open(Kind::Thinking);
        }
        if let Some(open) = &mut self.open {
            open.signature.push_str(signature);
        }
        self.was_signed = true;
    }

    fn call(&mut self, piece: chat::ToolCall) {
        self.begin();
        let signature = self.signature_of_call(&piece);
        let at = Call::find(&self.calls, &piece).unwrap_or_else(|| {
            self.calls.push(Call::new(&piece, &self.calls));
            self.calls.len() - 1
        });
        if let Some(call) = self.calls.get_mut(at) {
            call.signature = signature.or(call.signature.take());
            call.take(piece);
        }
        self.tell_call(at, false);
    }

    /// The signature of a call, which Gemini sends twice: before it, and with it.
    fn signature_of_call(&mut self, piece: &chat::ToolCall) -> Option<String> {
        if self.protocol != Protocol::Gemini {
            return None;
        }
        let own = piece.thought_signatures.as_ref().and_then(|signatures| signatures.first().cloned());
        let Some(own) = own else { return self.waiting_signatures.pop_front() };
        self.waiting_signatures.retain(|waiting| *waiting != own);
        if let Some(open) = self.open.as_mut().filter(|open| open.signature == own) {
            open.signature.clear();
        }
        Some(own)
    }

    /// Gives out what is new of a call. Its block begins with its name, or at the end of the answer without one.
    fn tell_call(&mut self, at: usize, at_end: bool) {
        let begins = self.calls.get(at).is_some_and(|call| call.begins(at_end));
        if begins {
            self.close();
            let index = self.next_index();
            if let Some(call) = self.calls.get_mut(at) {
                self.deltas.push_back(call.start(index));
            }
        }
        self.deltas.extend(self.calls.get_mut(at).and_then(Call::fragment));
    }

    fn end(&mut self, mut end: StreamEnd) {
        self.begin();
        let content = end.captured_content.take().unwrap_or_default();
        // Some servers tell of the encrypted reasoning only in the whole response at the end.
        if self.protocol == Protocol::Responses && !self.was_signed {
            for signature in content.thought_signatures() {
                self.close();
                self.sign_thinking(signature);
            }
        }
        self.settle_calls(content);
        if let (Some(open), Some(signature)) = (&mut self.open, self.waiting_signatures.pop_back()) {
            open.signature = signature;
        }
        self.close();
        let reason = self.stop_reason(&end);
        let metadata = Metadata {
            usage: end.captured_usage.map(usage),
            response_id: end.captured_response_id.filter(|id| !id.is_empty()),
            raw_stop_reason: end.captured_stop_reason.map(|reason| reason.raw().to_owned()),
            ..Metadata::default()
        };
        match reason {
            Ok(reason) => {
                let ends = self.calls.iter().filter_map(|call| call.end(reason == StopReason::Length));
                self.deltas.extend(ends);
                let mut done = Done::new(reason);
                done.metadata = metadata;
                self.has_ended = true;
                self.deltas.push_back(done.into());
            }
            Err(why) => {
                let mut failure = Failure::new(why);
                failure.metadata = metadata;
                self.fail(failure);
            }
        }
    }

    /// Brings the calls to what genai has of them at the end: some it never told of, and some it tells better now.
    fn settle_calls(&mut self, content: chat::MessageContent) {
        let told = self.calls.len();
        let mut settled = vec![false; told];
        for whole in content.into_tool_calls() {
            let known = self.calls.iter().zip(&settled).position(|(call, done)| !done && call.is(&whole));
            match known {
                Some(at) => {
                    if let (Some(done), Some(call)) = (settled.get_mut(at), self.calls.get_mut(at)) {
                        *done = true;
                        // Responses say at the end of a call what its arguments are, whatever had streamed.
                        call.settle(whole, self.protocol == Protocol::Responses);
                    }
                }
                None => {
                    let mut call = Call::new(&whole, &self.calls);
                    call.take(whole);
                    self.calls.push(call);
                }
            }
        }
        for at in 0..self.calls.len() {
            self.tell_call(at, true);
        }
    }

    /// Why the answer ended. Calls that are there count more than the provider's word, but for an answer that was cut.
    ///
    /// # Errors
    /// When the provider's word means a failure, nobody knows it, or there is none where there must be one.
    fn stop_reason(&self, end: &StreamEnd) -> Result<StopReason, String> {
        let by_calls = if self.calls.is_empty() { StopReason::Stop } else { StopReason::ToolUse };
        match &end.captured_stop_reason {
            Some(chat::StopReason::MaxTokens(_)) => Ok(StopReason::Length),
            Some(chat::StopReason::ToolCall(_)) => Ok(StopReason::ToolUse),
            Some(chat::StopReason::Completed(_) | chat::StopReason::StopSequence(_)) => Ok(by_calls),
            Some(chat::StopReason::ContentFilter(raw)) if raw == "content_filter" => Err(FILTERED.to_owned()),
            Some(chat::StopReason::ContentFilter(raw)) => {
                Err(format!("{FILTERED}: `{}`", excerpt(raw, SHOWN)))
            }
            Some(chat::StopReason::Other(raw)) => match raw.as_str() {
                "FUNCTION_CALL" | "TOOL_CALL" | "end" | "eos" | "eos_token" | "pause_turn" => Ok(by_calls),
                "error" => Err(FAILED.to_owned()),
                raw => Err(unknown_reason(raw)),
            },
            None if self.is_complete(end) => Ok(by_calls),
            None => Err(EARLY.to_owned()),
        }
    }

    /// Whether an end without a reason is one: for some protocols genai makes up an end when the connection closes.
    fn is_complete(&self, end: &StreamEnd) -> bool {
        match self.protocol {
            Protocol::OpenAi | Protocol::Anthropic => true,
            Protocol::Responses => end.captured_response_id.is_some(),
            Protocol::Ollama => end.captured_usage.is_some(),
            Protocol::Gemini | Protocol::Interactions | Protocol::Bedrock | Protocol::Cohere => false,
        }
    }
}

fn usage(wire: chat::Usage) -> Usage {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    let details = wire.prompt_tokens_details.unwrap_or_default();
    let for_an_hour = details.cache_creation_details.and_then(|details| count(details.ephemeral_1h_tokens));
    Usage::from(Counts {
        prompt: count(wire.prompt_tokens),
        output: count(wire.completion_tokens),
        cache_read: count(details.cached_tokens),
        cache_write: count(details.cache_creation_tokens),
        cache_write_1h: for_an_hour,
        reasoning: wire.completion_tokens_details.and_then(|details| count(details.reasoning_tokens)),
        total: count(wire.total_tokens),
    })
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
