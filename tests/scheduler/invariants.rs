//! The twelve invariants of every run.
//!
//! Every play checks the event grammar, the results and the state at each event on the way; what a test here asks
//! goes beyond that, or names it.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use turnstate::message::{AgentMessage, StopReason};
use turnstate::run::QueueKind;
use turnstate::testing::scenario::{Action, BlockPlan, Ended, EndingPlan, Scenario};
use turnstate::testing::strategy::{Scenarios, broken_answer};
use turnstate::testing::{Checker, check_requests_grow};
use turnstate::transcript::{Replay, Tail};
use turnstate::{AgentEvent, Ending};

use crate::config;
use crate::laws::{
    assert_calls_are_answered, assert_queue_modes, assert_results_follow_their_calls, go_on, is_sendable,
    is_streamed, places, without_blanks,
};

fn any_scenario() -> BoxedStrategy<Scenario> {
    Scenarios::new().strategy()
}

fn undisturbed() -> Scenarios {
    Scenarios::new().without_ends()
}

proptest! {
    #![proptest_config(config())]

    /// The events of every run obey the grammar.
    #[test]
    fn invariant_01_events_obey_the_grammar(scenario in any_scenario()) {
        let played = scenario.play();
        if played.ended != Ended::Dropped && !played.trace.is_empty() {
            prop_assert_eq!(Checker::check_all(played.trace.events()), Ok(()), "{}", played.trace);
        }
    }

    /// After every answer that remains usable, each of its calls has exactly one result, in source order.
    #[test]
    fn invariant_02_every_call_has_one_result_in_order(scenario in any_scenario()) {
        let played = scenario.play();
        if played.ended != Ended::Dropped {
            assert_results_follow_their_calls(&played)?;
        }
    }

    /// A queued message is in the transcript exactly once or still in its queue.
    #[test]
    fn invariant_03_queued_messages_are_delivered_once_or_wait(scenario in any_scenario()) {
        let played = scenario.play();
        for queued in &played.queued {
            let written = places(&played.transcript, &queued.message).len();
            let waiting = [QueueKind::Steering, QueueKind::FollowUp]
                .map(|kind| places(&played.handle.queued(kind), &queued.message).len())
                .iter()
                .sum::<usize>();
            let expected = usize::from(!queued.taken_back);
            prop_assert_eq!(written + waiting, expected, "{:?}: {} written, {} waiting\n{}", &queued.message,
                written, waiting, played.trace);
        }
    }

    /// A queue keeps its order, in the transcript and in what still waits.
    #[test]
    fn invariant_03_queues_keep_their_order(scenario in Scenarios::new().without_queue_changes().strategy()) {
        let played = scenario.play();
        for kind in [QueueKind::Steering, QueueKind::FollowUp] {
            let all: Vec<_> = played.transcript.iter().cloned().chain(played.handle.queued(kind)).collect();
            let places: Vec<_> = played
                .queued
                .iter()
                .filter(|queued| queued.kind == kind)
                .flat_map(|queued| places(&all, &queued.message))
                .collect();
            prop_assert!(places.is_sorted(), "{places:?}\n{}", played.trace);
        }
    }

    /// The state's transcript equals the fold of `message_end`; `agent_end` holds what the run added.
    #[test]
    fn invariant_04_the_state_is_the_fold_of_the_events(scenario in any_scenario()) {
        let played = scenario.play();
        if played.trace.is_empty() {
            return Ok(());
        }
        let mut fold = played.before.to_vec();
        for event in played.trace.events() {
            if let AgentEvent::MessageEnd { message } = event {
                fold.push(message.clone());
            }
        }
        prop_assert_eq!(&played.transcript[..], &fold[..]);
        if let Some(AgentEvent::AgentEnd { messages }) = played.trace.events().next_back() {
            prop_assert_eq!(&messages[..], played.added());
            if played.ended != Ended::Dropped {
                let outcome = played.outcome().expect("a run that ended has an outcome");
                prop_assert_eq!(&outcome.added[..], played.added());
            }
        }
    }

    /// Without a rewriting hook, each request's messages are a prefix of the next one's.
    #[test]
    fn invariant_05_each_request_is_a_prefix_of_the_next(scenario in any_scenario()) {
        let played = scenario.play();
        let played = go_on(played)?;
        prop_assert_eq!(check_requests_grow(&played.model.requests()), Ok(()), "{}", played.trace);
    }

    /// What the model is sent is what the transcript projects: nothing is lost or late.
    #[test]
    fn invariant_05_each_request_is_the_projection_of_the_transcript(scenario in Scenarios::new().with_sound_history().strategy()) {
        let played = scenario.play();
        let mut transcript = played.before.to_vec();
        let mut requests = played.requests.iter();
        for event in played.trace.events() {
            match event {
                AgentEvent::MessageStart { message } if is_streamed(message) => {
                    let request = requests.next().expect("an answer that streams was asked for");
                    let mut projected = Vec::new();
                    for message in &transcript {
                        projected.extend(message.project());
                    }
                    projected.retain(is_sendable);
                    let sent: Vec<_> = request.messages.iter().filter(|message| is_sendable(message)).cloned().collect();
                    prop_assert_eq!(without_blanks(sent), without_blanks(projected), "{}", played.trace);
                }
                // An answer without a start was asked for as well, if anybody was.
                AgentEvent::MessageStart { message } if message.as_assistant().is_some() => return Ok(()),
                AgentEvent::MessageEnd { message } => transcript.push(message.clone()),
                _ => {}
            }
        }
    }

    /// Replaying the declarations at any request gives exactly the executable tools.
    #[test]
    fn invariant_06_declarations_are_the_executable_tools(scenario in any_scenario()) {
        let played = scenario.play();
        let first: Vec<_> = scenario.tools.iter().map(|tool| tool.name.clone()).collect();
        for (at, request) in played.requests.iter().enumerate() {
            let mut declared: Vec<_> = request.tools().iter().map(|tool| tool.name.clone()).collect();
            let mut executable = played.executable.get(at).cloned().unwrap_or_else(|| first.clone());
            declared.sort_unstable();
            executable.sort_unstable();
            prop_assert_eq!(declared, executable, "request {}\n{}", at, played.trace);
        }
    }

    /// Tools that change between two runs are declared by the next one.
    #[test]
    fn invariant_06_tools_changed_between_runs_are_declared(scenario in Scenarios::new().without_hooks().strategy(), left in 0..4_usize) {
        let mut played = scenario.play();
        if let Some(run) = &mut played.run {
            let tools: Vec<_> = run.tools().iter().take(left).cloned().collect();
            run.set_tools(tools);
        }
        let played = go_on(played)?;
        let Some(run) = &played.run else { return Ok(()) };
        let names = |tools: Vec<String>| { let mut tools = tools; tools.sort_unstable(); tools };
        let executable = names(run.tools().iter().map(|tool| tool.name().to_owned()).collect());
        let replayed = Replay::of(run.transcript()).tools().iter().map(|tool| tool.name.clone()).collect();
        prop_assert_eq!(&names(replayed), &executable);
        let request = played.model.requests().pop().expect("it was asked");
        prop_assert_eq!(names(request.tools().iter().map(|tool| tool.name.clone()).collect()), executable);
    }

    /// One-at-a-time delivers at most one queued message per drain point; all delivers them all.
    #[test]
    fn invariant_07_queue_modes_say_how_many_are_delivered(scenario in undisturbed().without_queue_changes().strategy()) {
        let played = scenario.play();
        assert_queue_modes(&scenario, &played)?;
    }

    /// A batch ends the run only if every one of its calls asks for it: its turn is the last then, and not otherwise.
    #[test]
    fn a_batch_ends_the_run_only_if_every_call_asks(
        scenario in undisturbed().without_hooks().without_queues().without_aborts().strategy(),
    ) {
        let played = scenario.play();
        let mut asked: Vec<bool> = Vec::new();
        let mut turns = played.trace.events().filter(|event| {
            matches!(event, AgentEvent::ToolExecutionEnd { .. } | AgentEvent::TurnEnd { .. } | AgentEvent::AgentEnd { .. })
        }).peekable();
        while let Some(event) = turns.next() {
            match event {
                AgentEvent::ToolExecutionEnd { result, .. } => asked.push(result.terminate),
                AgentEvent::TurnEnd { message, .. } if message.is_usable() => {
                    let ends = asked.iter().all(|asked| *asked);
                    let is_last = matches!(turns.peek(), Some(AgentEvent::AgentEnd { .. }));
                    prop_assert_eq!(is_last, ends, "{:?}\n{}", asked, played.trace);
                    asked.clear();
                }
                _ => {}
            }
        }
    }

    /// After an abort no request is sent, and the run settles in a bounded number of polls, held up by nothing but
    /// `finish_turn` and tools that asked to be waited for. The outcome is aborted.
    #[test]
    fn invariant_08_an_abort_settles_the_run(scenario in undisturbed().strategy(), after in 0..40_usize) {
        let scenario = scenario.then_after(after, Action::Abort);
        let played = scenario.play();
        prop_assert_eq!(&played.held_up, &[] as &[String], "{}", played.trace);
        let (Some(polls), Some(requests)) = (played.polls_after_abort, played.requests_before_abort) else {
            return Ok(());
        };
        prop_assert_eq!(played.requests.len(), requests, "{}", played.trace);
        // Polls that bring no event are few: one for each gate that is let go, for each call, for each pause.
        let calls = played.trace.events().filter(|event| matches!(event, AgentEvent::ToolExecutionStart { .. })).count();
        let bound = 30 + 12 * calls + played.trace.len();
        prop_assert!(polls <= bound, "{polls} polls\n{}", played.trace);
        let outcome = played.outcome().expect("the run is over");
        prop_assert!(matches!(outcome.ending, Ending::Aborted), "{:?}\n{}", outcome.ending, played.trace);
    }

    /// No tool begins once the signal is raised.
    #[test]
    fn invariant_08_no_tool_begins_after_an_abort(scenario in undisturbed().strategy(), after in 0..40_usize) {
        let played = scenario.then_after(after, Action::Abort).play();
        for execution in &played.executions {
            prop_assert!(!execution.began_aborted, "{:?}\n{}", execution.call, played.trace);
        }
    }

    /// Dropping or cancelling at any await point leaves a transcript that `prompt` accepts, and `resume` too where there
    /// is something to resume.
    #[test]
    fn invariant_09_a_run_that_was_stopped_goes_on(
        scenario in Scenarios::new().without_ends().strategy(),
        after in 0..40_usize,
        end in prop_oneof![Just(Action::Cancel), Just(Action::Drop)],
        resume in any::<bool>(),
    ) {
        let mut played = scenario.clone().then_after(after, end).play();
        if played.ended == Ended::Dropped {
            // What a host has stored of a dropped run is its transcript.
            let mut next = scenario.stage();
            *next.run.transcript_mut() = played.transcript.clone();
            played.run = Some(next.run);
            played.model = next.model;
            played.gates = next.gates;
            played.workers = next.workers;
        } else {
            assert_results_follow_their_calls(&played)?;
        }
        if resume {
            let run = played.run.take().expect("it was put back");
            let tail = Tail::of(run.transcript());
            let waits = [QueueKind::Steering, QueueKind::FollowUp].iter().any(|kind| run.handle().queued_len(*kind) > 0);
            let resumable = match tail {
                Tail::Nothing => false,
                Tail::Answered => waits,
                _ => true,
            };
            match run.resume() {
                Ok(run) => {
                    prop_assert!(resumable, "{tail:?}");
                    played.run = Some(played.finish(run));
                }
                Err(refused) => {
                    prop_assert!(!resumable, "{tail:?}: {}", refused.reason);
                    played.run = Some(refused.run);
                }
            }
        }
        let played = go_on(played)?;
        let Some(request) = played.model.requests().pop() else { return Ok(()) };
        assert_calls_are_answered(&request.messages)?;
    }

    /// The same script and the same order of external completions give the same events.
    #[test]
    fn invariant_10_a_scenario_plays_the_same_each_time(scenario in any_scenario()) {
        prop_assert_eq!(scenario.play().trace, scenario.play().trace);
    }

    /// No tool of a truncated message executes.
    #[test]
    fn invariant_11_no_tool_of_a_truncated_answer_runs(mut scenario in any_scenario(), at in any::<prop::sample::Index>()) {
        if !scenario.answers.is_empty() {
            let at = at.index(scenario.answers.len());
            scenario.answers[at] = scenario.answers[at].clone().ending(EndingPlan::Done(StopReason::Length));
        }
        let played = scenario.play();
        let mut truncated = Vec::new();
        let mut results = HashMap::new();
        for event in played.trace.events() {
            match event {
                AgentEvent::MessageEnd { message: AgentMessage::Assistant(answer) } if answer.stop_reason == StopReason::Length => {
                    truncated.extend(answer.tool_calls().cloned());
                }
                AgentEvent::ToolExecutionEnd { call, result } => {
                    results.insert(Arc::as_ptr(call), result.clone());
                }
                _ => {}
            }
        }
        for call in truncated {
            let executions = played.executions.iter().filter(|execution| execution.call.id == call.id).count();
            let repeated = scenario.answers.iter().flat_map(|answer| &answer.blocks).any(|block| matches!(block, BlockPlan::Call(call) if call.repeats_id));
            prop_assert!(executions == 0 || repeated || call.id == "d" , "{call:?}\n{}", played.trace);
            if let Some(result) = results.get(&Arc::as_ptr(&call)) {
                prop_assert!(result.message.is_error && result.message.made_up && result.message.duration_ms.is_none());
            }
        }
    }

    /// No sequence of model deltas panics or hangs the loop.
    #[test]
    fn invariant_12_no_deltas_break_the_loop(
        answers in prop::collection::vec(broken_answer(), 1..4),
        scenario in any_scenario(),
    ) {
        let mut scenario = scenario;
        scenario.answers.splice(..0, answers);
        let played = scenario.play();
        let ended = matches!(played.trace.events().next_back(), Some(AgentEvent::AgentEnd { .. }));
        prop_assert!(ended || played.ended == Ended::Dropped || played.trace.is_empty(), "{}", played.trace);
        go_on(played)?;
    }
}
