//! What is shown of arguments that are still being written, and what becomes of them.

use super::*;

/// Each piece, and the value shown after it; then the finished value is the last one shown.
#[track_caller]
fn streams(steps: &[(&str, Value)]) {
    let mut arguments = ArgumentsBuilder::new();
    for (piece, expected) in steps {
        arguments.push(piece);
        assert_eq!(arguments.value(), Some(expected), "after {:?}", arguments.text());
        assert_eq!(arguments.object(), expected.as_object());
    }
    let last = steps.last().map(|(_, value)| value.clone()).unwrap();
    assert_eq!(arguments.finish().map(Value::Object), Ok(last));
}

#[test]
fn nothing_is_shown_before_the_object_begins() {
    for text in ["", " \n\t", "[", "[{\"a\":1", "\"a", "t", "1 ", "null", "`", "```json", "nonsense"] {
        assert_eq!(shown(text), None, "after {text:?}");
    }
    let arguments = ArgumentsBuilder::new();
    assert!(arguments.is_empty() && arguments.text().is_empty() && arguments.object().is_none());
    assert!(!builder(" ").is_empty());
}

#[test]
fn a_key_appears_with_the_start_of_its_value() {
    streams(&[
        (" {", json!({})),
        ("\"pa", json!({})),
        ("th\" ", json!({})),
        (": ", json!({})),
        ("\"", json!({"path": ""})),
        ("src\", \"list\":", json!({"path": "src"})),
        ("[", json!({"path": "src", "list": []})),
        ("{\"n\": {", json!({"path": "src", "list": [{"n": {}}]})),
        ("}}]}", json!({"path": "src", "list": [{"n": {}}]})),
    ]);
}

#[test]
fn a_number_appears_when_it_has_ended() {
    streams(&[
        ("{\"a\":-", json!({})),
        ("1", json!({})),
        (".", json!({})),
        ("5e", json!({})),
        ("+2", json!({})),
        (",\"b\":[1", json!({"a": -150.0, "b": []})),
        ("2 ", json!({"a": -150.0, "b": [12]})),
        (",3]", json!({"a": -150.0, "b": [12, 3]})),
        (",\"c\":0", json!({"a": -150.0, "b": [12, 3]})),
        ("}", json!({"a": -150.0, "b": [12, 3], "c": 0})),
    ]);
}

#[test]
fn a_word_appears_when_it_is_spelled_out() {
    streams(&[
        ("{\"a\":tru", json!({})),
        ("e", json!({"a": true})),
        (",\"b\":f", json!({"a": true})),
        ("alse,\"c\":nul", json!({"a": true, "b": false})),
        ("l}", json!({"a": true, "b": false, "c": null})),
    ]);
}

#[test]
fn a_string_grows_by_whole_characters_and_never_disappears() {
    let text = r#"{"a":"x\u4f60\n\ud83c\udf89\\"}"#;
    let growth = ["", "x", "x你", "x你\n", "x你\n🎉", "x你\n🎉\\"];
    let mut seen: Vec<String> = Vec::new();
    let mut arguments = ArgumentsBuilder::new();
    for piece in pieces(text, &[1]) {
        arguments.push(piece);
        let string = arguments.value().unwrap()["a"].as_str().map(str::to_owned);
        assert!(string.is_some() || seen.is_empty());
        seen.extend(string);
    }
    seen.dedup();
    assert_eq!(seen, growth);
}

#[test]
fn every_cut_within_a_surrogate_pair_gives_the_character() {
    let text = r#"{"a":"\ud83c\udf89"}"#;
    for prefix in prefixes(text) {
        let mut arguments = builder(prefix);
        arguments.push(&text[prefix.len()..]);
        assert_eq!(arguments.finish().map(Value::Object), Ok(json!({"a": "🎉"})), "cut after {prefix}");
    }
}

#[test]
fn the_first_and_the_last_surrogate_pair_are_characters() {
    let text = r#"{"a":"\ud800\udc00","b":"\udbff\uDFFF","c":"\ud7ff\ue000"}"#;
    assert_eq!(finished(text), Ok(json!({"a": "\u{10000}", "b": "\u{10ffff}", "c": "\u{d7ff}\u{e000}"})));
}

#[test]
fn half_a_surrogate_pair_becomes_the_replacement_character() {
    for (contents, expected) in [
        (r"\ud800", "\u{fffd}"),
        (r"\udc00", "\u{fffd}"),
        (r"\ud83cx", "\u{fffd}x"),
        (r"\ud83c\n", "\u{fffd}\n"),
        (r"\ud83c\u0041", "\u{fffd}A"),
        (r"\ud83c\u12", "\u{fffd}\\u12"),
        (r"\ud83c\ud83c\udf89", "\u{fffd}🎉"),
        (r"\udf89\ud83c", "\u{fffd}\u{fffd}"),
    ] {
        streams(&[
            (r#"{"a":"#, json!({})),
            (&format!("\"{contents}\""), json!({"a": expected})),
            ("}", json!({"a": expected})),
        ]);
        // As a key, too.
        assert_eq!(finished(&format!("{{\"{contents}\":1}}")), Ok(json!({ expected: 1 })));
    }
}

#[test]
fn every_character_but_quote_and_backslash_stands_for_itself() {
    for letter in ('\0'..'\u{800}').filter(|letter| !['"', '\\'].contains(letter)) {
        let contents = format!("{letter}n{letter}some words, more than a chunk of them{letter}u0041");
        assert_eq!(finished(&format!("{{\"a\":\"{contents}\"}}")), Ok(json!({"a": contents})));
    }
}

#[test]
fn raw_control_characters_are_kept() {
    streams(&[
        ("{\"a\":\"x\n", json!({"a": "x\n"})),
        ("y\tz\r\0\u{1}", json!({"a": "x\ny\tz\r\0\u{1}"})),
        ("\",\"k\n\":1}", json!({"a": "x\ny\tz\r\0\u{1}", "k\n": 1})),
    ]);
}

#[test]
fn a_backslash_that_begins_no_escape_is_kept() {
    for (contents, expected) in [
        (r"\d+\s*", r"\d+\s*"),
        (r"C:\Users", r"C:\Users"),
        (r"C:\users\x", r"C:\users\x"),
        (r"\u12", r"\u12"),
        (r"\u00g9", r"\u00g9"),
        (r"\u+041", r"\u+041"),
        (r"\u", r"\u"),
        (r"\é", r"\é"),
        ("\\\n", "\\\n"),
        (r"\q\\q", r"\q\q"),
    ] {
        let text = format!("{{\"{contents}\":\"{contents}\"}}");
        for size in [1, 2, 3, usize::MAX] {
            let mut arguments = ArgumentsBuilder::new();
            pieces(&text, &[size]).into_iter().for_each(|piece| arguments.push(piece));
            assert_eq!(
                arguments.finish().map(Value::Object),
                Ok(json!({ expected: expected })),
                "{contents}"
            );
        }
    }
}

#[test]
fn of_a_repeated_key_the_last_value_counts_once_it_is_certain() {
    streams(&[
        (r#"{"a":{"b":1},"a":"#, json!({"a": {"b": 1}})),
        ("2", json!({"a": {"b": 1}})),
        (r#","a":"#, json!({"a": 2})),
        ("[", json!({"a": []})),
        (r#"3],"c":0,"a":""#, json!({"a": "", "c": 0})),
        (r#"x"}"#, json!({"a": "x", "c": 0})),
    ]);
}

#[test]
fn integers_of_64_bits_are_exact() {
    let text = r#"{"id":2512292042121000001,"max":18446744073709551615,"min":-9223372036854775808}"#;
    let arguments = parse_arguments(text).unwrap();
    assert_eq!(arguments["id"].as_i64(), Some(2_512_292_042_121_000_001));
    assert_eq!(arguments["max"].as_u64(), Some(u64::MAX));
    assert_eq!(arguments["min"].as_i64(), Some(i64::MIN));
}

#[test]
fn no_text_and_blank_text_are_an_empty_object() {
    for text in ["", " ", "\n\t\r ", "\u{a0}"] {
        assert_eq!(finished(text), Ok(json!({})), "for {text:?}");
    }
    assert_eq!(ArgumentsBuilder::new().finish().map(Value::Object), Ok(json!({})));
}

#[test]
fn a_code_fence_around_the_object_is_taken_off() {
    streams(&[
        ("\n```json\n{\"a\":\"", json!({"a": ""})),
        ("```\"}", json!({"a": "```"})),
        ("\n``", json!({"a": "```"})),
        ("`\n ", json!({"a": "```"})),
    ]);
    for text in ["```{}```", "```JSON5 {}\n```", "```\r\n{}\r\n```\r\n", "```json{}```"] {
        assert_eq!(finished(text), Ok(json!({})), "for {text:?}");
    }
}

#[test]
fn after_a_mistake_the_value_stands_still() {
    for (text, expected) in [
        (r#"{"a":1}}"#, json!({"a": 1})),
        (r#"{"a":1},"b":2"#, json!({"a": 1})),
        (r#"{"a":1} {"a":2}"#, json!({"a": 1})),
        (r#"{"a":[1 2,3]}"#, json!({"a": [1]})),
        (r#"{"a":1,"b" 2,"c":3}"#, json!({"a": 1})),
        (r#"{"a":10//00,"b":1}"#, json!({})),
        (r#"{"a":[{"b":x},"c"#, json!({"a": [{}]})),
    ] {
        assert_eq!(shown(text), Some(expected), "after {text}");
        assert!(parse_arguments(text).is_err());
    }
}
