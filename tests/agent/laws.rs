//! Laws of the shared agent, over random operations in random order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use turnstate::agent::Prompting;
use turnstate::message::AssistantMessage;
use turnstate::model::{Delta, PartialMessage};
use turnstate::run::QueueKind;
use turnstate::testing::strategy::any_delta;
use turnstate::testing::{Gate, Response};
use turnstate::tool::{NoArgs, OnAbort, tool_fn};
use turnstate::transcript::open_calls;
use turnstate::{Agent, AgentEvent, Run, State, TurnChange};

use crate::support::*;

/// What a host does.
#[derive(Debug, Clone, Copy)]
enum Op {
    Prompt,
    Resume,
    Poll(u8),
    /// Lets whatever waits at a gate pass: each tool and each answer has one of its own.
    OpenGates,
    Steer,
    FollowUp,
    /// Takes back, or promotes, what was queued last.
    TakeBack,
    Promote,
    TakeQueues,
    Abort,
    Drop,
    Reset,
    ChangeNextTurn,
    SetTools,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => Just(Op::Prompt),
        2 => Just(Op::Resume),
        8 => (1..12_u8).prop_map(Op::Poll),
        4 => Just(Op::OpenGates),
        3 => Just(Op::Steer),
        3 => Just(Op::FollowUp),
        1 => Just(Op::TakeBack),
        1 => Just(Op::Promote),
        1 => Just(Op::TakeQueues),
        2 => Just(Op::Abort),
        2 => Just(Op::Drop),
        1 => Just(Op::Reset),
        1 => Just(Op::ChangeNextTurn),
        1 => Just(Op::SetTools),
    ]
}

/// What a model answers.
#[derive(Debug, Clone, Copy)]
enum Answer {
    Text,
    SlowText,
    Calls(u8),
    Fails,
    EndsEarly,
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        3 => Just(Answer::Text),
        2 => Just(Answer::SlowText),
        5 => (1..4_u8).prop_map(Answer::Calls),
        1 => Just(Answer::Fails),
        1 => Just(Answer::EndsEarly),
    ]
}

/// The gates that are closed now.
#[derive(Clone, Default)]
struct Gates(Arc<Mutex<Vec<Gate>>>);

impl Gates {
    fn closed(&self) -> Gate {
        let gate = gate();
        self.0.lock().unwrap().push(gate.clone());
        gate
    }

    fn open(&self) {
        self.0.lock().unwrap().drain(..).for_each(|gate| gate.release());
    }
}

fn script(answers: &[Answer], gates: &Gates) -> Vec<Response> {
    let mut scripted = Vec::new();
    for (n, answer) in answers.iter().enumerate() {
        scripted.push(match answer {
            Answer::Text => text("text"),
            Answer::SlowText => text_until("half", &gates.closed(), " whole"),
            Answer::Calls(count) => {
                // Ids repeat, and one tool is unknown.
                let names = ["quick", "slow", "waits", "unknown"];
                let ids: Vec<String> = (0..*count).map(|call| format!("{n}-{}", call / 2)).collect();
                let batch: Vec<_> = ids
                    .iter()
                    .zip(names.into_iter().cycle().skip(n))
                    .map(|(id, name)| (&**id, name, "{}"))
                    .collect();
                calls(&batch)
            }
            Answer::Fails => Response::error("failed"),
            Answer::EndsEarly => Response::new().unterminated(),
        });
    }
    scripted
}

/// The agent, and what is known of it without looking.
struct World {
    agent: Agent,
    running: Option<Prompting>,
    gates: Gates,
    /// Everything that was ever queued: its text, and whether it may be anywhere still.
    queued: BTreeMap<String, bool>,
    tickets: Vec<(String, turnstate::run::Ticket)>,
    events: Log,
    counter: usize,
}

impl World {
    fn new(answers: &[Answer]) -> Self {
        let gates = Gates::default();
        let slow = {
            let gates = gates.clone();
            move |name: &'static str| {
                let gates = gates.clone();
                tool_fn(name, "Waits at a gate.", async move |_: NoArgs, cx| {
                    cx.update("begun");
                    gates.closed().wait().await;
                    Ok("slow")
                })
            }
        };
        let run = Run::builder(model(script(answers, &gates)))
            .tool(quick("quick"))
            .tool(slow("slow"))
            .tool(slow("waits").with_on_abort(OnAbort::Wait))
            .build();
        let agent = Agent::new(run);
        let events = Log::new();
        let (weak, log) = (agent.downgrade(), events.clone());
        agent
            .subscribe(async move |event, cx| {
                smol::future::yield_now().await;
                let snapshot = weak.upgrade().unwrap().state();
                assert_eq!(picture(&snapshot), picture(cx.state), "at {}", event.kind());
                log.note(event.kind());
            })
            .keep();
        Self { agent, running: None, gates, queued: BTreeMap::new(), tickets: Vec::new(), events, counter: 0 }
    }

    fn text(&mut self) -> String {
        self.counter += 1;
        format!("m{}", self.counter)
    }

    fn perform(&mut self, op: Op) {
        let busy = self.running.is_some();
        match op {
            Op::Prompt => {
                let prompted = self.agent.prompt(self.counter.to_string());
                assert_eq!(prompted.is_err(), busy);
                self.running = prompted.ok().or(self.running.take());
            }
            Op::Resume => {
                if let Ok(running) = self.agent.resume() {
                    assert!(!busy);
                    self.running = Some(running);
                }
            }
            Op::Poll(times) => {
                for _ in 0..times {
                    if self.running.as_mut().is_some_and(|running| poll_once(running).is_ready()) {
                        self.running = None;
                        self.assert_story_is_whole();
                    }
                }
            }
            Op::OpenGates => self.gates.open(),
            Op::Steer | Op::FollowUp => {
                let text = self.text();
                let steers = matches!(op, Op::Steer);
                let ticket =
                    if steers { self.agent.steer(text.clone()) } else { self.agent.follow_up(text.clone()) };
                assert!(ticket.is_waiting());
                self.queued.insert(text.clone(), true);
                self.tickets.push((text, ticket));
            }
            Op::TakeBack => {
                if let Some((text, ticket)) = self.tickets.last() {
                    let waited = ticket.is_waiting();
                    assert_eq!(ticket.take_back().len(), usize::from(waited));
                    if waited {
                        self.queued.insert(text.clone(), false);
                    }
                }
            }
            Op::Promote => {
                if let Some((_, ticket)) = self.tickets.last() {
                    assert_eq!(ticket.is_waiting(), ticket.promote());
                    assert!(ticket.queue().is_none_or(|kind| kind == QueueKind::Steering));
                }
            }
            Op::TakeQueues => {
                let taken = self.agent.take();
                for line in texts(&taken.steering.into()).into_iter().chain(texts(&taken.follow_ups.into())) {
                    self.queued.insert(line.trim_start_matches("user: ").to_owned(), false);
                }
            }
            Op::Abort => self.agent.abort(),
            Op::Drop => {
                if self.running.take().is_some() {
                    self.events.take();
                }
            }
            Op::Reset => {
                assert_eq!(self.agent.reset().is_err(), busy);
                if !busy {
                    self.queued.values_mut().for_each(|anywhere| *anywhere = false);
                }
            }
            Op::ChangeNextTurn => {
                let change = TurnChange::new().with_tools([quick("quick")]);
                let taken = self.agent.change_next_turn(change);
                assert!(!taken || busy);
            }
            Op::SetTools => self.agent.set_tools([quick("quick"), quick("slow")]),
        }
        self.assert_laws();
    }

    fn assert_laws(&self) {
        let state = self.agent.state();
        assert_eq!(self.agent.is_idle(), self.running.is_none());
        if self.running.is_none() {
            assert!(!state.is_running() && state.partial().is_none());
            assert_eq!(state.running_calls().len(), 0);
            assert!(open_calls(state.transcript()).is_empty());
        }
        // Each queued message is where it may be, once; those in the queues are in order.
        let steering = texts(&self.agent.queued(QueueKind::Steering).into());
        let follow_ups = texts(&self.agent.queued(QueueKind::FollowUp).into());
        let mut found: Vec<_> = texts(state.transcript());
        found.extend(steering);
        found.extend(follow_ups.iter().cloned());
        for (text, anywhere) in &self.queued {
            let count = found.iter().filter(|line| **line == format!("user: {text}")).count();
            // What a run has taken and not yet written is in its hands.
            let most = usize::from(*anywhere);
            let least = if self.running.is_some() { 0 } else { most };
            assert!((least..=most).contains(&count), "{text} is there {count} times");
        }
        assert!(
            follow_ups.is_sorted_by_key(|line| line.trim_start_matches("user: m").parse::<usize>().unwrap())
        );
    }

    /// A run that was driven to its end has told a balanced story.
    fn assert_story_is_whole(&self) {
        assert_balanced(&self.events.take());
    }
}

/// Deltas that fit each other, of blocks in any order, and a last one that need not.
fn deltas() -> impl Strategy<Value = Vec<Delta>> {
    (proptest::collection::vec(any_delta(), 0..40), any_delta()).prop_map(|(mut deltas, last)| {
        let mut answer = PartialMessage::new(AssistantMessage::default());
        deltas.retain(|delta| !delta.is_terminal() && answer.apply(delta).is_ok());
        deltas.push(last);
        deltas
    })
}

/// An event and the state at it, as a listener keeps them, each with the picture of that moment.
struct Kept {
    event: AgentEvent,
    told: String,
    state: State,
    known: String,
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_order_of_operations_loses_a_message_unbalances_a_run_or_leaves_the_agent_busy(
        answers in proptest::collection::vec(answer(), 0..12),
        ops in proptest::collection::vec(op(), 1..60),
    ) {
        let mut world = World::new(&answers);
        for op in ops {
            world.perform(op);
        }
        // Whatever was done: the run can be brought to its end, and the agent takes a prompt.
        for _ in 0..2000 {
            world.gates.open();
            world.perform(Op::Poll(1));
            if world.running.is_none() {
                break;
            }
        }
        prop_assert!(world.running.is_none());
        prop_assert!(world.agent.prompt("and now").is_ok());
    }

    #[test]
    fn the_agents_state_is_that_of_the_run_at_every_event_and_what_was_kept_does_not_change(
        answers in proptest::collection::vec(deltas(), 1..4),
        polls in 0..80_usize,
        drops in any::<bool>(),
    ) {
        let answers = answers.into_iter().map(Response::deltas);
        let agent = Agent::new(Run::builder(model(answers)).tool(quick("read")).build());
        let kept = Arc::new(Mutex::new(Vec::new()));
        let (keeps, weak) = (kept.clone(), agent.downgrade());
        agent
            .subscribe(async move |event, cx| {
                let state = weak.upgrade().unwrap().state();
                let known = picture(cx.state);
                assert_eq!(picture(&state), known, "at {}", event.kind());
                let (event, told) = (event.clone(), format!("{event:?}"));
                keeps.lock().unwrap().push(Kept { event, told, state, known });
                // Each event takes a poll.
                smol::future::yield_now().await;
            })
            .keep();
        for prompt in ["stopped", "whole"] {
            let mut running = agent.prompt(prompt).unwrap();
            let over = (0..polls).any(|_| poll_once(&mut running).is_ready());
            if over {
                continue;
            }
            if prompt == "whole" {
                settle(&mut running).unwrap();
            } else if drops {
                drop(running);
            } else {
                agent.abort();
                settle(&mut running).unwrap();
            }
            let failed = agent.state().error().is_some_and(|text| text.contains("listener"));
            prop_assert!(!failed, "{:?}", agent.state().error());
        }
        for Kept { event, told, state, known } in kept.lock().unwrap().iter() {
            prop_assert_eq!(format!("{event:?}"), told.as_str());
            prop_assert_eq!(picture(state), known.as_str());
        }
    }
}
