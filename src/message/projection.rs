//! What a model sees of one message.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Message, Timestamp};

/// What a model sees of one message: none, one, or several messages. One takes no allocation of its own.
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use = "a projection is what the model sees"]
pub struct Projection(SmallVec<[Message; 1]>);

impl Projection {
    /// The model sees nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// The model sees one message.
    pub fn one(message: impl Into<Message>) -> Self {
        Self(SmallVec::from_buf([message.into()]))
    }

    /// Gives this time to every message that has none (0), and leaves the others as they are.
    pub fn at(mut self, timestamp: Timestamp) -> Self {
        for message in &mut self.0 {
            if message.timestamp() == 0 {
                stamp(message, timestamp);
            }
        }
        self
    }

    /// The messages, in order.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.0
    }
}

/// A message that is shared is copied first: others keep it as it was.
fn stamp(message: &mut Message, timestamp: Timestamp) {
    match message {
        Message::System(message) => Arc::make_mut(message).timestamp = timestamp,
        Message::User(message) => Arc::make_mut(message).timestamp = timestamp,
        Message::Assistant(message) => Arc::make_mut(message).timestamp = timestamp,
        Message::ToolResult(message) => Arc::make_mut(message).timestamp = timestamp,
    }
}

/// What a function named by `#[message(project = …)]` may return: a [`Message`] or one of the standard messages, an
/// `Option` or a `Vec` of them, or a [`Projection`].
///
/// Implemented for everything that becomes a [`Projection`] by [`From`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not what a model can see",
    label = "this function returns `{Self}`",
    note = "return a `Message`, an `Option<Message>`, a `Vec<Message>` or a `Projection`"
)]
pub trait IntoProjection {
    /// What the model sees.
    fn into_projection(self) -> Projection;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Projection>> IntoProjection for T {
    fn into_projection(self) -> Projection {
        self.into()
    }
}

impl IntoIterator for Projection {
    type Item = Message;
    type IntoIter = smallvec::IntoIter<[Message; 1]>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<Message> for Projection {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        Self(messages.into_iter().collect())
    }
}

impl<T: Into<Message>> From<T> for Projection {
    fn from(message: T) -> Self {
        Self::one(message)
    }
}

impl<T: Into<Message>> From<Option<T>> for Projection {
    fn from(message: Option<T>) -> Self {
        message.into_iter().map(Into::into).collect()
    }
}

impl<T: Into<Message>> From<Vec<T>> for Projection {
    fn from(messages: Vec<T>) -> Self {
        messages.into_iter().map(Into::into).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::UserMessage;

    #[test]
    fn a_time_goes_to_the_messages_that_have_none() {
        let shared = Arc::new(UserMessage::new("shared"));
        let projection: Projection =
            [Message::from(shared.clone()), UserMessage::new("timed").at(7).into()].into_iter().collect();

        let expected = [UserMessage::new("shared").at(5).into(), UserMessage::new("timed").at(7).into()];
        assert_eq!(projection.at(5).messages(), expected);
        assert_eq!(shared.timestamp, 0, "the caller's own message is as it was");
    }
}
