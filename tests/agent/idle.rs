//! Waiting for the end of a run, from outside and from within.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::executor::block_on;
use turnstate::agent::InsideRun;
use turnstate::tool::{NoArgs, tool_fn};
use turnstate::{Agent, Busy, Run};

use crate::support::*;

#[test]
fn an_idle_agent_is_idle_at_once() {
    let agent = agent([]);
    assert_eq!(agent.wait_for_idle().now_or_never(), Some(Ok(())));
    agent.abort();
    assert_eq!(agent.wait_for_idle().now_or_never(), Some(Ok(())));
}

#[test]
fn a_wait_ends_when_the_last_listener_of_the_run_has_settled() {
    let gate = gate();
    let agent = agent([text("Hello.")]);
    let slow = gate.clone();
    let _subscription = agent.subscribe(async move |event, _| {
        if event.kind() == "agent_end" {
            slow.wait().await;
        }
    });
    let mut running = agent.prompt("Hi").unwrap();
    let mut waiting = agent.wait_for_idle();
    assert!(settle(&mut waiting).is_none());
    assert!(settle(&mut running).is_none());
    // The run has told its end, its listener has not settled.
    assert!(!agent.state().is_running());
    assert!(!agent.is_idle());
    assert!(settle(&mut waiting).is_none());
    assert_eq!(agent.prompt("too early").unwrap_err(), Busy);
    gate.release();
    assert!(settle(&mut running).is_some());
    assert_eq!(settle(&mut waiting), Some(Ok(())));
}

#[test]
fn a_wait_is_woken_by_the_end_of_the_run_and_by_its_drop() {
    for drops in [false, true] {
        let gate = gate();
        let agent = agent([text_until("half", &gate, "")]);
        let mut running = agent.prompt("Hi").unwrap();
        assert!(settle(&mut running).is_none());
        let waiting = std::thread::spawn({
            let waiting = agent.wait_for_idle();
            move || within(waiting)
        });
        std::thread::sleep(Duration::from_millis(5));
        if drops {
            drop(running);
        } else {
            gate.release();
            assert!(settle(&mut running).is_some());
        }
        assert_eq!(waiting.join().unwrap(), Ok(()));
    }
}

#[test]
fn a_wait_is_for_the_run_of_the_moment_and_not_for_the_next_one() {
    let gate = gate();
    let agent = agent([text("one"), text_until("half", &gate, "")]);
    let running = agent.prompt("first").unwrap();
    let mut waiting = agent.wait_for_idle();
    assert!(settle(&mut waiting).is_none());
    block_on(running);
    let mut next = agent.prompt("second").unwrap();
    assert!(settle(&mut next).is_none());
    assert_eq!(settle(&mut waiting), Some(Ok(())));
    assert!(settle(&mut agent.wait_for_idle()).is_none());
}

#[test]
fn a_wait_after_an_abort_ends_with_the_run_and_never_inside_of_the_abort() {
    let gate = gate();
    let agent = agent([text_until("half", &gate, "")]);
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    let mut waiting = agent.wait_for_idle();
    agent.abort();
    assert!(settle(&mut waiting).is_none());
    assert!(settle(&mut running).is_some());
    assert_eq!(settle(&mut waiting), Some(Ok(())));
}

#[test]
fn inside_a_tool_or_a_listener_a_prompt_is_busy_and_a_wait_is_refused() {
    let log = Log::new();
    let own: Arc<Mutex<Option<Agent>>> = Arc::default();
    let tool = {
        let (own, log) = (own.clone(), log.clone());
        tool_fn("own", "Turns on its own agent.", async move |_: NoArgs, _| {
            let agent = own.lock().unwrap().clone().unwrap();
            log.note(format!(
                "tool: {:?} {:?}",
                agent.prompt("again").map(drop),
                agent.wait_for_idle().await
            ));
            Ok("done")
        })
    };
    let run = Run::builder(model([call("c", "own"), text("done")])).tool(tool);
    let run = {
        let (own, log) = (own.clone(), log.clone());
        run.finish_turn(async move |_, _| {
            let agent = own.lock().unwrap().clone().unwrap();
            log.note(format!("hook: {:?}", agent.wait_for_idle().await));
            turnstate::hook::FinishTurn::Default
        })
    };
    let agent = Agent::new(run.build());
    *own.lock().unwrap() = Some(agent.clone());
    let subscription = {
        let (own, log) = (own.clone(), log.clone());
        agent.subscribe(async move |event, _| {
            if matches!(event.kind(), "agent_start" | "agent_end") {
                let agent = own.lock().unwrap().clone().unwrap();
                let refused = (agent.prompt("again").map(drop), agent.reset(), agent.wait_for_idle().await);
                log.note(format!("listener: {refused:?}"));
            }
        })
    };
    let outcome = block_on(agent.prompt("go").unwrap());
    let listener =
        format!("listener: {:?}", (Err::<(), _>(Busy), Err::<(), _>(Busy), Err::<(), _>(InsideRun)));
    let tool = format!("tool: {:?} {:?}", Err::<(), _>(Busy), Err::<(), _>(InsideRun));
    let hook = format!("hook: {:?}", Err::<(), _>(InsideRun));
    assert_eq!(log.take(), [listener.clone(), tool, hook.clone(), hook, listener]);
    assert_eq!(texts(&outcome.added).last().unwrap(), "assistant: done");
    assert_eq!(
        InsideRun.to_string(),
        "a tool, hook or listener cannot wait until its own agent is idle, since the agent waits for it: return \
         first, or wait in a task of its own"
    );
    drop(subscription);
    own.lock().unwrap().take();
}

#[test]
fn a_tool_may_wait_for_another_agent_and_not_for_one_that_waits_for_it() {
    let gate = gate();
    let other = agent([text_until("half", &gate, "")]);
    let mut others = other.prompt("Hi").unwrap();
    assert!(settle(&mut others).is_none());
    // An agent whose tool prompts an inner agent, whose tool waits for the outer one.
    let outer: Arc<Mutex<Option<Agent>>> = Arc::default();
    let innermost = {
        let outer = outer.clone();
        tool_fn("wait", "Waits for the outer agent.", async move |_: NoArgs, _| {
            let agent = outer.lock().unwrap().clone().unwrap();
            Ok(format!("{:?}", agent.wait_for_idle().await))
        })
    };
    let inner = Agent::new(Run::builder(model([call("i", "wait"), text("x")])).tool(innermost).build());
    let tool = tool_fn("ask", "Asks the inner agent, and waits for another.", async move |_: NoArgs, _| {
        let outcome = inner.prompt("go").unwrap().await;
        let inner = outcome.added.iter().find_map(|m| m.as_tool_result()).unwrap();
        let inner = inner.texts().collect::<String>();
        Ok(format!("{inner}, {:?}", other.wait_for_idle().await))
    });
    let agent = Agent::new(Run::builder(model([call("o", "ask"), text("done")])).tool(tool).build());
    *outer.lock().unwrap() = Some(agent.clone());
    let mut running = agent.prompt("go").unwrap();
    assert!(settle(&mut running).is_none());
    gate.release();
    assert!(settle(&mut others).is_some());
    let outcome = settle(&mut running).unwrap();
    assert_eq!(texts(&outcome.added)[2], "result: Err(InsideRun), Ok(())");
    outer.lock().unwrap().take();
}

#[test]
fn the_safe_way_a_listener_hands_the_wait_to_a_task_of_its_own() {
    let agent = agent([text("one"), text("two")]);
    let (weak, log) = (agent.downgrade(), Log::new());
    let (spawned, tasks) = std::sync::mpsc::channel();
    let subscription = {
        let log = log.clone();
        let spawned = Arc::new(Mutex::new(spawned));
        agent.subscribe(async move |event, _| {
            if event.kind() == "turn_end" {
                let agent = weak.upgrade().unwrap();
                let log = log.clone();
                // Made inside of the run, but polled outside of it.
                let waiting = agent.wait_for_idle();
                let task = smol::spawn(async move {
                    waiting.await.unwrap();
                    log.note("idle");
                });
                spawned.lock().unwrap().send(task).unwrap();
            }
        })
    };
    within(agent.prompt("Hi").unwrap());
    within(tasks.recv().unwrap());
    assert_eq!(log.take(), ["idle"]);
    drop(subscription);
}
