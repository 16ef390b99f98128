//! Texts for one line of a terminal.

use std::time::Duration;

use serde_json::{Map, Value};

/// The text without characters that a terminal would act on: nothing that a model or a tool says may move the cursor,
/// or turn the text around. Line ends and tabs stay.
pub(crate) fn clean(text: &str) -> String {
    let shown = text.chars().filter(|character| *character != '\r').map(|character| match character {
        '\n' | '\t' => character,
        '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => '\u{fffd}',
        _ if character.is_control() => '\u{fffd}',
        _ => character,
    });
    shown.collect()
}

/// The text with all that would not be seen, or would turn it around, written out: what a person allows is what they see.
/// Line ends and tabs stay.
pub(crate) fn exact(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut shown, character| {
        match character {
            '\n' | '\t' | ' '..='~' => shown.push(character),
            // Letters that are blank, and marks that choose the form of the one before: printable, and never seen.
            '\u{115f}'
            | '\u{1160}'
            | '\u{3164}'
            | '\u{ffa0}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{e0100}'..='\u{e01ef}' => {
                shown.extend(character.escape_unicode());
            }
            // Behind a letter, since accents and the like are written out where they stand alone.
            _ => shown.extend(format!("a{character}").escape_debug().skip(1)),
        }
        shown
    })
}

/// The first line that is not empty, cleaned, cut at `longest` characters.
pub(crate) fn one_line(text: &str, longest: usize) -> String {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let line = clean(lines.next().unwrap_or_default()).replace('\t', " ");
    let cut: String = line.chars().take(longest).collect();
    if cut.len() < line.len() || lines.next().is_some() { format!("{}…", cut.trim_end()) } else { cut }
}

/// Arguments as `path=Cargo.toml`, each value cut.
pub(crate) fn arguments(arguments: &Map<String, Value>) -> String {
    let shown: Vec<_> = arguments
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) => format!("{}={}", one_line(name, 20), one_line(text, 60)),
            other => format!("{}={}", one_line(name, 20), one_line(&other.to_string(), 60)),
        })
        .collect();
    shown.join(" ")
}

/// `12 ms`, `1.2 s`.
pub(crate) fn duration(duration: Duration) -> String {
    match duration.as_millis() {
        short @ ..1000 => format!("{short} ms"),
        _ => format!("{:.1} s", duration.as_secs_f64()),
    }
}

/// `1 turn`, `2 turns`.
pub(crate) fn count(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_is_shown_acts_on_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\rc\u{9b}d\u{202e}e\n\tf"), "a\u{fffd}[2Jbc\u{fffd}d\u{fffd}e\n\tf");
    }

    #[test]
    fn what_would_not_be_seen_is_written_out() {
        assert_eq!(exact("rm 'a\\b'\n\té 東 \u{915}\u{93f}"), "rm 'a\\b'\n\té 東 \u{915}\u{93f}");
        assert_eq!(exact("a\u{3164}\u{fe0f}"), r"a\u{3164}\u{fe0f}");
        assert_eq!(exact("a\u{202e}b\u{200b}\r\x1b"), r"a\u{202e}b\u{200b}\r\u{1b}");
    }

    #[test]
    fn a_line_says_that_there_is_more() {
        for (text, line) in [
            ("", ""),
            ("short", "short"),
            ("\n\n short\n", " short"),
            ("exactly ten", "exactly te…"),
            ("one\ntwo", "one…"),
            ("tab\tbed", "tab bed"),
        ] {
            assert_eq!(one_line(text, 10), line, "{text:?}");
        }
    }

    #[test]
    fn arguments_are_read_at_a_glance() {
        // In alphabetical order: whether a map keeps another one depends on who else uses `serde_json`.
        let value = serde_json::json!({"lines": [1, 2], "path": "a b", "text": "one\ntwo"});
        let map = value.as_object().cloned().unwrap_or_default();
        assert_eq!(arguments(&map), "lines=[1,2] path=a b text=one…");
    }

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration(Duration::from_millis(999)), "999 ms");
        assert_eq!(duration(Duration::from_millis(1_250)), "1.2 s");
        assert_eq!((count(1, "turn"), count(0, "call")), ("1 turn".to_owned(), "0 calls".to_owned()));
    }
}
