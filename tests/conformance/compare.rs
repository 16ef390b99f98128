//! Where two traces first differ.

use serde_json::{Map, Value, json};

use crate::record::Trace;

/// The first difference of two traces: where, what was expected, what came.
pub(crate) fn first_difference(ours: &Trace, reference: &Trace) -> Option<String> {
    let hooks =
        |hooks: &[Value]| hooks.iter().filter(|hook| !is_aborted_call(hook)).cloned().collect::<Vec<_>>();
    lists("event", &ours.events, &reference.events)
        .or_else(|| lists("request", &ours.requests, &reference.requests))
        .or_else(|| lists("hook", &hooks(&ours.hooks), &hooks(&reference.hooks)))
        .or_else(|| {
            values("executions", &ours.executions.clone().into(), &reference.executions.clone().into())
        })
        .or_else(|| lists("call", &ours.calls, &reference.calls))
        .or_else(|| values("marks", &json!(ours.marks), &json!(reference.marks)))
        .or_else(|| values("final", &json!(ours.end), &json!(reference.end)))
}

/// A call of a hook on the way to a request that is not made after an abort: it need not be made either.
fn is_aborted_call(hook: &Value) -> bool {
    let on_the_way = ["prepareNextTurn", "prepareRequest", "transformContext", "getApiKey"];
    hook["aborted"] == true && on_the_way.iter().any(|name| hook["hook"] == *name)
}

fn lists(what: &str, ours: &[Value], reference: &[Value]) -> Option<String> {
    let longest = ours.len().max(reference.len());
    (0..longest).find_map(|at| match (ours.get(at), reference.get(at)) {
        (Some(ours), Some(reference)) => values(&format!("{what} {at}"), ours, reference),
        (ours, reference) => Some(told(&format!("{what} {at}"), "", ours, reference)),
    })
}

/// The first difference of two values.
pub(crate) fn values(what: &str, ours: &Value, reference: &Value) -> Option<String> {
    let Difference { path, .. } = difference(ours, reference, Reading::Whole)?;
    let at = |value| if path.is_empty() { Some(value) } else { Value::pointer(value, &path) };
    let mut text = told(what, &path, at(ours), at(reference));
    if !path.is_empty() {
        text.push_str(&format!("\n      in {}", shortened(&reference.to_string())));
    }
    Some(text)
}

fn told(what: &str, path: &str, ours: Option<&Value>, reference: Option<&Value>) -> String {
    let show =
        |value: Option<&Value>| value.map_or("nothing".to_owned(), |value| shortened(&value.to_string()));
    format!("{what}{path}\n      expected {}\n      got      {}", show(reference), show(ours))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(300) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

struct Difference {
    path: String,
}

/// How the arguments of calls are read here.
#[derive(Clone, Copy, PartialEq)]
enum Reading {
    /// They are complete.
    Whole,
    /// They may have been cut off: only what is certain is shown.
    Streaming,
}

/// Compares JSON values: the order of keys does not matter, numbers compare by value.
fn difference(ours: &Value, reference: &Value, reading: Reading) -> Option<Difference> {
    match (ours, reference) {
        (Value::Object(a), Value::Object(b)) => {
            let reading = if is_streaming(b) { Reading::Streaming } else { reading };
            let cut_off = reading == Reading::Streaming && b.get("type") == Some(&json!("toolCall"));
            keys(a, b).find_map(|key| match (a.get(key), b.get(key)) {
                (Some(a), Some(b)) if key == "arguments" && cut_off && streams_as(a, b) => None,
                (Some(a), Some(b)) => below(key, difference(a, b, reading)),
                _ => Some(Difference { path: format!("/{key}") }),
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(at, (a, b))| below(&at.to_string(), difference(a, b, reading))),
        _ if same_leaf(ours, reference) => None,
        _ => Some(Difference { path: String::new() }),
    }
}

/// All keys of two objects.
fn keys<'a>(a: &'a Map<String, Value>, b: &'a Map<String, Value>) -> impl Iterator<Item = &'a String> {
    b.keys().chain(a.keys().filter(|key| !b.contains_key(*key)))
}

fn below(key: &str, found: Option<Difference>) -> Option<Difference> {
    found.map(|Difference { path }| Difference { path: format!("/{key}{path}") })
}

fn same_leaf(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        _ => a == b,
    }
}

/// Whether two values are the same, numbers by value.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    difference(a, b, Reading::Whole).is_none()
}

/// Whether an object is an update of an answer whose call goes on, or an answer that may have been cut off in a call.
fn is_streaming(object: &Map<String, Value>) -> bool {
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    match text("type") {
        Some("message_update") => object["event"]["type"] != "toolcall_end",
        _ => {
            text("role") == Some("assistant")
                && matches!(text("stopReason"), Some("error" | "aborted" | "length"))
        }
    }
}

/// Whether arguments that stream may be shown like this, where the reference shows that.
///
/// A number, a word or a key that is not certain yet is left out (one at most: the last); a string may be shown
/// sooner, or with the blanks at its end.
fn streams_as(ours: &Value, reference: &Value) -> bool {
    let waits = grows_into(ours, reference) && leaves(reference) == leaves(ours) + 1;
    waits || grows_into(reference, ours)
}

/// Whether `less` can become `more` as text goes on.
fn grows_into(less: &Value, more: &Value) -> bool {
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
fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(leaves).sum(),
        Value::Object(object) => object.values().map(leaves).sum(),
        _ => 1,
    }
}
