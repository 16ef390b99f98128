//! Reading JSON that servers send, and showing pieces of what they send.

use serde::de::DeserializeOwned;

/// Reads JSON. Half of a surrogate pair, which Rust's texts cannot hold, reads as U+FFFD.
///
/// # Errors
/// When it is no JSON, or of another shape.
pub(crate) fn read_json<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(json).or_else(|error| match without_lone_surrogates(json) {
        Some(mended) => serde_json::from_str(&mended),
        None => Err(error),
    })
}

/// The JSON with `\ufffd` for each escaped half of a surrogate pair; `None` if there is none.
fn without_lone_surrogates(json: &str) -> Option<String> {
    let mut mended = String::with_capacity(json.len());
    let mut rest = json;
    let mut found = false;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        mended.push_str(before);
        let length = match (code_unit(escape), escape.get(6..).and_then(code_unit)) {
            (Some(0xD800..=0xDBFF), Some(0xDC00..=0xDFFF)) => 12,
            (Some(0xD800..=0xDFFF), _) => {
                found = true;
                mended.push_str("\\ufffd");
                rest = escape.get(6..).unwrap_or_default();
                continue;
            }
            // Two bytes: what follows a backslash begins no escape of its own.
            _ => 2,
        };
        let (whole, after) = escape.split_at_checked(length).unwrap_or((escape, ""));
        mended.push_str(whole);
        rest = after;
    }
    mended.push_str(rest);
    found.then_some(mended)
}

/// The code unit of a `\uXXXX` that the text begins with.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// The beginning of a text, cut on a character border; says how much is left out.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (shown, left_out) = text.split_at(end);
    format!("{shown}… ({} more bytes)", left_out.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn half_a_surrogate_pair_reads_as_the_replacement_character() {
        for (json, text) in [
            (r#""\ud800""#, "\u{FFFD}"),
            (r#""a\udc00b""#, "a\u{FFFD}b"),
            (r#""\ud83d\ude42 \ud83d""#, "🙂 \u{FFFD}"),
            (r#""\ud83d\ud83d\ude42""#, "\u{FFFD}🙂"),
            (r#""\\ud800 \ud800""#, "\\ud800 \u{FFFD}"),
            (r#""\ud800\n""#, "\u{FFFD}\n"),
            (r#""\ud800é""#, "\u{FFFD}é"),
        ] {
            assert_eq!(read_json::<String>(json).unwrap(), text, "{json}");
        }
        for broken in [r#""\"#, r#""\é"#, r#""\ud8"#, r#""\ud800"#, "\"\\ud800\\", "\"\\ud8é"] {
            assert!(read_json::<String>(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn an_excerpt_is_cut_on_a_character_border_and_says_so() {
        assert_eq!(excerpt("東京", 6), "東京");
        assert_eq!(excerpt("東京", 5), "東… (3 more bytes)");
        assert_eq!(excerpt("東京", 2), "… (6 more bytes)");
    }
}
