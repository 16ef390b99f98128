//! Replaying system messages: the prompt, its sections and the tools of the moment.

use std::sync::Arc;

use crate::message::{AgentMessage, Sections, SystemMessage, Timestamp, ToolDeclaration};

/// What stands between two parts of a prompt.
const BLANK_LINE: &str = "\n\n";

/// What a transcript's system messages say, taken together: the prompt, its sections in order, the current tools.
///
/// A fold: messages are pushed in order and nothing is looked at twice. The rules:
///
/// * Prompt texts add up, joined by a blank line; empty ones leave no trace.
/// * A section is set by name and keeps its place when it is set again. `None` removes it; set after that, it
///   stands at the end.
/// * Of one message, tools are removed first, then added. A tool declared again keeps its place; one removed and
///   added stands at the end.
///
/// Messages of other roles say nothing here, and neither does what a custom message projects.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Replay {
    /// The time of the latest system message; `None` before the first.
    latest: Option<Timestamp>,
    text: String,
    sections: Sections,
    tools: Vec<Arc<ToolDeclaration>>,
}

impl Replay {
    /// The replay of all messages of a transcript.
    #[must_use]
    pub fn of<M>(transcript: &[AgentMessage<M>]) -> Self {
        let mut replay = Self::default();
        for message in transcript {
            replay.push_message(message);
        }
        replay
    }

    /// Goes on with the next message; only system messages count.
    pub fn push_message<M>(&mut self, message: &AgentMessage<M>) {
        if let AgentMessage::System(message) = message {
            self.push(message);
        }
    }

    /// Goes on with the next system message.
    pub fn push(&mut self, message: &SystemMessage) {
        self.latest = Some(message.timestamp);
        join(&mut self.text, &message.content.joined());
        for (name, text) in message.sections.iter() {
            match text {
                Some(text) => self.sections.set(name, Some(text.to_owned())),
                None => self.sections.remove(name),
            }
        }
        change_tools(&mut self.tools, message);
    }

    /// The one system message that says the same as all of them: texts joined, the sections that stand, the current
    /// tools as added, the time of the latest. `None` if there was no system message.
    #[must_use]
    pub fn system(&self) -> Option<SystemMessage> {
        let timestamp = self.latest?;
        let mut system = SystemMessage::new(self.text.as_str()).at(timestamp);
        system.sections = self.sections.clone();
        system.tools_added = self.tools.clone();
        Some(system)
    }

    /// The whole prompt: text, then sections in order, joined by blank lines. Empty without any.
    #[must_use]
    pub fn prompt(&self) -> String {
        let mut prompt = self.text.clone();
        for (_, text) in self.sections.iter() {
            join(&mut prompt, text.unwrap_or_default());
        }
        prompt
    }

    /// The prompt's text without its sections.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The sections that stand, in order; none of them is `None`.
    #[must_use]
    pub fn sections(&self) -> &Sections {
        &self.sections
    }

    /// The tools that the model may call, each name once, in the order they were declared.
    #[must_use]
    pub fn tools(&self) -> &[Arc<ToolDeclaration>] {
        &self.tools
    }
}

/// What a system message does to the tools of the moment.
pub(super) fn change_tools(tools: &mut Vec<Arc<ToolDeclaration>>, message: &SystemMessage) {
    for removed in &message.tools_removed {
        tools.retain(|tool| tool.name != removed.name);
    }
    for added in &message.tools_added {
        match tools.iter_mut().find(|tool| tool.name == added.name) {
            Some(tool) => *tool = added.clone(),
            None => tools.push(added.clone()),
        }
    }
}

fn join(prompt: &mut String, part: &str) {
    if !prompt.is_empty() && !part.is_empty() {
        prompt.push_str(BLANK_LINE);
    }
    prompt.push_str(part);
}

#[cfg(test)]
mod tests {
    use std::slice;

    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::transcript::samples::{adds, any_system, any_transcript, tool};

    #[test]
    fn a_tool_declared_again_keeps_its_place_and_one_removed_and_added_goes_to_the_end() {
        let (read, calc) = (tool("read", ""), tool("calc", ""));
        let new = tool("read", "new");
        let mut replay = Replay::default();
        replay.push(&adds("", &[read, calc], &[]));
        replay.push(&adds("", slice::from_ref(&new), &[]));
        assert_eq!(names(&replay), ["read", "calc"]);
        replay.push(&adds("", slice::from_ref(&new), &["read"]));
        assert_eq!(names(&replay), ["calc", "read"]);
        assert_eq!(replay.tools().last(), Some(&new));
    }

    #[test]
    fn the_one_system_message_has_the_time_of_the_latest() {
        let mut replay = Replay::default();
        replay.push(&SystemMessage::new("a"));
        replay.push(&SystemMessage::new("b").at(5));
        assert_eq!(replay.system(), Some(SystemMessage::new("a\n\nb").at(5)));
    }

    fn names(replay: &Replay) -> Vec<&str> {
        replay.tools().iter().map(|tool| tool.name.as_str()).collect()
    }

    proptest! {
        #[test]
        fn going_on_gives_what_a_replay_of_all_gives(before in any_transcript(), after in any_transcript()) {
            let mut replay = Replay::of(&before);
            after.iter().for_each(|message| replay.push_message(message));
            prop_assert_eq!(replay, Replay::of(&[before, after].concat()));
        }

        #[test]
        fn the_one_system_message_says_the_same_as_all(messages in vec(any_system(), 0..6)) {
            let mut replay = Replay::default();
            messages.iter().for_each(|message| replay.push(message));
            let mut of_one = Replay::default();
            replay.system().iter().for_each(|system| of_one.push(system));
            prop_assert_eq!(&of_one, &replay);
            prop_assert_eq!(of_one.prompt(), replay.prompt());
        }

        #[test]
        fn a_replay_names_each_tool_once(messages in vec(any_system(), 0..6)) {
            let mut replay = Replay::default();
            messages.iter().for_each(|message| replay.push(message));
            let mut names = names(&replay);
            names.sort_unstable();
            names.dedup();
            prop_assert_eq!(names.len(), replay.tools().len());
        }
    }
}
