//! What can be given as a prompt.

use std::sync::Arc;

use crate::message::{
    AgentMessage, AssistantMessage, Content, CustomMessage, Image, SystemMessage, Timestamp,
    ToolResultMessage, UserContent, UserMessage,
};

/// What can be given as a prompt, a steer or a follow-up: a text, a text with images, a message of any role, a list of
/// those.
///
/// Texts become user messages and are stamped with the run's clock; messages are taken as they are.
///
/// A list holds one type. To mix a custom message and a text, write both as messages:
/// `[AgentMessage::from(note), AgentMessage::user("Tidy up.")]`. A message that is made so has the time 0, unless it is
/// given one: `UserMessage::new("Tidy up.").at(now).into()`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prompt for a run with messages of type `{M}`",
    label = "not a prompt",
    note = "give a text, a text with images `(text, vec![image])`, a message, one of the run's custom messages, or a list of these",
    note = "an application's own message type is declared with `.custom_messages::<AppMessage>()` on the builder"
)]
pub trait IntoPrompt<M: CustomMessage> {
    /// The messages, in order.
    fn into_prompt(self, now: Timestamp) -> Vec<AgentMessage<M>>;
}

impl<M: CustomMessage> IntoPrompt<M> for &str {
    fn into_prompt(self, now: Timestamp) -> Vec<AgentMessage<M>> {
        self.to_owned().into_prompt(now)
    }
}

impl<M: CustomMessage> IntoPrompt<M> for &String {
    fn into_prompt(self, now: Timestamp) -> Vec<AgentMessage<M>> {
        self.clone().into_prompt(now)
    }
}

impl<M: CustomMessage> IntoPrompt<M> for String {
    fn into_prompt(self, now: Timestamp) -> Vec<AgentMessage<M>> {
        user(vec![Content::text(self)].into(), now)
    }
}

impl<M: CustomMessage, T: Into<String>> IntoPrompt<M> for (T, Vec<Image>) {
    fn into_prompt(self, now: Timestamp) -> Vec<AgentMessage<M>> {
        let (text, images) = self;
        let mut content = vec![Content::text(text)];
        content.extend(images.into_iter().map(Content::Image));
        user(content.into(), now)
    }
}

impl<M: CustomMessage> IntoPrompt<M> for UserContent {
    fn into_prompt(self, now: Timestamp) -> Vec<AgentMessage<M>> {
        user(self, now)
    }
}

fn user<M>(content: UserContent, now: Timestamp) -> Vec<AgentMessage<M>> {
    vec![UserMessage::new(content).at(now).into()]
}

impl<M: CustomMessage> IntoPrompt<M> for AgentMessage<M> {
    fn into_prompt(self, _: Timestamp) -> Vec<AgentMessage<M>> {
        vec![self]
    }
}

impl<M: CustomMessage> IntoPrompt<M> for M {
    fn into_prompt(self, _: Timestamp) -> Vec<AgentMessage<M>> {
        vec![AgentMessage::Custom(Arc::new(self))]
    }
}

macro_rules! standard_prompt {
    ($($message:ty)*) => {$(
        impl<M: CustomMessage> IntoPrompt<M> for $message {
            fn into_prompt(self, _: Timestamp) -> Vec<AgentMessage<M>> {
                vec![self.into()]
            }
        }
    )*};
}

standard_prompt!(SystemMessage UserMessage AssistantMessage ToolResultMessage);

impl<M: CustomMessage, P: IntoPrompt<M>, const N: usize> IntoPrompt<M> for [P; N] {
    fn into_prompt(self, now: Timestamp) -> Vec<AgentMessage<M>> {
        self.into_iter().flat_map(|prompt| prompt.into_prompt(now)).collect()
    }
}

impl<M: CustomMessage, P: IntoPrompt<M>> IntoPrompt<M> for Vec<P> {
    fn into_prompt(self, now: Timestamp) -> Vec<AgentMessage<M>> {
        self.into_iter().flat_map(|prompt| prompt.into_prompt(now)).collect()
    }
}
