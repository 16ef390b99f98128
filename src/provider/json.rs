//! Reading JSON that servers send.

use serde::de::DeserializeOwned;

use super::halves::{Halves, mark_of};

/// Reads JSON. Half of a surrogate pair, which Rust's texts cannot hold, is marked for `halves`, which joins it to its
/// other half in the next piece of the text.
///
/// # Errors
/// When it is no JSON, or of another shape.
pub(crate) fn read_json<T: DeserializeOwned>(
    json: &str,
    halves: &mut Halves,
) -> Result<T, serde_json::Error> {
    serde_json::from_str(json).or_else(|error| match with_marked_halves(json) {
        Some(marked) => {
            halves.expect();
            serde_json::from_str(&marked)
        }
        None => Err(error),
    })
}

/// The JSON with a mark for each escaped half of a surrogate pair; `None` if there is none.
fn with_marked_halves(json: &str) -> Option<String> {
    let mut marked = String::with_capacity(json.len());
    let mut rest = json;
    let mut found = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        marked.push_str(before);
        let length = match (code_unit(escape), escape.get(6..).and_then(code_unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(unit @ 0xD800..=0xDFFF), _) => {
                found = true;
                marked.push(mark_of(unit));
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // Two bytes: what follows a backslash begins no escape of its own.
            _ => 2,
        };
        let (whole, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        marked.push_str(whole);
        rest = after;
    }
    marked.push_str(rest);
    found.then_some(marked)
}

/// The code unit that the text begins with, written as `\u` and four hexadecimal digits.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn each_half_of_a_surrogate_pair_is_marked() {
        let (high, low) = (mark_of(0xD83D), mark_of(0xDC0B));
        for (json, text) in [
            (r#""\ud83d""#, format!("{high}")),
            (r#""a\udc0bb""#, format!("a{low}b")),
            (r#""\ud83d\ude42 \ud83d""#, format!("🙂 {high}")),
            (r#""\ud83d\ud83d\ude42""#, format!("{high}🙂")),
            (r#""\\ud83d \ud83d""#, format!("\\ud83d {high}")),
            (r#""\ud83d\n""#, format!("{high}\n")),
            (r#""\ud83dé""#, format!("{high}é")),
        ] {
            assert_eq!(read_json::<String>(json, &mut Halves::default()).unwrap(), text, "{json}");
        }
        for broken in [r#""\"#, r#""\é"#, r#""\ud8"#, r#""\ud83d"#, "\"\\ud83d\\", "\"\\ud8é"] {
            assert!(read_json::<String>(broken, &mut Halves::default()).is_err(), "{broken}");
        }
    }
}
