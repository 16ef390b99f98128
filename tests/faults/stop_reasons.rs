//! Why an answer ended, and what follows from it.

use serde_json::json;
use turnstate::message::{AgentMessage, StopReason};
use turnstate::model::Delta;
use turnstate::testing::{Response, ScriptedModel, ScriptedTool};
use turnstate::{Ending, Run};

use crate::support::*;

const TRUNCATED: &str = "The call was not run: the answer was cut off at its length limit, so the arguments may be \
                         incomplete. Make the call again, in a shorter answer.";

#[test]
fn no_call_of_an_answer_that_was_cut_off_runs_and_the_model_is_asked_again() {
    let cut = calls_of(&[("a", "write"), ("b", "write")]).stopping(StopReason::Length);
    let tool = ScriptedTool::new("write");
    let model = ScriptedModel::new([cut, "shorter".into()]);
    let (run, events) = told(Run::builder(model.clone()).tool(tool.clone()).build().prompt("go"));
    assert!(tool.executions().is_empty());
    let steps = steps(&events);
    assert_eq!(steps[4..10], ["start a", "end a", "result a", "start b", "end b", "result b"]);
    let results = [format!("error a: {TRUNCATED}"), format!("error b: {TRUNCATED}")];
    assert_eq!(story(run.transcript())[2..4], results);
    assert_eq!(sent(&model.requests()[1])[2..], results);
}

#[test]
fn arguments_that_were_cut_off_keep_what_could_be_read_and_never_run() {
    let cut = Response::new()
        .and_delta(Delta::tool_call_start(0, "a", "write"))
        .and_delta(Delta::tool_call(0, r#"{"path":"x","text":"half of i"#))
        .stopping(StopReason::Length);
    let tool = ScriptedTool::new("write");
    let run =
        finish(Run::builder(ScriptedModel::new([cut, "ok".into()])).tool(tool.clone()).build().prompt("go"));
    let answer = run.transcript().iter().find_map(AgentMessage::as_assistant).unwrap().clone();
    let arguments = &answer.tool_calls().next().unwrap().arguments;
    assert_eq!(json!(arguments), json!({ "path": "x", "text": "half of i" }));
    assert!(tool.executions().is_empty());
}

#[test]
fn an_answer_that_was_cut_off_without_a_call_ends_the_run() {
    let model = ScriptedModel::new([Response::text("half").stopping(StopReason::Length)]);
    let run = finish(Run::builder(model.clone()).build().prompt("go"));
    assert_eq!(run.outcome().unwrap().ending, Ending::Stopped { reason: StopReason::Length });
    model.assert_exhausted();
}

#[test]
fn a_call_runs_whatever_the_answer_says_of_its_end() {
    for reason in [StopReason::Stop, StopReason::ToolUse] {
        let model = ScriptedModel::new([calls_of(&[("a", "read")]).stopping(reason), "done".into()]);
        let run = finish(Run::builder(model).tool(ScriptedTool::new("read")).build().prompt("go"));
        assert_eq!(story(run.transcript())[1..], ["assistant: [a read]", "result a: ok", "assistant: done"]);
    }
}

#[test]
fn an_end_that_is_none_is_a_failed_answer_that_says_so() {
    let call = || calls_of(&[("a", "read")]);
    let table = [
        (call().stopping(StopReason::Error), "failed", "the model's stream ended with `error`"),
        (call().stopping(StopReason::Aborted), "aborted", "the model's stream ended with `aborted`"),
        (
            call().stopping(StopReason::Pending),
            "failed",
            "the model's stream ended with the stop reason `pending`",
        ),
        (call().unterminated(), "failed", "the model's stream ended without a terminal delta"),
    ];
    for (answer, kind, text) in table {
        let tool = ScriptedTool::new("read");
        let run = finish(Run::builder(ScriptedModel::new([answer])).tool(tool.clone()).build().prompt("go"));
        assert_eq!(story(run.transcript())[1], format!("{kind}: [a read] | {text}"));
        assert!(tool.executions().is_empty());
    }
}

#[test]
fn a_stored_answer_with_an_unknown_stop_reason_is_an_error_that_names_it() {
    let json = json!({ "role": "assistant", "content": [], "stopReason": "foo" });
    let error = serde_json::from_value::<AgentMessage>(json).unwrap_err().to_string();
    assert!(error.contains("foo"), "{error}");
}

#[test]
fn calls_that_were_announced_and_not_made_end_the_run_and_its_outcome_says_so() {
    let model = ScriptedModel::new([Response::text("I call").stopping(StopReason::ToolUse)]);
    let run = finish(Run::builder(model.clone()).build().prompt("go"));
    assert_eq!(run.outcome().unwrap().ending, Ending::Stopped { reason: StopReason::ToolUse });
    model.assert_exhausted();
}
