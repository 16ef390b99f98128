//! Text that is no ASCII: whole characters everywhere, and JSON that others can read.

use serde_json::json;
use turnstate::Run;
use turnstate::message::AgentMessage;
use turnstate::testing::{Response, ScriptedModel, ScriptedTool};

use crate::support::*;

#[test]
fn half_a_surrogate_pair_in_arguments_is_replaced_and_every_later_request_is_valid() {
    for half in [r"\ud800", r"\udc00", r"\ud83dx", r"\udc00\ud800"] {
        let answer =
            Response::new().and_raw_tool_call("c", "t", format!(r#"{{"v":"a{half}b"}}"#)).in_chunks_of(1);
        let model = ScriptedModel::new([answer, "done".into()]);
        let tool = ScriptedTool::new("t");
        let run = finish(Run::builder(model.clone()).tool(tool.clone()).build().prompt("go"));
        let value = tool.executions()[0].call.arguments["v"].as_str().unwrap().to_owned();
        assert!(value.starts_with("a\u{fffd}") && value.ends_with('b'), "{half}: {value:?}");
        let stored = serde_json::to_vec(run.transcript()).unwrap();
        let loaded: turnstate::Transcript = serde_json::from_slice(&stored).unwrap();
        assert_eq!(loaded, *run.transcript());
        let request = serde_json::to_string(&model.requests()[1].messages).unwrap();
        assert!(request.contains(&value) && !request.contains("\\ud"), "{request}");
    }
}

#[test]
fn a_tool_that_read_broken_bytes_gives_replaced_characters() {
    let broken = String::from_utf8_lossy(b"a\xed\xa0\x80b\xff").into_owned();
    let model = batch(&[("a", "read")]);
    let tool = ScriptedTool::new("read").returns(broken.clone());
    let run = finish(Run::builder(model.clone()).tool(tool).build().prompt("go"));
    assert_eq!(story(run.transcript())[2], format!("result a: {broken}"));
    assert_eq!(sent(&model.requests()[1])[2], format!("result a: {broken}"));
}

#[test]
fn an_excerpt_of_broken_arguments_is_cut_between_characters_wherever_the_mistake_is() {
    for ahead in 0..40 {
        for character in ["é", "你", "😀"] {
            let text = format!(
                r#"{{"v":"{}{}" x {}"#,
                "a".repeat(ahead),
                character.repeat(30),
                character.repeat(30)
            );
            let error = streamed(&text).unwrap_err();
            assert!(error.starts_with("The arguments for tool `t` could not be read: "), "{error}");
            assert!(!error.contains('\u{fffd}') && error.len() < 400, "{error}");
        }
    }
}

#[test]
fn an_excerpt_of_a_wrong_value_is_cut_between_characters_wherever_the_limit_is() {
    let schema = json!({ "type": "object", "properties": { "v": { "enum": ["x"] } } });
    for ahead in 0..8 {
        let value = format!("{}{}", "a".repeat(ahead), "你".repeat(100));
        let error = checked_by(schema.clone(), json!({ "v": value })).unwrap_err();
        let wanted = format!("{}你", "a".repeat(ahead));
        assert!(error.contains(&wanted) && error.contains("… (cut, "), "{error}");
    }
}

#[test]
fn text_that_streams_in_single_characters_is_whole() {
    let text = "é你😀\u{2028}\u{2029}\u{0}e\u{301}";
    let model = ScriptedModel::new([Response::text(text).in_chunks_of(1)]);
    let run = finish(Run::builder(model).build().prompt("go"));
    let answer = run.transcript().last().and_then(AgentMessage::as_assistant).unwrap();
    assert_eq!(answer.texts().collect::<Vec<_>>(), [text]);
}
