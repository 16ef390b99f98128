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
use turnstate::testing::{Response, ScriptedModel};
use turnstate::tool::{AgentTool, ExecutionMode, NoArgs, ToolContext, ToolOutput, tool_fn};
use turnstate::{AgentEvent, Run, RunBuilder};

fn two_calls() -> Response {
    Response::tool_call("a", "count", json!({})).and_tool_call("b", "count", json!({}))
}

/// Runs an answer's calls, and gives how many updates the consumer had been told when each call's after-hook was asked,
/// and in the end.
fn told_before_each_after_hook_of(
    calls: Response,
    build: impl FnOnce(RunBuilder) -> RunBuilder,
) -> (Vec<usize>, usize) {
    let told = Arc::new(AtomicUsize::new(0));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (hook_told, hook_seen) = (told.clone(), seen.clone());
    let run = build(Run::builder(ScriptedModel::new([calls, Response::text("ok")])))
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
    let seen = seen.lock().unwrap().clone();
    (seen, told.load(Ordering::SeqCst))
}

/// The same of two calls that tell three each and return without a pause.
fn told_before_each_after_hook(
    mode: ExecutionMode,
    spawner: Option<fn(BoxFuture<'static, ()>)>,
) -> Vec<usize> {
    let count = tool_fn("count", "Counts to three.", async |_: NoArgs, cx: ToolContext<'_>| {
        for number in ["one", "two", "three"] {
            cx.update(number);
        }
        Ok("done")
    });
    let (seen, told) = told_before_each_after_hook_of(two_calls(), |builder| {
        let builder = builder.tool(count).tool_execution(mode);
        match spawner {
            Some(spawn) => builder.spawner(spawn),
            None => builder,
        }
    });
    assert_eq!(told, 6);
    seen
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

#[test]
fn a_sibling_that_tells_without_end_holds_no_after_hook_up() {
    let says_one_thing = tool_fn("one", "Tells once.", async |_: NoArgs, cx: ToolContext<'_>| {
        cx.update("one");
        yield_now().await;
        Ok("done")
    });
    let calls = Response::tool_call("a", "one", json!({})).and_tool_call("b", "many", json!({}));
    let (seen, told) = told_before_each_after_hook_of(calls, |builder| {
        builder.tools([says_one_thing, tells_all_the_time()])
    });
    assert!(seen[0] < 20, "the first hook waited for {} updates", seen[0]);
    assert_eq!((seen[1], told), (2 * MANY + 1, 2 * MANY + 1));
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

#[test]
fn a_sibling_that_tells_faster_than_the_consumer_reads_holds_no_end_up() {
    let tasks = Tasks::default();
    let spawned = tasks.clone();
    let ends = tool_fn("one", "Tells once.", async |_: NoArgs, cx: ToolContext<'_>| {
        cx.update("one");
        Ok("done")
    });
    let calls = Response::tool_call("a", "many", json!({})).and_tool_call("b", "one", json!({}));
    let run = Run::builder(ScriptedModel::new([calls, Response::text("ok")]))
        .tools([tells_all_the_time(), ends])
        .spawner(move |future| spawned.lock().unwrap().push(future))
        .build();
    let mut run = run.prompt("go");
    let (mut told, mut told_before_the_end) = (Vec::new(), None);
    loop {
        match poll_once(run.next()) {
            Poll::Ready(None) => break,
            Poll::Ready(Some(AgentEvent::ToolExecutionUpdate { call, .. })) => told.push(call.id.clone()),
            Poll::Ready(Some(AgentEvent::ToolExecutionEnd { call, .. })) if call.id == "b" => {
                assert!(told.contains(&call.id), "an update came after the end of its call");
                told_before_the_end = Some(told.len());
            }
            _ => {}
        }
        // Whenever the consumer has read one thing, two more are told.
        poll_all(&tasks);
    }
    assert_eq!(told.len(), 2 * MANY + 1);
    assert!(told_before_the_end.is_some_and(|told| told < 10), "{told_before_the_end:?}");
}
