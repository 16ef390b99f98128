//! Failures are seen, counted, and never retried in silence.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use turnstate::hook::FinishTurn;
use turnstate::message::{AgentMessage, Usage};
use turnstate::model::{Delta, Metadata};
use turnstate::run::QueueKind;
use turnstate::testing::{Gates, Response, ScriptedModel, ScriptedTool};
use turnstate::{AgentEvent, Ending, Run};

use crate::support::*;

/// An answer that has told its usage when it comes to its second half.
fn costly() -> Response {
    let mut metadata = Metadata::default();
    metadata.usage = Some(Usage::new(100, 20));
    Response::new().and_delta(Delta::Metadata(Box::new(metadata))).and_text("half")
}

fn usage_of(messages: &[AgentMessage]) -> Usage {
    messages.last().and_then(AgentMessage::as_assistant).unwrap().usage
}

#[test]
fn a_broken_answer_keeps_the_usage_that_it_had() {
    for answer in
        [costly().failing("no"), costly().unterminated(), costly().panicking("boom"), costly().aborting("a")]
    {
        let run = finish(Run::builder(ScriptedModel::new([answer])).build().prompt("go"));
        assert_eq!(usage_of(run.transcript()), Usage::new(100, 20));
        assert_eq!(run.outcome().unwrap().usage, Usage::new(100, 20));
    }
    for cancels in [false, true] {
        let gates = Gates::new();
        let model = ScriptedModel::new([costly().and_wait(&gates.gate("rest"))]);
        let mut run = drive(Run::builder(model).build().prompt("go"), &gates);
        run.run_until_stalled();
        let run = if cancels {
            run.into_inner().cancel().0
        } else {
            run.get_ref().abort();
            run.run_until_stalled();
            idle(run)
        };
        assert_eq!(usage_of(run.transcript()), Usage::new(100, 20), "cancelled: {cancels}");
        assert_eq!(run.outcome().unwrap().usage, Usage::new(100, 20));
    }
}

#[test]
fn a_providers_error_shows_in_outcome_state_and_last_message_and_is_gone_with_the_next_run() {
    let model = ScriptedModel::new([Response::error("402 credits"), "fine".into()]);
    let (run, events) = told(Run::builder(model).build().prompt("go"));
    assert_eq!(run.outcome().unwrap().ending, Ending::Failed { message: "402 credits".to_owned() });
    assert!(!run.outcome().unwrap().is_success());
    assert_eq!(run.state().error(), Some("402 credits"));
    let Some(AgentEvent::AgentEnd { messages }) = events.last() else { panic!() };
    assert_eq!(story(messages), ["user: go", "failed: 402 credits"]);
    let run = finish(run.prompt("on"));
    assert_eq!(run.state().error(), None);
}

#[test]
fn a_retry_starts_empty_and_the_half_answer_stays_one_closed_failure() {
    let half = "a".repeat(500);
    let model = ScriptedModel::new([Response::text(&half).failing("overloaded"), "whole".into()]);
    let run = finish(Run::builder(model.clone()).build().prompt("go"));
    assert_eq!(model.requests().len(), 1, "the loop never retries by itself");
    let run = finish(run.resume().unwrap());
    assert_eq!(
        story(run.transcript()),
        ["user: go", &format!("failed: {half} | overloaded"), "assistant: whole"]
    );
    assert_eq!(sent(&model.requests()[1]), ["user: go"]);
}

#[test]
fn a_limit_tells_its_turn_its_end_and_its_reason_and_leaves_the_queues() {
    let model = batch(&[("a", "read")]);
    let run = Run::builder(model.clone())
        .tool(ScriptedTool::new("read"))
        .finish_turn(async |_, _| FinishTurn::end("one turn"))
        .build();
    let (gates, handle) = (Gates::new(), run.handle());
    let mut run = drive(run.prompt("go"), &gates);
    // Queued when the first answer has begun, so that no earlier drain point takes it.
    let mut events = Vec::new();
    while let turnstate::testing::Progress::Item(event) = run.step() {
        if event.kind() == "tool_execution_start" {
            let _ = (handle.steer("s"), handle.follow_up("f"));
        }
        events.push(event);
    }
    let Some(AgentEvent::TurnEnd { tool_results, .. }) = events.iter().rev().nth(1) else { panic!() };
    assert_eq!(tool_results.len(), 1);
    assert_eq!((handle.queued_len(QueueKind::Steering), handle.queued_len(QueueKind::FollowUp)), (1, 1));
    let run = idle(run);
    assert_eq!(run.outcome().unwrap().ending, Ending::EndedByHook { reason: Some("one turn".to_owned()) });
    assert_eq!(model.requests().len(), 1);
}

fn always_invalid() -> (ScriptedModel, ScriptedTool) {
    let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
    let call = Response::tool_call("a", "t", json!({ "n": "x" }));
    (ScriptedModel::new([call.clone()]).then_always(call), ScriptedTool::new("t").with_schema(schema))
}

#[test]
fn a_host_can_count_invalid_calls_and_stop() {
    let (model, tool) = always_invalid();
    let invalid = Arc::new(AtomicUsize::new(0));
    let run = Run::builder(model.clone())
        .tool(tool.clone())
        .finish_turn(async move |turn, _| {
            let errors = turn.tool_results.iter().filter(|result| result.is_error).count();
            match invalid.fetch_add(errors, Ordering::SeqCst) + errors {
                3.. => FinishTurn::end("three invalid calls"),
                _ => FinishTurn::Default,
            }
        })
        .build();
    let (run, events) = told(run.prompt("go"));
    let failed = events.iter().filter(
        |event| matches!(event, AgentEvent::ToolExecutionEnd { result, .. } if result.message.is_error),
    );
    assert_eq!((failed.count(), model.requests().len(), tool.executions().len()), (3, 3, 0));
    let reason = Some("three invalid calls".to_owned());
    assert_eq!(run.outcome().unwrap().ending, Ending::EndedByHook { reason });
}

#[test]
fn an_abort_ends_an_endless_row_of_invalid_calls() {
    let (model, tool) = always_invalid();
    let mut run = Run::builder(model.clone()).tool(tool).build().prompt("go");
    let mut failed = 0;
    turnstate::testing::block_on(async {
        while let Some(event) = run.next().await {
            failed += usize::from(event.kind() == "tool_execution_end");
            if failed == 5 {
                run.abort();
            }
        }
    });
    assert_eq!((failed, model.requests().len()), (5, 5));
    let run = turnstate::testing::block_on(run.finish());
    assert_eq!(run.outcome().unwrap().ending, Ending::Aborted);
}
