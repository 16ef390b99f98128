//! Arguments as models write them: what reaches the tool, and what is seen of them while they stream.

use serde_json::{Value, json};
use turnstate::message::AgentMessage;
use turnstate::model::{Delta, PartialBlock};
use turnstate::testing::{Response, ScriptedModel, ScriptedTool, block_on};
use turnstate::{AgentEvent, Run};

use crate::support::*;

#[test]
fn what_models_misspell_without_losing_information_reaches_the_tool() {
    let table = [
        ("{\"a\":\"x\ny\tz\r\"}", json!({ "a": "x\ny\tz\r" })),
        ("{\"a\":\"\u{8}\u{1}\u{7f}\"}", json!({ "a": "\u{8}\u{1}\u{7f}" })),
        (r#"{"p":"C:\users\x"}"#, json!({ "p": r"C:\users\x" })),
        (r#"{"p":"C:\u12"}"#, json!({ "p": r"C:\u12" })),
        (r#"{"p":"\d+\.\w"}"#, json!({ "p": r"\d+\.\w" })),
        ("", json!({})),
        (" \n", json!({})),
        ("{}", json!({})),
        (" {\"a\":1} \n", json!({ "a": 1 })),
        ("```json\n{\"a\":1}\n```", json!({ "a": 1 })),
        (r#"{"a":"\ud83d\ude00"}"#, json!({ "a": "😀" })),
    ];
    for (text, arguments) in table {
        assert_eq!(streamed(text), Ok(arguments), "{text:?}");
    }
}

#[test]
fn a_call_without_any_arguments_delta_runs_with_none() {
    let call = Response::new()
        .and_delta(Delta::tool_call_start(0, "c", "t"))
        .and_delta(Delta::ToolCallEnd { index: 0, call: None });
    assert_eq!(called_with(ScriptedTool::new("t"), call), Ok(json!({})));
    let unended = Response::new().and_delta(Delta::tool_call_start(0, "c", "t"));
    assert_eq!(called_with(ScriptedTool::new("t"), unended), Ok(json!({})));
}

#[test]
fn what_is_no_object_is_an_error_that_the_model_reads_and_the_tool_never_runs() {
    let says = |text: &str| format!("The arguments for tool `t` could not be read: {text}");
    let not = |got: &str| {
        says(&format!(
            r#"the arguments must be a JSON object, got {got}: send one object such as {{"name": "value"}}"#
        ))
    };
    let trailing = |at: usize, near: &str| {
        says(&format!(
            "the arguments go on after the end of their JSON object at byte {at}, near `{near}`: send one object alone"
        ))
    };
    let table = [
        ("null", not("null")),
        ("[1]", not("an array")),
        (r#""{}""#, not("a string")),
        ("1", not("a number")),
        (r#"{"a":1}}"#, trailing(7, r#"{"a":1}}"#)),
        (r#"{"a":1},"#, trailing(7, r#"{"a":1},"#)),
        (r#"{"a":1}{"b":2}"#, trailing(7, r#"{"a":1}{"b":2}"#)),
        (
            r#"{"a":1"#,
            says(
                "the arguments stop before their JSON object is complete, after `{\"a\":1`: send the whole call again, \
                 with shorter arguments if they were cut off",
            ),
        ),
        (
            r#"{"id":123456789012345678901234567890}"#,
            says(
                "the integer at byte 6, near `{\"id\":1234567890123456…`, is too large to be passed on exactly: send it \
                 as a string if the tool takes one, else a number between -9223372036854775808 and 18446744073709551615",
            ),
        ),
    ];
    for (text, error) in table {
        assert_eq!(streamed(text), Err(error), "{text:?}");
    }
}

#[test]
fn integers_of_64_bits_are_exact_in_the_tool_the_events_the_store_and_the_next_request() {
    let numbers = "{\"a\":2512292042121000001,\"b\":18446744073709551615,\"c\":-9223372036854775808}";
    assert_eq!(streamed(numbers).unwrap().to_string(), numbers);
    let model = ScriptedModel::new([Response::new().and_raw_tool_call("c", "t", numbers), "done".into()]);
    let (run, events) = told(Run::builder(model.clone()).tool(ScriptedTool::new("t")).build().prompt("go"));
    let start = events.iter().find(|event| event.kind() == "tool_execution_start").unwrap();
    assert!(serde_json::to_string(start).unwrap().contains(numbers));
    let stored = serde_json::to_string(run.transcript()).unwrap();
    assert!(stored.contains(numbers));
    let loaded: turnstate::Transcript = serde_json::from_str(&stored).unwrap();
    let again = Run::builder(ScriptedModel::new(["ok"])).transcript(loaded).build();
    assert_eq!(serde_json::to_string(again.transcript()).unwrap(), stored);
    assert!(serde_json::to_string(&model.requests()[1].messages).unwrap().contains(numbers));
}

#[test]
fn numbers_keep_their_value_through_the_schema_of_their_tool() {
    let schema =
        json!({ "type": "object", "properties": { "i": { "type": "integer" }, "n": { "type": "number" } } });
    let through = |text: &str| {
        called_with(
            ScriptedTool::new("t").with_schema(schema.clone()),
            Response::new().and_raw_tool_call("c", "t", text),
        )
    };
    for (text, arguments) in [
        (
            r#"{"i":2512292042121000001,"n":18446744073709551615}"#,
            r#"{"i":2512292042121000001,"n":18446744073709551615}"#,
        ),
        (r#"{"i":"2512292042121000001"}"#, r#"{"i":2512292042121000001}"#),
        (r#"{"i":"18446744073709551615"}"#, r#"{"i":18446744073709551615}"#),
        (r#"{"i":1e19}"#, r#"{"i":10000000000000000000}"#),
        // An integer to the schema; a tool that reads 64 bits refuses it.
        (r#"{"i":1e30}"#, r#"{"i":1e+30}"#),
        (r#"{"n":0.1}"#, r#"{"n":0.1}"#),
        (r#"{"n":"2512292042121000001"}"#, r#"{"n":2512292042121000001}"#),
    ] {
        assert_eq!(through(text).map(|value| value.to_string()), Ok(arguments.to_owned()), "{text}");
    }
    for text in [r#"{"i":1e400}"#, r#"{"n":-1e400}"#, r#"{"i":"18446744073709551616"}"#] {
        assert!(through(text).is_err(), "{text}");
    }
}

#[test]
fn arguments_that_nest_without_end_are_an_error() {
    for open in ["[", r#"{"a":"#] {
        let text = format!("{{\"a\":{}", open.repeat(100_000));
        let error = streamed_at_once(&text).unwrap_err();
        assert!(error.contains("are nested more than "), "{error}");
        assert!(error.ends_with(": send a flatter object"), "{error}");
    }
    let error = streamed_at_once(&"[".repeat(100_000)).unwrap_err();
    assert!(error.contains("must be a JSON object, got an array"), "{error}");
}

fn streamed_at_once(text: &str) -> Result<Value, String> {
    called_with(ScriptedTool::new("t"), Response::new().and_raw_tool_call("c", "t", text))
}

/// What is seen of the arguments after each character, through the run's state.
fn seen(text: &str) -> Vec<Option<Value>> {
    let answer = Response::new().and_raw_tool_call("c", "t", text).in_chunks_of(1);
    let model = ScriptedModel::new([answer, "done".into()]);
    let mut run = Run::builder(model).tool(ScriptedTool::new("t")).build().prompt("go");
    let mut seen = Vec::new();
    block_on(async {
        while let Some(event) = run.next().await {
            let AgentEvent::MessageUpdate { delta: Delta::ToolCall { .. } } = event else { continue };
            let Some(PartialBlock::ToolCall(call)) = run.state().partial().unwrap().block(0) else {
                panic!()
            };
            seen.push(call.arguments().map(|arguments| Value::Object(arguments.clone())));
        }
    });
    seen
}

#[test]
fn what_was_seen_of_a_string_never_disappears_wherever_the_text_is_cut() {
    for text in
        [r#"{"a":"x\u4f60\n"}"#, r#"{"a":"\ud83d\ude00y\\\"z"}"#, "{\"a\":\"é你😀\ny\"}", r#"{"a":"\q\u1"}"#]
    {
        let mut last = String::new();
        for value in seen(text).into_iter().flatten() {
            let Some(now) = value.get("a") else {
                assert!(last.is_empty(), "{text}: `a` disappeared");
                continue;
            };
            let now = now.as_str().unwrap().to_owned();
            assert!(now.starts_with(&last), "{text}: {last:?}, then {now:?}");
            last = now;
        }
        assert_eq!(streamed(text).unwrap()["a"], json!(last), "{text}");
    }
}

#[test]
fn nothing_is_made_up_where_arguments_are_cut() {
    let table = [
        (r#"{"a":1,"b":"#, json!({ "a": 1 })),
        (r#"{"a":1,"b"#, json!({ "a": 1 })),
        (r#"{"a":1,"#, json!({ "a": 1 })),
        (r#"{"a":tr"#, json!({})),
        (r#"{"a":nul"#, json!({})),
        (r#"{"a":-"#, json!({})),
        (r#"{"a":1."#, json!({})),
        (r#"{"a":1e"#, json!({})),
        (r#"{"a":12"#, json!({})),
        (r#"{"a":[1,"#, json!({ "a": [1] })),
        (r#"{"a":{"b":"x"#, json!({ "a": { "b": "x" } })),
        (r#"{"a":"x\"#, json!({ "a": "x" })),
        (r#"{"a":"x\ud83d"#, json!({ "a": "x" })),
    ];
    for (text, kept) in table {
        let cut = Response::new()
            .and_delta(Delta::tool_call_start(0, "c", "t"))
            .and_delta(Delta::tool_call(0, text))
            .failing("the line went dead");
        let run = finish(Run::builder(ScriptedModel::new([cut])).build().prompt("go"));
        let answer = run.transcript().last().and_then(AgentMessage::as_assistant).unwrap();
        assert_eq!(json!(answer.tool_calls().next().unwrap().arguments), kept, "{text}");
        assert_eq!(seen(text).pop().unwrap().unwrap_or(json!({})), kept, "{text}");
    }
}

#[test]
fn garbage_after_the_object_is_ignored_while_it_streams() {
    for text in [r#"{"a":1}}"#, r#"{"a":1},"#, r#"{"a":1} and more"#] {
        assert_eq!(seen(text).pop().unwrap(), Some(json!({ "a": 1 })), "{text}");
    }
}
