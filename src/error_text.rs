//! Errors as text for people and models.

use std::any::Any;
use std::error::Error;
use std::fmt;

/// Writes an error and the errors behind it, joined by `: `. A text that already ends with its source's is not said
/// twice.
pub(crate) fn write_chain(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut said = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let text = source.to_string();
        if !said.ends_with(&text) {
            said.push_str(": ");
            said.push_str(&text);
        }
        next = source.source();
    }
    f.write_str(&said)
}

/// How many bytes of a text are kept that may quote what a model sent.
const QUOTED: usize = 1000;

/// A text that may quote what a model sent, without end: cut on a character border, and saying so. What goes back to
/// the model is paid for with every later request.
pub(crate) fn without_endless_quotes(text: String) -> String {
    if text.len() <= QUOTED {
        return text;
    }
    let mut end = QUOTED;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}… (cut, {} bytes in all)", text.get(..end).unwrap_or_default(), text.len())
}

/// The text of a panic, as far as it has one.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked without a text".to_owned())
}
