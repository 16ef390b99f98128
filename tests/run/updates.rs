//! What a tool tells of its progress, and who has seen it when.

use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use futures::executor::block_on;
use futures::future::BoxFuture;
use serde_json::json;
use smol::future::yield_now;
use turnstate::hook::AfterToolCall;
use turnstate::message::ToolCall;
use turnstate::testing::{Response, ScriptedModel};
use turnstate::tool::{AgentTool, ExecutionMode, NoArgs, ToolContext, ToolOutput, tool_fn};
use turnstate::{AgentEvent, Idle, Run, RunBuilder};

fn two_calls() -> Response {
    Response::tool_call("a", "count", json!({})).and_tool_call("b", "count", json!({}))
}

/// How many updates the consumer had been told when each call's after-hook was asked, of two calls that tell three each
/// and return without a pause.
fn told_before_each_after_hook(
    mode: ExecutionMode,
    spawner: Option<fn(BoxFuture<'static, ()>)>,
) -> Vec<usize> {
    let told = Arc::new(AtomicUsize::new(0));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (hook_told, hook_seen) = (told.clone(), seen.clone());
    let count = tool_fn("count", "Counts to three.", async |_: NoArgs, cx: ToolContext<'_>| {
        for number in ["one", "two", "three"] {
            cx.update(number);
        }
        Ok("done")
    });
    let mut builder = Run::builder(ScriptedModel::new([two_calls(), Response::text("ok")]))
        .tool(count)
        .tool_execution(mode);
    if let Some(spawn) = spawner {
        builder = builder.spawner(spawn);
    }
    let run = builder
        .after_tool_call(async move |_, _: &ToolOutput, _| {
            hook_seen.lock().unwrap().push(hook_told.load(Ordering::SeqCst));
            AfterToolCall::unchanged()
        })
        .build();
    block_on(async {
        let mut run = run.prompt("go");
        while let Some(event) = run.next().await {
            if let AgentEvent::ToolExecutionUpdate { .. } = event {
                told.fetch_add(1, Ordering::SeqCst);
            }
        }
    });
    assert_eq!(told.load(Ordering::SeqCst), 6);
    seen.lock().unwrap().clone()
}

#[test]
fn an_after_hook_is_asked_when_everything_its_call_told_has_been_handed_out() {
    assert_eq!(told_before_each_after_hook(ExecutionMode::Sequential, None), [3, 6]);
    assert_eq!(told_before_each_after_hook(ExecutionMode::Parallel, None), [6, 6]);
}

#[test]
fn an_after_hook_on_another_thread_waits_for_the_updates_too() {
    fn thread(future: BoxFuture<'static, ()>) {
        drop(std::thread::spawn(move || block_on(future)));
    }
    assert_eq!(told_before_each_after_hook(ExecutionMode::Sequential, Some(thread)), [3, 6]);
    let seen = told_before_each_after_hook(ExecutionMode::Parallel, Some(thread));
    assert!(seen.iter().all(|told| *told >= 3), "{seen:?}");
}

const MANY: usize = 1000;

/// Tells two updates, [`MANY`] times, with a pause after each pair.
fn tells_all_the_time() -> AgentTool {
    tool_fn("many", "Tells all the time.", async |_: NoArgs, cx: ToolContext<'_>| {
        for _ in 0..MANY {
            cx.update("one more");
            cx.update("and one");
            yield_now().await;
        }
        Ok("done")
    })
}

/// Where a call goes that is polled by hand.
type Tasks = Arc<Mutex<Vec<BoxFuture<'static, ()>>>>;

fn poll_once<T>(future: impl Future<Output = T>) -> Poll<T> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn poll_all(tasks: &Tasks) {
    let mut cx = Context::from_waker(Waker::noop());
    tasks.lock().unwrap().retain_mut(|task| task.poll_unpin(&mut cx).is_pending());
}

/// A run whose calls are `many`, which tells all the time, and `one`, which tells once; they go where they are polled by
/// hand.
fn flooded() -> (RunBuilder, Tasks) {
    let tasks = Tasks::default();
    let spawned = tasks.clone();
    let tells_once = tool_fn("one", "Tells once.", async |_: NoArgs, cx: ToolContext<'_>| {
        cx.update("one");
        Ok("done")
    });
    let calls = Response::tool_call("a", "many", json!({})).and_tool_call("b", "one", json!({}));
    let builder = Run::builder(ScriptedModel::new([calls, Response::text("ok")]))
        .tools([tells_all_the_time(), tells_once])
        .spawner(move |future| spawned.lock().unwrap().push(future));
    (builder, tasks)
}

/// Reads a flooded run, counting what is `told`, and gives how much of it before the end of `one`. Whenever the consumer has
/// read one thing, two more are told.
fn told_before_the_end_of_one(run: Run<Idle>, tasks: &Tasks, told: &AtomicUsize) -> Option<usize> {
    let mut run = run.prompt("go");
    let (mut one_has_told, mut before_its_end) = (false, None);
    loop {
        match poll_once(run.next()) {
            Poll::Ready(None) => break,
            Poll::Ready(Some(AgentEvent::ToolExecutionUpdate { call, .. })) => {
                told.fetch_add(1, Ordering::SeqCst);
                one_has_told |= call.id == "b";
            }
            Poll::Ready(Some(AgentEvent::ToolExecutionEnd { call, .. })) if call.id == "b" => {
                assert!(one_has_told, "an update came after the end of its call");
                before_its_end = Some(told.load(Ordering::SeqCst));
            }
            _ => {}
        }
        poll_all(tasks);
    }
    assert_eq!(told.load(Ordering::SeqCst), 2 * MANY + 1);
    before_its_end
}

#[test]
fn a_sibling_that_tells_faster_than_the_consumer_reads_holds_no_end_up() {
    let (builder, tasks) = flooded();
    let told = told_before_the_end_of_one(builder.build(), &tasks, &AtomicUsize::new(0));
    assert!(told.is_some_and(|told| told < 10), "{told:?}");
}

#[test]
fn a_sibling_that_tells_faster_than_the_consumer_reads_holds_no_after_hook_up() {
    let (builder, tasks) = flooded();
    let told = Arc::new(AtomicUsize::new(0));
    let asked_at = Arc::new(Mutex::new(None));
    let (hook_told, hook_asked_at) = (told.clone(), asked_at.clone());
    let run = builder
        .after_tool_call(async move |call: &ToolCall, _: &ToolOutput, _| {
            if call.id == "b" {
                *hook_asked_at.lock().unwrap() = Some(hook_told.load(Ordering::SeqCst));
            }
            AfterToolCall::unchanged()
        })
        .build();
    told_before_the_end_of_one(run, &tasks, &told);
    let asked_at = asked_at.lock().unwrap().unwrap();
    assert!((1..10).contains(&asked_at), "the hook was asked after {asked_at} updates");
}
