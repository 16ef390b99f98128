//! A prompt's future that is dropped, at any point.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use futures::executor::block_on;
use turnstate::run::QueueKind;
use turnstate::testing::{Gate, ScriptedModel};
use turnstate::tool::{AgentTool, ExecutionMode, NoArgs, tool_fn};
use turnstate::transcript::{Tail, open_calls};
use turnstate::{Agent, Ending, Outcome, Run};

use crate::support::*;

#[test]
fn a_prompt_that_was_never_polled_has_done_nothing() {
    let agent = agent([text("one")]);
    let log = Log::new();
    let _subscription = log.listen(&agent);
    let ticket = agent.steer("waiting");
    let running = agent.prompt("Hi").unwrap();
    assert!(!agent.is_idle());
    drop(running);
    assert!(agent.is_idle());
    assert!(agent.state().transcript().is_empty());
    assert!(agent.state().outcome().is_none());
    assert!(ticket.is_waiting());
    assert!(log.take().is_empty());
}

#[test]
fn a_resume_that_was_never_polled_puts_back_what_it_took() {
    let agent = agent([text("one"), text("two")]);
    block_on(agent.prompt("Hi").unwrap());
    let (steer, follow_up) = (agent.steer("a"), agent.follow_up("b"));
    let running = agent.resume().unwrap();
    assert!(!steer.is_waiting());
    drop(running);
    assert!(steer.is_waiting() && follow_up.is_waiting());
    let outcome = block_on(agent.resume().unwrap());
    assert_eq!(texts(&outcome.added)[..2], ["user: a", "assistant: two"]);
}

/// A tool that counts how often it runs now.
fn counted(running: &Arc<AtomicUsize>, gate: &Gate) -> AgentTool {
    struct Running(Arc<AtomicUsize>);
    impl Drop for Running {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    let (running, gate) = (running.clone(), gate.clone());
    tool_fn("work", "Waits at a gate.", async move |_: NoArgs, _| {
        running.fetch_add(1, Ordering::SeqCst);
        let _running = Running(running);
        smol::future::yield_now().await;
        gate.wait().await;
        Ok("worked")
    })
}

/// What a sweep varies beside the moment.
#[derive(Debug, Clone, Copy)]
struct Case {
    mode: ExecutionMode,
    steered: bool,
    followed_up: bool,
}

fn cases() -> impl Iterator<Item = Case> {
    [ExecutionMode::Parallel, ExecutionMode::Sequential].into_iter().flat_map(|mode| {
        [(false, false), (true, false), (false, true), (true, true)].map(|(steered, followed_up)| Case {
            mode,
            steered,
            followed_up,
        })
    })
}

/// An agent whose every step takes a poll: listeners, hooks and tools yield once. Its run is a batch of two, a text,
/// and whatever is queued.
struct Slow {
    agent: Agent,
    model: ScriptedModel,
    working: Arc<AtomicUsize>,
    heard: Log,
    case: Case,
}

impl Slow {
    fn new(case: Case) -> Self {
        let working = Arc::new(AtomicUsize::new(0));
        let open = gate();
        open.release();
        let batch = calls(&[("a", "work", "{}"), ("b", "work", "{}")]);
        let model = model([batch, text_until("half", &open, " whole"), text("last"), text("next")]);
        let run = Run::builder(model.clone())
            .tool(counted(&working, &open))
            .tool_execution(case.mode)
            .before_tool_call(async |_, _| {
                smol::future::yield_now().await;
                turnstate::hook::BeforeToolCall::Allow
            })
            .after_tool_call(async |_, _, _| {
                smol::future::yield_now().await;
                turnstate::hook::AfterToolCall::unchanged()
            })
            .prepare_next_turn(async |_, _| {
                smol::future::yield_now().await;
                turnstate::hook::PrepareNextTurn::unchanged()
            })
            .finish_turn(async |_, _| {
                smol::future::yield_now().await;
                turnstate::hook::FinishTurn::Default
            })
            .build();
        let agent = Agent::new(run);
        let heard = Log::new();
        let note = heard.clone();
        agent
            .subscribe(async move |event, _| {
                smol::future::yield_now().await;
                // Noted when it is done: an interrupted one has not heard the event.
                note.note(serde_json::to_string(event).unwrap());
            })
            .keep();
        if case.steered {
            let _ = agent.steer("steer");
        }
        if case.followed_up {
            let _ = agent.follow_up("follow-up");
        }
        Self { agent, model, working, heard, case }
    }

    /// Every queued message is in the transcript once or in its queue, in order.
    #[track_caller]
    fn assert_none_lost(&self) {
        let mut all = texts(self.agent.state().transcript());
        all.retain(|line| line == "user: steer" || line == "user: follow-up");
        for kind in [QueueKind::Steering, QueueKind::FollowUp] {
            all.extend(texts(&self.agent.queued(kind).into()));
        }
        let mut queued = Vec::new();
        queued.extend(self.case.steered.then_some("user: steer"));
        queued.extend(self.case.followed_up.then_some("user: follow-up"));
        assert_eq!(all, queued, "{:?}", self.case);
    }

    /// Nothing runs on, every call has its result, and the agent goes on: by a resume where there is something to
    /// resume, and by a prompt.
    #[track_caller]
    fn assert_whole(&self, ending: &Ending, moment: usize) {
        let Self { agent, case, .. } = self;
        let state = agent.state();
        assert!(agent.is_idle() && !state.is_running(), "{case:?} after {moment} polls");
        assert!(state.partial().is_none() && state.running_calls().len() == 0);
        assert_eq!(self.working.load(Ordering::SeqCst), 0, "a tool runs on after {moment} polls: {case:?}");
        assert!(open_calls(state.transcript()).is_empty());
        self.assert_none_lost();
        if let Some(outcome) = state.outcome() {
            assert_eq!(outcome.ending, *ending, "{case:?} after {moment} polls");
            told_or_unseen(outcome, &self.heard);
        }
        if !matches!(Tail::of(state.transcript()), Tail::Nothing | Tail::Answered) {
            assert!(within(agent.resume().unwrap()).is_success());
            self.assert_none_lost();
        }
        assert!(within(agent.prompt("and now").unwrap()).is_success(), "{case:?} after {moment} polls");
        self.assert_none_lost();
    }
}

#[test]
fn dropped_after_any_number_of_polls_the_agent_is_whole_and_goes_on() {
    for case in cases() {
        for polls in 0.. {
            let slow = Slow::new(case);
            let mut running = slow.agent.prompt("go").unwrap();
            let over = (0..polls).any(|_| poll_once(&mut running).is_ready());
            // A run that has told its end, and waits for its listeners alone, has ended.
            let ended = slow.agent.state().outcome().map(|outcome| outcome.ending.clone());
            drop(running);
            if over {
                assert!(polls > 30, "every step takes a poll: {polls}");
                break;
            }
            slow.assert_whole(&ended.unwrap_or(Ending::Aborted), polls);
        }
    }
}

#[test]
fn aborted_after_any_number_of_polls_the_run_settles_and_the_agent_goes_on() {
    for case in cases() {
        for polls in 0.. {
            let slow = Slow::new(case);
            let mut running = slow.agent.prompt("go").unwrap();
            let over = (0..polls).any(|_| poll_once(&mut running).is_ready());
            if over {
                break;
            }
            let running_still = slow.agent.state().is_running() || polls == 0;
            let asked = slow.model.requests().len();
            slow.agent.abort();
            // Bounded: whatever waits yields once.
            let outcome = (0..200).find_map(|_| match poll_once(&mut running) {
                Poll::Ready(outcome) => Some(outcome),
                Poll::Pending => None,
            });
            let outcome = outcome.unwrap();
            // After `agent_end` was told, an abort is for nobody.
            let ending = if running_still { Ending::Aborted } else { outcome.ending.clone() };
            assert_eq!(outcome.ending, ending);
            assert_eq!(slow.model.requests().len(), asked, "a request after the abort: {case:?} {polls}");
            assert!(outcome.unseen.is_empty());
            slow.assert_whole(&ending, polls);
        }
    }
}

#[test]
fn aborted_and_then_dropped_the_agent_is_whole_and_goes_on() {
    for case in cases() {
        'moments: for polls in 0.. {
            for more in 0.. {
                let slow = Slow::new(case);
                let mut running = slow.agent.prompt("go").unwrap();
                if (0..polls).any(|_| poll_once(&mut running).is_ready()) {
                    break 'moments;
                }
                if !slow.agent.state().is_running() {
                    break;
                }
                slow.agent.abort();
                let over = (0..more).any(|_| poll_once(&mut running).is_ready());
                drop(running);
                slow.assert_whole(&Ending::Aborted, polls);
                if over {
                    break;
                }
            }
        }
    }
}

/// What was told and what nobody has seen is the run's whole story: every added message has its end in it, once.
fn told_or_unseen(outcome: &Outcome, heard: &Log) {
    let mut story = heard.take();
    story.extend(outcome.unseen.iter().map(|event| serde_json::to_string(event).unwrap()));
    let ends: Vec<_> = story
        .iter()
        .map(|json| serde_json::from_str::<serde_json::Value>(json).unwrap())
        .filter(|event| event["type"] == "message_end")
        .map(|event| event["message"].clone())
        .collect();
    let added: Vec<_> = outcome.added.iter().map(|message| serde_json::to_value(message).unwrap()).collect();
    assert_eq!(ends, added);
    let last: serde_json::Value = serde_json::from_str(story.last().unwrap()).unwrap();
    assert_eq!(last["type"], "agent_end");
}

#[test]
fn what_is_queued_after_a_drop_goes_to_the_next_run() {
    let gate = gate();
    let agent = agent([text_until("half", &gate, ""), text("one"), text("two")]);
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    drop(running);
    gate.release();
    let _ = agent.steer("x");
    let outcome = block_on(agent.prompt("again").unwrap());
    assert_eq!(texts(&outcome.added), ["user: again", "user: x", "assistant: one"]);
}

#[test]
fn an_abort_while_idle_is_for_nobody() {
    let agent = agent([text("one")]);
    agent.abort();
    assert!(block_on(agent.prompt("Hi").unwrap()).is_success());
    agent.abort();
    assert!(block_on(agent.prompt("Hi").unwrap()).is_success());
}

#[test]
fn an_abort_before_the_first_poll_ends_that_run() {
    let agent = agent([text("one"), text("two")]);
    let running = agent.prompt("Hi").unwrap();
    agent.abort();
    let outcome = block_on(running);
    assert_eq!(outcome.ending, Ending::Aborted);
    assert_eq!(texts(&outcome.added), ["user: Hi", "aborted: Request was aborted"]);
    assert!(block_on(agent.resume().unwrap()).is_success());
}

#[test]
fn the_run_goes_on_when_the_last_agent_is_gone() {
    let agent = agent([text("one")]);
    let weak = agent.downgrade();
    let running = agent.prompt("Hi").unwrap();
    drop(agent);
    assert!(weak.upgrade().is_some());
    assert!(block_on(running).is_success());
    assert!(weak.upgrade().is_none());
}
