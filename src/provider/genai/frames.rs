//! What genai's events leave out and its raw frames still say.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef, StreamEnd};
use serde_json::Value;

use super::protocol::Protocol;
use crate::model::Model;
use crate::provider::Observer;

/// How many frames are searched for the head of the answer.
const HEAD_FRAMES: u32 = 3;

/// Something that only the frames say. It holds from before the event that follows.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Note {
    /// Frames come: the server answers.
    Begun,
    /// Which answer it is, and which model gives it.
    Head { id: Option<String>, model: Option<String> },
    /// A block of the content ends or begins.
    Border,
    /// A thinking block that the provider has hidden.
    Redacted(String),
    /// The signature of the reasoning that has just ended.
    Signature(String),
    /// The provider refused the prompt, for this reason.
    Refused(String),
    /// genai passes over a frame that it cannot read, and with it over a piece of the answer.
    Unreadable(String),
}

/// Listens to the frames of one answer, and passes them on to those who want them too.
pub(super) struct Frames {
    protocol: Protocol,
    notes: Mutex<Notes>,
    observer: Option<(Arc<dyn Observer>, Arc<Model>)>,
    /// The sink of the host's own options.
    host: Option<Arc<dyn ChatFrameSink>>,
}

#[derive(Default)]
struct Notes {
    new: Vec<Note>,
    /// How many frames were searched for the head; more than [`HEAD_FRAMES`] once it was found.
    searched: u32,
}

impl Frames {
    pub(super) fn new(
        protocol: Protocol,
        observer: Option<(Arc<dyn Observer>, Arc<Model>)>,
        host: Option<Arc<dyn ChatFrameSink>>,
    ) -> Self {
        Self { protocol, notes: Mutex::default(), observer, host }
    }

    /// The notes since the last call, in order.
    pub(super) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner).new)
    }
}

impl Notes {
    fn read(&mut self, protocol: Protocol, event: Option<&str>, data: &str) {
        if self.searched == 0 {
            self.new.push(Note::Begun);
        }
        if self.searched < HEAD_FRAMES {
            self.searched += 1;
            if let Some(head) = serde_json::from_str(data).ok().as_ref().and_then(head_in) {
                self.searched = HEAD_FRAMES;
                self.new.push(head);
            }
        }
        if matches!(protocol, Protocol::Responses | Protocol::Interactions) {
            self.new.extend(unreadable(data));
        }
        match protocol {
            Protocol::Anthropic => self.new.extend(border(event, data)),
            Protocol::Bedrock => self.new.extend(border(event, "")),
            // Most frames are short pieces of text: they are read once more only where the words are in them.
            Protocol::Responses if data.contains("response.output_item.") => {
                self.new.extend(reasoning_item(data));
            }
            Protocol::Gemini if data.contains("\"blockReason\"") => self.new.extend(refusal(data)),
            _ => {}
        }
    }
}

/// Who answers: at the top of chunks, or in the object that the first event tells of.
fn head_in(frame: &Value) -> Option<Note> {
    let objects = [Some(frame), frame.get("message"), frame.get("response"), frame.get("interaction")];
    let text = |names: [&str; 2]| {
        let values = objects.iter().flatten().flat_map(|object| names.map(|name| object.get(name)));
        values.flatten().find_map(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let (id, model) = (text(["id", "responseId"]), text(["model", "modelVersion"]));
    (id.is_some() || model.is_some()).then_some(Note::Head { id, model })
}

fn border(event: Option<&str>, data: &str) -> Option<Note> {
    match event {
        Some("content_block_start") if data.contains("redacted_thinking") => {
            Some(redacted(data).map_or(Note::Border, Note::Redacted))
        }
        Some("content_block_start" | "content_block_stop" | "contentBlockStart" | "contentBlockStop") => {
            Some(Note::Border)
        }
        _ => None,
    }
}

fn redacted(data: &str) -> Option<String> {
    let frame: Value = serde_json::from_str(data).ok()?;
    let block = frame.get("content_block").filter(|block| block["type"] == "redacted_thinking")?;
    block["data"].as_str().map(str::to_owned)
}

/// The end of an item of a response. Reasoning comes with its encrypted form, where that was asked for.
fn reasoning_item(data: &str) -> Option<Note> {
    let frame: Value = serde_json::from_str(data).ok()?;
    let is_reasoning = frame["item"]["type"] == "reasoning" && frame["type"] == "response.output_item.done";
    let encrypted =
        frame["item"]["encrypted_content"].as_str().filter(|text| is_reasoning && !text.is_empty());
    Some(encrypted.map_or(Note::Border, |encrypted| Note::Signature(encrypted.to_owned())))
}

fn refusal(data: &str) -> Option<Note> {
    let frame: Value = serde_json::from_str(data).ok()?;
    Some(Note::Refused(frame["promptFeedback"]["blockReason"].as_str()?.to_owned()))
}

/// Half of a surrogate pair is what servers send that JSON in Rust cannot hold. Arguments come once more, whole.
fn unreadable(data: &str) -> Option<Note> {
    let may_have_half = data.contains("\\ud") || data.contains("\\uD");
    if !may_have_half || data.contains("response.function_call_arguments.delta") {
        return None;
    }
    let error = serde_json::from_str::<Value>(data).err()?;
    Some(Note::Unreadable(error.to_string()))
}

impl ChatFrameSink for Frames {
    fn on_frame(&self, cx: &FrameCtx, frame: RawFrameRef<'_>) {
        if let Some((observer, model)) = &self.observer {
            observer.event(model, frame.data);
        }
        if let Some(host) = &self.host {
            host.on_frame(cx, frame);
        }
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.read(self.protocol, frame.event, frame.data);
    }

    fn on_end(&self, cx: &FrameCtx, end: &StreamEnd) {
        if let Some(host) = &self.host {
            host.on_end(cx, end);
        }
    }

    fn on_error(&self, cx: &FrameCtx, error: &genai::Error) {
        if let Some(host) = &self.host {
            host.on_error(cx, error);
        }
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames").field("protocol", &self.protocol).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn notes(protocol: Protocol, frames: &[(&str, Value)]) -> Vec<Note> {
        let mut notes = Notes::default();
        for (event, data) in frames {
            notes.read(protocol, Some(*event).filter(|event| !event.is_empty()), &data.to_string());
        }
        notes.new
    }

    fn head(id: Option<&str>, model: Option<&str>) -> Note {
        Note::Head { id: id.map(str::to_owned), model: model.map(str::to_owned) }
    }

    #[test]
    fn the_head_is_found_where_each_protocol_has_it() {
        for (protocol, frame, expected) in [
            (Protocol::OpenAi, json!({"id": "r", "model": "m"}), head(Some("r"), Some("m"))),
            (
                Protocol::Anthropic,
                json!({"type": "message_start", "message": {"id": "r", "model": "m"}}),
                head(Some("r"), Some("m")),
            ),
            (Protocol::Responses, json!({"response": {"id": "r"}}), head(Some("r"), None)),
            (Protocol::Gemini, json!({"responseId": "r", "modelVersion": "m"}), head(Some("r"), Some("m"))),
            (Protocol::Ollama, json!({"model": "m", "message": {"content": ""}}), head(None, Some("m"))),
        ] {
            let all = notes(protocol, &[("", frame.clone()), ("", frame)]);
            assert_eq!(all, [Note::Begun, expected], "once, {protocol:?}");
        }
        let nothing =
            [("", json!(1)), ("", json!({"id": 7})), ("", json!({"id": ""})), ("", json!({"id": "late"}))];
        assert_eq!(notes(Protocol::OpenAi, &nothing), [Note::Begun]);
    }

    #[test]
    fn borders_hidden_thinking_signatures_and_refusals_are_told() {
        let start = |block: Value| ("content_block_start", json!({ "content_block": block }));
        let frames = [
            start(json!({"type": "thinking"})),
            ("content_block_stop", json!({})),
            start(json!({"type": "redacted_thinking", "data": "xyz"})),
            start(json!({"type": "text", "text": "redacted_thinking"})),
        ];
        assert_eq!(
            notes(Protocol::Anthropic, &frames),
            [Note::Begun, Note::Border, Note::Border, Note::Redacted("xyz".to_owned()), Note::Border]
        );
        let item = |kind: &str, encrypted: &str| {
            let item = json!({"type": kind, "encrypted_content": encrypted});
            ("", json!({"type": "response.output_item.done", "item": item}))
        };
        assert_eq!(
            notes(
                Protocol::Responses,
                &[item("reasoning", "abc"), item("reasoning", ""), item("message", "x")]
            ),
            [Note::Begun, Note::Signature("abc".to_owned()), Note::Border, Note::Border]
        );
        let mut unreadable = Notes::default();
        for data in [r#"{"delta":"\ud83d"}"#, r#"{"delta":"\ud83d\ude42"}"#] {
            unreadable.read(Protocol::Responses, None, data);
        }
        assert!(matches!(&unreadable.new[..], [Note::Begun, Note::Unreadable(_)]), "{:?}", unreadable.new);
        assert_eq!(
            notes(Protocol::Gemini, &[("", json!({"promptFeedback": {"blockReason": "SAFETY"}}))]),
            [Note::Begun, Note::Refused("SAFETY".to_owned())]
        );
    }
}
