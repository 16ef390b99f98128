//! The queues, seen from a shared agent, while others use them.

use std::sync::Mutex;

use futures::executor::block_on;
use turnstate::Run;
use turnstate::message::AgentMessage;
use turnstate::run::{QueueKind, QueueMode};

use crate::support::*;

fn lines(messages: Vec<AgentMessage>) -> Vec<String> {
    texts(&messages.into())
}

#[test]
fn a_peek_shows_the_next_batch_and_takes_nothing() {
    let agent = agent([]);
    agent.set_queue_mode(QueueKind::FollowUp, QueueMode::All);
    let _ = (agent.follow_up("f1"), agent.follow_up("f2"));
    assert_eq!(lines(agent.peek()), ["user: f1", "user: f2"]);
    let _ = (agent.steer("s1"), agent.steer("s2"));
    assert_eq!(lines(agent.peek()), ["user: s1"]);
    agent.set_queue_mode(QueueKind::Steering, QueueMode::All);
    assert_eq!(agent.queue_mode(QueueKind::Steering), QueueMode::All);
    assert_eq!(lines(agent.peek()), ["user: s1", "user: s2"]);
    assert_eq!(lines(agent.queued(QueueKind::FollowUp)), ["user: f1", "user: f2"]);
    agent.clear_steering();
    assert_eq!(lines(agent.peek()), ["user: f1", "user: f2"]);
    agent.clear_follow_ups();
    assert!(!agent.has_queued() && agent.peek().is_empty());
    let _ = (agent.steer("s"), agent.follow_up("f"));
    agent.clear_queues();
    assert!(!agent.has_queued());
}

#[test]
fn a_steer_goes_out_before_an_older_follow_up() {
    let gate = gate();
    let agent = agent([text_until("half", &gate, ""), text("two"), text("three")]);
    let mut running = agent.prompt("go").unwrap();
    assert!(settle(&mut running).is_none());
    let _ = (agent.follow_up("later"), agent.steer("now"));
    gate.release();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(
        texts(&outcome.added),
        ["user: go", "assistant: half", "user: now", "assistant: two", "user: later", "assistant: three"]
    );
}

#[test]
fn a_ticket_takes_back_and_promotes_while_the_run_is_busy() {
    let gate = gate();
    let agent = agent([text_until("half", &gate, ""), text("two"), text("three")]);
    let mut running = agent.prompt("go").unwrap();
    assert!(settle(&mut running).is_none());
    let (gone, kept, promoted) = (agent.steer("gone"), agent.follow_up("kept"), agent.follow_up("promoted"));
    assert_eq!(lines(gone.take_back()), ["user: gone"]);
    assert!(promoted.promote());
    assert_eq!(promoted.queue(), Some(QueueKind::Steering));
    gate.release();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(texts(&outcome.added)[2], "user: promoted");
    assert_eq!(texts(&outcome.added)[4], "user: kept");
    assert!(!kept.is_waiting() && !promoted.promote() && kept.take_back().is_empty());
}

#[test]
fn a_run_that_is_not_polled_blocks_no_call() {
    let gate = gate();
    let run = Run::builder(model([call("a", "slow"), text("x")])).tool(gated("slow", &gate)).build();
    let agent = turnstate::Agent::new(run);
    let mut running = agent.prompt("go").unwrap();
    assert!(settle(&mut running).is_none());
    // Nobody polls now.
    let _ = (agent.steer("s"), agent.follow_up("f"));
    assert_eq!(agent.peek().len(), 1);
    assert_eq!(agent.state().running_calls().len(), 1);
    agent.abort();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(texts(&outcome.added).last().unwrap(), "aborted: Request was aborted");
    assert_eq!((agent.queued(QueueKind::Steering).len(), agent.queued(QueueKind::FollowUp).len()), (1, 1));
}

#[test]
fn nothing_is_lost_or_doubled_while_others_steer_take_and_prompt() {
    const EACH: usize = 200;
    let agent = agent([]);
    let taken = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let steering: Vec<_> = (0..3)
            .map(|thread| {
                let agent = &agent;
                scope.spawn(move || {
                    for n in 0..EACH {
                        let text = format!("{thread}-{n}");
                        let _ = if n % 2 == 0 { agent.steer(text) } else { agent.follow_up(text) };
                    }
                })
            })
            .collect();
        let (agent, taken) = (&agent, &taken);
        scope.spawn(move || {
            while !steering.iter().all(|thread| thread.is_finished()) {
                let _ = agent.peek();
                let queued = agent.take();
                taken
                    .lock()
                    .unwrap()
                    .extend(lines(queued.steering).into_iter().chain(lines(queued.follow_ups)));
                assert!(block_on(agent.prompt("go").unwrap()).is_success());
            }
        });
    });
    let rest = agent.take();
    let mut all = taken.into_inner().unwrap();
    all.extend(lines(rest.steering).into_iter().chain(lines(rest.follow_ups)));
    all.extend(texts(agent.state().transcript()));
    all.retain(|line| line.contains('-'));
    all.sort();
    let mut expected: Vec<_> =
        (0..3).flat_map(|thread| (0..EACH).map(move |n| format!("user: {thread}-{n}"))).collect();
    expected.sort();
    assert_eq!(all, expected);
}
