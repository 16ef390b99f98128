//! The arguments of a tool call, read while the model is still writing them.
//!
//! A model streams the arguments of a call as pieces of JSON text. [`ArgumentsBuilder`] grows a JSON value from
//! them, so that a host can show a file being written or a query being typed long before the call is complete. At
//! the end [`ArgumentsBuilder::finish`] decides whether the text was an object at all; what it refuses is an
//! [`ArgumentsError`], written for the model, and the tool does not run.
//!
//! ```
//! use turnstate::model::arguments::ArgumentsBuilder;
//!
//! let mut arguments = ArgumentsBuilder::new();
//! arguments.push(r#"{"path":"src/li"#);
//! assert_eq!(arguments.value(), Some(&serde_json::json!({"path": "src/li"})));
//! arguments.push(r#"b.rs","limit":1"#); // more digits may follow, so there is no limit yet
//! assert_eq!(arguments.value(), Some(&serde_json::json!({"path": "src/lib.rs"})));
//! arguments.push("20}");
//! assert_eq!(arguments.finish()?["limit"], 120);
//! # Ok::<(), turnstate::model::arguments::ArgumentsError>(())
//! ```
//!
//! # What is shown while streaming
//!
//! Only what the finished value will have, too: nothing is invented, and what has been shown stays.
//!
//! * an object or array appears with its opening bracket, a string with its opening quote, and it grows;
//! * a key appears together with the start of its value; a number when it has ended; `true`, `false` and `null`
//!   when they are spelled out; an escape (a surrogate pair is one) when it is whole;
//! * of a repeated key the last value counts, and replaces the earlier one as soon as it appears;
//! * from the first mistake on the value stands still.
//!
//! # What is repaired
//!
//! Mistakes that models make and that have one possible meaning, no others:
//!
//! | text | value |
//! |---|---|
//! | empty or blank | `{}` |
//! | the object in a code fence (three backticks, perhaps a language) | the object |
//! | a raw line break, tab or other control character in a string | that character |
//! | a backslash that begins no escape: `\d`, `C:\Users`, `\u12` | the backslash itself |
//! | half a surrogate pair: `\ud83d` | U+FFFD |
//!
//! Everything else is an error. In particular a missing bracket is not put in: it usually means that the answer was
//! cut off, and half a call must not run. An integer that 64 bits cannot hold is an error instead of being rounded
//! (or exact, in a program that switches on the feature `arbitrary_precision` of `serde_json`).
//! A text that needs no repair gives what [`serde_json::from_str`] gives.
//!
//! # Cost
//!
//! Every byte is looked at a constant number of times, however the text is cut and however often the value is read.
//! A fragment that brings no new structure costs a scan, a copy, and one step down each open bracket.

mod error;
mod number;
mod quoted;
mod reader;
mod tree;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

pub use self::error::ArgumentsError;
use self::reader::Reader;

/// Grows the arguments of one tool call from the fragments the model streams.
///
/// See the [module](self) for what is shown while streaming and what is repaired at the end.
#[derive(Debug, Clone)]
pub struct ArgumentsBuilder {
    text: String,
    reader: Reader,
    limits: ArgumentsLimits,
    /// A fragment did not fit. Later ones are dropped too, since the text would have a hole.
    too_large: bool,
}

impl ArgumentsBuilder {
    /// A builder without any text and with the default [limits](ArgumentsLimits).
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A builder that refuses arguments beyond `limits`.
    #[must_use]
    pub fn with_limits(limits: ArgumentsLimits) -> Self {
        Self { text: String::new(), reader: Reader::new(limits.max_depth), limits, too_large: false }
    }

    /// Adds the next piece of the text, cut wherever the model or its provider cut it.
    ///
    /// Never fails: after a mistake, or beyond a limit, the value stays as it was, and [`finish`](Self::finish) says
    /// what was wrong.
    pub fn push(&mut self, fragment: &str) {
        self.too_large |= fragment.len() > self.limits.max_bytes.saturating_sub(self.text.len());
        if !self.too_large {
            self.text.push_str(fragment);
            self.reader.read(&self.text);
        }
    }

    /// The arguments as far as they are certain; `None` before the opening brace of an object.
    ///
    /// Reading it costs nothing. With keys of many hundred bytes around the place that is being written, it may lag
    /// behind the text by a small part of their length; otherwise it holds all that is certain.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        self.reader.value()
    }

    /// The same as [`value`](Self::value), as the object it always is.
    #[must_use]
    pub fn object(&self) -> Option<&Map<String, Value>> {
        self.value().and_then(Value::as_object)
    }

    /// The raw text so far, without fragments that were beyond [`max_bytes`](ArgumentsLimits::max_bytes).
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether there is no text yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The complete arguments. No text, or blank text, stands for `{}`: models write nothing for a tool without
    /// parameters.
    ///
    /// # Errors
    ///
    /// When the text is not one whole JSON object after the [repairs](self#what-is-repaired), or beyond a limit.
    pub fn finish(self) -> Result<Map<String, Value>, ArgumentsError> {
        if self.too_large {
            return Err(ArgumentsError::TooLarge { limit: self.limits.max_bytes });
        }
        self.reader.finish(&self.text)
    }
}

impl Default for ArgumentsBuilder {
    fn default() -> Self {
        Self::with_limits(ArgumentsLimits::default())
    }
}

/// Reads complete arguments in one go, within the default [limits](ArgumentsLimits).
///
/// Gives exactly what an [`ArgumentsBuilder`] gives for the same text in any fragments.
///
/// # Errors
///
/// As for [`ArgumentsBuilder::finish`].
pub fn parse_arguments(text: &str) -> Result<Map<String, Value>, ArgumentsError> {
    let mut arguments = ArgumentsBuilder::new();
    arguments.push(text);
    arguments.finish()
}

/// How deep and how large the arguments of one call may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArgumentsLimits {
    max_depth: usize,
    max_bytes: usize,
}

impl ArgumentsLimits {
    /// The depth that `serde_json` reads, and the deepest one that can be asked for here: JSON values are compared,
    /// written and dropped by recursion, so an unlimited one could overflow the stack.
    const DEEPEST: usize = 127;

    /// The default limits: 100 levels and 16 MiB.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many objects and arrays may be open at once, 127 at most (a higher limit counts as 127).
    ///
    /// The default of 100 leaves room for what a saved transcript or an event puts around the arguments: beyond 127
    /// levels in all, `serde_json` would refuse to load them again.
    #[must_use]
    pub fn with_max_depth(mut self, levels: usize) -> Self {
        self.max_depth = levels.min(Self::DEEPEST);
        self
    }

    /// How long the text may be, in bytes. The value takes about as much memory when it is mostly text, and up to a
    /// hundred times as much when it is nothing but tiny objects.
    #[must_use]
    pub fn with_max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// How many objects and arrays may be open at once.
    #[must_use]
    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// How long the text may be, in bytes.
    #[must_use]
    pub fn max_bytes(&self) -> usize {
        self.max_bytes
    }
}

impl Default for ArgumentsLimits {
    fn default() -> Self {
        Self { max_depth: 100, max_bytes: 16 * 1024 * 1024 }
    }
}
