//! Hooks see what is true, change what they say, and break nothing by failing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use turnstate::agent::WeakAgent;
use turnstate::hook::{AfterToolCall, BeforeToolCall};
use turnstate::message::{AgentMessage, Message};
use turnstate::model::ApiKey;
use turnstate::testing::{Gates, Response, ScriptedModel, ScriptedTool, ToolScript, block_on};
use turnstate::transcript::Transcript;
use turnstate::{Agent, AgentEvent, Run};

use crate::support::*;

#[test]
fn an_after_hook_that_fails_is_the_error_of_its_call_alone() {
    for panics in [false, true] {
        let run = Run::builder(batch(&[("a", "read"), ("b", "read")]))
            .tool(ScriptedTool::new("read"))
            .after_tool_call(async move |call, _, _| match (call.id.as_str(), panics) {
                ("a", true) => std::panic::resume_unwind(Box::new("the hook broke")),
                ("a", false) => AfterToolCall::fail("the hook broke"),
                _ => AfterToolCall::unchanged(),
            })
            .build();
        let run = finish(run.prompt("go"));
        assert_eq!(
            story(run.transcript())[2..],
            ["error a: the hook broke", "result b: ok", "assistant: done"]
        );
    }
}

#[test]
fn a_before_hook_that_fails_is_the_error_of_its_call_alone() {
    for panics in [false, true] {
        let tool = ScriptedTool::new("read");
        let run = Run::builder(batch(&[("a", "read"), ("b", "read")]))
            .tool(tool.clone())
            .before_tool_call(async move |call, _| match (call.id.as_str(), panics) {
                ("a", true) => std::panic::resume_unwind(Box::new("the hook broke")),
                ("a", false) => BeforeToolCall::fail("the hook broke"),
                _ => BeforeToolCall::Allow,
            })
            .build();
        let run = finish(run.prompt("go"));
        assert_eq!(
            story(run.transcript())[2..],
            ["error a: the hook broke", "result b: ok", "assistant: done"]
        );
        assert_eq!(tool.executions().len(), 1);
    }
}

#[test]
fn a_before_hook_sees_the_answer_that_asked_for_the_call() {
    let own: Arc<OnceLock<WeakAgent>> = Arc::default();
    let (seen, known) = (Arc::new(Mutex::new(Vec::new())), own.clone());
    let log = seen.clone();
    let run = Run::builder(batch(&[("a", "read")]))
        .tool(ScriptedTool::new("read"))
        .before_tool_call(async move |_, cx| {
            let state = known.get().unwrap().upgrade().unwrap().state();
            let last = |messages: &[AgentMessage]| story(messages).pop().unwrap();
            log.lock().unwrap().extend([last(cx.transcript), last(cx.added), last(state.transcript())]);
            BeforeToolCall::Allow
        })
        .build();
    let agent = Agent::new(run);
    own.set(agent.downgrade()).unwrap();
    block_on(agent.prompt("go").unwrap());
    assert_eq!(*seen.lock().unwrap(), ["assistant: [a read]"; 3]);
}

#[test]
fn a_context_made_for_one_request_is_stored_nowhere() {
    let model = batch(&[("a", "read")]);
    let run = Run::builder(model.clone())
        .tool(ScriptedTool::new("read"))
        .transform_context(async |context: &mut Transcript, _| {
            for message in context.make_mut() {
                if let AgentMessage::User(user) = message {
                    Arc::make_mut(user).content = "edited".into();
                }
            }
            context.push(AgentMessage::user("only now"));
        })
        .build();
    let (run, events) = told(run.prompt("go"));
    let expected = ["user: go", "assistant: [a read]", "result a: ok", "assistant: done"];
    assert_eq!(story(run.transcript()), expected);
    let Some(AgentEvent::AgentEnd { messages }) = events.last() else { panic!("{events:?}") };
    assert_eq!(story(messages), expected);
    let requests = model.requests();
    assert_eq!(sent(&requests[0]), ["user: edited", "user: only now"]);
    assert_eq!(sent(&requests[1]), ["user: edited", "assistant: [a read]", "result a: ok", "user: only now"]);
}

#[test]
fn what_a_converter_does_to_one_request_is_stored_nowhere() {
    let model = batch(&[("a", "read")]);
    let run = Run::builder(model.clone())
        .tool(ScriptedTool::new("read"))
        .convert(async |messages: &mut turnstate::transcript::Messages, _| {
            messages.make_mut().retain(|message| !matches!(message, Message::User(_)));
            messages.push(Message::user("converted"));
        })
        .build();
    let run = finish(run.prompt("go"));
    assert_eq!(story(run.transcript())[0], "user: go");
    assert_eq!(sent(&model.requests()[1]), ["assistant: [a read]", "result a: ok", "user: converted"]);
}

#[test]
fn with_hooks_around_it_a_call_tells_all_its_updates_between_its_start_and_its_end() {
    let tells = ToolScript::new().update("1").update("2").yields().update("3");
    let run = Run::builder(batch(&[("a", "read")]))
        .tool(ScriptedTool::new("read").does(tells))
        .before_tool_call(async |_, _| BeforeToolCall::Allow)
        .after_tool_call(async |_, _, _| AfterToolCall::unchanged())
        .build();
    let (_, events) = told(run.prompt("go"));
    assert_eq!(steps(&events)[4..9], ["start a", "update a", "update a", "update a", "end a"]);
}

#[test]
fn no_tool_starts_after_a_before_hook_stopped_the_run() {
    let tool = ScriptedTool::new("read");
    let run = Run::builder(batch(&[("a", "read"), ("b", "read")]))
        .tool(tool.clone())
        .before_tool_call(async |call, cx| {
            if call.id == "a" {
                cx.abort.abort();
            }
            BeforeToolCall::Allow
        })
        .build();
    let run = finish(run.prompt("go"));
    assert!(tool.executions().is_empty());
    assert_eq!(
        story(run.transcript())[2..],
        ["error a: Operation aborted", "error b: Operation aborted", "aborted: Request was aborted"]
    );
}

#[test]
fn no_tool_starts_after_a_run_was_cancelled_inside_a_before_hook() {
    let (gates, tool) = (Gates::new(), ScriptedTool::new("read"));
    let gate = gates.gate("hook");
    let run = Run::builder(batch(&[("a", "read"), ("b", "read")]))
        .tool(tool.clone())
        .before_tool_call(async move |call, _| {
            if call.id == "b" {
                gate.wait().await;
            }
            BeforeToolCall::Allow
        })
        .build();
    let mut run = drive(run.prompt("go"), &gates);
    assert_eq!(run.run_until_stalled().waiting, ["hook"]);
    let (run, _) = run.into_inner().cancel();
    gates.release("hook");
    assert!(tool.executions().is_empty());
    assert_eq!(story(run.transcript())[2..4], ["error a: Operation aborted", "error b: Operation aborted"]);
}

#[test]
fn the_key_is_asked_for_before_each_request_and_its_failure_is_a_failed_answer() {
    let asked = Arc::new(AtomicUsize::new(0));
    let model =
        ScriptedModel::new([calls_of(&[("a", "read")]), calls_of(&[("b", "read")]), Response::text("x")])
            .then_always(calls_of(&[("c", "read")]));
    let run = Run::builder(model.clone())
        .tool(ScriptedTool::new("read"))
        .api_key_from(async move |_, _| match asked.fetch_add(1, Ordering::SeqCst) + 1 {
            4 => Err("the key has expired".into()),
            number => Ok(Some(ApiKey::new(format!("k{number}")))),
        })
        .build();
    let run = finish(run.prompt("go"));
    let keys: Vec<_> = model
        .requests()
        .iter()
        .map(|request| request.api_key.as_ref().unwrap().reveal().to_owned())
        .collect();
    assert_eq!(keys, ["k1", "k2", "k3"]);
    let run = finish(run.prompt("again"));
    assert_eq!(story(run.transcript()).last().unwrap(), "failed: the key has expired");
    assert_eq!(model.requests().len(), 3);
}
