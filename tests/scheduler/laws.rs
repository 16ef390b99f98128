//! What the invariants have in common: the laws that a played scenario is held to.

use std::sync::Arc;

use proptest::prelude::*;
use turnstate::AgentEvent;
use turnstate::message::{AgentMessage, AssistantContent, Message, NoCustom, StopReason};
use turnstate::run::{QueueKind, QueueMode};
use turnstate::testing::scenario::{Action, Played, Scenario};

/// Gives the run another prompt, which must be answered as usual.
pub(crate) fn go_on(mut played: Played<NoCustom>) -> Result<Played<NoCustom>, TestCaseError> {
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

pub(crate) fn places(messages: &[AgentMessage], message: &AgentMessage) -> Vec<usize> {
    let same = |other: &AgentMessage| match (message, other) {
        (AgentMessage::User(a), AgentMessage::User(b)) => Arc::ptr_eq(a, b),
        _ => false,
    };
    messages.iter().enumerate().filter(|(_, other)| same(other)).map(|(at, _)| at).collect()
}

fn is_next_prompt(message: &AgentMessage) -> bool {
    message.as_user().is_some_and(|user| user.content.texts().eq(["and then?"]))
}

pub(crate) fn is_streamed(message: &AgentMessage) -> bool {
    message.as_assistant().is_some_and(|answer| answer.stop_reason == StopReason::Pending)
}

/// What repair leaves in a request of a sound transcript.
pub(crate) fn is_sendable(message: &Message) -> bool {
    match message {
        Message::Assistant(answer) => answer.is_usable(),
        _ => true,
    }
}

/// The messages as text, without what repair takes out.
pub(crate) fn without_blanks(messages: Vec<Message>) -> Vec<String> {
    let mut lines = Vec::new();
    for message in messages {
        let line = match &message {
            Message::User(user) => user.content.texts().collect::<String>().trim().to_owned(),
            Message::System(system) if system.tools_added.is_empty() && system.tools_removed.is_empty() => {
                system.content.joined().trim().to_owned()
            }
            Message::System(system) => format!("tools {:?} {:?}", system.tools_added, system.tools_removed),
            Message::Assistant(answer) => {
                let blank = |block: &AssistantContent| matches!(block, AssistantContent::Text(text) if text.text.trim().is_empty());
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
pub(crate) fn assert_results_follow_their_calls(played: &Played<NoCustom>) -> Result<(), TestCaseError> {
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
pub(crate) fn assert_calls_are_answered(messages: &[Message]) -> Result<(), TestCaseError> {
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
pub(crate) fn assert_queue_modes(
    scenario: &Scenario,
    played: &Played<NoCustom>,
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
    played: &Played<NoCustom>,
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
