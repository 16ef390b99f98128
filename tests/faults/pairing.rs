//! Every call has its result: in the transcript, and in each request.

use turnstate::Run;
use turnstate::hook::{BeforeToolCall, FinishTurn};
use turnstate::message::AgentMessage;
use turnstate::testing::{Gates, ScriptedModel, ScriptedTool};
use turnstate::transcript::Messages;

use crate::support::*;

const INTERRUPTED: &str = "There is no result: the call was interrupted. Whether it took effect is unknown, so check before you repeat it.";

#[test]
fn a_call_without_a_result_is_answered_for_the_model_and_the_transcript_stays() {
    let stored = vec![AgentMessage::user("read"), stored_calls(&["a", "b"]), result("a", "A")];
    let model = ScriptedModel::new(["ok"]);
    let run = Run::builder(model.clone()).transcript(stored.clone()).build();
    let run = finish(run.prompt("go on"));
    assert_eq!(run.transcript()[..3], stored);
    assert_eq!(
        sent(&model.requests()[0]),
        [
            "user: read",
            "assistant: [a read] | [b read]",
            "result a: A",
            &format!("error b: {INTERRUPTED}"),
            "user: go on"
        ]
    );
}

#[test]
fn whatever_results_are_stored_each_call_is_answered_once_and_directly() {
    let table: [&[&str]; 7] = [&[], &["a"], &["b"], &["a", "b"], &["b", "a"], &["a", "a", "b"], &["x", "a"]];
    for results in table {
        let mut stored = vec![AgentMessage::user("read"), stored_calls(&["a", "b"])];
        stored.extend(results.iter().map(|id| result(id, "R")));
        for then in [Some(AgentMessage::user("between")), None] {
            let mut stored = stored.clone();
            stored.extend(then);
            let model = ScriptedModel::new(["ok"]);
            let run = finish(Run::builder(model.clone()).transcript(stored).build().prompt("go on"));
            let sent = sent(&model.requests()[0]);
            let answered: Vec<&str> = sent[2..4].iter().map(|line| line.split(' ').nth(1).unwrap()).collect();
            assert_eq!(answered.iter().filter(|id| **id == "a:").count(), 1, "{results:?} {sent:?}");
            assert_eq!(answered.iter().filter(|id| **id == "b:").count(), 1, "{results:?} {sent:?}");
            assert!(sent[4..].iter().all(|line| line.starts_with("user")), "{results:?} {sent:?}");
            assert!(run.outcome().unwrap().is_success());
        }
    }
}

#[test]
fn a_steer_never_stands_between_a_call_and_its_result() {
    let gates = Gates::new();
    let model = batch(&[("a", "read"), ("b", "read")]);
    let run = Run::builder(model.clone()).tool(gated("read", &["a", "b"], &gates)).build();
    let mut run = drive(run.prompt("go"), &gates);
    run.run_until_stalled();
    let _ = run.get_ref().handle().steer("hurry");
    run.run_in_order(["b", "a"]);
    let expected = [
        "user: go",
        "assistant: [a read] | [b read]",
        "result a: result of a",
        "result b: result of b",
        "user: hurry",
    ];
    assert_eq!(sent(&model.requests()[1]), expected);
    assert_eq!(story(run.get_ref().state().transcript())[..5], expected);
}

#[test]
fn a_run_that_a_hook_ends_has_the_results_of_its_calls_and_takes_the_next_prompt() {
    let calls = [("a", "read"), ("b", "read")];
    let ends = || Run::builder(batch(&calls)).tool(ScriptedTool::new("read"));
    let by_budget = ends().finish_turn(async |_, _| FinishTurn::end("budget")).build();
    let by_block = ends()
        .before_tool_call(async |_, _| BeforeToolCall::Block { reason: "enough".to_owned(), terminate: true })
        .build();
    for (run, results) in
        [(by_budget, ["result a: ok", "result b: ok"]), (by_block, ["error a: enough", "error b: enough"])]
    {
        let (run, events) = told(run.prompt("go"));
        let steps = steps(&events);
        assert_eq!(steps[steps.len() - 4..], ["result a", "result b", "turn_end", "agent_end"]);
        assert_eq!(story(run.transcript())[2..], results);
        let run = finish(run.prompt("on"));
        assert_eq!(story(run.transcript())[4..], ["user: on", "assistant: done"]);
    }
}

#[test]
fn an_aborted_run_leaves_its_trace_where_a_converter_can_tell_the_model() {
    let gates = Gates::new();
    let model = batch(&[("a", "read")]);
    let run = Run::builder(model.clone())
        .tool(gated("read", &["a"], &gates))
        .convert(async |messages: &mut Messages, cx| {
            let mut answers = cx.transcript.iter().filter_map(AgentMessage::as_assistant);
            if answers.next_back().is_some_and(|answer| !answer.is_usable()) {
                messages.push(turnstate::message::Message::user("(The run was interrupted.)"));
            }
        })
        .build();
    let mut run = drive(run.prompt("go"), &gates);
    run.run_until_stalled();
    run.get_ref().abort();
    run.run_until_stalled();
    let run = finish(idle(run).prompt("else"));
    assert_eq!(
        story(run.transcript())[3..],
        ["aborted: Request was aborted", "user: else", "assistant: done"]
    );
    assert_eq!(
        sent(&model.requests()[1])[2..],
        ["error a: Operation aborted", "user: else", "user: (The run was interrupted.)"]
    );
}

#[test]
fn every_answer_that_was_cut_off_after_a_call_has_no_open_call_in_any_request() {
    // The model's stream fails after a whole call: the call is in the transcript, and never in a request.
    let failing = calls_of(&[("a", "read")]).failing("broken");
    let model = ScriptedModel::new([failing, "fine".into()]);
    let tool = ScriptedTool::new("read");
    let run = finish(Run::builder(model.clone()).tool(tool.clone()).build().prompt("go"));
    let run = finish(run.prompt("again"));
    assert_eq!(story(run.transcript())[1], "failed: [a read] | broken");
    assert_eq!(sent(&model.requests()[1]), ["user: go", "user: again"]);
    assert!(tool.executions().is_empty());
}

#[test]
fn a_stored_result_that_stands_behind_other_messages_follows_its_call_in_the_request() {
    let model = ScriptedModel::new(["ok"]);
    let between = AgentMessage::user("between");
    let stored = vec![
        AgentMessage::user("read"),
        stored_calls(&["a", "b"]),
        result("b", "B"),
        between,
        result("a", "A"),
    ];
    let run = Run::builder(model.clone()).transcript(stored.clone()).build();
    let run = finish(run.prompt("go on"));
    assert_eq!(run.transcript()[..5], stored);
    let mut sent = sent(&model.requests()[0]);
    sent[2..4].sort();
    assert_eq!(
        sent,
        [
            "user: read",
            "assistant: [a read] | [b read]",
            "result a: A",
            "result b: B",
            "user: between",
            "user: go on"
        ]
    );
}
