//! The texts of a message, whatever its role.

use std::borrow::Cow;

use super::{
    AgentMessage, AssistantMessage, CustomMessage, Message, SystemMessage, ToolResultMessage, UserMessage,
};

impl<M: CustomMessage> AgentMessage<M> {
    /// The texts of the message, in order, to be shown or searched: those of the prompt and of the sections that a
    /// system message sets, of a user message, an answer or a tool result. Images, thinking and tool calls are left
    /// out.
    ///
    /// Of a custom message they are what the model sees of it, which is worked out anew by each call; one that is
    /// kept from the model has none. The texts of all others are borrowed.
    ///
    /// ```
    /// # use turnstate::message::AgentMessage;
    /// let message: AgentMessage = AgentMessage::user("Hello");
    /// assert_eq!(message.texts().collect::<String>(), "Hello");
    /// ```
    pub fn texts(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let (answer, result) =
            (self.as_assistant().map(AsRef::as_ref), self.as_tool_result().map(AsRef::as_ref));
        let standard = texts_of(self.as_system(), self.as_user(), answer, result).map(Cow::Borrowed);
        let custom = self.custom().map(|_| self.project());
        standard.chain(custom.into_iter().flat_map(|seen| {
            let texts = seen.messages().iter().flat_map(Message::texts);
            texts.map(|text| Cow::Owned(text.to_owned())).collect::<Vec<_>>()
        }))
    }
}

impl Message {
    /// The texts of the message, in order: see [`AgentMessage::texts`].
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::System(message) => texts_of(Some(message), None, None, None),
            Self::User(message) => texts_of(None, Some(message), None, None),
            Self::Assistant(message) => texts_of(None, None, Some(message), None),
            Self::ToolResult(message) => texts_of(None, None, None, Some(message)),
        }
    }
}

/// The texts of those that are there, by one type of iterator.
fn texts_of<'a>(
    system: Option<&'a SystemMessage>,
    user: Option<&'a UserMessage>,
    answer: Option<&'a AssistantMessage>,
    result: Option<&'a ToolResultMessage>,
) -> impl Iterator<Item = &'a str> {
    let sections = |system: &'a SystemMessage| system.sections.iter().filter_map(|(_, text)| text);
    let system = system.into_iter().flat_map(move |system| system.content.texts().chain(sections(system)));
    let user = user.into_iter().flat_map(|user| user.content.texts());
    let answer = answer.into_iter().flat_map(|answer| answer.texts());
    system.chain(user).chain(answer).chain(result.into_iter().flat_map(|result| result.texts()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;
    use crate::message::{AssistantContent, Content, NoCustom, Projection, Roles, Timestamp, Unknown};

    fn texts<M: CustomMessage>(message: impl Into<AgentMessage<M>>) -> Vec<String> {
        message.into().texts().map(Cow::into_owned).collect()
    }

    #[test]
    fn the_texts_of_every_role_are_given_in_order() {
        let mut system = SystemMessage::new("prompt").with_section("a", "section");
        system.sections.set("b", None);
        let blocks = || vec![Content::text("one"), Content::image("AA==", "image/png"), Content::text("two")];
        let answer = AssistantMessage {
            content: vec![AssistantContent::text("it is"), AssistantContent::text("noon")],
            ..AssistantMessage::default()
        };
        let rows: [(AgentMessage<NoCustom>, &[&str]); 5] = [
            (system.into(), &["prompt", "section"]),
            (AgentMessage::user("hello"), &["hello"]),
            (UserMessage::new(blocks()).into(), &["one", "two"]),
            (answer.into(), &["it is", "noon"]),
            (ToolResultMessage::new("c", "t", blocks()).into(), &["one", "two"]),
        ];
        for (message, expected) in rows {
            assert_eq!(texts(message.clone()), expected);
            for seen in message.project() {
                assert_eq!(seen.texts().collect::<Vec<_>>(), expected);
            }
        }
    }

    #[test]
    fn of_a_custom_message_the_texts_are_what_the_model_sees() {
        assert_eq!(texts::<Seen>(Seen), ["first", "second"]);
        let hidden: AgentMessage<Unknown> =
            serde_json::from_str(r#"{"role": "note", "text": "hi"}"#).unwrap();
        assert_eq!(texts::<Unknown>(hidden), [""; 0]);
    }

    #[derive(Debug)]
    struct Seen;

    impl CustomMessage for Seen {
        const ROLES: Roles = Unknown::ROLES;

        fn role(&self) -> &str {
            "seen"
        }

        fn project(&self) -> Projection {
            vec![Message::user("first"), Message::user("second")].into()
        }

        fn timestamp(&self) -> Option<Timestamp> {
            None
        }

        fn serialize_fields<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_unit()
        }

        fn deserialize_fields<'de, D: serde::Deserializer<'de>>(_: &str, _: D) -> Result<Self, D::Error> {
            Ok(Self)
        }
    }
}
