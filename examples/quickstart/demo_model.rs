//! The demonstration model: scripted, so that the program runs without a network. It reads the conversation, calls the
//! tools it needs, and makes its answer from their results.

use std::time::Duration;

use futures::stream::{self, StreamExt};
use turnstate::message::{Message, StopReason};
use turnstate::model::{Delta, Model, Request, StreamFn};

use crate::text::count;

pub(crate) fn model() -> Model {
    Model::new("demonstration", "scripted")
}

/// A stream function that answers by rules.
pub(crate) fn stream_fn() -> impl StreamFn {
    |request: Request| {
        let deltas = deltas_of(&decide(&request.messages));
        stream::iter(deltas).then(async |delta| {
            smol::Timer::after(Duration::from_millis(12)).await;
            delta
        })
    }
}

/// What the model decides to do.
enum Decision {
    Call { thinking: String, tool: &'static str, arguments: serde_json::Value },
    Answer(String),
}

/// Looks at the last question and at the results since: lists, then reads, then answers.
fn decide(messages: &[Message]) -> Decision {
    let asked_at = messages.iter().rposition(|message| matches!(message, Message::User(_))).unwrap_or(0);
    let question = match messages.get(asked_at) {
        Some(Message::User(user)) => user.content.texts().collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    let results: Vec<_> = messages
        .iter()
        .skip(asked_at)
        .filter_map(|message| match message {
            Message::ToolResult(result) => {
                Some((result.tool_name.as_str(), result.texts().collect::<String>(), result.is_error))
            }
            _ => None,
        })
        .collect();
    match (results.as_slice(), quoted(&question)) {
        ([], Some(command)) => Decision::Call {
            thinking: "I am to run a command; the person will be asked first.".to_owned(),
            tool: "run_command",
            arguments: serde_json::json!({ "command": command }),
        },
        ([], None) => Decision::Call {
            thinking: "First I look at what is here.".to_owned(),
            tool: "list_files",
            arguments: serde_json::json!({ "path": "." }),
        },
        ([("list_files", listing, false)], _) => read_or_write(&question, listing),
        ([.., ("read_file", text, false)], _) => Decision::Answer(answer_from(&question, text)),
        ([.., (_, text, _)], _) => Decision::Answer(format!("This is what came of it: {}", text.trim_end())),
    }
}

/// What stands between backquotes: a command.
fn quoted(question: &str) -> Option<&str> {
    let mut parts = question.split('`');
    parts.nth(1).filter(|command| !command.is_empty() && parts.next().is_some())
}

fn read_or_write(question: &str, listing: &str) -> Decision {
    let named =
        listing.lines().find(|name| question.contains(name.trim_end_matches('/')) && !name.ends_with('/'));
    if question.to_lowercase().contains("write") {
        return Decision::Call {
            thinking: "I am to write something down; the person will be asked first.".to_owned(),
            tool: "write_file",
            arguments: serde_json::json!({ "path": "note.txt", "content": format!("{question}\n") }),
        };
    }
    match named.or_else(|| listing.lines().find(|name| *name == "Cargo.toml")) {
        Some(file) => Decision::Call {
            thinking: format!("{file} should tell."),
            tool: "read_file",
            arguments: serde_json::json!({ "path": file }),
        },
        None => Decision::Answer(format!("These files are here:\n{listing}")),
    }
}

/// An answer from a file's text: the names under `[dependencies]` if it has any, otherwise how it begins.
fn answer_from(question: &str, text: &str) -> String {
    let names: Vec<_> = text
        .lines()
        .skip_while(|line| line.trim() != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once('=').map(|(name, _)| name.trim()))
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .collect();
    if names.is_empty() || !question.to_lowercase().contains("dependenc") {
        let lines = count(text.lines().count().try_into().unwrap_or(u64::MAX), "line");
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or("nothing");
        return format!("The file has {lines} and begins with: {first}");
    }
    format!("It names these dependencies: {}.", names.join(", "))
}

/// The decision as a model streams it: in small pieces.
fn deltas_of(decision: &Decision) -> Vec<Delta> {
    let mut deltas = vec![Delta::Start];
    match decision {
        Decision::Answer(text) => {
            deltas.push(Delta::TextStart { index: 0 });
            deltas.extend(pieces(text).map(|piece| Delta::text(0, piece)));
            deltas.push(Delta::TextEnd { index: 0, signature: None });
            deltas.push(Delta::done(StopReason::Stop));
        }
        Decision::Call { thinking, tool, arguments } => {
            deltas.push(Delta::ThinkingStart { index: 0 });
            deltas.extend(pieces(thinking).map(|piece| Delta::thinking(0, piece)));
            deltas.push(Delta::ThinkingEnd { index: 0, signature: None, redacted: false });
            deltas.push(Delta::tool_call_start(1, format!("call_{tool}"), *tool));
            deltas.extend(pieces(&arguments.to_string()).map(|piece| Delta::tool_call(1, piece)));
            deltas.push(Delta::ToolCallEnd { index: 1, call: None });
            deltas.push(Delta::done(StopReason::ToolUse));
        }
    }
    deltas
}

fn pieces(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_inclusive(' ').map(str::to_owned)
}
