//! The two lists of messages, shared until they are changed.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Replay;
use crate::message::{AgentMessage, AssistantMessage, CustomMessage, Message, NoCustom, SystemMessage};

/// Every message of a conversation in order: system, user, assistant, tool result, custom.
///
/// Copy-on-write: a clone shares the list, so states, events and hooks can each hold one. Changing a list that is
/// shared copies its pointers first (16 bytes a message), never the messages. A list held once is changed in place.
///
/// It reads as a slice. JSON: a plain list of messages.
pub struct Transcript<M = NoCustom>(Arc<Vec<AgentMessage<M>>>);

/// The messages that a model is sent, in order.
///
/// Copy-on-write as [`Transcript`] is: a request that a provider keeps costs one copy of pointers when the
/// conversation goes on, and nothing otherwise. It reads as a slice. JSON: a plain list of messages.
pub struct Messages(Arc<Vec<Message>>);

impl<M> Transcript<M> {
    /// Puts the system message of a new conversation at the very front.
    ///
    /// A transcript that starts with a system message already is left as it is: it comes from an earlier
    /// conversation, and its prompt is kept. Tools that it does not declare are declared by the next run.
    pub(crate) fn begin_with(&mut self, system: Option<SystemMessage>) {
        if matches!(self.first(), Some(AgentMessage::System(_))) {
            return;
        }
        if let Some(system) = system {
            self.make_mut().insert(0, system.into());
        }
    }

    /// What stays when the conversation is reset: one system message with the prompt and the tools of the moment, or
    /// nothing where there was no system message.
    #[must_use]
    pub fn baseline(&self) -> Self {
        Replay::of(self).system().map(AgentMessage::from).into_iter().collect()
    }

    /// The latest answer of the model, whatever stands behind it, and whether or not it failed; `None` before the first.
    #[must_use]
    pub fn last_answer(&self) -> Option<&Arc<AssistantMessage>> {
        self.iter().rev().find_map(AgentMessage::as_assistant)
    }

    /// The text of the latest answer, its blocks one after the other; empty where there is no answer, or none in it.
    #[must_use]
    pub fn last_answer_text(&self) -> String {
        self.last_answer().into_iter().flat_map(|answer| answer.texts()).collect()
    }
}

/// What both lists can do. A macro instead of one generic type, so that signatures and compiler messages say
/// `Transcript<M>` and `Messages`.
macro_rules! copy_on_write {
    ($list:ident $(<$m:ident>)? of $item:ty) => {
        impl $(<$m>)? $list $(<$m>)? {
            /// An empty list.
            #[must_use]
            pub fn new() -> Self {
                Self(Arc::new(Vec::new()))
            }

            /// Adds a message at the end.
            pub fn push(&mut self, message: impl Into<$item>) {
                self.make_mut().push(message.into());
            }

            /// The list to change it. It is copied first if it is shared.
            pub fn make_mut(&mut self) -> &mut Vec<$item> {
                Arc::make_mut(&mut self.0)
            }

            /// Whether both share one list, and so are equal without a look at the messages.
            #[must_use]
            pub fn ptr_eq(&self, other: &Self) -> bool {
                Arc::ptr_eq(&self.0, &other.0)
            }

            /// The list itself: moved out if it is not shared, otherwise copied.
            #[must_use]
            pub fn into_vec(self) -> Vec<$item> {
                Arc::unwrap_or_clone(self.0)
            }

            /// Empties the list. A shared one is let go, not copied.
            pub fn clear(&mut self) {
                match Arc::get_mut(&mut self.0) {
                    Some(list) => list.clear(),
                    None => *self = Self::new(),
                }
            }
        }

        impl $(<$m>)? Deref for $list $(<$m>)? {
            type Target = [$item];

            fn deref(&self) -> &[$item] {
                &self.0
            }
        }

        impl $(<$m>)? Clone for $list $(<$m>)? {
            fn clone(&self) -> Self {
                Self(self.0.clone())
            }
        }

        impl $(<$m>)? Default for $list $(<$m>)? {
            fn default() -> Self {
                Self::new()
            }
        }

        impl $(<$m: fmt::Debug>)? fmt::Debug for $list $(<$m>)? {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_list().entries(self.iter()).finish()
            }
        }

        impl $(<$m: PartialEq>)? PartialEq for $list $(<$m>)? {
            fn eq(&self, other: &Self) -> bool {
                self.ptr_eq(other) || self.0 == other.0
            }
        }

        impl $(<$m>)? From<Vec<$item>> for $list $(<$m>)? {
            fn from(messages: Vec<$item>) -> Self {
                Self(Arc::new(messages))
            }
        }

        impl $(<$m>)? FromIterator<$item> for $list $(<$m>)? {
            fn from_iter<I: IntoIterator<Item = $item>>(messages: I) -> Self {
                Self(Arc::new(messages.into_iter().collect()))
            }
        }

        impl $(<$m>)? Extend<$item> for $list $(<$m>)? {
            fn extend<I: IntoIterator<Item = $item>>(&mut self, messages: I) {
                self.make_mut().extend(messages);
            }
        }

        impl<'a $(, $m)?> IntoIterator for &'a $list $(<$m>)? {
            type Item = &'a $item;
            type IntoIter = std::slice::Iter<'a, $item>;

            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }

        impl $(<$m: CustomMessage>)? Serialize for $list $(<$m>)? {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_seq(self)
            }
        }

        impl<'de $(, $m: CustomMessage)?> Deserialize<'de> for $list $(<$m>)? {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Vec::deserialize(deserializer).map(Self::from)
            }
        }
    };
}

copy_on_write!(Transcript<M> of AgentMessage<M>);
copy_on_write!(Messages of Message);

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;
    use crate::message::AssistantContent;
    use crate::transcript::samples::{Any, adds, tool};

    #[test]
    fn a_change_is_seen_only_by_the_list_that_was_changed() {
        let mut transcript: Transcript = Transcript::new();
        transcript.push(AgentMessage::user("a"));
        let place = transcript.as_ptr();
        let kept = transcript.clone();
        assert!(kept.ptr_eq(&transcript));
        transcript.push(AgentMessage::user("b"));
        assert_eq!((kept.len(), transcript.len()), (1, 2));
        assert_eq!(kept.as_ptr(), place);
    }

    #[test]
    fn a_list_that_is_held_once_is_changed_in_place() {
        let mut messages = Messages::from(Vec::with_capacity(2));
        messages.push(Message::user("a"));
        let place = messages.as_ptr();
        messages.push(Message::user("b"));
        assert_eq!(messages.as_ptr(), place);
        messages.clear();
        messages.push(Message::user("c"));
        assert_eq!(messages.as_ptr(), place);
        let list = messages.into_vec();
        assert_eq!(list.as_ptr(), place);
    }

    #[test]
    fn the_last_answer_is_found_behind_what_follows_it() {
        let mut transcript: Transcript = Transcript::new();
        transcript.push(AgentMessage::user("Hello?"));
        assert_eq!((transcript.last_answer(), transcript.last_answer_text()), (None, String::new()));
        let blocks = ["Good ", "morning."].map(AssistantContent::text);
        for content in [vec![AssistantContent::text("Hi.")], blocks.into()] {
            transcript.push(AssistantMessage::new(content));
        }
        transcript.push(AgentMessage::user("Thanks."));
        assert_eq!(transcript.last_answer(), transcript[2].as_assistant());
        assert_eq!(transcript.last_answer_text(), "Good morning.");
    }

    #[test]
    fn json_is_a_plain_list() {
        let json = r#"[{"role":"user","content":"a","timestamp":1}]"#;
        let transcript: Transcript = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&transcript).unwrap(), json);
        let messages: Messages = serde_json::from_str(json).unwrap();
        assert_eq!(serde_json::to_string(&messages).unwrap(), json);
    }

    #[test]
    fn a_transcript_that_starts_with_a_system_message_gets_no_second_one() {
        let system = || Some(SystemMessage::new("s"));
        let table = [
            (vec![], vec![Any::system("s")]),
            (vec![Any::user("u")], vec![Any::system("s"), Any::user("u")]),
            (vec![Any::system("kept"), Any::user("u")], vec![Any::system("kept"), Any::user("u")]),
            (
                vec![Any::user("u"), Any::system("t")],
                vec![Any::system("s"), Any::user("u"), Any::system("t")],
            ),
        ];
        for (before, after) in table {
            let mut transcript = Transcript::from(before.clone());
            transcript.begin_with(None);
            assert_eq!(*transcript, before);
            transcript.begin_with(system());
            assert_eq!(*transcript, after);
        }
    }

    #[test]
    fn a_reset_keeps_prompt_sections_and_tools_in_one_message() {
        let tools = [tool("read", ""), tool("calc", "")];
        let transcript = Transcript::from(vec![
            adds("base", &tools[..1], &[]).into(),
            Any::user("u"),
            adds("more", &tools[1..], &[]).with_section("x", "<x/>").at(4).into(),
        ]);
        let kept = adds("base\n\nmore", &tools, &[]).with_section("x", "<x/>").at(4);
        assert_eq!(*transcript.baseline(), [kept.into()]);
        assert_eq!(transcript.baseline().baseline(), transcript.baseline());
        assert!(Transcript::from(vec![Any::user("u")]).baseline().is_empty());
    }

    #[test]
    fn lists_go_to_other_threads() {
        fn check<T: Send + Sync + Unpin + 'static>() {}
        check::<Transcript>();
        check::<Messages>();
    }
}
