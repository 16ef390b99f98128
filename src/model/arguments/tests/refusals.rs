//! What is no call's arguments, and what the model is told about it.

use super::*;

/// Each text, and the whole message it is refused with.
#[track_caller]
fn refuses(cases: &[(&str, &str)]) {
    for (text, message) in cases {
        assert_eq!(
            finished(text).map_err(|error| error.to_string()),
            Err((*message).to_owned()),
            "for {text:?}"
        );
    }
}

#[test]
fn another_kind_of_value_is_refused() {
    for (text, got) in [
        ("[1]", "an array"),
        ("[", "an array"),
        (r#""{\"a\":1}""#, "a string"),
        ("-5", "a number"),
        (" true", "a boolean"),
        ("false", "a boolean"),
        ("null", "null"),
        ("```\n[]\n```", "an array"),
    ] {
        let message = format!(
            r#"the arguments must be a JSON object, got {got}: send one object such as {{"name": "value"}}"#
        );
        refuses(&[(text, &message)]);
    }
}

#[test]
fn a_text_that_ends_too_early_is_refused_as_cut_off() {
    let ending = "send the whole call again, with shorter arguments if they were cut off";
    for (text, near) in [
        ("{", "{"),
        (r#"{"a":1"#, r#"{"a":1"#),
        (r#"{"a":tru"#, r#"{"a":tru"#),
        (r#"{"a":"x\"#, r#"{"a":"x\"#),
        (r#"{"command":"rm -rf ./target/release"#, "…\"rm -rf ./target/release"),
        ("```json\n{\"a\":1}", "```json {\"a\":1}"),
        ("```\n{}\n``", "``` {} ``"),
        ("`", "`"),
        ("```", "```"),
    ] {
        let message =
            format!("the arguments stop before their JSON object is complete, after `{near}`: {ending}");
        refuses(&[(text, &message)]);
    }
}

#[test]
fn malformed_text_is_refused_with_the_place_and_the_likely_mistake() {
    for (text, place, near, advice) in [
        ("nonsense", "expected `{`, the start of one JSON object, at byte 0", "nonsense", ""),
        ("\0{}", "expected `{`, the start of one JSON object, at byte 0", " {}", ""),
        ("``````{}", "expected `{`, the start of one JSON object, at byte 3", "``````{}", ""),
        ("```js\nno", "expected `{`, the start of one JSON object, at byte 6", "```js no", ""),
        ("{a:1}", "expected a key in double quotes or `}` at byte 1", "{a:1}", ""),
        ("{'a':1}", "expected a key in double quotes or `}` at byte 1", "{'a':1}", "quotes must be double"),
        (
            r#"{"a":1,}"#,
            "expected a key in double quotes at byte 7",
            r#"{"a":1,}"#,
            "there must be no comma before the closing bracket",
        ),
        (
            r#"{"a":[1,]}"#,
            "expected a value at byte 8",
            r#"{"a":[1,]}"#,
            "there must be no comma before the closing bracket",
        ),
        (r#"{"a" "b"}"#, "expected `:` after the key at byte 5", r#"{"a" "b"}"#, ""),
        (r#"{"a":}"#, "expected a value at byte 5", r#"{"a":}"#, ""),
        (r#"{"a":,}"#, "expected a value at byte 5", r#"{"a":,}"#, ""),
        (r#"{"a":'x'}"#, "expected a value at byte 5", r#"{"a":'x'}"#, "quotes must be double"),
        (
            r#"{"a":None}"#,
            "expected a value at byte 5",
            r#"{"a":None}"#,
            "strings need double quotes, and the only other words are true, false and null",
        ),
        (
            r#"{"a":[NaN]}"#,
            "expected a value or `]` at byte 6",
            r#"{"a":[NaN]}"#,
            "strings need double quotes, and the only other words are true, false and null",
        ),
        (
            r#"{"a":no}"#,
            "expected a value at byte 5",
            r#"{"a":no}"#,
            "strings need double quotes, and the only other words are true, false and null",
        ),
        (r#"{"a":"b":2}"#, "expected `,` or `}` after the value at byte 8", r#"{"a":"b":2}"#, ""),
        (
            r#"{"a":nul}"#,
            "expected a value at byte 5",
            r#"{"a":nul}"#,
            "strings need double quotes, and the only other words are true, false and null",
        ),
        (
            r#"{"a":12px}"#,
            "expected `,` or `}` after the value at byte 7",
            r#"{"a":12px}"#,
            "strings need double quotes, and the only other words are true, false and null",
        ),
        (
            r#"{"a":"say "hi" to them"}"#,
            "expected `,` or `}` after the value at byte 11",
            r#"{"a":"say "hi" to them"}"#,
            r#"a double quote inside a string must be written as \""#,
        ),
        (r#"{"a":"x" "b":2}"#, "expected `,` or `}` after the value at byte 9", r#"{"a":"x" "b":2}"#, ""),
        (r#"{"a":[1 2]}"#, "expected `,` or `]` after the value at byte 8", r#"{"a":[1 2]}"#, ""),
        (r#"{"a":[1}"#, "expected `,` or `]` after the value at byte 7", r#"{"a":[1}"#, ""),
        (r#"{"a":1]"#, "expected `,` or `}` after the value at byte 6", r#"{"a":1]"#, ""),
        (r#"{"a":01}"#, "expected a number at byte 5", r#"{"a":01}"#, "numbers look like 12, -3 or 2.5e3"),
        (
            r#"{"a":[1.]}"#,
            "expected a number at byte 6",
            r#"{"a":[1.]}"#,
            "numbers look like 12, -3 or 2.5e3",
        ),
        (r#"{"a":+1}"#, "expected a value at byte 5", r#"{"a":+1}"#, "numbers look like 12, -3 or 2.5e3"),
        (
            "{\"a\":1, // why\n\"b\":2}",
            "expected a key in double quotes at byte 8",
            r#"{"a":1, // why "b":2}"#,
            "JSON has no comments",
        ),
        (
            "{\"a\":\"x\"// why\n}",
            "expected `,` or `}` after the value at byte 8",
            r#"{"a":"x"// why }"#,
            "JSON has no comments",
        ),
        (
            r#"{"a":"x"/* why */}"#,
            "expected `,` or `}` after the value at byte 8",
            r#"{"a":"x"/* why */}"#,
            "JSON has no comments",
        ),
        (
            r#"{"a":"see "/tmp" now"}"#,
            "expected `,` or `}` after the value at byte 11",
            r#"{"a":"see "/tmp" now"}"#,
            r#"a double quote inside a string must be written as \""#,
        ),
        (
            r#"{"a":/tmp}"#,
            "expected a value at byte 5",
            r#"{"a":/tmp}"#,
            "strings need double quotes, and the only other words are true, false and null",
        ),
        (r#"{"a":["x"}"#, "expected `,` or `]` after the value at byte 9", r#"{"a":["x"}"#, ""),
        (r#"{"a":"x"]"#, "expected `,` or `}` after the value at byte 8", r#"{"a":"x"]"#, ""),
    ] {
        let advice = if advice.is_empty() { String::new() } else { format!("; {advice}") };
        refuses(&[(text, &format!("the arguments are not valid JSON: {place}, near `{near}`{advice}"))]);
    }
}

#[test]
fn what_follows_the_object_is_refused() {
    let message = |at: usize, near: &str| {
        format!(
            "the arguments go on after the end of their JSON object at byte {at}, near `{near}`: send one object alone"
        )
    };
    refuses(&[
        (r#"{"a":1}}"#, &message(7, r#"{"a":1}}"#)),
        (r#"{"a":1},"#, &message(7, r#"{"a":1},"#)),
        (r#"{} {"a":1}"#, &message(3, r#"{} {"a":1}"#)),
        ("{}\n```", &message(3, "{} ```")),
        ("```{}``````", &message(8, "```{}``````")),
        ("```\n{}\n```\nThis reads the file.", &message(11, "``` {} ``` This reads the f…")),
    ]);
}

#[test]
fn an_integer_that_would_be_rounded_is_refused() {
    for integer in [
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "100000000000000000000",
    ] {
        let text = format!("{{\"id\":{integer}}}");
        assert_eq!(shown(&text), Some(json!({})));
        let near = if integer.len() > 16 { format!("{}…", &text[..6 + 16]) } else { text.clone() };
        let message = format!(
            "the integer at byte 6, near `{near}`, is too large to be passed on exactly: send it as a string if the tool \
             takes one, else a number between -9223372036854775808 and 18446744073709551615"
        );
        refuses(&[(&text, &message)]);
    }
    // With a fraction or an exponent it asks for a floating-point number, and gets the nearest one as always.
    assert_eq!(
        finished(r#"{"a":123456789012345678901234567890.0,"b":1e30}"#),
        Ok(json!({"a": 1.2345678901234568e29, "b": 1e30}))
    );
}

#[test]
fn a_number_beyond_floating_point_is_refused() {
    refuses(&[(
        r#"{"a":-1e999}"#,
        r#"the number at byte 5, near `{"a":-1e999}`, is too large: send one below 1e308"#,
    )]);
}

#[test]
fn the_text_near_a_mistake_is_cut_between_characters() {
    let text = format!("{{\"a\":\"{}\" ! {}", "日本🎉".repeat(400_000), "é".repeat(400_000));
    let start = "本🎉".to_owned() + &"日本🎉".repeat(6) + "日本🎉\" ";
    let start: String = start.chars().rev().take(24).collect::<Vec<_>>().into_iter().rev().collect();
    let message = parse_arguments(&text).unwrap_err().to_string();
    let at = text.find('!').unwrap();
    assert_eq!(
        message,
        format!(
            "the arguments are not valid JSON: expected `,` or `}}` after the value at byte {at}, near `…{start}! {}…`",
            "é".repeat(14)
        )
    );
}

#[test]
fn nesting_beyond_the_limit_is_refused_and_shown_up_to_it() {
    let limits = ArgumentsLimits::new().with_max_depth(3);
    let mut arguments = ArgumentsBuilder::with_limits(limits);
    arguments.push(r#"{"a":[[1"#);
    arguments.push(r#",[2"#);
    arguments.push(r#"]]]}"#);
    assert_eq!(arguments.value(), Some(&json!({"a": [[1]]})));
    let message = "the arguments are nested more than 3 levels deep at byte 9: send a flatter object";
    assert_eq!(arguments.finish().unwrap_err().to_string(), message);

    let mut arguments = ArgumentsBuilder::with_limits(limits);
    arguments.push(r#"{"a":[[1],{"b":"x"}],"c":{"d":[]}}"#);
    assert!(arguments.finish().is_ok());

    let mut arguments = ArgumentsBuilder::with_limits(limits.with_max_depth(0));
    arguments.push("{");
    assert_eq!((arguments.value(), arguments.clone().finish().is_err()), (None, true));
}

#[test]
fn the_deepest_limit_is_the_one_of_serde_json() {
    let nested = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    let reads = |levels: usize, limits: ArgumentsLimits| {
        let mut arguments = ArgumentsBuilder::with_limits(limits);
        arguments.push(&nested(levels));
        arguments.finish().is_ok()
    };
    let highest = ArgumentsLimits::new().with_max_depth(usize::MAX);
    for levels in 126..130 {
        assert_eq!(
            reads(levels, highest),
            serde_json::from_str::<Value>(&nested(levels)).is_ok(),
            "{levels} levels"
        );
    }
    assert_eq!(highest.max_depth(), 127);
    assert!(reads(100, ArgumentsLimits::new()) && !reads(101, ArgumentsLimits::new()));
}

#[test]
fn nesting_a_hundred_thousand_levels_deep_is_an_error() {
    for (open, pieces) in [("[", 1), ("{\"a\":", 1), ("[", 1000), ("{\"a\":", 1000)] {
        let mut arguments = builder("{\"a\":");
        for _ in 0..100_000 / pieces {
            arguments.push(&open.repeat(pieces));
        }
        let deepest = arguments.value().cloned();
        assert!(matches!(arguments.finish(), Err(ArgumentsError::TooDeep { limit: 100, .. })));
        drop(deepest);
    }
}

#[test]
fn text_beyond_the_limit_is_refused_and_not_kept() {
    let mut arguments = ArgumentsBuilder::with_limits(ArgumentsLimits::new().with_max_bytes(8));
    arguments.push(r#"{"a":"x"#);
    arguments.push("yz");
    arguments.push("\"");
    assert_eq!((arguments.text(), arguments.value()), (r#"{"a":"x"#, Some(&json!({"a": "x"}))));
    let message = "the arguments are longer than 8 bytes: send less at once, in several calls if need be";
    assert_eq!(arguments.finish().unwrap_err().to_string(), message);

    let mut arguments = ArgumentsBuilder::with_limits(ArgumentsLimits::new().with_max_bytes(8));
    arguments.push(r#"{"a":12}"#);
    arguments.push("");
    assert_eq!(arguments.finish().map(Value::Object), Ok(json!({"a": 12})));
    assert_eq!(ArgumentsLimits::default().max_bytes(), 16 * 1024 * 1024);
}
