//! Numbers: never rounded when they are integers, otherwise exactly what `serde_json` makes of them.

use serde_json::Number;

/// Why a run of number characters is no number we take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NumberFault {
    /// Not a number as JSON writes them, such as `01`, `1.` or `--1`.
    Malformed,
    /// An integer that would lose digits.
    Inexact,
    /// Too large for a floating-point number, such as `1e999`.
    OutOfRange,
}

/// Whether the byte can be part of a number.
pub(super) fn is_number_byte(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E')
}

/// Reads one whole number.
pub(super) fn read(token: &str) -> Result<Number, NumberFault> {
    match shape(token.as_bytes()).ok_or(NumberFault::Malformed)? {
        Shape::Integer => integer(token),
        Shape::Float => serde_json::from_str(token).map_err(|_| NumberFault::OutOfRange),
    }
}

fn integer(token: &str) -> Result<Number, NumberFault> {
    // The negative zero is the one small integer that `serde_json` reads as a floating-point number.
    let small = if token == "-0" { None } else { token.parse::<i64>().ok() };
    if let Some(number) = small.map(Number::from).or_else(|| token.parse::<u64>().ok().map(Number::from)) {
        return Ok(number);
    }
    // Beyond 64 bits, `serde_json` rounds unless its feature `arbitrary_precision` is on somewhere in the program.
    // A number that was not rounded writes itself as it was read.
    let number: Number = serde_json::from_str(token).map_err(|_| NumberFault::Inexact)?;
    if token == "-0" || number.to_string() == token { Ok(number) } else { Err(NumberFault::Inexact) }
}

enum Shape {
    Integer,
    Float,
}

/// JSON's grammar of numbers: `-`? digits without a leading zero, then perhaps a fraction, then perhaps an exponent.
fn shape(token: &[u8]) -> Option<Shape> {
    let (whole, rest) = digits(token.strip_prefix(b"-").unwrap_or(token))?;
    if whole.len() > 1 && whole.starts_with(b"0") {
        return None;
    }
    let rest_after_fraction = match rest.strip_prefix(b".") {
        Some(fraction) => digits(fraction)?.1,
        None => rest,
    };
    let end = match rest_after_fraction {
        [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => digits(exponent)?.1,
        other => other,
    };
    match (end.is_empty(), rest.is_empty()) {
        (false, _) => None,
        (true, true) => Some(Shape::Integer),
        (true, false) => Some(Shape::Float),
    }
}

/// One or more digits, and what follows them.
fn digits(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 { None } else { text.split_at_checked(length) }
}
