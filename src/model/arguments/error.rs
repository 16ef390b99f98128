//! Why arguments were refused, in words that a model can act on.

use thiserror::Error;

use super::number::NumberFault;
use super::reader::{Fault, FaultKind, State};
use super::tree::Container;

/// Why the text of a tool call's arguments is not the arguments of a call.
///
/// The text of the error goes back to the model as the result of its call, so it says what is wrong, where, and what
/// to send instead. What it quotes of the arguments is short. Positions (`at`) are in bytes from the start of the text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ArgumentsError {
    /// The text is, or begins as, another kind of JSON value.
    #[error(
        "the arguments must be a JSON object, got {got}: send one object such as {{\"name\": \"value\"}}"
    )]
    NotAnObject {
        /// The kind with its article, for example `an array`.
        got: &'static str,
    },

    /// The text ends too early. Most likely the answer was cut off by a limit on its length.
    #[error(
        "the arguments stop before their JSON object is complete, after `{near}`: send the whole call again, \
         with shorter arguments if they were cut off"
    )]
    Incomplete {
        /// The last characters of the text.
        near: String,
    },

    /// The text breaks the rules of JSON in a way that is not repaired.
    #[error("the arguments are not valid JSON: expected {expected} at byte {at}, near `{near}`{}", clause(.advice))]
    Malformed {
        /// The place of the first mistake.
        at: usize,
        /// What should be there.
        expected: &'static str,
        /// The text around it.
        near: String,
        /// How to avoid the most likely mistake; may be empty.
        advice: &'static str,
    },

    /// Something follows the object.
    #[error(
        "the arguments go on after the end of their JSON object at byte {at}, near `{near}`: send one object alone"
    )]
    Trailing {
        /// The first byte that does not belong there.
        at: usize,
        /// The text around it.
        near: String,
    },

    /// An integer is beyond 64 bits. Passing it on would change it, for example into another record's id.
    #[error(
        "the integer at byte {at}, near `{near}`, is too large to be passed on exactly: send it as a string if the \
         tool takes one, else a number between -9223372036854775808 and 18446744073709551615"
    )]
    InexactInteger {
        /// The integer's first byte.
        at: usize,
        /// The text around it.
        near: String,
    },

    /// A number is beyond what a 64-bit floating-point number can hold.
    #[error("the number at byte {at}, near `{near}`, is too large: send one below 1e308")]
    NumberOutOfRange {
        /// The number's first byte.
        at: usize,
        /// The text around it.
        near: String,
    },

    /// Too many objects and arrays are open at once.
    #[error("the arguments are nested more than {limit} levels deep at byte {at}: send a flatter object")]
    TooDeep {
        /// The first bracket that is too deep.
        at: usize,
        /// The limit that was hit.
        limit: usize,
    },

    /// The text is too long.
    #[error("the arguments are longer than {limit} bytes: send less at once, in several calls if need be")]
    TooLarge {
        /// The limit that was hit, in bytes.
        limit: usize,
    },
}

impl ArgumentsError {
    pub(super) fn incomplete(text: &str) -> Self {
        Self::Incomplete { near: near(text, text.len()) }
    }
}

/// What a fault of the reader means.
pub(super) fn explain(text: &str, fault: Fault) -> ArgumentsError {
    let Fault { kind, at, state, inside } = fault;
    let near = near(text, at);
    match kind {
        FaultKind::TooDeep { limit } => ArgumentsError::TooDeep { at, limit },
        FaultKind::Number(NumberFault::Inexact) => ArgumentsError::InexactInteger { at, near },
        FaultKind::Number(NumberFault::OutOfRange) => ArgumentsError::NumberOutOfRange { at, near },
        FaultKind::Number(NumberFault::Malformed) => {
            ArgumentsError::Malformed { at, expected: "a number", near, advice: NUMBERS }
        }
        FaultKind::Unexpected => match (state, other_kind(text, at)) {
            (State::Start, Some(got)) => ArgumentsError::NotAnObject { got },
            (State::End, _) => ArgumentsError::Trailing { at, near },
            _ => {
                let expected = expected(state, inside);
                ArgumentsError::Malformed { at, expected, near, advice: likely_mistake(text, at, state) }
            }
        },
    }
}

/// The kind of JSON value that begins at a position, unless it is an object or no value at all.
fn other_kind(text: &str, at: usize) -> Option<&'static str> {
    let rest = text.get(at..)?;
    let word = rest.split(|letter: char| !letter.is_alphanumeric()).next();
    match (rest.chars().next()?, word?) {
        ('[', _) => Some("an array"),
        ('"', _) => Some("a string"),
        ('-' | '0'..='9', _) => Some("a number"),
        (_, "true" | "false") => Some("a boolean"),
        (_, "null") => Some("null"),
        _ => None,
    }
}

fn expected(state: State, inside: Container) -> &'static str {
    match (state, inside) {
        (State::FirstKey, _) => "a key in double quotes or `}`",
        (State::Key, _) => "a key in double quotes",
        (State::Colon, _) => "`:` after the key",
        (State::FirstValue, _) => "a value or `]`",
        (State::Value, _) => "a value",
        (State::Comma | State::InNumber { .. }, Container::Object) => "`,` or `}` after the value",
        (State::Comma | State::InNumber { .. }, Container::Array { .. }) => "`,` or `]` after the value",
        _ => "`{`, the start of one JSON object,",
    }
}

/// The mistakes that models make again and again.
fn likely_mistake(text: &str, at: usize, state: State) -> &'static str {
    let rest = text.get(at..).unwrap_or_default();
    let found = rest.chars().next().unwrap_or_default();
    let after_string = text.get(..at).is_some_and(|before| before.ends_with('"'));
    match (state, found) {
        // A comment may stand directly behind a string, so it comes before what else that can mean.
        (_, '/') if rest.starts_with("//") || rest.starts_with("/*") => "JSON has no comments",
        (State::Key, '}') | (State::Value, ']') => "there must be no comma before the closing bracket",
        (State::FirstKey | State::Key | State::FirstValue | State::Value, '\'') => "quotes must be double",
        (State::FirstValue | State::Value, '+' | '.') => NUMBERS,
        (State::FirstValue | State::Value | State::InNumber { .. }, letter)
            if letter.is_alphabetic() || letter == '/' =>
        {
            "strings need double quotes, and the only other words are true, false and null"
        }
        // What JSON itself has there is another mistake than a quote too many: a comma or the other bracket is missing.
        (State::Comma, '"' | ':' | '{' | '[' | '}' | ']') => "",
        (State::Comma, _) if after_string => "a double quote inside a string must be written as \\\"",
        _ => "",
    }
}

const NUMBERS: &str = "numbers look like 12, -3 or 2.5e3";

fn clause(advice: &str) -> String {
    if advice.is_empty() { String::new() } else { format!("; {advice}") }
}

/// A few characters before and after a position, on one line.
fn near(text: &str, at: usize) -> String {
    const BEFORE: usize = 24;
    const AFTER: usize = 16;
    let (before, after) = text.split_at_checked(at).unwrap_or((text, ""));
    let start = before.char_indices().rev().nth(BEFORE - 1).map_or(0, |(index, _)| index);
    let end = after.char_indices().nth(AFTER).map_or(after.len(), |(index, _)| index);
    let quoted = [before.get(start..), after.get(..end)].into_iter().flatten().collect::<String>();
    let quoted = quoted.replace(char::is_control, " ");
    let more_before = if start > 0 { "…" } else { "" };
    let more_after = if end < after.len() { "…" } else { "" };
    format!("{more_before}{quoted}{more_after}")
}
