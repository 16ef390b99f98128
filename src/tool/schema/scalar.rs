//! One value in another representation: the rows of the coercion table that need no schema around them.

use serde_json::{Number, Value};

/// The types of JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Null,
    Boolean,
    Integer,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// The type a schema names so.
    pub(super) fn named(name: &str) -> Option<Kind> {
        Some(match name {
            "null" => Kind::Null,
            "boolean" => Kind::Boolean,
            "integer" => Kind::Integer,
            "number" => Kind::Number,
            "string" => Kind::String,
            "array" => Kind::Array,
            "object" => Kind::Object,
            _ => return None,
        })
    }

    /// Whether `value` is of this type, integral numbers of any spelling being integers.
    pub(super) fn holds(self, value: &Value) -> bool {
        match (self, value) {
            (Kind::Integer, Value::Number(number)) => is_whole(number),
            (Kind::Null, Value::Null)
            | (Kind::Boolean, Value::Bool(_))
            | (Kind::Number, Value::Number(_))
            | (Kind::String, Value::String(_))
            | (Kind::Array, Value::Array(_))
            | (Kind::Object, Value::Object(_)) => true,
            _ => false,
        }
    }
}

/// `value` as a scalar of another type, when that says the same. `None` when it does not, and for the types
/// that are no scalars or take nothing but themselves (null, array, object).
pub(super) fn convert(value: &Value, wanted: Kind) -> Option<Value> {
    match wanted {
        Kind::Integer => as_number(value).and_then(|number| as_integer(&number)).map(Value::Number),
        Kind::Number => as_number(value).map(Value::Number),
        Kind::Boolean => as_boolean(value).map(Value::Bool),
        Kind::String => as_text(value).map(Value::String),
        Kind::Null | Kind::Array | Kind::Object => None,
    }
}

fn as_number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        Value::String(text) => parse_exactly(text.trim()),
        Value::Bool(truth) => Some(Number::from(u8::from(*truth))),
        _ => None,
    }
}

fn as_boolean(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Some(false),
        Value::Number(number) if number.as_f64() == Some(1.0) => Some(true),
        Value::Number(number) if number.as_f64() == Some(0.0) => Some(false),
        _ => None,
    }
}

fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(as_integer(number).as_ref().unwrap_or(number).to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The number in the spelling of an integer. An integral number beyond 64 bits has no such spelling and stays
/// as it is; a number with a fraction is none.
pub(super) fn as_integer(number: &Number) -> Option<Number> {
    /// 2^63 and 2^64, which a 64-bit float holds exactly.
    const SIGNED_END: f64 = 9_223_372_036_854_775_808.0;
    const UNSIGNED_END: f64 = 18_446_744_073_709_551_616.0;
    if !is_whole(number) {
        return None;
    }
    #[allow(clippy::cast_possible_truncation, reason = "the ranges are checked, and the values are integral")]
    #[allow(clippy::cast_sign_loss, reason = "only positive values come to the unsigned cast")]
    match number.as_f64() {
        _ if !number.is_f64() => Some(number.clone()),
        Some(value) if (-SIGNED_END..SIGNED_END).contains(&value) => Some(Number::from(value as i64)),
        Some(value) if (SIGNED_END..UNSIGNED_END).contains(&value) => Some(Number::from(value as u64)),
        _ => Some(number.clone()),
    }
}

fn is_whole(number: &Number) -> bool {
    !number.is_f64() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

/// Whether two numbers have the same value, whatever their spelling.
pub(super) fn same_number(one: &Number, other: &Number) -> bool {
    one == other || (as_integer(one).is_some() && as_integer(one) == as_integer(other))
}

/// The number that `text` spells in the grammar of JSON, if it can be held without rounding.
pub(super) fn parse_exactly(text: &str) -> Option<Number> {
    let decimal = Decimal::parse(text)?;
    if let Some(integer) = decimal.as_integer() {
        return Some(integer);
    }
    let nearest: f64 = text.parse().ok()?;
    let shortest = Decimal::parse(&format!("{nearest:e}"))?;
    // With no more digits than it takes to tell the float from its neighbours, the text says what the float
    // says.
    (decimal.digits.len() <= shortest.digits.len()).then(|| Number::from_f64(nearest)).flatten()
}

/// A decimal number as `digits × 10^exponent`, the digits without leading and trailing zeros (none for zero).
struct Decimal {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Decimal {
    fn parse(text: &str) -> Option<Decimal> {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).map_or((rest, None), |(m, e)| (m, Some(e)));
        let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(w, f)| (w, Some(f)));
        let padded = whole.len() > 1 && whole.starts_with('0');
        if padded || !is_digits(whole) || fraction.is_some_and(|fraction| !is_digits(fraction)) {
            return None;
        }
        let fraction = fraction.unwrap_or_default();
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_end_matches('0');
        let dropped = i64::try_from(digits.len() - significant.len()).ok()?;
        let exponent = exponent.map_or(Some(0), parse_exponent)?;
        let exponent = exponent.checked_add(dropped)?.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        let digits = significant.trim_start_matches('0').to_owned();
        let exponent = if digits.is_empty() { 0 } else { exponent };
        Some(Decimal { negative, digits, exponent })
    }

    /// The number as a 64-bit integer, if it is one.
    fn as_integer(&self) -> Option<Number> {
        if self.digits.is_empty() {
            return Some(Number::from(0));
        }
        let zeros = usize::try_from(self.exponent).ok().filter(|zeros| *zeros <= 20)?;
        let sign = if self.negative { "-" } else { "" };
        let text = format!("{sign}{}{}", self.digits, "0".repeat(zeros));
        text.parse::<u64>().map(Number::from).or_else(|_| text.parse::<i64>().map(Number::from)).ok()
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    is_digits(digits).then(|| text.parse().ok()).flatten()
}

/// The array or object that `text` is the JSON of. `None` for other JSON, and when the value would not say all that
/// the text does.
pub(super) fn parse_container(text: &str) -> Option<Value> {
    let text = text.trim();
    if !text.starts_with(['[', '{']) {
        return None;
    }
    let value = serde_json::from_str(text).ok()?;
    says_all(&value, text).then_some(value)
}

/// Whether `value` says all that `json` does, the valid JSON text that it was read from: no number is rounded, and no
/// key repeated, of which only the last would be left.
fn says_all(value: &Value, json: &str) -> bool {
    let mut members = 0;
    let mut rest = json;
    while let Some(start) = rest.find(|c: char| matches!(c, '"' | ':' | '-') || c.is_ascii_digit()) {
        let (_, token) = rest.split_at(start);
        let end = match token.as_bytes().first() {
            Some(b'"') => end_of_string(token),
            // Outside of strings, one stands for each member of an object.
            Some(b':') => {
                members += 1;
                1
            }
            _ => {
                let (number, _) = token.split_at(end_of_number(token));
                if parse_exactly(number).is_none() {
                    return false;
                }
                number.len()
            }
        };
        (_, rest) = token.split_at(end);
    }
    members == count_members(value)
}

/// How many members the objects in a value have together.
fn count_members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(count_members).sum(),
        Value::Object(members) => members.len() + members.values().map(count_members).sum::<usize>(),
        _ => 0,
    }
}

/// Where the number that `text` starts with ends.
fn end_of_number(text: &str) -> usize {
    text.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(text.len())
}

/// Where the string that `text` starts with ends, its closing quote included.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (position, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return position + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_text_are_read_only_when_nothing_is_rounded() {
        for (text, read) in [
            ("5", Some("5")),
            ("-5", Some("-5")),
            ("0", Some("0")),
            ("-0", Some("0")),
            ("20.0", Some("20")),
            ("6e4", Some("60000")),
            ("6E+4", Some("60000")),
            ("1500e-2", Some("15")),
            ("0.1", Some("0.1")),
            // Halfway between two texts of as many digits: both mean this float.
            ("1607874658043435.2", Some("1607874658043435.2")),
            ("1607874658043435.3", Some("1607874658043435.2")),
            ("1607874658043435.25", None),
            ("1.5e300", Some("1.5e+300")),
            ("1e30", Some("1e+30")),
            ("2512292042121000001", Some("2512292042121000001")),
            ("2512292042121000001.0", Some("2512292042121000001")),
            ("-9223372036854775808", Some("-9223372036854775808")),
            ("18446744073709551615", Some("18446744073709551615")),
            ("18446744073709551616", None),
            ("18446744073709551617", None),
            ("123456789012345678901234567890", None),
            ("3.14159265358979323846", None),
            ("1e400", None),
            ("1e-400", None),
            ("1e99999999999999999999", None),
            ("", None),
            ("-", None),
            ("+5", None),
            ("05", None),
            (".5", None),
            ("5.", None),
            ("1e", None),
            ("0x10", None),
            ("12n", None),
            ("NaN", None),
            ("infinity", None),
            ("1 2", None),
            ("٣", None),
        ] {
            assert_eq!(parse_exactly(text).map(|number| number.to_string()).as_deref(), read, "{text:?}");
        }
    }

    #[test]
    fn json_in_text_is_read_only_when_nothing_in_it_is_lost() {
        for (text, read) in [
            (r#" ["a", 1, 2.5] "#, true),
            (r#"{"a": "123456789012345678901234567890"}"#, true),
            (r#"{"a\"1234567890123456789012": [-1e3]}"#, true),
            ("[123456789012345678901234567890]", false),
            (r#"{"a": [0.12345678901234567890123]}"#, false),
            (r#"{"a": ":", ":": {"a": [{"a": 1}, {"a": 2}]}}"#, true),
            (r#"{"a": 1, "b": 2, "a": 1}"#, false),
            (r#"[{"b": {"a": 1, "\u0061": 2}}]"#, false),
            ("[1", false),
            ("[1] 2", false),
            ("5", false),
            ("\"a\"", false),
            ("null", false),
        ] {
            assert_eq!(parse_container(text).is_some(), read, "{text:?}");
        }
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(parse_container(&deep), None);
    }
}
