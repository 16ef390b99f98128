//! What holds for every text and every way to cut it.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

use super::*;

fn config() -> ProptestConfig {
    let regressions = FileFailurePersistence::WithSource("regressions");
    ProptestConfig { failure_persistence: Some(Box::new(regressions)), ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_value_shown_grows_into_the_next_and_into_the_finished_one(
        text in document(Keys::Distinct),
        sizes in sizes(),
    ) {
        let whole: Value = serde_json::from_str(&text).unwrap();
        let mut arguments = ArgumentsBuilder::new();
        let mut before = None;
        for piece in pieces(&text, &sizes) {
            arguments.push(piece);
            let now = arguments.value().cloned();
            if let Some(now) = &now {
                prop_assert!(grows_into(now, &whole), "{now} is no part of {whole}");
            }
            if let Some(before) = &before {
                prop_assert!(now.as_ref().is_some_and(|now| grows_into(before, now)), "{before} became {now:?}");
            }
            before = now;
        }
        prop_assert_eq!(arguments.text(), &text);
        prop_assert_eq!(arguments.finish().map(Value::Object), Ok(whole));
    }

    #[test]
    fn all_that_is_certain_is_shown_at_every_prefix(text in document(Keys::Repeated)) {
        for prefix in prefixes(&text) {
            prop_assert_eq!(shown(prefix), oracle::certain(prefix), "after {}", prefix);
        }
    }

    #[test]
    fn a_text_without_mistakes_gives_what_serde_json_gives(text in document(Keys::Repeated)) {
        prop_assert_eq!(finished(&text), Ok(serde_json::from_str(&text).unwrap()));
    }

    #[test]
    fn the_way_a_text_is_cut_changes_nothing(text in any_text(), sizes in sizes()) {
        let mut arguments = ArgumentsBuilder::new();
        let mut length = 0;
        for piece in pieces(&text, &sizes) {
            arguments.push(piece);
            length += piece.len();
            prop_assert_eq!(arguments.value().cloned(), shown(&text[..length]), "after {}", &text[..length]);
        }
        prop_assert_eq!(arguments.finish(), parse_arguments(&text));
    }

    #[test]
    fn a_mistake_takes_nothing_back(text in mistaken(Keys::Distinct)) {
        let mut before = None;
        for prefix in prefixes(&text) {
            let now = shown(prefix);
            if let Some(before) = before {
                prop_assert!(now.as_ref().is_some_and(|now| grows_into(&before, now)), "{before} became {now:?}");
            }
            before = now;
        }
        if let Ok(whole) = finished(&text) {
            prop_assert_eq!(before.unwrap_or_else(|| json!({})), whole);
        }
    }

    #[test]
    fn accepted_is_what_serde_json_accepts_after_the_written_repairs(text in any_text()) {
        let expected = serde_json::from_str::<Value>(&oracle::repaired(&text)).ok().filter(Value::is_object);
        match finished(&text) {
            // The one text that `serde_json` accepts and that is refused here.
            Err(ArgumentsError::InexactInteger { .. }) => {}
            finished => prop_assert_eq!(finished.ok(), expected),
        }
    }

    #[test]
    fn an_error_is_short_and_on_one_line(text in any_text()) {
        if let Err(error) = parse_arguments(&text) {
            let message = error.to_string();
            prop_assert!(message.chars().count() < 300, "{}", message);
            prop_assert!(!message.contains(char::is_control), "{}", message);
        }
    }
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![
        Just(vec![1]),
        prop::collection::vec(1..4_usize, 1..8),
        prop::collection::vec(1..40_usize, 1..8),
        Just(vec![usize::MAX]),
    ]
}

/// Valid documents, documents with a mistake or two, JSON-like noise, and any text at all.
fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        2 => document(Keys::Repeated),
        4 => mistaken(Keys::Repeated),
        2 => noise(),
        1 => noise().prop_map(|noise| format!("{{\"a\":\"{noise}\"}}")),
        1 => (document(Keys::Repeated), "json|JSON||js on", "```|``|```\n|").prop_map(|(text, word, end)| {
            format!("```{word}\n{text}\n{end}")
        }),
        1 => any::<String>(),
    ]
}

fn noise() -> impl Strategy<Value = String> {
    let tokens = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "'",
        "\\",
        "\\u",
        "\\ud83c",
        "\\udf89",
        "\\u00e9",
        "d",
        "0",
        "-",
        "1.5",
        "e9",
        "true",
        "null",
        "tru",
        " ",
        "\n",
        "\t",
        "\u{1}",
        "é",
        "🎉",
        "```",
        "json",
        "99999999999999999999",
    ];
    prop::collection::vec(prop::sample::select(tokens.to_vec()), 0..16).prop_map(|tokens| tokens.concat())
}

/// A document in which one character was left out, put in or exchanged, or that ends too early or too late.
///
/// No digit is touched, so that distinct keys stay distinct.
fn mistaken(keys: Keys) -> impl Strategy<Value = String> {
    let letters = prop::sample::select(vec![
        "", "\"", "\\", "{", "}", "[", "]", ",", ":", "x", "\n", "\\ud800", "\\u1", "é",
    ]);
    (document(keys), any::<prop::sample::Index>(), letters, 0..4_u8).prop_map(
        |(text, index, letters, kind)| {
            let at: Vec<_> = text.char_indices().filter(|(_, letter)| !letter.is_ascii_digit()).collect();
            let (start, letter) = at[index.index(at.len())];
            let (before, after) = (&text[..start], &text[start + letter.len_utf8()..]);
            match kind {
                0 => format!("{before}{letters}{after}"),
                1 => format!("{before}{letter}{letters}{after}"),
                2 => format!("{before}{letters}"),
                _ => format!("{text}{letters}"),
            }
        },
    )
}

#[derive(Debug, Clone, Copy)]
enum Keys {
    Distinct,
    Repeated,
}

/// A valid JSON object as text, with every way to write things.
fn document(keys: Keys) -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        string(),
        number(),
        prop::sample::select(vec!["true", "false", "null"]).prop_map(str::to_owned)
    ];
    let value =
        leaf.prop_recursive(4, 24, 5, move |value| prop_oneof![array(value.clone()), object(keys, value)]);
    (blank(), object(keys, value), blank())
        .prop_map(|(before, object, after)| numbered(&format!("{before}{object}{after}")))
}

/// Every `#` with the number of its occurrence, which makes distinct keys, even if a mistake moves them to another
/// object.
fn numbered(text: &str) -> String {
    let mut parts = text.split('#');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.enumerate().fold(first, |text, (number, part)| format!("{text}{number}{part}"))
}

fn array(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (prop::collection::vec((blank(), value, blank()), 0..5), blank()).prop_map(|(items, inside)| {
        let items: Vec<_> =
            items.iter().map(|(before, item, after)| format!("{before}{item}{after}")).collect();
        if items.is_empty() { format!("[{inside}]") } else { format!("[{}]", items.join(",")) }
    })
}

fn object(keys: Keys, value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (prop::collection::vec((blank(), contents(), blank(), value), 0..5), blank()).prop_map(
        move |(entries, inside)| {
            let entry =
                |(index, (before, key, after, value)): (usize, &(String, String, String, String))| match keys
                {
                    Keys::Distinct => format!("{before}\"{key}#\"{after}:{after}{value}{before}"),
                    Keys::Repeated => {
                        format!("{before}\"{}\"{after}:{after}{value}{before}", ["a", "", "b"][index % 3])
                    }
                };
            let entries: Vec<_> = entries.iter().enumerate().map(entry).collect();
            if entries.is_empty() { format!("{{{inside}}}") } else { format!("{{{}}}", entries.join(",")) }
        },
    )
}

fn string() -> impl Strategy<Value = String> {
    contents().prop_map(|contents| format!("\"{contents}\""))
}

fn contents() -> impl Strategy<Value = String> {
    let parts = [
        "a",
        "some words",
        "é",
        "🎉",
        "\u{2028}",
        "\u{7f}",
        "{",
        "]",
        ":",
        ",",
        "\\\"",
        "\\\\",
        "\\/",
        "\\b",
        "\\f",
        "\\n",
        "\\r",
        "\\t",
        "\\u00e9",
        "\\uD83C\\uDF89",
        "\\u000A",
        "a longer run of plain text than one chunk of a scan",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..5).prop_map(|parts| parts.concat())
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        any::<u64>().prop_map(|number| number.to_string()),
        (-100..100_i32).prop_map(|number| number.to_string()),
        prop::num::f64::NORMAL.prop_map(|number| format!("{number:e}")),
        (any::<i32>(), any::<u64>(), -300..280_i32)
            .prop_map(|(whole, part, exponent)| format!("{whole}.{part}E{exponent:+}")),
        prop::sample::select(vec!["0", "-0", "-0.0", "0e0", "1E+2", "0.10", "1e-999"])
            .prop_map(str::to_owned),
    ]
}

fn blank() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["", "", "", " ", "\n  ", "\t", "\r\n"]).prop_map(str::to_owned)
}
