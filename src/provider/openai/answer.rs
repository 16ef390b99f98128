//! A chat completion: bytes in, deltas out.

use std::collections::VecDeque;

use super::chunk::{CallPiece, Chunk, Piece, WireUsage};
use super::detail::Detail;
use super::request::{CONTENT, REASONING_FIELDS};
use crate::error_text::excerpt;
use crate::message::{StopReason, Usage};
use crate::model::{Delta, Done, Failure, Metadata};
use crate::provider::ending::{EARLY, FAILED, FILTERED, unknown_reason};
use crate::provider::http_error::words_in;
use crate::provider::sse::{SseDecoder, SseEvent};
use crate::provider::{Decoder, Halves, read_json};

/// How much of an event that is not understood is shown in the error, in bytes.
const SHOWN: usize = 200;

/// Turns the bytes of a chat completion into deltas.
pub(super) struct AnswerDecoder {
    source: Source,
    limit: usize,
    /// Deltas as they are made; their texts may hold marks of halves.
    deltas: VecDeque<Delta>,
    halves: Halves,
    /// Deltas that are ready.
    ready: VecDeque<Delta>,
    effort: Option<&'static str>,
    finished: bool,
    broken: Option<String>,
    /// Whether the terminal delta is in `deltas`, or was given.
    ended: bool,
    /// Whether the first chunk was read.
    begun: bool,
    response_id: Option<String>,
    blocks: u32,
    open: Option<Open>,
    calls: Vec<Call>,
    usage: Option<Usage>,
    /// The server's own word for why the answer ended.
    reason: Option<String>,
}

/// Where chunks come from: the first byte that is no white space tells.
enum Source {
    Unknown,
    Events(SseDecoder),
    /// A whole completion, from a server that does not stream.
    Json(Vec<u8>),
}

/// The text or thinking block that is growing.
enum Open {
    Text(u32),
    Thinking(u32, Mark),
}

/// Where thinking came from, and is given back in.
#[derive(PartialEq)]
enum Mark {
    /// The field of this name.
    Field(&'static str),
    /// A detail: it alone is what the provider takes back, with its signature.
    Detail(Detail),
}

/// A tool call; several may grow at once.
struct Call {
    /// The server's number for it.
    number: Option<u64>,
    /// The server's id for it; empty where it gave none.
    id: String,
    /// The content index, once the name is known.
    block: Option<u32>,
    /// Fragments that came before the name.
    early: String,
}

impl AnswerDecoder {
    pub(super) fn new(effort: Option<&'static str>, limit: usize) -> Self {
        Self {
            source: Source::Unknown,
            limit,
            deltas: VecDeque::new(),
            halves: Halves::default(),
            ready: VecDeque::new(),
            effort,
            finished: false,
            broken: None,
            ended: false,
            begun: false,
            response_id: None,
            blocks: 0,
            open: None,
            calls: Vec::new(),
            usage: None,
            reason: None,
        }
    }

    /// Reads the next event, if there is one.
    fn read_event(&mut self, observe: &dyn Fn(&str)) -> bool {
        match &mut self.source {
            Source::Unknown => false,
            Source::Events(events) => match events.next_event() {
                None => false,
                Some(Ok(event)) => {
                    observe(&event.data);
                    self.event(&event);
                    true
                }
                Some(Err(too_long)) => {
                    self.fail(format!("the provider's answer cannot be read: {too_long}"));
                    true
                }
            },
            Source::Json(body) if self.finished && !body.is_empty() => {
                let body = std::mem::take(body);
                let data = String::from_utf8_lossy(&body).into_owned();
                observe(&data);
                self.event(&SseEvent { event: None, data, is_cut_off: false });
                true
            }
            Source::Json(body) if body.len() > self.limit => {
                let limit = self.limit;
                self.fail(format!("the provider's answer cannot be read: it has more than {limit} bytes"));
                true
            }
            Source::Json(_) => false,
        }
    }

    fn event(&mut self, event: &SseEvent) {
        if event.data.trim() == "[DONE]" {
            return self.end();
        }
        match read_json::<Chunk>(&event.data, &mut self.halves) {
            // A piece that the end of the bytes cut off: that they ended is what matters.
            Err(error) if event.is_cut_off || (self.finished && error.is_eof()) => {}
            Err(error) => {
                let shown = excerpt(&event.data, SHOWN);
                self.fail(format!("the provider sent an event that cannot be read ({error}): {shown}"));
            }
            Ok(chunk)
                if event.event.as_deref() == Some("error")
                    || chunk.error.as_ref().is_some_and(|e| !e.is_null()) =>
            {
                let said = read_json(&event.data, &mut self.halves).ok().as_ref().and_then(words_in);
                let said = said.unwrap_or_else(|| excerpt(&event.data, SHOWN));
                self.fail(format!("the provider's answer failed: {said}"));
            }
            Ok(chunk) => self.chunk(chunk),
        }
    }

    fn chunk(&mut self, chunk: Chunk) {
        if !self.begun {
            self.begin(chunk.id, chunk.model);
        }
        if let Some(usage) = chunk.usage {
            self.know(usage);
        }
        // Only one choice was asked for.
        let choices = chunk.choices.unwrap_or_default();
        for mut choice in choices.into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            if let Some(usage) = choice.usage {
                self.know(usage);
            }
            if let Some(piece) = choice.delta.take().or(choice.message.take()) {
                self.piece(piece);
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.reason = Some(reason);
            }
        }
    }

    fn begin(&mut self, id: Option<String>, model: Option<String>) {
        let filled = |text: Option<String>| text.filter(|text| !text.is_empty());
        self.begun = true;
        self.response_id = filled(id);
        let metadata = Metadata {
            response_id: self.response_id.clone(),
            response_model: filled(model),
            provider_thinking_level: self.effort.map(str::to_owned),
            ..Metadata::default()
        };
        self.deltas.push_back(Delta::Start);
        self.deltas.push_back(Delta::Metadata(Box::new(metadata)));
    }

    /// The usage is told at once, so that an answer that is aborted or breaks keeps it.
    fn know(&mut self, usage: WireUsage) {
        let usage = Usage::from(usage);
        if self.usage != Some(usage) {
            self.usage = Some(usage);
            let metadata = Metadata { usage: Some(usage), ..Metadata::default() };
            self.deltas.push_back(Delta::Metadata(Box::new(metadata)));
        }
    }

    fn piece(&mut self, piece: Piece) {
        let Piece { content, refusal, reasoning_content, reasoning, reasoning_text, .. } = piece;
        let details = Detail::all_in(piece.reasoning_details);
        // Some servers send the same reasoning in two fields: the first counts, but details count more.
        let reasonings = [reasoning_content, reasoning, reasoning_text];
        let reasonings = REASONING_FIELDS.into_iter().zip(reasonings);
        let mut reasonings = reasonings.filter_map(|(field, words)| Some((field, words?.text())));
        match reasonings.find(|(_, thinking)| !thinking.is_empty()) {
            Some((field, thinking)) if details.iter().all(|(_, text)| text.is_empty()) => {
                self.thinking(Mark::Field(field), thinking);
            }
            _ => {}
        }
        for (detail, text) in details {
            self.detail(detail, text);
        }
        if let Some(mut words) = content {
            let thinking = words.thinking();
            if !thinking.is_empty() {
                self.thinking(Mark::Field(CONTENT), thinking);
            }
            self.text(words.text());
        }
        self.text(refusal.unwrap_or_default());
        for call in piece.tool_calls.unwrap_or_default() {
            self.call(call);
        }
    }

    fn next_block(&mut self) -> u32 {
        self.close();
        let index = self.blocks;
        self.blocks += 1;
        index
    }

    /// Ends the text or thinking block that is open.
    fn close(&mut self) {
        self.deltas.extend(self.open.take().map(|open| match open {
            Open::Text(index) => Delta::TextEnd { index, signature: None },
            // What the mark says is kept: a request gives the thinking back so.
            Open::Thinking(index, mark) => {
                let signature = match mark {
                    Mark::Field(name) => name.into(),
                    Mark::Detail(detail) => detail.into_signature().into(),
                };
                Delta::ThinkingEnd { index, signature: Some(signature), redacted: false }
            }
        }));
    }

    fn text(&mut self, delta: String) {
        if delta.is_empty() {
            return;
        }
        let index = match self.open {
            Some(Open::Text(index)) => index,
            _ => {
                let index = self.next_block();
                self.open = Some(Open::Text(index));
                self.deltas.push_back(Delta::TextStart { index });
                index
            }
        };
        self.deltas.push_back(Delta::Text { index, delta });
    }

    fn thinking(&mut self, mark: Mark, delta: String) {
        let index = match &self.open {
            Some(Open::Thinking(index, known)) if *known == mark => *index,
            _ => self.start_thinking(mark),
        };
        self.deltas.push_back(Delta::Thinking { index, delta });
    }

    fn start_thinking(&mut self, mark: Mark) -> u32 {
        let index = self.next_block();
        self.open = Some(Open::Thinking(index, mark));
        self.deltas.push_back(Delta::ThinkingStart { index });
        index
    }

    /// A detail is a block of its own, which may have no text at all.
    fn detail(&mut self, detail: Detail, delta: String) {
        let index = match &mut self.open {
            Some(Open::Thinking(index, Mark::Detail(known))) if known.goes_on_with(&detail) => {
                known.merge(detail);
                *index
            }
            _ => self.start_thinking(Mark::Detail(detail)),
        };
        if !delta.is_empty() {
            self.deltas.push_back(Delta::Thinking { index, delta });
        }
    }

    fn call(&mut self, mut piece: CallPiece) {
        let mut function = piece.function.take().unwrap_or_default();
        let name = function.name.take().filter(|name| !name.is_empty());
        let id = piece.id.take().filter(|id| !id.is_empty());
        let at = self.find_call(piece.index, id.as_deref(), name.is_some()).unwrap_or_else(|| {
            self.calls.push(Call {
                number: piece.index,
                id: String::new(),
                block: None,
                early: String::new(),
            });
            self.calls.len() - 1
        });
        let fragment = function.fragment();
        // A call's block begins with its name; until then the fragments wait.
        let starts = name.filter(|_| self.calls.get(at).is_some_and(|call| call.block.is_none()));
        let index = starts.as_ref().map(|_| self.next_block());
        let Some(call) = self.calls.get_mut(at) else { return };
        if let Some(id) = id.filter(|_| call.id.is_empty()) {
            call.id = id;
        }
        if let (Some(index), Some(name)) = (index, starts) {
            call.block = Some(index);
            let id = call_id(&call.id, self.response_id.as_deref(), at);
            self.deltas.push_back(Delta::tool_call_start(index, id, name));
        }
        call.early.push_str(&fragment);
        if let Some(index) = call.block.filter(|_| !call.early.is_empty()) {
            self.deltas.push_back(Delta::tool_call(index, std::mem::take(&mut call.early)));
        }
    }

    /// The call that a piece belongs to; `None` where a new one begins.
    ///
    /// Servers number calls, and some number all of them 0, or none: a new id with a name is a new call then.
    fn find_call(&self, number: Option<u64>, id: Option<&str>, has_name: bool) -> Option<usize> {
        let is_other = |call: &Call| id.is_some_and(|id| !call.id.is_empty() && id != call.id);
        match (number, id) {
            (Some(_), _) => {
                let at = self.calls.iter().rposition(|call| call.number == number)?;
                let is_new = has_name && self.calls.get(at).is_some_and(is_other);
                (!is_new).then_some(at)
            }
            (None, Some(id)) => self.calls.iter().rposition(|call| call.id == id),
            (None, None) if has_name => None,
            (None, None) => self.calls.len().checked_sub(1),
        }
    }

    /// Ends an answer that is complete.
    fn end(&mut self) {
        let has_calls = !self.calls.is_empty();
        let raw = self.reason.take();
        let reason = match stop_reason(raw.as_deref(), has_calls) {
            Ok(reason) => reason,
            Err(why) => return self.fail_for(why, raw),
        };
        self.close();
        self.begin_nameless_calls();
        // The calls of an answer that was cut are left open: what is missing of them is not known.
        if reason != StopReason::Length {
            let ends = self.calls.iter().filter_map(|call| call.block);
            self.deltas.extend(ends.map(|index| Delta::ToolCallEnd { index, call: None }));
        }
        let mut done = Done::new(reason);
        done.metadata.usage = self.usage;
        done.metadata.raw_stop_reason = raw;
        if !self.begun {
            self.deltas.push_back(Delta::Start);
        }
        self.finish_with(done.into());
    }

    /// A call whose name never came is a call all the same: the model is told that there is no such tool.
    fn begin_nameless_calls(&mut self) {
        for (at, call) in self.calls.iter_mut().enumerate().filter(|(_, call)| call.block.is_none()) {
            let index = self.blocks;
            self.blocks += 1;
            call.block = Some(index);
            let id = call_id(&call.id, self.response_id.as_deref(), at);
            self.deltas.push_back(Delta::tool_call_start(index, id, ""));
            self.deltas.push_back(Delta::tool_call(index, std::mem::take(&mut call.early)));
        }
    }

    fn fail(&mut self, why: String) {
        let raw = self.reason.take();
        self.fail_for(why, raw);
    }

    fn fail_for(&mut self, why: String, raw: Option<String>) {
        let mut failure = Failure::new(why);
        failure.metadata.usage = self.usage;
        failure.metadata.raw_stop_reason = raw;
        self.finish_with(failure.into());
    }

    fn finish_with(&mut self, delta: Delta) {
        self.ended = true;
        self.deltas.push_back(delta);
    }

    /// The bytes are over, and no event said so.
    fn end_of_bytes(&mut self) {
        match (self.reason.is_some(), self.broken.take()) {
            // The server gave its reason: the answer is complete, and what is lost is at most the usage.
            (true, _) => self.end(),
            (false, Some(broken)) => self.fail(broken),
            (false, None) => self.fail(EARLY.to_owned()),
        }
    }
}

/// Ids are missing from some servers; one that says which answer it belongs to does not repeat in a conversation.
fn call_id(id: &str, response_id: Option<&str>, at: usize) -> String {
    match (id, response_id) {
        ("", Some(response)) => format!("{response}-{at}"),
        ("", None) => format!("call-{at}"),
        (id, _) => id.to_owned(),
    }
}

/// Why the answer ended. Calls that are there count more than the server's word, but for an answer that was cut.
///
/// # Errors
/// When the server's word means a failure, or nobody knows it.
fn stop_reason(raw: Option<&str>, has_calls: bool) -> Result<StopReason, String> {
    match raw {
        Some("length" | "max_tokens" | "model_length") => Ok(StopReason::Length),
        Some("content_filter") => Err(FILTERED.to_owned()),
        Some("error") => Err(FAILED.to_owned()),
        Some("tool_calls" | "function_call" | "tool_use") => Ok(StopReason::ToolUse),
        None | Some("stop" | "end" | "eos" | "eos_token" | "end_turn" | "stop_sequence" | "completed") => {
            Ok(if has_calls { StopReason::ToolUse } else { StopReason::Stop })
        }
        Some(unknown) => Err(unknown_reason(unknown)),
    }
}

impl Decoder for AnswerDecoder {
    fn push(&mut self, bytes: &[u8]) {
        if matches!(self.source, Source::Unknown) {
            let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
            self.source = match first {
                None => return,
                Some(b'{') => Source::Json(Vec::new()),
                Some(_) => Source::Events(SseDecoder::with_limit(self.limit)),
            };
        }
        match &mut self.source {
            Source::Unknown => {}
            Source::Events(events) => events.push(bytes),
            Source::Json(body) => body.extend_from_slice(bytes),
        }
    }

    fn finish(&mut self, broken: Option<String>) {
        self.finished = true;
        self.broken = broken;
        if let Source::Events(events) = &mut self.source {
            events.finish();
        }
    }

    fn next_delta(&mut self, observe: &dyn Fn(&str)) -> Option<Delta> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(delta);
            }
            if let Some(delta) = self.deltas.pop_front() {
                self.halves.join(delta, &mut self.ready);
                continue;
            }
            if self.ended {
                return None;
            }
            if !self.read_event(observe) {
                if !self.finished {
                    return None;
                }
                self.end_of_bytes();
            }
        }
    }
}
