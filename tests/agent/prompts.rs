//! Prompting, being busy, going on.

use std::sync::{Arc, Mutex};

use futures::executor::block_on;
use turnstate::agent::ResumeRefused;
use turnstate::message::StopReason;
use turnstate::testing::Response;
use turnstate::{AgentEvent, Busy, Ending, NothingToResume};

use crate::support::*;

#[test]
fn a_prompt_runs_to_its_outcome_and_leaves_the_agent_idle() {
    let agent = agent([text("Hello.")]);
    let log = Log::new();
    let _subscription = log.listen(&agent);
    let running = agent.prompt("Hi").unwrap();
    assert!(!agent.is_idle());
    let outcome = block_on(running);
    assert!(agent.is_idle());
    assert_eq!(outcome.ending, Ending::Stopped { reason: StopReason::Stop });
    assert_eq!(texts(&outcome.added), ["user: Hi", "assistant: Hello."]);
    assert!(outcome.unseen.is_empty());
    let expected = "agent_start turn_start message_start message_end message_start message_update message_update \
                    message_update message_end turn_end agent_end";
    assert_eq!(log.take().join(" "), expected);
}

#[test]
fn a_busy_agent_refuses_at_once_and_nothing_changes() {
    let gate = gate();
    let agent = agent([text_until("half", &gate, " whole")]);
    let mut running = agent.prompt("first").unwrap();
    // Also before the first poll.
    assert_eq!(agent.prompt("second").unwrap_err(), Busy);
    assert!(settle(&mut running).is_none());
    let before = agent.state();
    let refusal = agent.prompt("second").unwrap_err();
    assert_eq!(
        refusal.to_string(),
        "the agent is busy with a run: put a message into it with `steer` or `follow_up`, stop it with `abort`, or \
         await `wait_for_idle`"
    );
    assert_eq!(agent.resume().unwrap_err(), ResumeRefused::Busy(Busy));
    assert_eq!(agent.reset().unwrap_err(), Busy);
    assert_eq!(agent.edit_transcript(|transcript| transcript.clear()).unwrap_err(), Busy);
    let after = agent.state();
    assert!(after.transcript().ptr_eq(before.transcript()));
    assert!(!agent.has_queued());
    gate.release();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(texts(&outcome.added), ["user: first", "assistant: half whole"]);
}

#[test]
fn a_refused_resume_changes_nothing() {
    let agent = agent([text("Hello.")]);
    let log = Log::new();
    let _subscription = log.listen(&agent);
    assert_eq!(agent.resume().unwrap_err(), ResumeRefused::NothingToResume(NothingToResume::NoMessages));
    assert!(agent.is_idle());
    block_on(agent.prompt("Hi").unwrap());
    log.take();
    let before = agent.state();
    let refusal = agent.resume().unwrap_err();
    assert_eq!(refusal, ResumeRefused::NothingToResume(NothingToResume::AlreadyAnswered));
    assert_eq!(refusal.to_string(), NothingToResume::AlreadyAnswered.to_string());
    assert!(agent.is_idle());
    assert!(agent.state().transcript().ptr_eq(before.transcript()));
    assert_eq!(log.take(), [""; 0]);
}

#[test]
fn a_resume_after_an_answer_takes_what_is_queued() {
    let agent = agent([text("one"), text("two")]);
    block_on(agent.prompt("Hi").unwrap());
    let _ = agent.follow_up("And then?");
    let outcome = block_on(agent.resume().unwrap());
    assert_eq!(texts(&outcome.added), ["user: And then?", "assistant: two"]);
    assert!(!agent.has_queued());
}

#[test]
fn a_failed_answer_shows_in_the_outcome_the_state_and_the_last_event_until_the_next_run() {
    let failing = Response::error("402 credits").without_start();
    let agent = agent([failing, text("fine")]);
    let last: Arc<Mutex<Option<AgentEvent>>> = Arc::default();
    let kept = last.clone();
    let _subscription = agent.subscribe(async move |event, _| *kept.lock().unwrap() = Some(event.clone()));
    let outcome = block_on(agent.prompt("Hi").unwrap());
    assert_eq!(outcome.ending, Ending::Failed { message: "402 credits".to_owned() });
    assert!(!outcome.is_success());
    assert_eq!(texts(&outcome.added), ["user: Hi", "failed: 402 credits"]);
    assert_eq!(agent.state().error(), Some("402 credits"));
    let Some(AgentEvent::AgentEnd { messages }) = last.lock().unwrap().take() else { panic!("no agent_end") };
    assert_eq!(texts(&messages), texts(&outcome.added));
    assert!(block_on(agent.resume().unwrap()).is_success());
    assert_eq!(agent.state().error(), None);
}
