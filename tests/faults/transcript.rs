//! Transcripts: old ones load, foreign roles are as they say, refusals leave nothing behind.

use serde_json::{Value, json};
use turnstate::message::AgentMessage;
use turnstate::run::QueueKind;
use turnstate::testing::{ScriptedModel, ScriptedTool};
use turnstate::tool::IntoTool;
use turnstate::{Agent, CustomMessage, NothingToResume, Run, Transcript};

use crate::support::*;

#[test]
fn messages_of_an_older_version_load_and_are_gone_on_with() {
    let stored = json!([
        { "role": "system", "content": "s" },
        { "role": "user", "content": [{ "type": "text", "text": "go", "cached": true }] },
        { "role": "assistant", "content": [{ "type": "toolCall", "id": "a", "name": "read", "arguments": {}, "new": 1 }],
          "stopReason": "toolUse", "futureField": { "x": [] } },
        { "role": "toolResult", "toolCallId": "a", "toolName": "read", "content": [{ "type": "text", "text": "R" }],
          "isError": false, "extra": null },
        { "role": "assistant", "content": [{ "type": "text", "text": "done" }] },
    ]);
    let loaded: Transcript = serde_json::from_value(stored).unwrap();
    let model = ScriptedModel::new(["ok"]);
    let run = finish(Run::builder(model.clone()).transcript(loaded).build().prompt("on"));
    assert!(run.outcome().unwrap().is_success());
    assert_eq!(
        sent(&model.requests()[0]),
        ["system: s", "user: go", "assistant: [a read]", "result a: R", "assistant: done", "user: on"]
    );
}

#[derive(Debug, CustomMessage)]
enum App {
    #[message(user = "Ran {command}")]
    Ran { command: String },
    #[message(skip)]
    Note { text: String },
}

#[test]
fn each_role_reaches_the_request_as_it_says_and_in_its_place() {
    let model = ScriptedModel::new(["ok"]);
    let transcript: Vec<AgentMessage<App>> = vec![
        AgentMessage::system("first"),
        AgentMessage::user("hi"),
        App::Ran { command: "ls".into() }.into(),
        App::Note { text: "aside".into() }.into(),
        AgentMessage::system("from now on"),
    ];
    let run = Run::builder(model.clone()).custom_messages::<App>().transcript(transcript).build();
    let run = finish(run.prompt("go"));
    assert_eq!(
        sent(&model.requests()[0]),
        ["system: first", "user: hi", "user: Ran ls", "system: from now on", "user: go"]
    );
    assert_eq!(story(run.transcript())[2..4], ["ran", "note"]);
}

#[test]
fn a_resume_after_a_usable_answer_is_refused_and_changes_nothing_until_something_is_queued() {
    let model = ScriptedModel::new(["one", "two", "three"]);
    let run = finish(Run::builder(model).build().prompt("go"));
    let before = run.transcript().clone();
    let refused = run.resume().unwrap_err();
    assert_eq!(refused.reason, NothingToResume::AlreadyAnswered);
    assert_eq!(
        refused.to_string(),
        "the last message is a usable answer; give a prompt, or queue a message with steer or follow_up first"
    );
    let run = refused.run;
    assert!(run.transcript().ptr_eq(&before));
    let _ = (run.handle().follow_up("later"), run.handle().steer("now"));
    let run = finish(run.resume().unwrap());
    assert_eq!(
        story(&run.outcome().unwrap().added),
        ["user: now", "assistant: two", "user: later", "assistant: three"]
    );
}

#[test]
fn a_resume_of_nothing_is_refused() {
    for transcript in [vec![], vec![AgentMessage::system("s")]] {
        let run = Run::builder(ScriptedModel::new(["one"])).transcript(transcript.clone()).build();
        let refused = run.resume().unwrap_err();
        assert_eq!(refused.reason, NothingToResume::NoMessages);
        assert_eq!(*refused.run.transcript(), transcript.into());
    }
}

#[test]
fn a_refusal_leaves_transcript_queues_and_events_as_they_were() {
    let agent = Agent::new(Run::builder(ScriptedModel::new(["one", "two"])).build());
    let running = agent.prompt("go").unwrap();
    let ticket = agent.steer("wait");
    assert!(agent.prompt("ghost").is_err() && agent.resume().is_err());
    assert!(ticket.is_waiting());
    turnstate::testing::block_on(running);
    let mut told = story(agent.state().transcript());
    told.extend(story(&agent.queued(QueueKind::FollowUp)));
    assert_eq!(told, ["user: go", "user: wait", "assistant: one"]);
}

#[test]
fn the_same_tools_in_another_order_declare_nothing_and_keep_every_earlier_message() {
    let tools = || [ScriptedTool::new("a"), ScriptedTool::new("b")].map(IntoTool::into_tool);
    let model = ScriptedModel::new(["one", "two", "three"]);
    let mut run = finish(Run::builder(model.clone()).tools(tools()).system_prompt("s").build().prompt("go"));
    let mut reversed = tools();
    reversed.reverse();
    run.set_tools(reversed);
    let mut run = finish(run.prompt("on"));
    let bytes = |request: usize| -> Vec<String> {
        model.requests()[request]
            .messages
            .iter()
            .map(|message| serde_json::to_string(message).unwrap())
            .collect()
    };
    assert_eq!(bytes(1)[..bytes(0).len()], bytes(0));
    assert_eq!(run.transcript().iter().filter(|message| message.as_system().is_some()).count(), 1);
    // A tool less is declared, and the messages before stay as they are.
    run.set_tools(tools().into_iter().take(1));
    let run = finish(run.prompt("again"));
    assert_eq!(bytes(2)[..bytes(1).len()], bytes(1));
    assert_eq!(run.transcript().iter().filter(|message| message.as_system().is_some()).count(), 2);
}

#[test]
fn a_schema_whose_keys_stand_in_another_order_is_no_change() {
    let with = |text: &str| {
        ScriptedTool::new("t").with_schema(serde_json::from_str::<Value>(text).unwrap()).into_tool()
    };
    let model = ScriptedModel::new(["one", "two"]);
    let run = Run::builder(model).tool(with(r#"{"type":"object","properties":{"a":{},"b":{}}}"#)).build();
    let mut run = finish(run.prompt("go"));
    run.set_tools([with(r#"{"properties":{"b":{},"a":{}},"type":"object"}"#)]);
    let run = finish(run.prompt("on"));
    assert_eq!(story(run.transcript()), ["user: go", "assistant: one", "user: on", "assistant: two"]);
    assert_eq!(run.transcript().len(), 5);
}

/// Every place in a value below which there is no other.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (format!("{path}/{key}"), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(at, value)| (format!("{path}/{at}"), value)).collect()
        }
        _ => return found.push(path.to_owned()),
    };
    found.push(path.to_owned());
    inner.into_iter().for_each(|(path, value)| leaves(value, &path, found));
}

/// One message of each role, with every field that has a default.
fn one_of_each() -> Value {
    let usage = json!({ "input": 1, "output": 2, "cacheRead": 3, "cacheWrite": 4, "totalTokens": 10,
        "cost": { "input": 0.1, "output": 0.2, "cacheRead": 0, "cacheWrite": 0, "total": 0.3 } });
    json!([
        { "role": "system", "content": "s", "sections": { "x": "y" }, "timestamp": 1,
          "toolsAdded": [{ "name": "read", "description": "d", "parameters": {} }], "toolsRemoved": [{ "name": "old" }] },
        { "role": "user", "content": [{ "type": "text", "text": "go" }, { "type": "image", "data": "aGk=", "mimeType": "image/png" }],
          "timestamp": 1 },
        { "role": "assistant", "api": "a", "provider": "p", "model": "m", "usage": usage, "stopReason": "toolUse", "timestamp": 1,
          "content": [{ "type": "thinking", "thinking": "t", "thinkingSignature": "s" }, { "type": "text", "text": "x" },
                      { "type": "toolCall", "id": "a", "name": "read", "arguments": {} }] },
        { "role": "toolResult", "toolCallId": "a", "toolName": "read", "content": [], "isError": false, "timestamp": 1,
          "usage": usage, "durationMs": 5, "nestedCalls": { "calls": [], "complete": true } },
    ])
}

#[test]
fn null_in_a_stored_message_reads_as_what_it_stands_for_is_absent() {
    let stored = one_of_each();
    let mut places = Vec::new();
    leaves(&stored, "", &mut places);
    let mut refused = Vec::new();
    for place in places {
        let mut stored = stored.clone();
        *stored.pointer_mut(&place).unwrap() = Value::Null;
        if serde_json::from_value::<Transcript>(stored).is_err() {
            refused.push(place);
        }
    }
    // A whole message, a whole block, what says which kind it is, and what nothing can stand in for.
    refused.retain(|place| !place.chars().last().is_none_or(|last| last.is_ascii_digit()));
    refused.sort();
    assert_eq!(
        refused,
        [
            "/0/role",
            "/0/toolsAdded/0/name",
            "/0/toolsRemoved/0/name",
            "/1/content/0/type",
            "/1/content/1/data",
            "/1/content/1/mimeType",
            "/1/content/1/type",
            "/1/role",
            "/2/content/0/type",
            "/2/content/1/type",
            "/2/content/2/type",
            "/2/role",
            "/3/role",
            "/3/toolCallId"
        ]
    );
}
