//! Blocks of content: all of them kept, none of them empty on the way to the model.

use serde_json::json;
use turnstate::message::{
    AgentMessage, AssistantContent, AssistantMessage, Content, Message, StopReason, Thinking,
};
use turnstate::model::Delta;
use turnstate::testing::{Response, ScriptedModel, ScriptedTool};
use turnstate::tool::ToolOutput;
use turnstate::{AgentEvent, Run, Transcript};

use crate::support::*;

fn answer(content: Vec<AssistantContent>) -> AgentMessage {
    AssistantMessage::new(content).into()
}

#[test]
fn a_blank_answer_is_in_the_transcript_and_in_no_request() {
    let text = AssistantContent::text;
    for content in [vec![], vec![text("")], vec![text("  ")], vec![text("\n"), text("")]] {
        let stored = vec![AgentMessage::user("hi"), answer(content)];
        let model = ScriptedModel::new(["ok"]);
        let run = finish(Run::builder(model.clone()).transcript(stored.clone()).build().prompt("go"));
        assert_eq!(run.transcript()[..2], stored);
        assert_eq!(sent(&model.requests()[0]), ["user: hi", "user: go"]);
    }
}

#[test]
fn a_blank_block_beside_others_is_left_out_of_the_request_alone() {
    let content = vec![AssistantContent::text(""), AssistantContent::text("x"), AssistantContent::text(" ")];
    let stored = vec![AgentMessage::user("hi"), answer(content)];
    let model = ScriptedModel::new(["ok"]);
    let run = finish(Run::builder(model.clone()).transcript(stored.clone()).build().prompt("go"));
    assert_eq!(run.transcript()[1], stored[1]);
    assert_eq!(sent(&model.requests()[0])[1], "assistant: x");
}

#[test]
fn a_model_that_streams_nothing_ends_its_turn_and_leaves_the_next_request_clean() {
    let model = ScriptedModel::new([Response::new(), Response::text(""), Response::text("ok")]);
    let run = finish(Run::builder(model.clone()).build().prompt("one"));
    assert!(run.outcome().unwrap().is_success());
    let run = finish(finish(run.prompt("two")).prompt("three"));
    assert_eq!(run.transcript().len(), 6);
    assert_eq!(sent(&model.requests()[2]), ["user: one", "user: two", "user: three"]);
}

#[test]
fn an_answer_of_thinking_alone_keeps_its_block() {
    let model = ScriptedModel::new([Response::thinking("hmm"), "ok".into()]);
    let run = finish(finish(Run::builder(model.clone()).build().prompt("go")).prompt("on"));
    assert_eq!(story(run.transcript())[1], "assistant: (hmm)");
    assert_eq!(sent(&model.requests()[1])[1], "assistant: (hmm)");
}

#[test]
fn thinking_text_signature_and_order_survive_request_events_and_store() {
    let thinking = |index, text: &str, signature: &str| {
        [
            Delta::ThinkingStart { index },
            Delta::thinking(index, text),
            Delta::ThinkingEnd { index, signature: Some(signature.into()), redacted: text.is_empty() },
        ]
    };
    let call = |index, id: &str| {
        [
            Delta::tool_call_start(index, id, "read"),
            Delta::tool_call(index, "{}"),
            Delta::ToolCallEnd { index, call: None },
        ]
    };
    let deltas = [thinking(0, " first\n", "s1=="), call(1, "a"), thinking(2, "", "hidden"), call(3, "b")];
    let streamed = deltas.into_iter().flatten().fold(Response::new(), Response::and_delta);
    let model = ScriptedModel::new([streamed, "done".into()]);
    let (run, events) =
        told(Run::builder(model.clone()).tool(ScriptedTool::new("read")).build().prompt("go"));
    let mut first = Thinking::new(" first\n");
    first.thinking_signature = Some("s1==".to_owned());
    let mut second = Thinking::new("");
    (second.thinking_signature, second.redacted) = (Some("hidden".to_owned()), Some(true));
    let content: Vec<AssistantContent> = vec![
        first.into(),
        crate::support::call("a", "read").into(),
        second.into(),
        crate::support::call("b", "read").into(),
    ];
    let ended = events.iter().find_map(|event| match event {
        AgentEvent::MessageEnd { message } => message.as_assistant(),
        _ => None,
    });
    assert_eq!(ended.unwrap().content, content);
    let Message::Assistant(sent) = &model.requests()[1].messages[2] else { panic!() };
    assert_eq!(sent.content, content);
    let loaded: Transcript = serde_json::from_value(json!(run.transcript())).unwrap();
    assert_eq!(loaded, *run.transcript());
}

#[test]
fn images_of_a_tool_reach_result_event_and_request() {
    let image = || Content::image("aGk=", "image/png");
    for content in [vec![Content::text("see"), image()], vec![image()]] {
        let model = batch(&[("a", "read")]);
        let tool = ScriptedTool::new("read").returns(ToolOutput::from(content.clone()));
        let (run, events) = told(Run::builder(model.clone()).tool(tool).build().prompt("go"));
        let result = run.transcript().iter().find_map(AgentMessage::as_tool_result).unwrap();
        assert_eq!(result.content, content);
        let ended = events.iter().find_map(|event| match event {
            AgentEvent::ToolExecutionEnd { result, .. } => Some(result.message.content.clone()),
            _ => None,
        });
        assert_eq!(ended, Some(content.clone()));
        let Some(Message::ToolResult(sent)) = model.requests()[1].messages.last().cloned() else { panic!() };
        assert_eq!(sent.content, content);
    }
}

#[test]
fn a_tool_result_without_content_is_a_result_all_the_same() {
    let model = batch(&[("a", "read")]);
    let tool = ScriptedTool::new("read").returns(ToolOutput::from(()));
    let run = finish(Run::builder(model.clone()).tool(tool).build().prompt("go"));
    assert_eq!(story(run.transcript())[2..], ["result a: ", "assistant: done"]);
    assert_eq!(sent(&model.requests()[1])[2], "result a: ");
}

#[test]
fn a_stored_result_without_content_loads_and_goes_on() {
    for content in
        [json!(null), json!([]), json!([{ "type": "text" }]), json!([{ "type": "text", "text": null }])]
    {
        let result =
            json!({ "role": "toolResult", "toolCallId": "a", "toolName": "read", "content": content });
        let stored = json!([
            { "role": "user", "content": "go" },
            { "role": "assistant", "content": [{ "type": "toolCall", "id": "a", "name": "read" }], "stopReason": "toolUse" },
            result,
        ]);
        let loaded: Transcript =
            serde_json::from_value(stored).unwrap_or_else(|error| panic!("{content}: {error}"));
        let result = loaded[2].as_tool_result().unwrap();
        assert!(result.content.is_empty() || result.content == [Content::text("")], "{content}");
        let model = ScriptedModel::new(["ok"]);
        let run = Run::builder(model.clone()).transcript(loaded).build().resume().unwrap();
        assert!(finish(run).outcome().unwrap().is_success());
        assert_eq!(sent(&model.requests()[0])[1..], ["assistant: [a read]", "result a: "]);
    }
}

#[test]
fn the_history_after_a_tool_turn_is_prompt_answer_with_all_its_blocks_and_results() {
    let first = Response::thinking("hmm").and_text("I look.").and_tool_call("a", "read", json!({ "n": 1 }));
    let model = ScriptedModel::new([first, Response::text("one"), Response::text("two")]);
    let run = finish(Run::builder(model.clone()).tool(ScriptedTool::new("read")).build().prompt("go"));
    let expected = ["user: go", "assistant: (hmm) | I look. | [a read]", "result a: ok"];
    assert_eq!(sent(&model.requests()[1]), expected);
    let run = finish(run.prompt("on"));
    assert!(run.outcome().unwrap().is_success());
    assert_eq!(sent(&model.requests()[2])[..3], expected);
    assert_eq!(sent(&model.requests()[2])[3..], ["assistant: one", "user: on"]);
}

#[test]
fn blocks_are_ordered_by_their_index_whatever_the_order_of_their_opening() {
    let deltas = [
        Delta::TextStart { index: 7 },
        Delta::text(7, "second"),
        Delta::TextStart { index: 2 },
        Delta::text(2, "first"),
    ];
    let answer = deltas.into_iter().fold(Response::new(), Response::and_delta).stopping(StopReason::Stop);
    let run = finish(Run::builder(ScriptedModel::new([answer])).build().prompt("go"));
    assert_eq!(story(run.transcript())[1], "assistant: first | second");
}
