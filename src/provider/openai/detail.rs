//! OpenRouter's reasoning details: thinking that the model's own provider has signed, or encrypted.

use serde_json::{Map, Value};

/// The fields of a detail that hold its text.
const TEXT_FIELDS: [&str; 2] = ["text", "summary"];

/// A detail without its text, which is the thinking of its block. It goes back as it came.
#[derive(Debug, PartialEq)]
pub(super) struct Detail(Map<String, Value>);

impl Detail {
    /// The details of a piece, each with its text. What is not known as one is passed over.
    pub(super) fn all_in(details: Option<Value>) -> Vec<(Self, String)> {
        let Some(Value::Array(details)) = details else { return Vec::new() };
        details.into_iter().filter_map(Self::read).collect()
    }

    fn read(detail: Value) -> Option<(Self, String)> {
        let Value::Object(mut fields) = detail else { return None };
        // `null` says nothing, and must not go over what was said.
        fields.retain(|_, value| !value.is_null());
        let text = TEXT_FIELDS.map(|name| match fields.remove(name) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        });
        let is_reasoning = fields.get("type")?.as_str()?.starts_with("reasoning.");
        is_reasoning.then(|| (Self(fields), text.concat()))
    }

    /// Whether the next piece is of the same detail. One that is encrypted comes in one piece.
    pub(super) fn goes_on_with(&self, next: &Self) -> bool {
        let same = |name: &str| self.0.get(name) == next.0.get(name);
        same("type") && same("index") && !self.0.contains_key("data") && !next.0.contains_key("data")
    }

    /// Takes what the next piece says.
    pub(super) fn merge(&mut self, next: Self) {
        self.0.extend(next.0);
    }

    pub(super) fn into_signature(self) -> String {
        Value::Object(self.0).to_string()
    }

    /// The detail as it came, from the signature and the text of its block; `None` where the signature is another.
    pub(super) fn restored(signature: &str, text: &str) -> Option<Value> {
        let mut fields: Map<String, Value> = serde_json::from_str(signature).ok()?;
        let kind = fields.get("type")?.as_str().filter(|kind| kind.starts_with("reasoning."))?;
        let text_field = if kind == "reasoning.summary" { "summary" } else { "text" };
        if !fields.contains_key("data") {
            fields.insert(text_field.to_owned(), text.into());
        }
        Some(fields.into())
    }
}
