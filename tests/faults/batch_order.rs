//! The order of a batch: what ends first is told first, and results stand in the order of the calls.

use serde_json::json;
use turnstate::testing::{Gates, Response, ScriptedModel, ScriptedTool, ToolScript};
use turnstate::tool::{ExecutionMode, ToolOutput};
use turnstate::{AgentEvent, Run};

use crate::support::*;

#[test]
fn ends_are_told_as_they_come_and_results_stand_in_the_order_of_the_calls() {
    let gates = Gates::new();
    let run =
        Run::builder(batch(&[("1", "read"), ("2", "read")])).tool(gated("read", &["1", "2"], &gates)).build();
    let mut run = drive(run.prompt("go"), &gates);
    let events = run.run_in_order(["2", "1"]);
    let steps = steps(&events);
    assert_eq!(steps[4..11], ["start 1", "start 2", "end 2", "end 1", "result 1", "result 2", "turn_end"],);
    let turn = events.iter().find_map(|event| match event {
        AgentEvent::TurnEnd { tool_results, .. } => Some(tool_results.clone()),
        _ => None,
    });
    let ids: Vec<_> = turn.unwrap().iter().map(|result| result.tool_call_id.clone()).collect();
    assert_eq!(ids, ["1", "2"]);
    let results = ["result 1: result of 1", "result 2: result of 2"];
    assert_eq!(story(run.get_ref().state().transcript())[2..4], results);
}

#[test]
fn the_end_event_of_a_finished_call_carries_its_whole_result_while_a_sibling_is_stuck() {
    let gates = Gates::new();
    let whole = ToolOutput::text("text").with_details(json!({ "d": 1 })).with_structured_content(json!([1]));
    let tool = gated("read", &["2"], &gates).on_call("1", ToolScript::new().returns(whole));
    let mut run =
        drive(Run::builder(batch(&[("1", "read"), ("2", "read")])).tool(tool).build().prompt("go"), &gates);
    let events = run.run_until_stalled().items;
    let ended = events.iter().find_map(|event| match event {
        AgentEvent::ToolExecutionEnd { result, .. } => Some(result.clone()),
        _ => None,
    });
    let ended = ended.unwrap();
    assert_eq!(ended.message.texts().collect::<String>(), "text");
    assert_eq!(
        (ended.message.details.clone(), ended.structured_content.clone()),
        (Some(json!({ "d": 1 })), Some(json!([1])))
    );
    run.get_ref().abort();
    run.run_until_stalled();
    let transcript = run.get_ref().state().transcript().clone();
    assert_eq!(story(&transcript)[2..4], ["result 1: text", "error 2: Operation aborted"]);
    let kept = transcript.iter().find_map(|message| message.as_tool_result()).unwrap();
    assert_eq!(**kept, *ended.message);
}

#[test]
fn one_sequential_tool_or_the_runs_mode_makes_the_batch_run_one_after_the_other() {
    let calls = [("1", "read"), ("2", "write")];
    for by_tool in [true, false] {
        let mode = |sequential| if sequential { ExecutionMode::Sequential } else { ExecutionMode::Parallel };
        let yields = ToolScript::new().yields();
        let read = ScriptedTool::new("read").does(yields.clone());
        let write = ScriptedTool::new("write").does(yields).with_execution_mode(mode(by_tool));
        let run = Run::builder(batch(&calls)).tool(read).tool(write).tool_execution(mode(!by_tool)).build();
        let (_, events) = told(run.prompt("go"));
        let expected = ["start 1", "end 1", "result 1", "start 2", "end 2", "result 2"];
        assert_eq!(steps(&events)[4..10], expected, "by the tool: {by_tool}");
    }
}

#[test]
fn of_133_calls_that_end_in_any_order_each_has_its_own_result_in_its_place() {
    const CALLS: usize = 133;
    let ids: Vec<String> = (0..CALLS).map(|n| format!("c{n}")).collect();
    let gates = Gates::new();
    let answer = ids.iter().fold(Response::new(), |answer, id| answer.and_tool_call(id, "read", json!({})));
    let tool = gated("read", &ids.iter().map(String::as_str).collect::<Vec<_>>(), &gates);
    let run = Run::builder(ScriptedModel::new([answer, "done".into()])).tool(tool).build();
    let mut run = drive(run.prompt("go"), &gates);
    // 50 and 133 have no common divisor: every call, in an order that is none.
    run.run_in_order((0..CALLS).map(|n| format!("c{}", n * 50 % CALLS)));
    let expected: Vec<_> = ids.iter().map(|id| format!("result {id}: result of {id}")).collect();
    assert_eq!(story(run.get_ref().state().transcript())[2..CALLS + 2], expected);
}
