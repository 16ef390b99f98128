//! Words for values and for what schemas want, short enough for an error text.

use std::borrow::Cow;
use std::io;

use serde_json::Value;

use super::plan::{Node, NodeId, Plan};
use super::scalar::Kind;
use crate::error_text::start_of;

/// How many bytes of a value's JSON are echoed.
const ECHO: usize = 120;
/// How many bytes of a key, and of one allowed value, are shown.
const NAME: usize = 64;
/// How many bytes of a text from elsewhere, such as a pattern, are shown.
const EXCERPT: usize = 200;
/// How many bytes of a path are shown.
const PATH: usize = 160;
/// How many bytes are shown of what was expected.
const EXPECTED: usize = 600;
/// How many allowed values or keys are listed.
const LISTED: usize = 24;
/// How many choices are collected, to be counted if not listed.
const MOST_CHOICES: usize = 1024;

/// A text, cut after 200 bytes.
pub(super) fn excerpt(text: &str) -> Cow<'_, str> {
    cut(text, EXCERPT)
}

/// A key, cut after 64 bytes.
pub(super) fn key(key: &str) -> Cow<'_, str> {
    cut(key, NAME)
}

/// A path, cut after 160 bytes.
pub(super) fn path(segments: &[String]) -> String {
    cut(&segments.join("."), PATH).into_owned()
}

/// What was expected, cut after 600 bytes.
pub(super) fn expected(text: &str) -> String {
    cut(text, EXPECTED).into_owned()
}

fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if text.len() <= limit {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", start_of(text, limit)))
}

/// What came: the kind of a value and its JSON. A long one is cut on a character border, and that is said.
pub(super) fn value(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let mut head = Head::default();
    // Writing into the head does not fail.
    let _ = serde_json::to_writer(&mut head, value);
    let kept = String::from_utf8_lossy(&head.kept);
    if head.total <= ECHO {
        format!("the {kind} {kept}")
    } else {
        // Bytes of a character that did not fit whole end in replacement characters.
        let kept = kept.trim_end_matches(char::REPLACEMENT_CHARACTER);
        format!("the {kind} {kept}… (cut, {} bytes in all)", head.total)
    }
}

/// Keeps the start of what is written, and counts the rest.
#[derive(Default)]
struct Head {
    kept: Vec<u8>,
    total: usize,
}

impl io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = ECHO.saturating_sub(self.kept.len());
        self.kept.extend(bytes.iter().take(room));
        self.total = self.total.saturating_add(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// One thing that a schema takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Choice<'p> {
    /// This value.
    Listed(&'p Value),
    /// A kind of values, in words.
    Kind(String),
}

/// What the subschema `id` takes, as far as it can be said in a few words. Empty: it cannot.
pub(super) fn choices(plan: &Plan, id: NodeId) -> Vec<Choice<'_>> {
    let mut collector = Collector { plan, seen: Vec::new(), choices: Vec::new() };
    collector.collect(id);
    collector.choices
}

struct Collector<'p> {
    plan: &'p Plan,
    seen: Vec<NodeId>,
    choices: Vec<Choice<'p>>,
}

impl<'p> Collector<'p> {
    /// Adds what a node takes: the values it lists, else its types, else what its unions or references take.
    fn collect(&mut self, id: NodeId) {
        /// More say nothing more to a reader.
        const MOST: usize = 64;
        if self.seen.len() >= MOST || self.seen.contains(&id) {
            return;
        }
        self.seen.push(id);
        let Some(node) = self.plan.node(id) else { return };
        let kinds = node.types.iter().map(|kind| match kind {
            Kind::Object => Choice::Kind(object(node)),
            kind => Choice::Kind(kind_name(*kind).to_owned()),
        });
        if !node.listed.is_empty() {
            self.add(node.listed.iter().map(Choice::Listed));
        } else if !node.types.is_empty() {
            self.add(kinds);
        } else if let Some(union) = [&node.any_of, &node.one_of].into_iter().find(|union| !union.is_empty()) {
            union.iter().for_each(|branch| self.collect(*branch));
        } else if !node.properties.is_empty() {
            self.add([Choice::Kind(object(node))]);
        } else {
            let before = self.choices.len();
            node.all_of.iter().for_each(|all| {
                if self.choices.len() == before {
                    self.collect(*all);
                }
            });
        }
    }

    fn add(&mut self, choices: impl IntoIterator<Item = Choice<'p>>) {
        for choice in choices {
            if self.choices.len() <= MOST_CHOICES && !self.choices.contains(&choice) {
                self.choices.push(choice);
            }
        }
    }
}

fn object(node: &Node) -> String {
    let required: Vec<String> = node.required.iter().map(|name| format!("`{}`", key(name))).collect();
    if required.is_empty() {
        "an object".to_owned()
    } else {
        format!("an object with {}", joined(required, "and"))
    }
}

/// Choices in one phrase, listed values once and at the end.
pub(super) fn phrase(choices: &[Choice<'_>]) -> String {
    let mut words = Vec::new();
    let mut listed = Vec::new();
    for choice in choices {
        match choice {
            Choice::Kind(kind) => words.push(kind.clone()),
            Choice::Listed(value) => listed.push(*value),
        }
    }
    if !listed.is_empty() {
        words.push(allowed(listed));
    }
    if words.is_empty() { "a value that fits the schema".to_owned() } else { joined(words, "or") }
}

/// The types of a node in one phrase.
pub(super) fn kinds(kinds: &[Kind]) -> String {
    joined(kinds.iter().map(|kind| kind_name(*kind).to_owned()).collect(), "or")
}

/// Allowed values in one phrase.
pub(super) fn allowed(values: Vec<&Value>) -> String {
    let one = values.len() == 1;
    let count = values.len();
    let values = values.into_iter().take(LISTED).map(|value| cut(&value.to_string(), NAME).into_owned());
    let list = values.collect::<Vec<_>>().join(", ");
    match count.checked_sub(LISTED) {
        _ if one => list,
        None | Some(0) => format!("one of {list}"),
        Some(_) => format!("one of {list}, … ({count} in all)"),
    }
}

/// Allowed keys in one phrase.
pub(super) fn allowed_keys<'k>(keys: impl ExactSizeIterator<Item = &'k str>) -> String {
    let count = keys.len();
    let list: Vec<String> = keys.take(LISTED).map(|name| format!("`{}`", key(name))).collect();
    match (count, list.join(", ")) {
        (0, _) => "no key at all".to_owned(),
        (1, list) => format!("no other key than {list}"),
        (_, list) if count <= LISTED => format!("one of the keys {list}"),
        (_, list) => format!("one of the keys {list}, … ({count} in all)"),
    }
}

/// A count of things: `1 item`, `2 items`.
pub(super) fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Null => "null",
        Kind::Boolean => "a boolean",
        Kind::Integer => "an integer",
        Kind::Number => "a number",
        Kind::String => "a string",
        Kind::Array => "an array",
        Kind::Object => "an object",
    }
}

fn joined(mut words: Vec<String>, conjunction: &str) -> String {
    match (words.pop(), words.is_empty()) {
        (None, _) => String::new(),
        (Some(last), true) => last,
        (Some(last), false) => format!("{} {conjunction} {last}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_echo_is_cut_on_a_character_border_and_says_so() {
        for length in 0..ECHO + 8 {
            let text = format!("{}{}", "a".repeat(length), "😀".repeat(1_000));
            let echo = value(&json!(text));
            assert!(echo.len() < ECHO + 64 && !echo.contains(char::REPLACEMENT_CHARACTER), "{echo}");
            assert!(echo.ends_with(&format!("… (cut, {} bytes in all)", text.len() + 2)), "{echo}");
        }
        assert_eq!(value(&json!("a\n😀")), r#"the string "a\n😀""#);
        assert_eq!(value(&json!([1, null])), "the array [1,null]");
        assert_eq!(value(&json!(1.5)), "the number 1.5");
    }

    #[test]
    fn a_long_key_is_cut_on_a_character_border() {
        for length in 0..NAME {
            let text = format!("{}{}", "a".repeat(length), "😀".repeat(100));
            assert!(key(&text).len() <= NAME + "…".len());
            assert!(key(&text).ends_with('…'));
        }
        assert_eq!(key("short"), "short");
    }
}
