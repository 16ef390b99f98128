//! The proxy's answer: bytes in, deltas out.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::error_text::excerpt;
use crate::message::StopReason;
use crate::model::{Delta, Failure};
use crate::provider::sse::{DEFAULT_LIMIT, SseDecoder, SseEvent};
use crate::provider::{Decoder, Halves, read_json};

/// How much of an event that is not understood is shown in the error, in bytes.
const SHOWN: usize = 200;

/// Turns the bytes of a proxy's answer into deltas: push bytes in chunks of any size, then take deltas until there is
/// none.
///
/// It gives exactly one terminal delta: the server's own, or an error when the answer is malformed, too long, or ends
/// too early. What comes after it is ignored. Events of unknown kinds are ignored too.
///
/// ```
/// use turnstate::model::Delta;
/// use turnstate::proxy::ProxyDecoder;
///
/// let mut decoder = ProxyDecoder::new();
/// decoder.push(b"data: {\"type\":\"start\"}\n\ndata: {\"type\":\"do");
/// assert_eq!(decoder.next_delta(), Some(Delta::Start));
/// assert_eq!(decoder.next_delta(), None);
/// decoder.push(b"ne\",\"reason\":\"stop\"}\n\n");
/// assert!(decoder.next_delta().unwrap().is_terminal());
/// ```
#[derive(Clone)]
pub struct ProxyDecoder {
    events: SseDecoder,
    started: bool,
    /// The blocks that have begun.
    blocks: BTreeSet<u32>,
    finished: bool,
    broken: Option<String>,
    halves: Halves,
    deltas: VecDeque<Delta>,
    /// Whether the terminal delta is in `deltas`, or was given.
    ended: bool,
}

impl ProxyDecoder {
    /// A decoder for one answer, which reads events of at most 8 MiB.
    #[must_use]
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_LIMIT)
    }

    /// A decoder that reads events of at most `limit` bytes.
    #[must_use]
    pub fn with_limit(limit: usize) -> Self {
        Self {
            events: SseDecoder::with_limit(limit),
            started: false,
            blocks: BTreeSet::new(),
            finished: false,
            broken: None,
            halves: Halves::default(),
            deltas: VecDeque::new(),
            ended: false,
        }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.ended {
            self.events.push(bytes);
        }
    }

    /// Says that no more bytes come.
    pub fn finish(&mut self) {
        self.finished = true;
        self.events.finish();
    }

    /// Says that no more bytes come since the connection broke; `why` becomes the error's text, unless the answer was
    /// complete.
    pub fn finish_broken(&mut self, why: impl Into<String>) {
        self.broken = Some(why.into());
        self.finish();
    }

    /// The next delta, if the bytes so far hold one.
    pub fn next_delta(&mut self) -> Option<Delta> {
        self.next_observed(&|_| ())
    }

    fn next_observed(&mut self, observe: &dyn Fn(&str)) -> Option<Delta> {
        loop {
            if let Some(delta) = self.deltas.pop_front() {
                return Some(delta);
            }
            if self.ended {
                return None;
            }
            let delta = match self.events.next_event() {
                Some(Ok(event)) => {
                    observe(&event.data);
                    self.read(&event)
                }
                Some(Err(too_long)) => {
                    Some(Delta::error(format!("the proxy's answer cannot be read: {too_long}")))
                }
                None if self.finished => Some(self.early_end()),
                None => return None,
            };
            if let Some(delta) = delta {
                self.ended = delta.is_terminal();
                self.halves.join(delta, &mut self.deltas);
            }
        }
    }

    /// The delta in an event; `None` when the event changes nothing.
    fn read(&mut self, event: &SseEvent) -> Option<Delta> {
        let delta = match read_json::<Delta>(&event.data, &mut self.halves) {
            Ok(delta) => delta,
            // A last line that was cut off: what matters is that the answer ended, not how its last piece looks.
            Err(_) if event.is_cut_off => return Some(self.early_end()),
            Err(error) => return self.unreadable(&event.data, &error),
        };
        match &delta {
            // The wire has no whole messages: a server cannot replace what was streamed.
            Delta::Whole { .. } => return None,
            Delta::Start if self.started => return None,
            Delta::Start => self.started = true,
            // The reference takes no notice of it, so servers may send it.
            Delta::ToolCallEnd { index, .. } if !self.blocks.contains(index) => return None,
            Delta::TextStart { index }
            | Delta::ThinkingStart { index }
            | Delta::ToolCallStart { index, .. } => {
                self.blocks.insert(*index);
            }
            Delta::Done(done) => return Some(ended_by(done.reason, delta)),
            _ => {}
        }
        Some(delta)
    }

    /// What to do with an event that does not read as a delta.
    fn unreadable(&mut self, data: &str, error: &serde_json::Error) -> Option<Delta> {
        #[derive(Deserialize)]
        struct Terminal {
            #[serde(rename = "type")]
            kind: String,
            #[serde(default)]
            reason: Value,
            #[serde(default, rename = "errorMessage")]
            message: Value,
        }
        let malformed = || {
            Delta::error(format!(
                "the proxy sent an event that cannot be read ({error}): {}",
                excerpt(data, SHOWN)
            ))
        };
        let Ok(event) = read_json::<Terminal>(data, &mut self.halves) else { return Some(malformed()) };
        let reason = event.reason.as_str().unwrap_or_default();
        let is_known = serde_json::from_value::<StopReason>(event.reason.clone()).is_ok();
        match event.kind.as_str() {
            "done" if !is_known && !reason.is_empty() => {
                Some(Delta::error(format!("the proxy ended its answer for an unknown reason: `{reason}`")))
            }
            "error" if !is_known || event.message.is_string() => {
                let said = event.message.as_str().unwrap_or("the proxy ended its answer as failed");
                let is_aborted = reason == StopReason::Aborted.as_str();
                let said = if is_known { said.to_owned() } else { format!("{said} (reason `{reason}`)") };
                Some(if is_aborted { Failure::aborted(said).into() } else { Delta::error(said) })
            }
            kind if KNOWN.contains(&kind) => Some(malformed()),
            _ => None,
        }
    }

    fn early_end(&mut self) -> Delta {
        let early = || "the proxy ended its answer before it was complete".to_owned();
        Delta::error(self.broken.take().unwrap_or_else(early))
    }
}

/// A `done` may only say what a complete answer can end with.
fn ended_by(reason: StopReason, done: Delta) -> Delta {
    match reason {
        StopReason::Pending | StopReason::Error | StopReason::Aborted => {
            Delta::error(format!("the proxy ended its answer as done, for the reason `{reason}`"))
        }
        _ => done,
    }
}

/// The kinds of events that must be readable.
const KNOWN: [&str; 13] = [
    "start",
    "text_start",
    "text_delta",
    "text_end",
    "thinking_start",
    "thinking_delta",
    "thinking_end",
    "toolcall_start",
    "toolcall_delta",
    "toolcall_end",
    "metadata",
    "done",
    "error",
];

impl Decoder for ProxyDecoder {
    fn push(&mut self, bytes: &[u8]) {
        self.push(bytes);
    }

    fn finish(&mut self, broken: Option<String>) {
        match broken {
            Some(why) => self.finish_broken(why),
            None => self.finish(),
        }
    }

    fn next_delta(&mut self, observe: &dyn Fn(&str)) -> Option<Delta> {
        self.next_observed(observe)
    }
}

impl Default for ProxyDecoder {
    fn default() -> Self {
        Self::new()
    }
}

/// Without the bytes: they are the model's words.
impl fmt::Debug for ProxyDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyDecoder")
            .field("events", &self.events)
            .field("ended", &self.ended)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::message::Usage;
    use crate::model::Done;

    fn deltas(body: &[u8]) -> Vec<Delta> {
        let mut decoder = ProxyDecoder::new();
        decoder.push(body);
        decoder.finish();
        std::iter::from_fn(|| decoder.next_delta()).collect()
    }

    fn ending(body: &str) -> Failure {
        match deltas(body.as_bytes()).pop() {
            Some(Delta::Error(failure)) => *failure,
            other => panic!("expected an error, got {other:?}"),
        }
    }

    #[test]
    fn an_unknown_reason_is_an_error_that_names_it() {
        for (event, message) in [
            (r#"{"type":"done","reason":"foo"}"#, "the proxy ended its answer for an unknown reason: `foo`"),
            (
                r#"{"type":"done","reason":"error"}"#,
                "the proxy ended its answer as done, for the reason `error`",
            ),
            (
                r#"{"type":"done","reason":"pending"}"#,
                "the proxy ended its answer as done, for the reason `pending`",
            ),
            (r#"{"type":"error","reason":"foo","errorMessage":"quota"}"#, "quota (reason `foo`)"),
        ] {
            assert_eq!(ending(&format!("data: {event}\n\n")), Failure::new(message), "{event}");
        }
    }

    #[test]
    fn what_follows_the_terminal_event_is_ignored() {
        let done = r#"data: {"type":"done","reason":"stop","usage":{"input":1,"output":2,"totalTokens":3}}"#;
        let body = format!("{done}\n\ndata: {{broken\n\n{done}\n\n");
        assert_eq!(
            deltas(body.as_bytes()),
            [Done::new(StopReason::Stop).with_usage(Usage::new(1, 2)).into()]
        );
    }

    #[test]
    fn an_event_that_cannot_be_read_fails_the_answer_and_is_shown_in_part() {
        let failure = ending(&format!("data: {{\"type\":\"text_delta\",\"x\":\"{}\"}}\n\n", "é".repeat(200)));
        assert!(failure.message.starts_with("the proxy sent an event that cannot be read (missing field"));
        assert!(failure.message.ends_with("é… (cut, 428 bytes in all)"), "{}", failure.message);
    }

    #[test]
    fn half_a_surrogate_pair_in_a_delta_reads_as_the_replacement_character() {
        let body = r#"data: {"type":"text_delta","contentIndex":0,"delta":"a\ud800b"}"#;
        assert_eq!(deltas(body.as_bytes()).first(), Some(&Delta::text(0, "a\u{FFFD}b")));
        let body = r#"
            data: {"type":"text_delta","contentIndex":0,"delta":"\ud83d"}
            data: {"type":"text_delta","contentIndex":0,"delta":"\ude42"}"#;
        let body = body.replace("            ", "");
        assert_eq!(deltas(body.as_bytes()).first(), Some(&Delta::text(0, "🙂")));
    }

    #[test]
    fn an_answer_that_is_cut_off_says_so() {
        let early = Failure::new("the proxy ended its answer before it was complete");
        assert_eq!(ending("data: {\"type\":\"start\"}\n\ndata: {\"type\":\"do"), early);
        assert_eq!(ending(""), early);
        let mut decoder = ProxyDecoder::new();
        decoder.push(b"data: {\"type\":\"sta");
        decoder.finish_broken("the line is dead");
        assert_eq!(decoder.next_delta(), Some(Delta::error("the line is dead")));
        assert_eq!(decoder.next_delta(), None);
    }

    #[test]
    fn too_long_an_event_fails_the_answer() {
        let mut decoder = ProxyDecoder::with_limit(100);
        decoder.push(format!("data: {}", "x".repeat(100)).as_bytes());
        let error = "the proxy's answer cannot be read: the server sent an event of more than 100 bytes";
        assert_eq!(decoder.next_delta(), Some(Delta::error(error)));
        assert_eq!(decoder.next_delta(), None);
    }
}
