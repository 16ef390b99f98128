//! Errors as text for people and models.

use std::any::Any;
use std::error::Error;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

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

/// The text of an error that is a host's, and its end: both are foreign code.
pub(crate) fn foreign_text(error: impl fmt::Display) -> String {
    let text = catch_unwind(AssertUnwindSafe(|| error.to_string()));
    drop_foreign(error);
    text.unwrap_or_else(|panic| format!("the text of the error panicked: {}", panic_text(panic)))
}

/// How many bytes of a text are kept that may quote what a model sent.
const QUOTED: usize = 1000;

/// A text that may quote what a model sent, without end: cut on a character border, and saying so. What goes back to
/// the model is paid for with every later request.
pub(crate) fn without_endless_quotes(text: String) -> String {
    if text.len() <= QUOTED { text } else { excerpt(&text, QUOTED) }
}

/// At most the first `limit` bytes of a text that is shown to somebody, and how long it is if that is not all.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    format!("{}… (cut, {} bytes in all)", start_of(text, limit), text.len())
}

/// The longest start of `text` that has at most `limit` bytes and ends on a character border.
pub(crate) fn start_of(text: &str, limit: usize) -> &str {
    let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default()
}

/// The text of a panic, as far as it has one. The payload is foreign code's, and so is its drop.
pub(crate) fn panic_text(panic: Box<dyn Any + Send>) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(ToString::to_string)
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "panicked without a text".to_owned());
    drop_foreign(panic);
    text
}

/// Drops what a host gave. Its drop is foreign code: a panic there ends nothing but itself.
pub(crate) fn drop_foreign<T>(foreign: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(foreign))) {
        // A panic while dropping: this payload may panic in its turn, and so may the one after it.
        std::mem::forget(panic);
    }
}

/// Calls a host's code for what it does. A panic there ends nothing but itself.
pub(crate) fn call_foreign(foreign: impl FnOnce()) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(foreign)) {
        drop_foreign(panic);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_cut_on_a_character_border_and_says_so() {
        assert_eq!(excerpt("東京", 6), "東京");
        assert_eq!(excerpt("東京", 5), "東… (cut, 6 bytes in all)");
        assert_eq!(excerpt("東京", 2), "… (cut, 6 bytes in all)");
    }
}
