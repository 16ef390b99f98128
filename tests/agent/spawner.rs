//! Tools on the host's own threads.

use std::sync::mpsc;
use std::sync::{Arc, Barrier, Mutex};
use std::time::Duration;

use futures::executor::block_on;
use futures::future::BoxFuture;
use turnstate::agent::InsideRun;
use turnstate::testing::Response;
use turnstate::tool::{AgentTool, NoArgs, OnAbort, tool_fn};
use turnstate::{Agent, AgentEvent, Ending, Run, Spawner};

use crate::support::*;

fn threads() -> impl Spawner {
    |future: BoxFuture<'static, ()>| smol::spawn(future).detach()
}

fn thread_each() -> impl Spawner {
    |future: BoxFuture<'static, ()>| drop(std::thread::spawn(move || block_on(future)))
}

fn agent_on(
    spawner: impl Spawner,
    answers: Vec<Response>,
    tools: impl IntoIterator<Item = AgentTool>,
) -> Agent {
    Agent::new(Run::builder(model(answers)).tools(tools).spawner(spawner).build())
}

#[test]
fn tools_run_on_the_spawners_threads_at_the_same_time() {
    let all = Arc::new(Barrier::new(4));
    let here = std::thread::current().id();
    let meet = tool_fn("meet", "Blocks until four are here.", async move |_: NoArgs, _| {
        all.wait();
        Ok(if std::thread::current().id() == here { "here" } else { "elsewhere" })
    });
    let batch = calls(&[("a", "meet", "{}"), ("b", "meet", "{}"), ("c", "meet", "{}"), ("d", "meet", "{}")]);
    let agent = agent_on(thread_each(), vec![batch, text("done")], [meet]);
    let outcome = within(agent.prompt("go").unwrap());
    assert_eq!(
        texts(&outcome.added),
        [
            "user: go",
            "assistant: a | b | c | d",
            "result: elsewhere",
            "result: elsewhere",
            "result: elsewhere",
            "result: elsewhere",
            "assistant: done"
        ]
    );
}

#[test]
fn an_update_from_another_thread_wakes_the_run_and_comes_before_the_end() {
    let seen = gate();
    let tool = {
        let seen = seen.clone();
        tool_fn("work", "Tells of its progress.", async move |_: NoArgs, cx| {
            cx.update("half");
            // Passes only once the run has told the update.
            seen.wait().await;
            cx.update("almost");
            Ok("whole")
        })
    };
    let agent = agent_on(threads(), vec![call("c", "work"), text("done")], [tool]);
    let log = Log::new();
    let _subscription = {
        let log = log.clone();
        agent.subscribe(async move |event, _| match event {
            AgentEvent::ToolExecutionUpdate { partial, .. } => {
                log.note(partial.content[0].as_text().unwrap());
                seen.release();
            }
            AgentEvent::ToolExecutionEnd { .. } => log.note("end"),
            _ => {}
        })
    };
    within(agent.prompt("go").unwrap());
    assert_eq!(log.take(), ["half", "almost", "end"]);
}

/// Tells when it is dropped.
struct Dropped(mpsc::Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A tool that never ends by itself; it tells when it has begun and when it is gone.
fn endless(on_abort: OnAbort) -> (AgentTool, mpsc::Receiver<()>, mpsc::Receiver<()>) {
    let (begun, has_begun) = mpsc::channel();
    let (gone, is_gone) = mpsc::channel();
    let channels = Arc::new(Mutex::new((begun, gone)));
    let tool = tool_fn("endless", "Never ends.", async move |_: NoArgs, _| {
        let _dropped = {
            let channels = channels.lock().unwrap();
            channels.0.send(()).unwrap();
            Dropped(channels.1.clone())
        };
        std::future::pending::<()>().await;
        Ok("never")
    });
    (tool.with_on_abort(on_abort), has_begun, is_gone)
}

#[test]
fn a_dropped_run_cancels_the_tools_on_other_threads_even_those_that_wait_for_an_abort() {
    for on_abort in [OnAbort::Drop, OnAbort::Wait] {
        let (tool, has_begun, is_gone) = endless(on_abort);
        let agent = agent_on(threads(), vec![call("c", "endless"), text("next")], [tool]);
        let mut running = agent.prompt("go").unwrap();
        assert!(settle(&mut running).is_none());
        has_begun.recv_timeout(LONG).unwrap();
        drop(running);
        is_gone.recv_timeout(LONG).unwrap();
        assert_eq!(
            texts(agent.state().added()),
            ["user: go", "assistant: c", "result: Operation aborted", "aborted: Request was aborted"]
        );
        let outcome = within(agent.prompt("again").unwrap());
        assert_eq!(texts(&outcome.added), ["user: again", "assistant: next"]);
    }
}

#[test]
fn an_abort_reaches_a_tool_on_another_thread() {
    let (tool, has_begun, is_gone) = endless(OnAbort::Drop);
    let agent = agent_on(threads(), vec![call("c", "endless")], [tool]);
    let running = agent.prompt("go").unwrap();
    let aborter = std::thread::spawn(move || {
        has_begun.recv_timeout(LONG).unwrap();
        agent.abort();
    });
    let outcome = within(running);
    aborter.join().unwrap();
    is_gone.recv_timeout(LONG).unwrap();
    assert_eq!(outcome.ending, Ending::Aborted);
    assert_eq!(texts(&outcome.added)[2], "result: Operation aborted");
}

#[test]
fn a_tool_that_panics_on_another_thread_is_an_error_result_and_its_sibling_is_untouched() {
    let bad = tool_fn("bad", "Panics.", async |_: NoArgs, _| -> Result<&str, _> { panic!("broken") });
    let batch = calls(&[("a", "bad", "{}"), ("b", "good", "{}")]);
    let agent = agent_on(threads(), vec![batch, text("done")], [bad, quick("good")]);
    let outcome = within(agent.prompt("go").unwrap());
    assert_eq!(
        texts(&outcome.added),
        [
            "user: go",
            "assistant: a | b",
            "result: The tool panicked: broken",
            "result: good done",
            "assistant: done"
        ]
    );
}

#[test]
fn a_call_that_the_spawner_drops_or_panics_over_has_an_error_result_and_the_run_goes_on() {
    let drops = |future: BoxFuture<'static, ()>| drop(future);
    let panics = |_: BoxFuture<'static, ()>| panic!("no runtime here");
    for spawner in [Box::new(drops) as Box<dyn Fn(BoxFuture<'static, ()>) + Send + Sync>, Box::new(panics)] {
        let agent = agent_on(spawner, vec![call("a", "good"), text("done")], [quick("good")]);
        let outcome = within(agent.prompt("go").unwrap());
        assert_eq!(
            texts(&outcome.added),
            [
                "user: go",
                "assistant: a",
                "result: The call was given up before its end: what runs the tools has dropped it.",
                "assistant: done"
            ]
        );
        assert!(outcome.added[2].as_tool_result().unwrap().is_error);
    }
}

#[test]
fn a_wait_for_the_own_agent_is_refused_on_the_spawners_threads_too() {
    let slot: Arc<Mutex<Option<Agent>>> = Arc::default();
    let tool = {
        let slot = slot.clone();
        tool_fn("wait", "Waits for its own agent.", async move |_: NoArgs, _| {
            let agent = slot.lock().unwrap().clone().unwrap();
            let waited = agent.wait_for_idle().await;
            Ok(format!("{waited:?}"))
        })
    };
    let agent = agent_on(threads(), vec![call("c", "wait"), text("done")], [tool]);
    *slot.lock().unwrap() = Some(agent.clone());
    let outcome = within(agent.prompt("go").unwrap());
    assert_eq!(texts(&outcome.added)[2], format!("result: Err({InsideRun:?})"));
    slot.lock().unwrap().take();
}

const LONG: Duration = Duration::from_secs(20);
