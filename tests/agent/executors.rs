//! Runs and agents go anywhere: other threads, any executor.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::executor::block_on;
use futures::future::join_all;
use turnstate::agent::{ListenerContext, Prompting, Subscription, WaitForIdle, WeakAgent};
use turnstate::message::NoCustom;
use turnstate::run::Ticket;
use turnstate::tool::{NoArgs, tool_fn};
use turnstate::{
    AbortSignal, Aborted, Agent, AgentEvent, AgentLoop, CustomMessage, Handle, Idle, Outcome, Run, State,
    Streaming,
};

use crate::support::*;

#[derive(Debug, CustomMessage)]
enum Custom {
    #[message(role = "note", user = "{text}")]
    #[allow(dead_code, reason = "only its type counts")]
    Note { text: String },
}

fn goes_anywhere<T: Send + Sync + 'static>() {}

fn is_spawned<F: Future + Send + 'static>(_: F) {}

fn goes_anywhere_unpinned<T: Send + Sync + Unpin + 'static>() {}

fn auto_traits<M: turnstate::message::CustomMessage>() {
    goes_anywhere_unpinned::<Run<Idle, M>>();
    goes_anywhere_unpinned::<Run<Streaming, M>>();
    goes_anywhere_unpinned::<AgentLoop<M>>();
    goes_anywhere_unpinned::<Agent<M>>();
    goes_anywhere_unpinned::<WeakAgent<M>>();
    goes_anywhere_unpinned::<Prompting<M>>();
    goes_anywhere_unpinned::<WaitForIdle<M>>();
    goes_anywhere_unpinned::<Handle<M>>();
    goes_anywhere_unpinned::<Ticket<M>>();
    goes_anywhere_unpinned::<Subscription<M>>();
    goes_anywhere_unpinned::<State<M>>();
    goes_anywhere_unpinned::<Outcome<M>>();
    goes_anywhere_unpinned::<AgentEvent<M>>();
    goes_anywhere::<ListenerContext<'static, M>>();
}

#[test]
fn runs_agents_and_what_belongs_to_them_go_to_other_threads() {
    auto_traits::<NoCustom>();
    auto_traits::<Custom>();
    goes_anywhere_unpinned::<AbortSignal>();
    goes_anywhere_unpinned::<Aborted>();
    is_spawned(run([]).prompt("go").finish());
    is_spawned(agent([]).prompt("go").unwrap());
}

/// An agent that uses everything that may be async, and an outcome that says whether all of it came in order.
fn busy_agent() -> (Agent, Arc<AtomicUsize>) {
    let updates = Arc::new(AtomicUsize::new(0));
    let told = updates.clone();
    let tool = tool_fn("work", "Works for a moment.", async |_: NoArgs, cx| {
        for _ in 0..3 {
            cx.update("more");
            smol::Timer::after(Duration::from_millis(1)).await;
        }
        Ok("worked")
    });
    let batch = calls(&[("a", "work", "{}"), ("b", "work", "{}"), ("c", "work", "{}")]);
    let run = Run::builder(model([batch, text("done")]))
        .tool(tool)
        .before_tool_call(async |_, _| {
            smol::Timer::after(Duration::from_millis(1)).await;
            turnstate::hook::BeforeToolCall::Allow
        })
        .build();
    let agent = Agent::new(run);
    agent
        .subscribe(async move |event, _| {
            if let AgentEvent::ToolExecutionUpdate { .. } = event {
                told.fetch_add(1, Ordering::SeqCst);
                smol::Timer::after(Duration::from_millis(1)).await;
            }
        })
        .keep();
    (agent, updates)
}

fn check(outcome: &Outcome, updates: &AtomicUsize) {
    let expected = ["user: go", "assistant: a | b | c", "result: worked", "result: worked", "result: worked"];
    let mut lines = texts(&outcome.added);
    lines.retain(|line| !line.starts_with("system"));
    assert_eq!(lines[..5], expected);
    assert_eq!(lines[5], "assistant: done");
    assert_eq!(updates.load(Ordering::SeqCst), 9);
}

#[test]
fn an_agent_runs_on_the_futures_executor() {
    let (agent, updates) = busy_agent();
    check(&block_on(agent.prompt("go").unwrap()), &updates);
}

#[test]
fn agents_are_spawned_on_tokio() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let agents: Vec<_> = (0..8).map(|_| busy_agent()).collect();
        let running = agents.iter().map(|(agent, _)| tokio::spawn(agent.prompt("go").unwrap()));
        let outcomes = join_all(running.collect::<Vec<_>>()).await;
        for (outcome, (agent, updates)) in outcomes.into_iter().zip(&agents) {
            check(&outcome.unwrap(), updates);
            agent.wait_for_idle().await.unwrap();
        }
        // A task that is aborted drops its run, wherever it is.
        let (agent, _) = busy_agent();
        let task = tokio::spawn(agent.prompt("go").unwrap());
        tokio::time::sleep(Duration::from_millis(2)).await;
        task.abort();
        agent.wait_for_idle().await.unwrap();
        assert!(agent.prompt("again").unwrap().await.is_success());
    });
}

#[test]
fn agents_are_spawned_on_smol() {
    within(async {
        let agents: Vec<_> = (0..8).map(|_| busy_agent()).collect();
        let running: Vec<_> =
            agents.iter().map(|(agent, _)| smol::spawn(agent.prompt("go").unwrap())).collect();
        for (task, (_, updates)) in running.into_iter().zip(&agents) {
            check(&task.await, updates);
        }
        let (agent, _) = busy_agent();
        let task = smol::spawn(agent.prompt("go").unwrap());
        smol::Timer::after(Duration::from_millis(2)).await;
        drop(task);
        agent.wait_for_idle().await.unwrap();
        assert!(agent.prompt("again").unwrap().await.is_success());
    });
}

#[test]
fn a_run_is_spawned_without_an_agent_too() {
    let run = || Run::builder(model([call("a", "read"), text("done")])).tool(quick("read")).build();
    let on_smol = within(smol::spawn(run().prompt("go").finish()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let on_tokio = runtime.block_on(async { tokio::spawn(run().prompt("go").finish()).await.unwrap() });
    let here = block_on(run().prompt("go").finish());
    assert_eq!(texts(on_smol.transcript()), texts(here.transcript()));
    assert_eq!(texts(on_tokio.transcript()), texts(here.transcript()));
}

#[test]
fn many_threads_may_prompt_and_exactly_one_at_a_time_is_taken() {
    let agent = agent([]);
    let taken = Arc::new(AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..50 {
                    match agent.prompt("go") {
                        Ok(running) => {
                            taken.fetch_add(1, Ordering::SeqCst);
                            assert!(block_on(running).is_success());
                        }
                        Err(turnstate::Busy) => within(agent.wait_for_idle()).unwrap(),
                    }
                }
            });
        }
    });
    assert_eq!(agent.state().transcript().len(), 2 * taken.load(Ordering::SeqCst));
    assert!(agent.is_idle());
}
