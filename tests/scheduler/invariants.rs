//! The twelve invariants of every run.
//!
//! Every play checks the event grammar, the results and the state at each event on the way; what a test here asks
//! goes beyond that, or names it.

use std::collections::HashMap;
use std::sync::Arc;

use proptest::prelude::*;
use turnstate::message::{AgentMessage, Message, StopReason};
use turnstate::run::{QueueKind, QueueMode};
use turnstate::testing::scenario::{Action, Ended, Played, Scenario};
use turnstate::testing::strategy::Scenarios;
use turnstate::testing::{Checker, check_requests_grow};
use turnstate::transcript::{Replay, Tail};
use turnstate::{AgentEvent, Ending};

use crate::config;

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
        prop_assert_eq!(names(replayed), executable.clone());
        let request = played.model.requests().pop().expect("it was asked");
        prop_assert_eq!(names(request.tools().iter().map(|tool| tool.name.clone()).collect()), executable);
    }

    /// One-at-a-time delivers at most one queued message per drain point; all delivers them all.
    #[test]
    fn invariant_07_queue_modes_say_how_many_are_delivered(scenario in undisturbed().without_queue_changes().strategy()) {
        let played = scenario.play();
        assert_queue_modes(&scenario, &played)?;
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
            scenario.answers[at] = scenario.answers[at].clone().ending(turnstate::testing::scenario::EndingPlan::Done(StopReason::Length));
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
            let repeated = scenario.answers.iter().flat_map(|answer| &answer.blocks).any(|block| matches!(block, turnstate::testing::scenario::BlockPlan::Call(call) if call.repeats_id));
            prop_assert!(executions == 0 || repeated || call.id == "d" , "{call:?}\n{}", played.trace);
            if let Some(result) = results.get(&Arc::as_ptr(&call)) {
                prop_assert!(result.message.is_error && result.message.made_up && result.message.duration_ms.is_none());
            }
        }
    }

    /// No sequence of model deltas panics or hangs the loop.
    #[test]
    fn invariant_12_no_deltas_break_the_loop(
        answers in prop::collection::vec(turnstate::testing::strategy::broken_answer(), 1..4),
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

/// Gives the run another prompt, which must be answered as usual.
fn go_on(
    mut played: Played<turnstate::message::NoCustom>,
) -> Result<Played<turnstate::message::NoCustom>, TestCaseError> {
    if let Some(run) = played.run.take() {
        let before = run.transcript().len();
        let run = played.finish(run.prompt("and then?"));
        let added = &run.transcript()[before..];
        prop_assert!(
            added.iter().any(is_next_prompt) && added.iter().any(|message| message.as_assistant().is_some())
        );
        prop_assert!(run.outcome().is_some());
        prop_assert!(!run.handle().is_running());
        played.run = Some(run);
    }
    Ok(played)
}

fn places(messages: &[AgentMessage], message: &AgentMessage) -> Vec<usize> {
    let same = |other: &AgentMessage| match (message, other) {
        (AgentMessage::User(a), AgentMessage::User(b)) => Arc::ptr_eq(a, b),
        _ => false,
    };
    messages.iter().enumerate().filter(|(_, other)| same(other)).map(|(at, _)| at).collect()
}

fn is_next_prompt(message: &AgentMessage) -> bool {
    message.as_user().is_some_and(|user| user.content.texts().eq(["and then?"]))
}

fn is_streamed(message: &AgentMessage) -> bool {
    message.as_assistant().is_some_and(|answer| answer.stop_reason == StopReason::Pending)
}

/// What repair leaves in a request of a sound transcript.
fn is_sendable(message: &Message) -> bool {
    match message {
        Message::Assistant(answer) => answer.is_usable(),
        _ => true,
    }
}

/// The messages as text, without what repair takes out.
fn without_blanks(messages: Vec<Message>) -> Vec<String> {
    let mut lines = Vec::new();
    for message in messages {
        let line = match &message {
            Message::User(user) => user.content.texts().collect::<String>().trim().to_owned(),
            Message::System(system) if system.tools_added.is_empty() && system.tools_removed.is_empty() => {
                system.content.joined().trim().to_owned()
            }
            Message::System(system) => format!("tools {:?} {:?}", system.tools_added, system.tools_removed),
            Message::Assistant(answer) => {
                let blank = |block: &turnstate::message::AssistantContent| matches!(block, turnstate::message::AssistantContent::Text(text) if text.text.trim().is_empty());
                let blocks: Vec<_> = answer.content.iter().filter(|block| !blank(block)).collect();
                if blocks.is_empty() { String::new() } else { format!("{blocks:?}") }
            }
            Message::ToolResult(result) => format!(
                "result {} {:?}",
                result.tool_call_id,
                result.texts().filter(|text| !text.trim().is_empty()).collect::<Vec<_>>()
            ),
        };
        if !line.is_empty() {
            lines.push(line);
        }
    }
    lines
}

/// In what the run added, the results of a usable answer stand directly after it, one for each call, in order.
fn assert_results_follow_their_calls(
    played: &Played<turnstate::message::NoCustom>,
) -> Result<(), TestCaseError> {
    let added = played.added();
    for (at, message) in added.iter().enumerate() {
        let AgentMessage::Assistant(answer) = message else { continue };
        let calls: Vec<_> = answer.tool_calls().map(|call| call.id.as_str()).collect();
        let results: Vec<_> = added[at + 1..]
            .iter()
            .map_while(AgentMessage::as_tool_result)
            .map(|result| result.tool_call_id.as_str())
            .collect();
        let expected: &[&str] = if answer.is_usable() { &calls } else { &[] };
        prop_assert_eq!(&results[..], expected, "{}", played.trace);
    }
    Ok(())
}

/// In a request, each call is answered directly after its answer.
fn assert_calls_are_answered(messages: &[Message]) -> Result<(), TestCaseError> {
    for (at, message) in messages.iter().enumerate() {
        let Message::Assistant(answer) = message else { continue };
        prop_assert!(answer.is_usable());
        let calls: Vec<_> = answer.tool_calls().map(|call| call.id.as_str()).collect();
        let results: Vec<_> = messages[at + 1..]
            .iter()
            .map_while(|message| match message {
                Message::ToolResult(result) => Some(result.tool_call_id.as_str()),
                _ => None,
            })
            .collect();
        prop_assert_eq!(results, calls);
    }
    Ok(())
}

/// Checks each turn's delivered messages against the modes and the moments at which they were queued.
fn assert_queue_modes(
    scenario: &Scenario,
    played: &Played<turnstate::message::NoCustom>,
) -> Result<(), TestCaseError> {
    let events: Vec<_> = played.trace.events().collect();
    let kind_of = |message: &AgentMessage| {
        played
            .queued
            .iter()
            .find(|queued| !places(std::slice::from_ref(message), &queued.message).is_empty())
            .map(|queued| queued.kind)
    };
    let mut delivered: Vec<(QueueKind, usize)> = Vec::new();
    for event in &events {
        match event {
            AgentEvent::TurnStart => delivered.clear(),
            AgentEvent::MessageEnd { message } => {
                if let Some(kind) = kind_of(message) {
                    match delivered.iter_mut().find(|(known, _)| *known == kind) {
                        Some((_, count)) => *count += 1,
                        None => delivered.push((kind, 1)),
                    }
                }
            }
            AgentEvent::TurnEnd { .. } => {
                // A turn's messages come from one drain point, and so from one queue.
                prop_assert!(delivered.len() <= 1, "{delivered:?}\n{}", played.trace);
                for (kind, count) in &delivered {
                    let mode =
                        if *kind == QueueKind::Steering { scenario.steering } else { scenario.follow_ups };
                    prop_assert!(mode == QueueMode::All || *count == 1, "{delivered:?}\n{}", played.trace);
                }
            }
            _ => {}
        }
    }
    assert_all_are_delivered(scenario, played, &events)
}

/// In the mode `all`, a turn that delivers from a queue leaves nothing in it that was queued before the turn's end
/// before it.
fn assert_all_are_delivered(
    scenario: &Scenario,
    played: &Played<turnstate::message::NoCustom>,
    events: &[&AgentEvent],
) -> Result<(), TestCaseError> {
    let mut queued = played.queued.iter();
    let mut queued_at = Vec::new();
    for done in &played.host {
        if matches!(done.action, Action::Steer(_) | Action::FollowUp(_)) {
            queued_at.extend(queued.next().map(|message| (message, done.events)));
        }
    }
    let mut turn_end = 0;
    let mut turn_start = 0;
    for (at, event) in events.iter().enumerate() {
        match event {
            AgentEvent::TurnEnd { .. } => turn_end = at,
            AgentEvent::TurnStart => turn_start = at,
            AgentEvent::MessageEnd { message } if turn_start > 1 => {
                let Some((delivered, _)) = queued_at
                    .iter()
                    .find(|(queued, _)| !places(std::slice::from_ref(message), &queued.message).is_empty())
                else {
                    continue;
                };
                let mode = if delivered.kind == QueueKind::Steering {
                    scenario.steering
                } else {
                    scenario.follow_ups
                };
                if mode != QueueMode::All {
                    continue;
                }
                for (other, moment) in &queued_at {
                    let before = other.kind == delivered.kind && *moment <= turn_end;
                    let place = events.iter().position(|event| matches!(event, AgentEvent::MessageEnd { message } if !places(std::slice::from_ref(message), &other.message).is_empty()));
                    let another_turn = |place: usize| {
                        events[at..place].iter().any(|event| matches!(event, AgentEvent::TurnStart))
                    };
                    let left = place.is_none_or(|place| place > at && another_turn(place));
                    prop_assert!(
                        !before || !left,
                        "{:?} was left in its queue\n{}",
                        other.message,
                        played.trace
                    );
                }
            }
            _ => {}
        }
    }
    Ok(())
}
