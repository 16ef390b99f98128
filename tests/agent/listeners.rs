//! Listeners: order, one event at a time, subscribing and unsubscribing, panics.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::executor::block_on;
use turnstate::agent::Subscription;
use turnstate::message::{NoCustom, StopReason};
use turnstate::tool::{NoArgs, tool_fn};
use turnstate::{Agent, AgentEvent, Ending, Run};

use crate::support::*;

/// The kinds of events of a run with one text answer.
const TEXT_RUN: [&str; 11] = [
    "agent_start",
    "turn_start",
    "message_start",
    "message_end",
    "message_start",
    "message_update",
    "message_update",
    "message_update",
    "message_end",
    "turn_end",
    "agent_end",
];

/// The places in a text run at which a kind of event comes for the first time.
fn moments() -> impl Iterator<Item = (usize, &'static str)> {
    let is_first = |(at, kind): &(usize, &str)| !TEXT_RUN[..*at].contains(kind);
    TEXT_RUN.into_iter().enumerate().filter(is_first)
}

#[test]
fn each_listener_hears_an_event_in_order_and_the_next_event_waits_for_the_last() {
    let agent = agent([text("Hello.")]);
    let log = Log::new();
    let subscriptions: Vec<Subscription> = ["a", "b", "c"]
        .into_iter()
        .zip([3, 0, 1])
        .map(|(name, milliseconds)| {
            let log = log.clone();
            agent.subscribe(async move |event, _| {
                log.note(format!("{name} begins {}", event.kind()));
                smol::Timer::after(Duration::from_millis(milliseconds)).await;
                log.note(format!("{name} ends {}", event.kind()));
            })
        })
        .collect();
    within(agent.prompt("Hi").unwrap());
    let expected: Vec<String> = TEXT_RUN
        .iter()
        .flat_map(|kind| {
            ["a", "b", "c"].map(|name| [format!("{name} begins {kind}"), format!("{name} ends {kind}")])
        })
        .flatten()
        .collect();
    assert_eq!(log.take(), expected);
    assert_eq!(subscriptions.len(), agent.listeners());
}

#[test]
fn events_of_a_parallel_batch_come_one_at_a_time_too() {
    let batch = calls(&[("a", "one", "{}"), ("b", "two", "{}"), ("c", "three", "{}")]);
    let run = Run::builder(model([batch, text("done")])).tools(["one", "two", "three"].map(quick)).build();
    let agent = Agent::new(run);
    let hearing = Arc::new(AtomicBool::new(false));
    let _subscription = agent.subscribe(async move |_, _| {
        assert!(!hearing.swap(true, Ordering::SeqCst), "two events at a time");
        smol::future::yield_now().await;
        hearing.store(false, Ordering::SeqCst);
    });
    let outcome = within(agent.prompt("go").unwrap());
    assert_eq!(outcome.ending, Ending::Stopped { reason: StopReason::Stop });
}

#[test]
fn a_listener_is_given_the_exact_state_and_the_agents_snapshot_is_the_same() {
    let gate = gate();
    let batch = calls(&[("a", "slow", "{}"), ("b", "quick", "{}")]);
    let model = model([batch, text_until("half", &gate, " whole")]);
    let run = Run::builder(model).tool(gated("slow", &gate)).tool(quick("quick")).system_prompt("s").build();
    let agent = Agent::new(run);
    let weak = agent.downgrade();
    let log = Log::new();
    let _subscription = {
        let log = log.clone();
        agent.subscribe(async move |event, cx| {
            let snapshot = weak.upgrade().unwrap().state();
            assert_eq!(picture(&snapshot), picture(cx.state), "at {}", event.kind());
            assert!(!cx.abort.is_aborted());
            log.note(format!("{} {}", event.kind(), cx.state.transcript().len()));
        })
    };
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    // Between two events as well, while a tool runs.
    let snapshot = agent.state();
    assert_eq!(snapshot.running_calls().map(|call| call.id.clone()).collect::<Vec<_>>(), ["a"]);
    assert!(snapshot.is_running());
    gate.release();
    settle(&mut running).unwrap();
    assert!(!agent.state().is_running());
    // And the next run, on the same state.
    block_on(agent.prompt("again").unwrap());
    assert!(log.take().contains(&"agent_end 8".to_owned()));
}

#[test]
fn a_snapshot_shows_the_answer_that_streams_and_does_not_change_afterwards() {
    let gate = gate();
    let agent = agent([text_until("half", &gate, " whole")]);
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    let snapshot = agent.state();
    gate.release();
    settle(&mut running).unwrap();
    let partial = snapshot.partial().unwrap().snapshot();
    assert_eq!(partial.texts().collect::<String>(), "half");
    assert_eq!((snapshot.transcript().len(), agent.state().transcript().len()), (1, 2));
    assert!(agent.state().partial().is_none());
}

#[test]
fn a_subscription_ends_by_drop_or_by_call_and_can_be_kept() {
    let agent = agent([text("one"), text("two")]);
    let (dropped, called, kept) = (Log::new(), Log::new(), Log::new());
    let (first, second) = (dropped.listen(&agent), called.listen(&agent));
    kept.listen(&agent).keep();
    assert_eq!(agent.listeners(), 3);
    block_on(agent.prompt("Hi").unwrap());
    for log in [&dropped, &called, &kept] {
        assert_eq!(log.take(), TEXT_RUN);
    }
    drop(first);
    second.unsubscribe();
    assert_eq!(agent.listeners(), 1);
    block_on(agent.prompt("Hi").unwrap());
    assert_eq!((dropped.take().len(), called.take().len(), kept.take().len()), (0, 0, TEXT_RUN.len()));
}

#[test]
fn who_is_unsubscribed_during_an_event_does_not_hear_it_and_who_is_subscribed_hears_the_next() {
    let agent = agent([text("one")]);
    let (early, late) = (Log::new(), Log::new());
    let victim: Arc<Mutex<Option<Subscription>>> = Arc::default();
    let added: Arc<Mutex<Vec<Subscription>>> = Arc::default();
    let _first = {
        let (weak, victim, late) = (agent.downgrade(), victim.clone(), late.clone());
        agent.subscribe(async move |event, _| {
            if event.kind() == "turn_end" {
                victim.lock().unwrap().take();
                added.lock().unwrap().push(late.listen(&weak.upgrade().unwrap()));
            }
        })
    };
    *victim.lock().unwrap() = Some(early.listen(&agent));
    block_on(agent.prompt("Hi").unwrap());
    assert_eq!(early.take(), TEXT_RUN[..9]);
    assert_eq!(late.take(), ["agent_end"]);
}

#[test]
fn a_listener_may_unsubscribe_itself_and_still_finishes() {
    let agent = agent([text("one")]);
    let log = Log::new();
    let own: Arc<Mutex<Option<Subscription>>> = Arc::default();
    let subscription = {
        let (own, log) = (own.clone(), log.clone());
        agent.subscribe(async move |event, _| {
            own.lock().unwrap().take();
            smol::future::yield_now().await;
            log.note(event.kind());
        })
    };
    *own.lock().unwrap() = Some(subscription);
    block_on(agent.prompt("Hi").unwrap());
    assert_eq!(log.take(), ["agent_start"]);
}

/// A listener that panics at the nth event of a kind.
fn panics_at(agent: &Agent, kind: &'static str, nth: usize) -> Subscription {
    let count = Arc::new(Mutex::new(0));
    agent.subscribe(async move |event, _| {
        if event.kind() == kind {
            let now = {
                let mut count = count.lock().unwrap();
                *count += 1;
                *count
            };
            assert!(now != nth, "listener at {kind}");
        }
    })
}

#[test]
fn a_listener_that_panics_fails_the_run_and_everyone_hears_its_balanced_end() {
    // At each kind of event of a run with a tool: what the transcript then is.
    let table: [(&str, usize, &[&str]); 9] = [
        ("agent_start", 1, &["user: Hi"]),
        ("turn_start", 1, &["user: Hi"]),
        ("message_start", 1, &["user: Hi"]),
        ("message_end", 1, &["user: Hi"]),
        ("message_update", 1, &["user: Hi"]),
        ("message_end", 2, &["user: Hi", "assistant: c", "result: "]),
        ("tool_execution_start", 1, &["user: Hi", "assistant: c", "result: "]),
        ("tool_execution_end", 1, &["user: Hi", "assistant: c", "result: read done"]),
        ("turn_end", 1, &["user: Hi", "assistant: c", "result: read done"]),
    ];
    for (kind, nth, before) in table {
        let gave_up =
            format!("The call was given up since the run failed: a listener panicked: listener at {kind}");
        let run = Run::builder(model([call("c", "read"), text("never"), text("next")]))
            .tool(quick("read"))
            .transcript(vec![])
            .build();
        let agent = Agent::new(run);
        let (first, last) = (Log::new(), Log::new());
        let _first = first.listen(&agent);
        let panics = panics_at(&agent, kind, nth);
        let _last = last.listen(&agent);
        let outcome = block_on(agent.prompt("Hi").unwrap());
        let message = format!("a listener panicked: listener at {kind}");
        assert_eq!(outcome.ending, Ending::Failed { message: message.clone() }, "{kind} {nth}");
        let lines: Vec<String> =
            texts(&outcome.added).into_iter().filter(|line| !line.starts_with("system")).collect();
        let mut expected: Vec<String> = before
            .iter()
            .map(|line| if *line == "result: " { format!("result: {gave_up}") } else { (*line).to_owned() })
            .collect();
        expected.push(format!("failed: {message}"));
        if kind == "message_update" {
            expected.last_mut().unwrap().push_str(" | c");
        }
        assert_eq!(lines, expected, "{kind} {nth}");
        assert_eq!(agent.state().error(), Some(message.as_str()));
        assert!(agent.is_idle());
        let events = first.take();
        assert_eq!(events, last.take());
        assert_balanced(&events);
        drop(panics);
        let outcome = block_on(agent.prompt("go on").unwrap());
        assert!(outcome.is_success(), "{kind} {nth}");
        assert_eq!(agent.state().error(), None);
    }
}

#[test]
fn a_listener_that_panics_at_the_very_end_shows_in_the_outcome_alone() {
    let agent = agent([text("Hello.")]);
    let _panics = panics_at(&agent, "agent_end", 1);
    let last = Log::new();
    let _last = last.listen(&agent);
    let outcome = block_on(agent.prompt("Hi").unwrap());
    let failed = Ending::Failed { message: "a listener panicked: listener at agent_end".to_owned() };
    assert_eq!(outcome.ending, failed);
    assert_eq!(agent.state().outcome().unwrap().ending, failed);
    assert_eq!(texts(&outcome.added), ["user: Hi", "assistant: Hello."]);
    assert_eq!(last.take(), TEXT_RUN);
}

#[test]
fn a_listener_that_panics_again_and_again_changes_nothing_more() {
    let agent = agent([text("Hello.")]);
    let _panics = agent.subscribe(async |_, _| panic!("always"));
    let last = Log::new();
    let _last = last.listen(&agent);
    let outcome = block_on(agent.prompt("Hi").unwrap());
    assert_eq!(outcome.ending, Ending::Failed { message: "a listener panicked: always".to_owned() });
    assert_balanced(&last.take());
}

#[test]
fn an_abort_stays_an_abort_when_a_listener_panics_after_it() {
    for kind in ["message_end", "turn_end", "agent_end"] {
        let gate = gate();
        let agent = agent([text_until("half", &gate, "")]);
        let _panics = panics_at(&agent, kind, if kind == "message_end" { 2 } else { 1 });
        let last = Log::new();
        let _last = last.listen(&agent);
        let mut running = agent.prompt("Hi").unwrap();
        assert!(settle(&mut running).is_none());
        agent.abort();
        let outcome = settle(&mut running).unwrap();
        assert_eq!(outcome.ending, Ending::Aborted, "{kind}");
        assert_balanced(&last.take());
    }
}

/// Panics when it is dropped, and tells that it was.
struct Bomb(Arc<AtomicBool>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        panic!("in a drop");
    }
}

#[test]
fn a_listener_that_panics_when_it_is_dropped_ends_no_run() {
    let kinds = ["agent_start", "message_update", "tool_execution_start", "message_end", "agent_end"];
    for unsubscribed_at in kinds {
        let agent =
            Agent::new(Run::builder(model([call("a", "read"), text("done")])).tool(quick("read")).build());
        let dropped = Arc::new(AtomicBool::new(false));
        let bomb = Arc::new(Bomb(dropped.clone()));
        let subscription = Mutex::new(Some(agent.subscribe(async move |_, _| drop(bomb))));
        let subscription = Arc::new(subscription);
        let _other = agent.subscribe(async move |event, _| {
            if event.kind() == unsubscribed_at {
                drop(subscription.lock().unwrap().take());
            }
        });
        let log = Log::new();
        let _log = log.listen(&agent);
        assert!(within(agent.prompt("go").unwrap()).is_success(), "at {unsubscribed_at}");
        assert!(dropped.load(Ordering::SeqCst), "at {unsubscribed_at}");
        assert_balanced(&log.take());
    }
}

#[test]
fn what_a_listener_that_waits_holds_may_panic_when_its_run_is_dropped() {
    let agent = agent([text("one"), text("two")]);
    let dropped = Arc::new(AtomicBool::new(false));
    let waits = {
        let dropped = dropped.clone();
        agent.subscribe(async move |_, _| {
            let _bomb = Bomb(dropped);
            std::future::pending::<()>().await;
        })
    };
    let mut running = agent.prompt("go").unwrap();
    assert!(settle(&mut running).is_none());
    drop(running);
    assert!(dropped.load(Ordering::SeqCst) && agent.is_idle());
    assert_eq!(agent.state().outcome().unwrap().ending, Ending::Aborted);
    drop(waits);
    assert!(within(agent.prompt("again").unwrap()).is_success());
}

#[test]
fn while_the_run_waits_nothing_keeps_a_listener_that_is_unsubscribed() {
    let (tool, model_gate) = (gate(), gate());
    let answers = [call("a", "slow"), text_until("half", &model_gate, " whole")];
    let agent = Agent::new(Run::builder(model(answers)).tool(gated("slow", &tool)).build());
    let mut running = agent.prompt("go").unwrap();
    for gate in [tool, model_gate] {
        let held = Arc::new(());
        let captured = held.clone();
        let subscription = agent.subscribe(async move |_, _| drop(captured));
        assert!(settle(&mut running).is_none());
        assert_eq!(Arc::strong_count(&held), 2);
        drop(subscription);
        assert_eq!(Arc::strong_count(&held), 1);
        gate.release();
    }
    assert!(settle(&mut running).unwrap().is_success());
}

#[test]
fn an_abort_calls_no_listener_and_a_listener_that_waits_is_awaited() {
    let (gate, hearing) = (gate(), gate());
    let agent = agent([text_until("half", &gate, "")]);
    let log = Log::new();
    let _slow = {
        let (log, hearing) = (log.clone(), hearing.clone());
        agent.subscribe(async move |event, cx| {
            if event.kind() == "message_update" {
                hearing.wait().await;
                log.note(format!("saved, aborted: {}", cx.abort.is_aborted()));
            }
        })
    };
    let _all = log.listen(&agent);
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    log.take();
    agent.abort();
    assert!(log.take().is_empty());
    assert!(settle(&mut running).is_none());
    hearing.release();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(outcome.ending, Ending::Aborted);
    assert_eq!(
        log.take(),
        ["saved, aborted: true", "message_update", "message_end", "turn_end", "agent_end"]
    );
}

#[test]
fn a_follow_up_queued_at_the_very_end_waits_for_the_next_run() {
    let agent = agent([text("one"), text("two")]);
    let handle = agent.handle();
    let subscription = agent.subscribe(async move |event, _| {
        if event.kind() == "agent_end" {
            let _ = handle.follow_up("and then?");
        }
    });
    block_on(agent.prompt("Hi").unwrap());
    assert!(agent.has_queued());
    drop(subscription);
    let outcome = block_on(agent.resume().unwrap());
    assert_eq!(texts(&outcome.added), ["user: and then?", "assistant: two"]);
}

#[test]
fn without_any_listener_a_long_run_completes() {
    let mut answers: Vec<_> = (0..25).map(|n| call(&format!("c{n}"), "read")).collect();
    answers.push(text("done"));
    let tool = tool_fn("read", "Reads.", async |_: NoArgs, cx| {
        cx.update("half");
        Ok("whole")
    });
    let agent = Agent::new(Run::builder(model(answers)).tool(tool).build());
    let outcome = block_on(agent.prompt("go").unwrap());
    assert_eq!(outcome.ending, Ending::Stopped { reason: StopReason::Stop });
    assert_eq!(outcome.added.iter().filter(|message| message.as_tool_result().is_some()).count(), 25);
}

#[test]
fn an_event_that_was_kept_does_not_change() {
    let agent = agent([text("Hello."), text("again")]);
    type Kept = Vec<(AgentEvent<NoCustom>, String)>;
    let kept: Arc<Mutex<Kept>> = Arc::default();
    let _subscription = {
        let kept = kept.clone();
        agent.subscribe(async move |event, _| {
            let picture = serde_json::to_string(event).unwrap();
            kept.lock().unwrap().push((event.clone(), picture));
        })
    };
    block_on(agent.prompt("Hi").unwrap());
    block_on(agent.prompt("Again").unwrap());
    for (event, picture) in kept.lock().unwrap().iter() {
        assert_eq!(serde_json::to_string(event).unwrap(), *picture);
    }
}

#[test]
fn who_subscribes_at_any_event_of_a_run_that_never_waits_hears_the_next() {
    for (at, kind) in moments() {
        let agent = agent([text("Hello.")]);
        let (log, weak) = (Log::new(), agent.downgrade());
        let (added, heard) = (Arc::new(Mutex::new(None)), log.clone());
        let _first = agent.subscribe(async move |event, _| {
            let mut added = added.lock().unwrap();
            if event.kind() == kind && added.is_none() {
                *added = Some(heard.listen(&weak.upgrade().unwrap()));
            }
        });
        within(agent.prompt("Hi").unwrap());
        assert_eq!(log.take(), TEXT_RUN[at + 1..], "from {kind} on");
    }
}

#[test]
fn what_a_listener_holds_is_gone_by_the_next_event_after_it_is_unsubscribed() {
    for (at, kind) in moments() {
        let agent = agent([text("Hello.")]);
        let held = Arc::new(());
        let seen = Arc::downgrade(&held);
        let leaves = Arc::new(Mutex::new(Some(agent.subscribe(async move |_, _| drop(held)))));
        let later = Arc::new(Mutex::new(Vec::new()));
        let told = later.clone();
        let _other = agent.subscribe(async move |event, _| {
            let subscription = leaves.lock().unwrap().take_if(|_| event.kind() == kind);
            if subscription.is_none() && leaves.lock().unwrap().is_none() {
                told.lock().unwrap().push(seen.strong_count());
            }
        });
        within(agent.prompt("Hi").unwrap());
        assert_eq!(*later.lock().unwrap(), vec![0; TEXT_RUN.len() - at - 1], "after {kind}");
    }
}
