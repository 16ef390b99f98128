//! Where two traces first differ.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use turnstate::message::Usage;

use crate::record::{Record, Trace};

/// The first difference of a replay from its record: where, what was expected, what came.
pub(crate) fn first_difference(ours: &Trace, record: &Record) -> Option<String> {
    let reference = &record.trace;
    let substitutes = record.has_tag("run_failure");
    let comparison = Comparison { cut_off: cut_off_calls(&reference.events), substitutes };
    comparison.traces(ours, reference)
}

/// The first difference of two replays.
pub(crate) fn between(ours: &Trace, theirs: &Trace) -> Option<String> {
    Comparison::default().traces(ours, theirs)
}

/// The first difference of two values.
pub(crate) fn difference(what: &str, ours: &Value, reference: &Value) -> Option<String> {
    Comparison::default().values(what, ours, reference)
}

/// Whether two values are the same, numbers by value.
pub(crate) fn same(ours: &Value, reference: &Value) -> bool {
    Comparison::default().path(ours, reference, false).is_none()
}

/// A call of a hook on the way to a request that is not made after an abort: it need not be made either.
fn is_needless(hook: &Value) -> bool {
    let on_the_way = ["prepareNextTurn", "prepareRequest", "transformContext", "getApiKey"];
    hook["aborted"] == true && on_the_way.iter().any(|name| hook["hook"] == *name)
}

/// The calls of answers that failed or were cut: their arguments may not be complete.
fn cut_off_calls(events: &[Value]) -> HashSet<String> {
    let cut =
        |message: &&Value| matches!(message["stopReason"].as_str(), Some("error" | "aborted" | "length"));
    let messages = events.iter().filter_map(|event| event.get("message")).filter(cut);
    let blocks = messages.filter_map(|message| message["content"].as_array()).flatten();
    blocks.filter_map(|block| block["id"].as_str()).map(str::to_owned).collect()
}

/// Compares JSON values: the order of keys does not matter, numbers compare by value.
#[derive(Default)]
struct Comparison {
    /// Calls whose arguments are compared as streaming ones.
    cut_off: HashSet<String>,
    /// Failed answers may be substitutes: those of the reference do not say which thinking level was asked for.
    substitutes: bool,
}

impl Comparison {
    fn traces(&self, ours: &Trace, reference: &Trace) -> Option<String> {
        let asked =
            |hooks: &[Value]| hooks.iter().filter(|hook| !is_needless(hook)).cloned().collect::<Vec<_>>();
        let executions = |trace: &Trace| Value::Object(trace.executions.clone());
        self.lists("event", &ours.events, &reference.events)
            .or_else(|| self.lists("request", &ours.requests, &reference.requests))
            .or_else(|| self.lists("hook", &asked(&ours.hooks), &asked(&reference.hooks)))
            .or_else(|| self.values("executions", &executions(ours), &executions(reference)))
            .or_else(|| self.lists("call", &ours.calls, &reference.calls))
            .or_else(|| self.values("marks", &json!(ours.marks), &json!(reference.marks)))
            .or_else(|| self.values("final", &json!(ours.end), &json!(reference.end)))
    }

    fn lists(&self, what: &str, ours: &[Value], reference: &[Value]) -> Option<String> {
        let longest = ours.len().max(reference.len());
        (0..longest).find_map(|at| match (ours.get(at), reference.get(at)) {
            (Some(ours), Some(reference)) => self.values(&format!("{what} {at}"), ours, reference),
            (ours, reference) => Some(told(&format!("{what} {at}"), ours, reference)),
        })
    }

    fn values(&self, what: &str, ours: &Value, reference: &Value) -> Option<String> {
        let path = self.path(ours, reference, false)?;
        let mut text = told(&format!("{what}{path}"), ours.pointer(&path), reference.pointer(&path));
        if !path.is_empty() {
            text.push_str(&format!("\n      in {}", shortened(&reference.to_string())));
        }
        Some(text)
    }

    /// The path to the first difference. `streaming`: this is an update of an answer that goes on.
    fn path(&self, ours: &Value, reference: &Value, streaming: bool) -> Option<String> {
        match (ours, reference) {
            (Value::Object(a), Value::Object(b)) => {
                let streaming = streaming || is_streaming_update(b);
                let cut_off = streaming || self.is_cut_off(b);
                let no_level = self.substitutes && is_failed(b) && !b.contains_key("thinkingLevel");
                all_keys(a, b).find_map(|key| match (a.get(key), b.get(key)) {
                    _ if key == "thinkingLevel" && no_level => None,
                    (Some(a), Some(b)) if cut_off && is_arguments(key) && streams_as(a, b) => None,
                    (Some(a), Some(b)) if key == "usage" && same_usage(a, b) => None,
                    (Some(a), Some(b)) => below(key, self.path(a, b, streaming)),
                    _ => Some(format!("/{key}")),
                })
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
                .iter()
                .zip(b)
                .enumerate()
                .find_map(|(at, (a, b))| below(&at.to_string(), self.path(a, b, streaming))),
            _ if same_leaf(ours, reference) => None,
            _ => Some(String::new()),
        }
    }

    /// Whether an object is a call that may have been cut off, or tells of one.
    fn is_cut_off(&self, object: &Map<String, Value>) -> bool {
        let id = object.get("toolCallId").or_else(|| object.get("id")).and_then(Value::as_str);
        id.is_some_and(|id| self.cut_off.contains(id))
    }
}

fn told(what: &str, ours: Option<&Value>, reference: Option<&Value>) -> String {
    let show =
        |value: Option<&Value>| value.map_or("nothing".to_owned(), |value| shortened(&value.to_string()));
    format!("{what}\n      expected {}\n      got      {}", show(reference), show(ours))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn all_keys<'a>(a: &'a Map<String, Value>, b: &'a Map<String, Value>) -> impl Iterator<Item = &'a String> {
    b.keys().chain(a.keys().filter(|key| !b.contains_key(*key)))
}

fn below(key: &str, path: Option<String>) -> Option<String> {
    path.map(|path| format!("/{key}{path}"))
}

fn same_leaf(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

/// Counts that are not named are zero.
fn same_usage(a: &Value, b: &Value) -> bool {
    let read = |json: &Value| serde_json::from_value::<Usage>(json.clone()).ok();
    read(a).is_some() && read(a) == read(b)
}

fn is_failed(message: &Map<String, Value>) -> bool {
    matches!(message.get("stopReason").and_then(Value::as_str), Some("error" | "aborted"))
}

fn is_arguments(key: &str) -> bool {
    matches!(key, "arguments" | "args")
}

fn is_streaming_update(event: &Map<String, Value>) -> bool {
    event.get("type") == Some(&json!("message_update")) && event["event"]["type"] != "toolcall_end"
}

/// Whether arguments that stream may be shown like this, where the reference shows that.
///
/// A number, a word or a key that is not certain yet is left out (one at most: the last); a string may be shown
/// sooner, or with the blanks at its end; what is no object shows as an empty one.
fn streams_as(ours: &Value, reference: &Value) -> bool {
    let waits = grows_into(ours, reference) && leaves(reference) == leaves(ours) + 1;
    let is_none = !reference.is_object() && *ours == json!({});
    waits || is_none || grows_into(reference, ours)
}

/// Whether `less` can become `more` as text goes on.
pub(crate) fn grows_into(less: &Value, more: &Value) -> bool {
    match (less, more) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().all(|(key, a)| b.get(key).is_some_and(|b| grows_into(a, b)))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() <= b.len() && a.iter().zip(b).all(|(a, b)| grows_into(a, b))
        }
        (Value::String(a), Value::String(b)) => b.starts_with(a.as_str()),
        _ => same_leaf(less, more),
    }
}

/// How many numbers, words and strings a value has.
pub(crate) fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(leaves).sum(),
        Value::Object(object) => object.values().map(leaves).sum(),
        _ => 1,
    }
}
