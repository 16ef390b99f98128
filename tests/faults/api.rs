//! What the types promise.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use turnstate::hook::{AfterToolCall, BeforeToolCall, FinishTurn, PrepareNextTurn, PrepareRequest};
use turnstate::message::NoCustom;
use turnstate::model::{Delta, Request, stream_fn};
use turnstate::testing::{ScriptedTool, block_on};
use turnstate::tool::{NoArgs, ToolOutput, tool_fn};
use turnstate::{Ending, Idle, Run, Transcript};

use crate::support::*;

#[test]
fn a_result_with_the_error_flag_is_an_error_that_keeps_content_and_details() {
    let output = ToolOutput::error("exit 1").with("the log").with_details(json!({ "code": 1 }));
    let tool = ScriptedTool::new("run").returns(output);
    let model = batch(&[("a", "run")]);
    let (run, events) = told(Run::builder(model.clone()).tool(tool).build().prompt("go"));
    assert_eq!(story(run.transcript())[2], "error a: exit 1 | the log");
    assert_eq!(sent(&model.requests()[1])[2], "error a: exit 1 | the log");
    let end = events.iter().find(|event| event.kind() == "tool_execution_end").unwrap();
    let json = serde_json::to_value(end).unwrap();
    assert_eq!((&json["isError"], &json["result"]["details"]), (&json!(true), &json!({ "code": 1 })));
}

#[test]
fn a_failure_of_a_tool_is_told_with_the_errors_behind_it() {
    let tool = tool_fn("run", "", async |_: NoArgs, _| -> Result<&str, turnstate::tool::ToolError> {
        Err(std::io::Error::other("disk full"))?
    });
    let run = finish(Run::builder(batch(&[("a", "run")])).tool(tool).build().prompt("go"));
    assert_eq!(story(run.transcript())[2], "error a: disk full");
}

/// A run whose model, tool and every hook count.
fn counting(count: &Arc<AtomicUsize>) -> Run<Idle> {
    let up = || {
        let count = count.clone();
        move || count.fetch_add(1, Ordering::SeqCst)
    };
    let (model, tool) = (up(), up());
    let hooks = [up(), up(), up(), up(), up(), up(), up(), up()];
    let [transform, convert, prepare, next, before, after, end, key] = hooks;
    let inner = batch(&[("a", "t")]);
    Run::builder(stream_fn(async move |request: Request| {
        model();
        tokio::task::yield_now().await;
        Ok(turnstate::model::StreamFn::stream(&inner, request))
    }))
    .tool(tool_fn("t", "", async move |_: NoArgs, _| {
        tool();
        tokio::task::yield_now().await;
        Ok("ok")
    }))
    .transform_context(async move |_: &mut Transcript, _| {
        transform();
    })
    .convert(async move |_, _| {
        convert();
    })
    .prepare_request(async move |_| {
        prepare();
        PrepareRequest::unchanged()
    })
    .prepare_next_turn(async move |_, _| {
        next();
        PrepareNextTurn::unchanged()
    })
    .before_tool_call(async move |_, _| {
        before();
        BeforeToolCall::Allow
    })
    .after_tool_call(async move |_, _, _| {
        after();
        AfterToolCall::unchanged()
    })
    .finish_turn(async move |_, _| {
        end();
        FinishTurn::Default
    })
    .api_key_from(async move |_, _| {
        key();
        Ok(None)
    })
    .build()
}

#[test]
fn async_closures_that_capture_shared_state_fit_everywhere_and_the_run_is_spawned() {
    let count = Arc::new(AtomicUsize::new(0));
    let run = counting(&count);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let run = runtime.block_on(async { tokio::spawn(run.prompt("go").finish()).await.unwrap() });
    assert!(run.outcome().unwrap().is_success());
    // Per run: two requests and two turns, one call, one step between two turns.
    assert_eq!(count.load(Ordering::SeqCst), 2 + 1 + 2 + 2 + 2 + 1 + 1 + 1 + 2 + 2);
}

#[test]
fn a_model_that_fails_before_its_first_delta_is_a_failed_answer() {
    let connect = stream_fn(async |_: Request| -> Result<futures::stream::Empty<Delta>, _> {
        Err(std::io::Error::other("connection refused").into())
    });
    let panics = |_: Request| -> futures::stream::Empty<Delta> {
        std::panic::resume_unwind(Box::new("the closure broke"))
    };
    let empty = |_: Request| futures::stream::empty::<Delta>();
    let runs: [(Run<Idle, NoCustom>, &str); 3] = [
        (Run::builder(connect).build(), "connection refused"),
        (Run::builder(panics).build(), "the closure broke"),
        (Run::builder(empty).build(), "the model's stream ended without a terminal delta"),
    ];
    for (run, message) in runs {
        let run = block_on(run.prompt("go").finish());
        assert_eq!(story(run.transcript()), ["user: go", &format!("failed: {message}")]);
        assert_eq!(run.outcome().unwrap().ending, Ending::Failed { message: message.to_owned() });
    }
}
