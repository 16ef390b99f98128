//! Nothing is left behind, however long an agent lives.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use serde_json::Map;
use turnstate::tool::{NoArgs, OnAbort, tool_fn};
use turnstate::{AbortSignal, Agent, AgentEvent, Run};

use crate::support::*;

#[test]
fn ten_thousand_runs_on_one_agent_leave_nothing_behind() {
    const RUNS: usize = 10_000;
    // Whatever a run captures of these is gone when it is over.
    let (held_by_tool, held_by_listener, held_by_hook) = (Arc::new(()), Arc::new(()), Arc::new(()));
    let held = || [&held_by_tool, &held_by_listener, &held_by_hook].map(Arc::strong_count);
    let tool = {
        let held = held_by_tool.clone();
        tool_fn("read", "Reads.", async move |_: NoArgs, _| {
            let _ = &held;
            Ok("read")
        })
    };
    let hook = held_by_hook.clone();
    let run = Run::builder(model([]))
        .tool(tool)
        .finish_turn(async move |_, _| {
            let _ = &hook;
            turnstate::hook::FinishTurn::Default
        })
        .build();
    let agent = Agent::new(run);
    let heard = Arc::new(AtomicUsize::new(0));
    let subscription = {
        let (heard, held) = (heard.clone(), held_by_listener.clone());
        agent.subscribe(async move |event, _| {
            let _ = &held;
            if let AgentEvent::AgentEnd { .. } = event {
                heard.fetch_add(1, Ordering::SeqCst);
            }
        })
    };
    let before = held();
    for n in 0..RUNS {
        // Some are dropped, some aborted; some are listened to for a while, and waited for.
        let extra = (n % 10 == 0).then(|| agent.subscribe(async |_, _| {}));
        let mut waiting = agent.wait_for_idle();
        let mut running = agent.prompt("Hi").unwrap();
        match n % 7 {
            0 => drop(running),
            1 => {
                let _ = poll_once(&mut waiting);
                agent.abort();
                block_on(running);
            }
            _ => {
                while poll_once(&mut running).is_pending() {
                    let _ = poll_once(&mut waiting);
                }
            }
        }
        drop((extra, waiting));
        if n % 500 == 0 {
            agent.reset().unwrap();
        }
    }
    assert_eq!(agent.listeners(), 1);
    assert_eq!(held(), before);
    assert!(!agent.has_queued());
    assert_eq!(heard.load(Ordering::SeqCst), RUNS - RUNS.div_ceil(7));
    let weak = agent.downgrade();
    drop(agent);
    assert!(weak.upgrade().is_none());
    assert_eq!(held(), [1, 1, 1]);
    drop(subscription);
}

#[test]
fn ten_thousand_tool_calls_on_one_signal_leave_no_waiter_behind() {
    const BATCHES: usize = 100;
    const CALLS: usize = 100;
    let signal: Arc<std::sync::Mutex<Option<AbortSignal>>> = Arc::default();
    let most = Arc::new(AtomicUsize::new(0));
    let tool = {
        let (signal, most) = (signal.clone(), most.clone());
        tool_fn("wait", "Waits for an abort that does not come.", async move |_: NoArgs, cx| {
            signal.lock().unwrap().get_or_insert_with(|| cx.abort().clone());
            let working = async {
                smol::future::yield_now().await;
                // A nested call waits on the same signal.
                cx.call_tool("inner", Map::new()).await;
            };
            smol::future::or(cx.abort().aborted(), working).await;
            most.fetch_max(cx.abort().waiters(), Ordering::SeqCst);
            Ok("done")
        })
    };
    let inner = tool_fn("inner", "Yields.", async |_: NoArgs, _| {
        smol::future::yield_now().await;
        Ok("inner")
    });
    let ids: Vec<String> = (0..CALLS).map(|n| n.to_string()).collect();
    let batch: Vec<_> = ids.iter().map(|id| (id.as_str(), "wait", "{}")).collect();
    let answers = (0..BATCHES).map(|_| calls(&batch));
    let run = Run::builder(model(answers)).tool(tool.with_on_abort(OnAbort::Drop)).tool(inner).build();
    let agent = Agent::new(run);
    let left: Arc<std::sync::Mutex<Vec<usize>>> = Arc::default();
    let _subscription = {
        let left = left.clone();
        agent.subscribe(async move |event, cx| {
            if event.kind() == "turn_end" {
                left.lock().unwrap().push(cx.abort.waiters());
            }
        })
    };
    let outcome = block_on(agent.prompt("go").unwrap());
    assert_eq!(outcome.added.iter().filter(|m| m.as_tool_result().is_some()).count(), BATCHES * CALLS);
    // While a batch runs its calls wait; between two turns only the run itself does.
    assert!(most.load(Ordering::SeqCst) >= CALLS);
    assert_eq!(left.lock().unwrap().iter().max(), Some(&1));
    assert_eq!(signal.lock().unwrap().take().unwrap().waiters(), 0);
}

#[test]
fn one_signal_for_a_thousand_stateless_loops_keeps_no_waiter() {
    let signal = AbortSignal::new();
    for _ in 0..1_000 {
        let config = turnstate::LoopConfig::<turnstate::message::NoCustom>::new(model([]));
        let mut running = turnstate::agent_loop(Vec::new(), Default::default(), config, signal.clone());
        block_on(async { while running.next().await.is_some() {} });
    }
    assert_eq!(signal.waiters(), 0);
}
