//! The reference's own agent and proxy client drive our proxy server.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use futures::{StreamExt, stream};
use serde_json::{Value, json};
use turnstate::message::{Message, StopReason, Usage};
use turnstate::model::{BoxDeltaStream, Delta, Done, Request};

use crate::proxy_server::{TOKEN, against};
use crate::services;

/// Counts the streams of the endless answer that were dropped.
struct Dropped(Arc<Mutex<usize>>);

impl Drop for Dropped {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

fn last_user_text(request: &Request) -> String {
    let user = request.messages.iter().rev().find_map(|message| match message {
        Message::User(user) => Some(user.content.texts().collect()),
        _ => None,
    });
    user.unwrap_or_default()
}

fn model(requests: Arc<Mutex<Vec<Request>>>, dropped: Arc<Mutex<usize>>) -> impl turnstate::model::StreamFn {
    move |request: Request| -> BoxDeltaStream {
        let said = last_user_text(&request);
        let has_result = matches!(request.messages.last(), Some(Message::ToolResult(_)));
        requests.lock().unwrap().push(request);
        match (said.as_str(), has_result) {
            ("Never stop.", _) => {
                let guard = Dropped(dropped.clone());
                let begin = [Delta::Start, Delta::TextStart { index: 0 }, Delta::text(0, "Well ")];
                stream::iter(begin)
                    .chain(stream::once(async move {
                        let _guard = guard;
                        futures::future::pending().await
                    }))
                    .boxed()
            }
            ("Fail.", _) => stream::iter([Delta::Start, Delta::error("no credits left")]).boxed(),
            (_, false) => stream::iter(calls()).boxed(),
            (_, true) => stream::iter([
                Delta::TextStart { index: 0 },
                Delta::text(0, "It rains 🙂."),
                Delta::TextEnd { index: 0, signature: None },
                Done::new(StopReason::Stop).with_usage(Usage::new(30, 5)).into(),
            ])
            .boxed(),
        }
    }
}

/// Thinking and two calls that interleave; their ends leave it to the server to tell the complete call.
fn calls() -> Vec<Delta> {
    vec![
        Delta::Start,
        Delta::ThinkingStart { index: 0 },
        Delta::thinking(0, "hm"),
        Delta::ThinkingEnd { index: 0, signature: Some("sig".into()), redacted: false },
        Delta::tool_call_start(1, "c1", "get_weather"),
        Delta::tool_call_start(2, "c2", "get_weather"),
        Delta::tool_call(1, r#"{"city":"Z\u00"#),
        Delta::tool_call(2, r#"{"city":"Bern","#),
        Delta::tool_call(1, r#"fcrich","days":3}"#),
        Delta::tool_call(2, r#""days":1}"#),
        Delta::ToolCallEnd { index: 1, call: None },
        Delta::ToolCallEnd { index: 2, call: None },
        Done::new(StopReason::ToolUse).with_usage(Usage::new(10, 20)).into(),
    ]
}

/// Runs the client; gives what it printed, by scenario.
async fn drive(script: &Path, url: String) -> Vec<Value> {
    let script = script.to_owned();
    let run = move || {
        let mut node = Command::new("node");
        let output = node.arg(script).args([&url, TOKEN]).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let printed = tokio::task::spawn_blocking(run).await.unwrap();
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_references_own_agent_runs_its_tools_aborts_and_fails_through_our_server() {
    let package = "node_modules/@earendil-works/pi-agent-core/package.json";
    let Some(_) = services::find("the reference's client", package) else { return };
    // Beside the packages, where the script's imports are looked for.
    let script = services::folder().join(format!("reference_client-{}.mjs", std::process::id()));
    std::fs::write(&script, include_str!("reference_client.mjs")).unwrap();
    let (requests, dropped) = (Arc::default(), Arc::new(Mutex::new(0)));
    let printed = Arc::new(Mutex::new(Vec::new()));
    against(model(Arc::clone(&requests), dropped.clone()), |url| {
        let (script, printed, dropped) = (script.clone(), printed.clone(), dropped.clone());
        async move {
            *printed.lock().unwrap() = drive(&script, url).await;
            while *dropped.lock().unwrap() == 0 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        }
    });
    std::fs::remove_file(&script).unwrap();
    let printed = printed.lock().unwrap();
    let [tools, abort, error] = &printed[..] else { panic!("three scenarios: {printed:?}") };
    tools_ran(tools);
    assert_eq!(last(abort)["stopReason"], "aborted");
    assert_eq!(last(abort)["content"][0]["text"], "Well ");
    assert_eq!(last(error)["stopReason"], "error");
    assert_eq!(last(error)["errorMessage"], "no credits left");
    what_was_asked(&requests.lock().unwrap());
}

fn last(scenario: &Value) -> &Value {
    scenario["messages"].as_array().unwrap().last().unwrap()
}

fn tools_ran(tools: &Value) {
    let messages = tools["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "toolResult", "toolResult", "assistant"]);
    assert_eq!(
        messages[2]["content"],
        json!([
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
            {"type": "toolCall", "id": "c1", "name": "get_weather", "arguments": {"city": "Zürich", "days": 3}},
            {"type": "toolCall", "id": "c2", "name": "get_weather", "arguments": {"city": "Bern", "days": 1}},
        ])
    );
    assert_eq!(messages[2]["usage"]["totalTokens"], 30);
    assert_eq!(messages[3]["content"][0]["text"], "3 days of rain in Zürich");
    assert_eq!(messages[4]["content"][0]["text"], "1 days of rain in Bern");
    assert_eq!(messages[5]["content"][0]["text"], "It rains 🙂.");
    assert_eq!(messages[5]["stopReason"], "stop");
    let seen = tools["seen"].as_array().unwrap();
    for kind in ["thinking_delta", "toolcall_start", "toolcall_delta", "toolcall_end", "text_delta"] {
        assert!(seen.contains(&json!(kind)), "{kind} in {seen:?}");
    }
}

/// The server read the client's requests: prompt, tools, and the results in the second one.
fn what_was_asked(requests: &[Request]) {
    assert_eq!(requests.len(), 4);
    assert_eq!(requests[0].system_prompt(), "You are terse.");
    assert_eq!(
        requests[0].tools().iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        ["get_weather"]
    );
    assert_eq!(requests[0].messages.len(), 2);
    assert_eq!(requests[1].messages.len(), 5);
    assert_eq!((requests[0].model.id.as_str(), requests[0].model.provider.as_str()), ("m1", "p"));
}
