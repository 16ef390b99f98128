//! The two lists of messages, shared until they are changed.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Replay;
use crate::message::{AgentMessage, CustomMessage, Message, NoCustom, SystemMessage};

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
    pub fn begin_with(&mut self, system: Option<SystemMessage>) {
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
