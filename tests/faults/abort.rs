//! An abort ends the run once, soon, and loses nothing.

use serde_json::json;
use turnstate::testing::{ExecutionEnd, Gates, Response, ScriptedModel, ScriptedTool, ToolScript};
use turnstate::tool::{ExecutionMode, OnAbort};
use turnstate::{Ending, Run};

use crate::support::*;

#[test]
fn an_abort_during_a_tool_ends_the_run_once_and_the_steer_stays_queued() {
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        let gates = Gates::new();
        let stops =
            ToolScript::new().waits_or_on_abort(&gates.gate("work"), ToolScript::new().returns("stopped"));
        let tool = ScriptedTool::new("work").does(stops);
        let model = batch(&[("a", "work"), ("b", "work")]);
        let run = Run::builder(model.clone()).tool(tool.clone()).tool_execution(mode).build();
        let mut run = drive(run.prompt("go"), &gates);
        run.run_until_stalled();
        let begun = tool.executions().len();
        let ticket = run.get_ref().handle().steer("wait");
        run.get_ref().abort();
        let stall = run.run_until_stalled();
        assert!(stall.is_over);
        assert_eq!(count(&stall.items, "agent_end"), 1);
        let second = if begun == 2 { "result b: stopped" } else { "error b: Operation aborted" };
        assert_eq!(
            story(run.get_ref().state().transcript()),
            [
                "user: go",
                "assistant: [a work] | [b work]",
                "result a: stopped",
                second,
                "aborted: Request was aborted"
            ]
        );
        assert!(ticket.is_waiting());
        assert_eq!((model.requests().len(), tool.executions().len()), (1, begun), "{mode:?}");
        let run = idle(run);
        assert_eq!(run.outcome().unwrap().ending, Ending::Aborted);
        let run = finish(run.prompt("on"));
        assert_eq!(story(&run.outcome().unwrap().added), ["user: on", "user: wait", "assistant: done"]);
    }
}

#[test]
fn a_tool_that_ignores_the_signal_is_given_up_and_its_finished_sibling_keeps_its_result() {
    let gates = Gates::new();
    let never = ScriptedTool::new("never").does(ToolScript::new().waits(&gates.gate("never")));
    let run = Run::builder(batch(&[("a", "quick"), ("b", "never")]))
        .tools(
            [ScriptedTool::new("quick").returns("real"), never.clone()]
                .map(turnstate::tool::IntoTool::into_tool),
        )
        .build();
    let mut run = drive(run.prompt("go"), &gates);
    run.run_until_stalled();
    run.get_ref().abort();
    let before = run.polls();
    let events = run.run_until_stalled().items;
    // Each event takes one poll; what is between them takes a few.
    assert!(
        run.polls() - before <= events.len() + 4,
        "{} polls, {} events",
        run.polls() - before,
        events.len()
    );
    assert_eq!(never.executions()[0].end, ExecutionEnd::Dropped);
    assert_eq!(
        story(run.get_ref().state().transcript())[2..],
        ["result a: real", "error b: Operation aborted", "aborted: Request was aborted"]
    );
    assert!(finish(idle(run).prompt("on")).outcome().unwrap().is_success());
}

#[test]
fn a_tool_that_asked_to_be_waited_for_is_waited_for_and_its_result_stands() {
    let gates = Gates::new();
    let saves = gated("save", &["a"], &gates).with_on_abort(OnAbort::Wait);
    let mut run = drive(Run::builder(batch(&[("a", "save")])).tool(saves).build().prompt("go"), &gates);
    run.run_until_stalled();
    run.get_ref().abort();
    assert!(!run.run_until_stalled().is_over);
    gates.release("a");
    assert!(run.run_until_stalled().is_over);
    assert_eq!(
        story(run.get_ref().state().transcript())[2..],
        ["result a: result of a", "aborted: Request was aborted"]
    );
}

#[test]
fn an_abort_while_nothing_runs_does_not_stop_the_next_run() {
    let model = ScriptedModel::new(["one", "two", "three"]);
    let run = Run::builder(model.clone()).build();
    let handle = run.handle();
    handle.abort();
    let run = finish(run.prompt("hi"));
    handle.abort();
    // Between the last event and the idle run, too.
    let (run, _) = told(run.prompt("hi"));
    handle.abort();
    let run = finish(run.prompt("hi"));
    assert_eq!(
        run.outcome().unwrap().ending,
        Ending::Stopped { reason: turnstate::message::StopReason::Stop }
    );
    assert!(model.requests().iter().all(|request| !request.abort.is_aborted()));
    model.assert_exhausted();
}

#[test]
fn an_abort_after_the_last_event_of_a_run_is_for_nobody() {
    let mut run = Run::builder(ScriptedModel::new(["one", "two"])).build().prompt("hi");
    turnstate::testing::block_on(async { while run.next().await.is_some() {} });
    run.handle().abort();
    let run = finish(turnstate::testing::block_on(run.finish()).prompt("hi"));
    assert!(run.outcome().unwrap().is_success());
}

#[test]
fn an_answer_that_the_provider_aborted_is_kept_and_the_signal_stays_down() {
    let model = ScriptedModel::new([Response::text("half").aborting("cancelled upstream"), "two".into()]);
    let run = Run::builder(model.clone()).build();
    let (run, events) = told(run.prompt("hi"));
    assert_eq!(story(run.transcript()), ["user: hi", "aborted: half | cancelled upstream"]);
    assert_eq!(count(&events, "agent_end"), 1);
    assert!(!model.requests()[0].abort.is_aborted());
    let failed = Ending::Failed { message: "cancelled upstream".to_owned() };
    assert_eq!(run.outcome().unwrap().ending, failed);
    assert!(finish(run.prompt("again")).outcome().unwrap().is_success());
}

#[test]
fn what_a_tool_returns_in_its_last_poll_is_its_result_and_an_update_is_none() {
    let gates = Gates::new();
    let lines = "1\n2\n3";
    let answers =
        ToolScript::new().update("1").waits_or_on_abort(&gates.gate("a"), ToolScript::new().returns(lines));
    let only_tells = ToolScript::new().update("1\n2").waits(&gates.gate("b"));
    let tool = ScriptedTool::new("work").on_call("a", answers).on_call("b", only_tells);
    let model = batch(&[("a", "work"), ("b", "work")]);
    let mut run = drive(Run::builder(model).tool(tool).build().prompt("go"), &gates);
    run.run_until_stalled();
    run.get_ref().abort();
    run.run_until_stalled();
    assert_eq!(
        story(run.get_ref().state().transcript())[2..4],
        ["result a: 1\n2\n3", "error b: Operation aborted"]
    );
}

#[test]
fn an_abort_while_the_model_speaks_keeps_what_was_said_and_drops_the_stream() {
    let gates = Gates::new();
    let rest = gates.gate("rest");
    let answer = Response::text("half").and_tool_call("a", "work", json!({ "x": 1 })).and_wait(&rest);
    let tool = ScriptedTool::new("work");
    let run = Run::builder(ScriptedModel::new([answer])).tool(tool.clone()).build();
    let mut run = drive(run.prompt("go"), &gates);
    assert_eq!(run.run_until_stalled().waiting, ["rest"]);
    run.get_ref().abort();
    assert!(run.run_until_stalled().is_over);
    assert_eq!(rest.waiting(), 0);
    assert_eq!(
        story(run.get_ref().state().transcript()),
        ["user: go", "aborted: half | [a work] | Request was aborted"]
    );
    assert!(tool.executions().is_empty());
}

#[test]
fn a_tool_that_aborts_its_own_run_keeps_its_result() {
    let tool = turnstate::tool::tool_fn("stop", "", async |_: turnstate::tool::NoArgs, cx| {
        cx.abort().abort();
        Ok("stopped")
    });
    let model = batch(&[("a", "stop")]);
    let run = finish(Run::builder(model.clone()).tool(tool).build().prompt("go"));
    assert_eq!(story(run.transcript())[2..], ["result a: stopped", "aborted: Request was aborted"]);
    assert_eq!((run.outcome().unwrap().ending.clone(), model.requests().len()), (Ending::Aborted, 1));
}
