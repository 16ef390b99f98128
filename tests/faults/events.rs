//! Events: in order, stable, and nothing runs on when nobody reads them.

use serde_json::json;
use turnstate::testing::{ExecutionEnd, Gates, Response, ScriptedModel, ScriptedTool, ToolScript, block_on};
use turnstate::{AgentEvent, Run};

use crate::support::*;

#[test]
fn a_run_that_is_dropped_drops_everything_in_flight() {
    let gates = Gates::new();
    let tool = gated("read", &["a", "b"], &gates);
    let answer = calls_of(&[("a", "read"), ("b", "read")]).and_wait(&gates.gate("model"));
    let run = Run::builder(ScriptedModel::new([answer])).tool(tool.clone()).build();
    let mut run = drive(run.prompt("go"), &gates);
    assert_eq!(run.run_until_stalled().waiting, ["model"]);
    drop(run);
    assert!(gates.waiting().is_empty());

    let run = Run::builder(batch(&[("a", "read"), ("b", "read")])).tool(tool.clone()).build();
    let mut run = drive(run.prompt("go"), &gates);
    assert_eq!(run.run_until_stalled().waiting, ["a", "b"]);
    drop(run);
    assert!(gates.waiting().is_empty());
    let ends: Vec<_> = tool.executions().iter().map(|execution| execution.end).collect();
    assert_eq!(ends, [ExecutionEnd::Dropped; 2]);
}

#[test]
fn a_run_that_is_not_read_is_paused_and_its_handle_never_blocks() {
    let tool = ScriptedTool::new("read");
    let run = Run::builder(batch(&[("a", "read")])).tool(tool.clone()).build();
    let mut run = run.prompt("go");
    let handle = run.handle();
    block_on(async { while run.next().await.unwrap().kind() != "tool_execution_start" {} });
    // Another thread uses the handle while nobody polls: the tool has not run.
    std::thread::spawn(move || {
        let _ = (handle.steer("s"), handle.follow_up("f"));
        assert_eq!(handle.peek().len(), 1);
        handle.abort();
    })
    .join()
    .unwrap();
    assert!(tool.executions().is_empty());
    let run = block_on(run.finish());
    assert_eq!(
        story(run.transcript()),
        ["user: go", "assistant: [a read]", "error a: Operation aborted", "aborted: Request was aborted"]
    );
    assert!(run.handle().has_queued());
}

#[test]
fn at_each_event_of_a_batch_no_tool_has_run_that_is_told_later() {
    let tool = ScriptedTool::new("read").does(ToolScript::new().update("half").returns("done"));
    let calls = [("a", "read"), ("b", "read"), ("c", "no_such_tool")];
    let mut run = Run::builder(batch(&calls)).tool(tool.clone()).build().prompt("go");
    let mut told = Vec::new();
    block_on(async {
        while let Some(event) = run.next().await {
            if let Some(step) = event.kind().strip_prefix("tool_execution_") {
                told.push((step, tool.executions().len()));
            }
        }
    });
    let prepared = [("start", 0), ("start", 0), ("start", 0), ("end", 0)];
    let executed = [("update", 1), ("end", 1), ("update", 2), ("end", 2)];
    assert_eq!(told, [prepared, executed].concat());
}

#[test]
fn an_event_that_is_kept_stays_the_picture_of_its_moment() {
    let tool =
        ScriptedTool::new("read").does(ToolScript::new().update("1").yields().update("2").returns("3"));
    let model = ScriptedModel::new([
        Response::text("abc").and_tool_call("a", "read", json!({ "path": "x" })).in_chunks_of(1),
        "done".into(),
    ]);
    let mut run = Run::builder(model).tool(tool).build().prompt("go");
    let mut kept: Vec<(AgentEvent, String)> = Vec::new();
    block_on(async {
        while let Some(event) = run.next().await {
            let picture = serde_json::to_string(&event).unwrap();
            kept.push((event, picture));
        }
        drop(run.finish().await.prompt("again").cancel());
    });
    for (event, picture) in &kept {
        assert_eq!(serde_json::to_string(event).unwrap(), *picture);
    }
    assert!(kept.len() > 20);
}

#[test]
fn an_answer_is_told_before_its_calls_and_a_call_before_its_result() {
    let tool = ScriptedTool::new("read").does(ToolScript::new().update("half"));
    let (_, events) = told(Run::builder(batch(&[("a", "read")])).tool(tool).build().prompt("go"));
    assert_eq!(
        steps(&events),
        [
            "agent_start",
            "turn_start",
            "user",
            "assistant",
            "start a",
            "update a",
            "end a",
            "result a",
            "turn_end",
            "turn_start",
            "assistant",
            "turn_end",
            "agent_end"
        ]
    );
}

#[test]
fn a_run_that_is_dropped_drops_even_a_tool_that_an_abort_waits_for() {
    let gates = Gates::new();
    let tool = gated("save", &["a"], &gates).with_on_abort(turnstate::tool::OnAbort::Wait);
    for aborts in [false, true] {
        let run = Run::builder(batch(&[("a", "save")])).tool(tool.clone()).build();
        let mut run = drive(run.prompt("go"), &gates);
        run.run_until_stalled();
        if aborts {
            run.get_ref().abort();
            run.run_until_stalled();
        }
        drop(run);
        assert!(gates.waiting().is_empty());
        assert_eq!(tool.executions().last().unwrap().end, ExecutionEnd::Dropped);
    }
}
