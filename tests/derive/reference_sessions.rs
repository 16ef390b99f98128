//! Sessions as the reference saves them load into a derived type, are projected, and are saved back as they were.

use serde_json::Value;
use turnstate::message::{AgentMessage, Content, UserMessage};
use turnstate::transcript::{Projector, Repair};
use turnstate::{CustomMessage, Transcript};

/// The roles of the reference traces.
#[derive(Debug, PartialEq, CustomMessage)]
enum TraceMessage {
    #[message(user = "[note] {text}")]
    Note {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timestamp: Option<u64>,
    },
    #[message(skip)]
    Ui {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        timestamp: Option<u64>,
    },
}

fn vectors() -> Vec<Value> {
    let file: Value = serde_json::from_str(include_str!("../conformance/vectors/sessions.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap().clone();
    assert!(!vectors.is_empty());
    vectors
}

#[test]
fn sessions_of_the_reference_load_and_are_saved_back() {
    for vector in vectors() {
        let why = &vector["why"];
        let loaded = serde_json::from_value::<Transcript<TraceMessage>>(vector["messages"].clone());
        let expected = &vector["expect"];
        if let Some(role) = expected["error"].as_str() {
            let error = loaded.unwrap_err().to_string();
            assert_eq!(
                error,
                format!(
                    "unknown role `{role}`, expected one of: system, user, assistant, toolResult, note, ui"
                ),
                "{why}"
            );
            continue;
        }
        let loaded = loaded.unwrap_or_else(|error| panic!("{why}: {error}"));
        let saved = serde_json::to_value(&loaded).unwrap();
        assert_eq!(loaded.len(), vector["messages"].as_array().unwrap().len());
        if expected["same"] == true {
            assert_same(&saved, &vector["messages"], "messages");
        }
        if let Some(content) = expected.get("contentOf2") {
            assert_eq!(&saved[2]["content"], content, "{why}");
        }
        project(&loaded);
    }
}

/// What the model sees of a loaded session: the standard roles as they are, a note as a user message, nothing else.
fn project(transcript: &Transcript<TraceMessage>) {
    let expected = transcript.iter().filter_map(|message| match message.custom() {
        None => Some(serde_json::to_value(message).unwrap()),
        Some(TraceMessage::Ui { .. }) => None,
        Some(TraceMessage::Note { text, timestamp }) => {
            let blocks = vec![Content::text(format!("[note] {text}"))];
            let seen = UserMessage::new(blocks).at(timestamp.unwrap_or(0));
            Some(serde_json::to_value(AgentMessage::<TraceMessage>::from(seen)).unwrap())
        }
    });
    let seen = Projector::of(Repair::Off, transcript).messages();
    assert_eq!(serde_json::to_value(&seen).unwrap(), Value::Array(expected.collect()));
}

/// The same JSON value, where `1` and `1.0` are the same number, as they are for the reference.
fn assert_same(saved: &Value, expected: &Value, at: &str) {
    match (saved, expected) {
        (Value::Number(saved), Value::Number(expected)) => {
            assert!(
                saved == expected || saved.as_f64() == expected.as_f64(),
                "{at}: {saved}, not {expected}"
            );
        }
        (Value::Array(saved), Value::Array(expected)) => {
            assert_eq!(saved.len(), expected.len(), "{at}");
            for (index, (saved, expected)) in saved.iter().zip(expected).enumerate() {
                assert_same(saved, expected, &format!("{at}[{index}]"));
            }
        }
        (Value::Object(saved), Value::Object(expected)) => {
            assert_eq!(saved.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>(), "{at}");
            for (name, expected) in expected {
                assert_same(&saved[name], expected, &format!("{at}.{name}"));
            }
        }
        (saved, expected) => assert_eq!(saved, expected, "{at}"),
    }
}
