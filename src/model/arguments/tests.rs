#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cost;
mod laws;
mod oracle;
mod refusals;
mod streaming;

use super::{ArgumentsBuilder, ArgumentsError, ArgumentsLimits, parse_arguments};

use serde_json::{Value, json};

/// A builder that was given `text` in one piece.
fn builder(text: &str) -> ArgumentsBuilder {
    let mut arguments = ArgumentsBuilder::new();
    arguments.push(text);
    arguments
}

/// The value shown after `text`.
fn shown(text: &str) -> Option<Value> {
    builder(text).value().cloned()
}

/// The complete arguments, as a value.
fn finished(text: &str) -> Result<Value, ArgumentsError> {
    parse_arguments(text).map(Value::Object)
}

/// `text` cut into pieces of so many characters, the sizes used in turn.
fn pieces<'text>(text: &'text str, sizes: &[usize]) -> Vec<&'text str> {
    let mut rest = text;
    let mut sizes = sizes.iter().cycle();
    std::iter::from_fn(|| {
        let size = sizes.next().filter(|_| !rest.is_empty())?;
        let end = rest.char_indices().nth(*size).map_or(rest.len(), |(index, _)| index);
        let (piece, more) = rest.split_at(end);
        rest = more;
        Some(piece)
    })
    .collect()
}

/// Every prefix of a text, from the empty one to all of it.
fn prefixes(text: &str) -> impl Iterator<Item = &str> {
    (0..=text.len()).filter_map(|end| text.get(..end))
}

/// Whether `part` can grow into `whole` without taking anything back: strings by characters, arrays by items, objects by
/// keys, and other values not at all.
fn grows_into(part: &Value, whole: &Value) -> bool {
    match (part, whole) {
        (Value::String(part), Value::String(whole)) => whole.starts_with(part.as_str()),
        (Value::Array(part), Value::Array(whole)) => {
            part.len() <= whole.len() && part.iter().zip(whole).all(|(part, whole)| grows_into(part, whole))
        }
        (Value::Object(part), Value::Object(whole)) => {
            part.iter().all(|(key, part)| whole.get(key).is_some_and(|whole| grows_into(part, whole)))
        }
        _ => part == whole,
    }
}
