//! Ids that repeat, names that nobody expects.

use serde_json::{Value, json};
use turnstate::Run;
use turnstate::testing::{Gates, Response, ScriptedModel, ScriptedTool};
use turnstate::tool::AgentTool;

use crate::support::*;

/// A tool that waits on the gate that its argument names.
fn waits_on(gates: &Gates) -> AgentTool {
    let gates = gates.clone();
    AgentTool::raw("work", "Waits.", json!({ "type": "object" }), async move |arguments, _| {
        let name = arguments["on"].as_str().unwrap().to_owned();
        gates.gate(&name).wait().await;
        Ok(format!("waited on {name}"))
    })
    .unwrap()
}

#[test]
fn two_calls_of_one_id_are_two_calls() {
    for id in ["x", ""] {
        let gates = Gates::new();
        let answer = Response::tool_call(id, "work", json!({ "on": "1" })).and_tool_call(
            id,
            "work",
            json!({ "on": "2" }),
        );
        let model = ScriptedModel::new([answer, "done".into()]);
        let mut run = drive(Run::builder(model.clone()).tool(waits_on(&gates)).build().prompt("go"), &gates);
        let mut events = run.run_until_stalled().items;
        gates.release("2");
        events.extend(run.run_until_stalled().items);
        let running: Vec<Value> =
            run.get_ref().state().running_calls().map(|call| call.arguments["on"].clone()).collect();
        assert_eq!(running, ["1"], "the first call still runs");
        gates.release("1");
        events.extend(run.run_until_stalled().items);
        assert_eq!((count(&events, "tool_execution_start"), count(&events, "tool_execution_end")), (2, 2));
        let results = [format!("result {id}: waited on 1"), format!("result {id}: waited on 2")];
        assert_eq!(story(run.get_ref().state().transcript())[2..4], results);
        assert_eq!(sent(&model.requests()[1])[2..4], results);
        model.assert_exhausted();
    }
}

#[test]
fn an_id_that_an_earlier_answer_used_is_answered_with_its_own_result() {
    let model = ScriptedModel::new([
        Response::tool_call("x", "first", json!({})),
        Response::tool_call("x", "second", json!({})),
        "done".into(),
    ]);
    let tools = ["first", "second"].map(|name| {
        turnstate::tool::IntoTool::into_tool(ScriptedTool::new(name).returns(format!("of {name}")))
    });
    let run = finish(Run::builder(model.clone()).tools(tools).build().prompt("go"));
    let expected = [
        "user: go",
        "assistant: [x first]",
        "result x: of first",
        "assistant: [x second]",
        "result x: of second",
        "assistant: done",
    ];
    assert_eq!(story(run.transcript()), expected);
    assert_eq!(sent(&model.requests()[2]), expected[..5]);
}

#[test]
fn an_abort_answers_each_of_two_calls_of_one_id() {
    let gates = Gates::new();
    let answer = Response::tool_call("x", "work", json!({ "on": "1" })).and_tool_call(
        "x",
        "work",
        json!({ "on": "2" }),
    );
    let run = Run::builder(ScriptedModel::new([answer])).tool(waits_on(&gates)).build();
    let mut run = drive(run.prompt("go"), &gates);
    run.run_until_stalled();
    gates.release("2");
    run.run_until_stalled();
    run.get_ref().abort();
    run.run_until_stalled();
    assert_eq!(
        story(run.get_ref().state().transcript())[2..4],
        ["error x: Operation aborted", "result x: waited on 2"]
    );
}

#[test]
fn an_unknown_tool_is_an_error_result_whatever_its_name() {
    for name in ["constructor", "__proto__", "toString", "hasOwnProperty", "", " read", "Read", "lire\u{301}"]
    {
        let run = Run::builder(batch(&[("a", name)])).tool(ScriptedTool::new("read")).build();
        let (run, events) = told(run.prompt("go"));
        assert_eq!(
            story(run.transcript())[2..],
            [
                format!("error a: There is no tool `{name}`. The tools are: `read`."),
                "assistant: done".to_owned()
            ]
        );
        assert_eq!((count(&events, "tool_execution_start"), count(&events, "tool_execution_end")), (1, 1));
    }
    let run = finish(Run::builder(batch(&[("a", "read")])).build().prompt("go"));
    assert_eq!(story(run.transcript())[2], "error a: There is no tool `read`: no tools can be called now.");
}

#[test]
fn a_registered_tool_runs_whatever_its_name() {
    for name in ["constructor", "__proto__", "toString", " read"] {
        let run = Run::builder(batch(&[("a", name)])).tool(ScriptedTool::new(name)).build();
        let run = finish(run.prompt("go"));
        assert_eq!(story(run.transcript())[2..], ["result a: ok", "assistant: done"]);
    }
}

#[test]
fn a_key_of_the_arguments_may_have_any_name() {
    for key in ["__proto__", "constructor", "toString", "", "a.b", "~1"] {
        let arguments = json!({ key: 1 });
        assert_eq!(streamed(&arguments.to_string()), Ok(arguments));
    }
}

#[test]
fn a_name_without_end_is_echoed_in_short() {
    let name = "😀".repeat(250_000);
    let run = Run::builder(batch(&[("a", &name)])).tool(ScriptedTool::new("read")).build();
    let told = story(finish(run.prompt("go")).transcript())[2].clone();
    let kept = "😀".repeat(250);
    assert_eq!(
        told,
        format!("error a: There is no tool `{kept}… (cut, 1000000 bytes in all)`. The tools are: `read`.")
    );
}
