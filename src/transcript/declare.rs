//! Declarations: how the transcript is told which tools a run has.

use std::collections::HashMap;
use std::sync::Arc;

use super::Replay;
use super::replay::change_tools;
use crate::message::{AgentMessage, RemovedTool, SystemMessage, Timestamp, ToolDeclaration};

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
/// difference: a declaration would only cost the provider's cache of the conversation.
#[must_use]
pub fn declare<M>(
    replay: &Replay,
    current: &[Arc<ToolDeclaration>],
    mut pending: Vec<AgentMessage<M>>,
    now: Timestamp,
) -> Vec<AgentMessage<M>> {
    let last = pending.iter().rposition(|message| matches!(message, AgentMessage::System(_)));
    let Some(last) = last else {
        let changes = ToolChanges::between(replay.tools(), current);
        if !changes.is_empty() {
            pending.insert(0, changes.declared_by(SystemMessage::default().at(now)).into());
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
pub fn initial_system_message(
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

fn same(a: &Arc<ToolDeclaration>, b: &Arc<ToolDeclaration>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

fn by_name(tools: &[Arc<ToolDeclaration>]) -> HashMap<&str, &Arc<ToolDeclaration>> {
    tools.iter().map(|tool| (tool.name.as_str(), tool)).collect()
}
