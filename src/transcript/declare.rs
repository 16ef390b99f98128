//! Declarations: how the transcript is told which tools a run has.

use std::collections::HashMap;
use std::sync::Arc;

use super::Replay;
use super::replay::change_tools;
use crate::message::{AgentMessage, RemovedTool, SystemMessage, Timestamp, ToolDeclaration, same};

/// Puts the declaration of `current` into the messages that are about to be written.
///
/// `replay` is what the transcript says so far, `pending` what will be written after it, and `now` the time of a
/// message that has to be made. Once the result is written, a replay of the transcript gives exactly `current`.
///
/// * Is there a system message among `pending`, then the last one carries the difference: whatever tool changes the
///   host had put into it are replaced by the real ones, or taken out where there are none. Earlier ones stay as they
///   are, and count.
/// * Otherwise a system message of its own, without text, goes in front of all of `pending`, which may be empty.
///   Without a difference there is none.
///
/// Where nothing has to change, the messages themselves are returned. The same tools in another order are no
/// difference: a declaration would only cost the provider's cache of the conversation. `now`, in milliseconds since the
/// Unix epoch, is asked only for a message of its own.
#[must_use]
pub(crate) fn declare<M>(
    replay: &Replay,
    current: &[Arc<ToolDeclaration>],
    mut pending: Vec<AgentMessage<M>>,
    now: impl FnOnce() -> Timestamp,
) -> Vec<AgentMessage<M>> {
    let last = pending.iter().rposition(|message| matches!(message, AgentMessage::System(_)));
    let Some(last) = last else {
        let changes = ToolChanges::between(replay.tools(), current);
        if !changes.is_empty() {
            pending.insert(0, changes.declared_by(SystemMessage::default().at(now())).into());
        }
        return pending;
    };
    let (earlier, rest) = pending.split_at_mut(last);
    let mut tools = replay.tools().to_vec();
    earlier.iter().filter_map(AgentMessage::as_system).for_each(|message| change_tools(&mut tools, message));
    if let Some(AgentMessage::System(message)) = rest.first_mut() {
        let changes = ToolChanges::between(&tools, current);
        if !changes.are_those_of(message) {
            *message = Arc::new(changes.declared_by(SystemMessage::clone(message)));
        }
    }
    pending
}

/// The system message of a new conversation: the builder's prompt (text, sections) and all tools as added.
///
/// `None` if there is neither. Its time is 0 and tool changes in `prompt` are replaced, so two runs built alike start
/// alike. Put it in with [`Transcript::begin_with`](super::Transcript::begin_with).
#[must_use]
pub(crate) fn initial_system_message(
    prompt: SystemMessage,
    tools: &[Arc<ToolDeclaration>],
) -> Option<SystemMessage> {
    let system = ToolChanges::between(&[], tools).declared_by(prompt.at(0));
    (!system.is_empty()).then_some(system)
}

/// What must be declared so that a transcript which says `previous` says `current`.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ToolChanges {
    /// New and changed tools, in the order of `current`.
    pub added: Vec<Arc<ToolDeclaration>>,
    /// Tools that are gone or changed, in the order of `previous`.
    pub removed: Vec<RemovedTool>,
}

impl ToolChanges {
    /// The difference between two lists of tools. Their order is none.
    ///
    /// A changed declaration is removed and added. Shared declarations are equal, others are compared as JSON values.
    /// Of a name that is repeated in a list the last declaration counts, as in a replay.
    #[must_use]
    pub fn between(previous: &[Arc<ToolDeclaration>], current: &[Arc<ToolDeclaration>]) -> Self {
        // The usual case, once per turn: nothing changed. It costs no allocation.
        if previous.len() == current.len() && previous.iter().zip(current).all(|(a, b)| same(a, b)) {
            return Self::default();
        }
        let (was, is) = (by_name(previous), by_name(current));
        let differs = |tool: &Arc<ToolDeclaration>, there: &HashMap<&str, &Arc<ToolDeclaration>>| {
            !there.get(tool.name.as_str()).is_some_and(|other| same(tool, other))
        };
        let counts = |tool: &Arc<ToolDeclaration>| {
            is.get(tool.name.as_str()).is_some_and(|last| Arc::ptr_eq(tool, last))
        };
        Self {
            added: current.iter().filter(|tool| counts(tool) && differs(tool, &was)).cloned().collect(),
            removed: previous
                .iter()
                .filter(|tool| differs(tool, &is))
                .map(|tool| RemovedTool::new(tool.name.as_str()))
                .collect(),
        }
    }

    /// Whether there is nothing to declare.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty()
    }

    /// The message with these changes instead of its own.
    fn declared_by(self, mut message: SystemMessage) -> SystemMessage {
        message.tools_added = self.added;
        message.tools_removed = self.removed;
        message
    }

    fn are_those_of(&self, message: &SystemMessage) -> bool {
        self.added == message.tools_added && self.removed == message.tools_removed
    }
}

fn by_name(tools: &[Arc<ToolDeclaration>]) -> HashMap<&str, &Arc<ToolDeclaration>> {
    tools.iter().map(|tool| (tool.name.as_str(), tool)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::message::NoCustom;
    use crate::transcript::samples::{Any, adds, any_message, any_system, any_tools, result, tool};
    use crate::transcript::{Projector, Repair, Transcript};

    #[test]
    fn declarations_are_compared_as_json_values() {
        let schema = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        let one = ToolDeclaration::new("t", "", schema(r#"{"type":"object","required":[]}"#));
        let other = ToolDeclaration::new("t", "", schema(r#"{"required":[],"type":"object"}"#));
        let changed = ToolDeclaration::new("t", "", json!({"type": "object", "required": ["x"]}));
        let between = |a: &ToolDeclaration, b: &ToolDeclaration| {
            ToolChanges::between(&[Arc::new(a.clone())], &[Arc::new(b.clone())])
        };
        assert!(between(&one, &other).is_empty());
        assert_eq!(between(&one, &changed).removed, [RemovedTool::new("t")]);
        assert_eq!(between(&one, &changed).added, [Arc::new(changed)]);
    }

    /// Each row: what the transcript says, the tools of the run, what is pending, what is written.
    #[test]
    fn a_difference_goes_into_the_last_pending_system_message_or_in_front_of_all() {
        let [read, calc, write] = ["read", "calc", "write"].map(|name| tool(name, ""));
        let [read, calc, write] = [&read, &calc, &write].map(std::slice::from_ref);
        let made = |added, removed: &[&str]| Any::from(adds("", added, removed).at(9));
        let host = |text, added, removed: &[&str]| Any::from(adds(text, added, removed).at(3));
        let user = || Any::user("u");
        let table: [(&[_], &[_], Vec<Any>, Vec<Any>); 12] = [
            (&[], &[], vec![], vec![]),
            (read, read, vec![user()], vec![user()]),
            (read, calc, vec![user(), user()], vec![made(calc, &["read"]), user(), user()]),
            (read, calc, vec![], vec![made(calc, &["read"])]),
            (read, &[], vec![user()], vec![made(&[], &["read"]), user()]),
            (&[], read, vec![user()], vec![made(read, &[]), user()]),
            (read, read, vec![host("h", &[], &[]), user()], vec![host("h", &[], &[]), user()]),
            (
                read,
                calc,
                vec![user(), host("h", &[], &[]), user()],
                vec![user(), host("h", calc, &["read"]), user()],
            ),
            (read, calc, vec![host("h", write, &["read", "ghost"])], vec![host("h", calc, &["read"])]),
            (read, read, vec![host("h", write, &["read"])], vec![host("h", &[], &[])]),
            (read, read, vec![host("", write, &[])], vec![host("", &[], &[])]),
            (
                read,
                calc,
                vec![host("first", write, &[]), user(), host("last", &[], &[]), user()],
                vec![host("first", write, &[]), user(), host("last", calc, &["read", "write"]), user()],
            ),
        ];
        for (said, current, pending, written) in table {
            let mut replay = Replay::default();
            replay.push(&adds("s", said, &[]));
            assert_eq!(declare(&replay, current, pending, || 9), written);
        }
    }

    #[test]
    fn a_pending_system_message_that_says_the_difference_already_is_not_copied() {
        let read = [tool("read", "")];
        let pending = Arc::new(adds("h", &read, &[]));
        let written = declare(&Replay::default(), &read, vec![Any::from(pending.clone())], || 9);
        assert!(matches!(&written[..], [Any::System(message)] if Arc::ptr_eq(message, &pending)));
    }

    #[test]
    fn a_new_conversation_starts_with_its_prompt_and_its_tools() {
        let read = tool("read", "");
        let tools = std::slice::from_ref(&read);
        let prompt = || SystemMessage::new("s").with_section("x", "X");
        let table = [
            (SystemMessage::default(), &[][..], None),
            (SystemMessage::new("s").at(5), &[][..], Some(SystemMessage::new("s"))),
            (SystemMessage::default(), tools, Some(adds("", tools, &[]))),
            (prompt(), tools, Some(adds("s", tools, &[]).with_section("x", "X"))),
            (adds("s", &[tool("ghost", "")], &["read"]), tools, Some(adds("s", tools, &[]))),
        ];
        for (prompt, tools, system) in table {
            assert_eq!(initial_system_message(prompt, tools), system);
        }
    }

    #[test]
    fn the_same_tools_in_another_order_leave_the_request_as_it_is() {
        let (read, calc) = (tool("read", ""), tool("calc", ""));
        let mut transcript = Transcript::from(vec![
            adds("s", &[read.clone(), calc.clone()], &[]).into(),
            Any::user("u"),
            result("none", "orphan"),
        ]);
        let mut projector = Projector::of(Repair::On, &transcript);
        let before = serde_json::to_string(&projector.request()).unwrap();
        let written = declare(&Replay::of(&transcript), &[calc, read], vec![Any::user("again")], || 9);
        assert_eq!(written, [Any::user("again")]);
        projector.extend(&written);
        transcript.extend(written);
        let after = serde_json::to_string(&projector.request()).unwrap();
        assert!(after.starts_with(before.trim_end_matches(']')));
    }

    fn without_tools(mut message: SystemMessage) -> SystemMessage {
        message.tools_added.clear();
        message.tools_removed.clear();
        message
    }

    prop_compose! {
        fn said()(messages in vec(any_system(), 0..4)) -> Replay {
            let mut replay = Replay::default();
            messages.iter().for_each(|message| replay.push(message));
            replay
        }
    }

    proptest! {
        #[test]
        fn a_replay_after_the_declaration_gives_exactly_the_current_tools(
            replay in said(), current in any_tools(), pending in vec(any_message(), 0..5),
        ) {
            let mut after = replay.clone();
            declare(&replay, &current, pending, || 9).iter().for_each(|message| after.push_message(message));
            prop_assert_eq!(by_name(after.tools()), by_name(&current));
            let again = declare::<NoCustom>(&after, &current, Vec::new(), || 9);
            prop_assert!(again.is_empty());
        }

        #[test]
        fn the_same_tools_in_any_order_declare_nothing(
            (replay, shuffled) in said().prop_flat_map(|replay| {
                let tools = replay.tools().to_vec();
                (Just(replay), Just(tools).prop_shuffle())
            }),
        ) {
            prop_assert!(ToolChanges::between(replay.tools(), &shuffled).is_empty());
        }

        #[test]
        fn nothing_but_tool_changes_is_touched_in_what_is_pending(
            replay in said(), current in any_tools(), pending in vec(any_message(), 0..5),
        ) {
            let mut written = declare(&replay, &current, pending.clone(), || 9);
            let has_system = pending.iter().any(|message| message.as_system().is_some());
            if written.len() > pending.len() {
                prop_assert!(!has_system);
                let made = written.remove(0);
                prop_assert_eq!(without_tools(made.as_system().unwrap().clone()), SystemMessage::default().at(9));
            }
            let last = written.iter().rposition(|message| message.as_system().is_some());
            for (at, (written, pending)) in written.iter().zip(&pending).enumerate() {
                match (written, pending) {
                    (Any::System(a), Any::System(b)) if last == Some(at) => {
                        prop_assert_eq!(without_tools((**a).clone()), without_tools((**b).clone()));
                    }
                    _ => prop_assert_eq!(written, pending),
                }
            }
        }
    }
}
