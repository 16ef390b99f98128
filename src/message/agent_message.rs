//! The two message enums: what a transcript holds, and what a model sees.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::flat::serialize_flat;
use super::json::{FromTagged, read_tagged, unknown_tag};
use super::{
    AssistantMessage, CustomMessage, NoCustom, Projection, Roles, SystemMessage, Timestamp,
    ToolResultMessage, UserMessage,
};

/// One message of a transcript: one of the four standard roles, or one of the application's own.
///
/// 16 bytes, and cheap to clone: the content is shared.
///
/// JSON: one object with `role` and the role's fields. An unknown role is an error that names it and the roles
/// known; a host that must keep such messages uses [`Unknown`](super::Unknown). Reading needs a format that
/// describes itself, as JSON does.
#[derive(Debug)]
pub enum AgentMessage<M = NoCustom> {
    /// The host's instructions, and the declarations of tools.
    System(Arc<SystemMessage>),
    /// A person's, or the host's, message to the model.
    User(Arc<UserMessage>),
    /// An answer of the model.
    Assistant(Arc<AssistantMessage>),
    /// The result of a tool call.
    ToolResult(Arc<ToolResultMessage>),
    /// A message of the application's own.
    Custom(Arc<M>),
}

impl<M> AgentMessage<M> {
    /// A user message of one text, without a timestamp.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(Arc::new(UserMessage::new(text.into())))
    }

    /// A system message of one text, without a timestamp.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self::System(Arc::new(SystemMessage::new(text)))
    }

    /// The system message, if this is one.
    #[must_use]
    pub fn as_system(&self) -> Option<&SystemMessage> {
        if let Self::System(message) = self { Some(message) } else { None }
    }

    /// The user message, if this is one.
    #[must_use]
    pub fn as_user(&self) -> Option<&UserMessage> {
        if let Self::User(message) = self { Some(message) } else { None }
    }

    /// The assistant message, if this is one.
    #[must_use]
    pub fn as_assistant(&self) -> Option<&Arc<AssistantMessage>> {
        if let Self::Assistant(message) = self { Some(message) } else { None }
    }

    /// The tool result, if this is one.
    #[must_use]
    pub fn as_tool_result(&self) -> Option<&Arc<ToolResultMessage>> {
        if let Self::ToolResult(message) = self { Some(message) } else { None }
    }

    /// The application's own message, if this is one.
    #[must_use]
    pub fn custom(&self) -> Option<&M> {
        if let Self::Custom(message) = self { Some(message) } else { None }
    }
}

impl<M: CustomMessage> AgentMessage<M> {
    /// The role: the value of `role` in the message's JSON.
    #[must_use]
    pub fn role(&self) -> &str {
        match self {
            Self::System(_) => "system",
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "toolResult",
            Self::Custom(message) => message.role(),
        }
    }

    /// When the message was made; `None` for a custom message without a time.
    #[must_use]
    pub fn timestamp(&self) -> Option<Timestamp> {
        match self {
            Self::System(message) => Some(message.timestamp),
            Self::User(message) => Some(message.timestamp),
            Self::Assistant(message) => Some(message.timestamp),
            Self::ToolResult(message) => Some(message.timestamp),
            Self::Custom(message) => message.timestamp(),
        }
    }

    /// What the model sees of the message, before repair. A standard message is shared, not copied.
    pub fn project(&self) -> Projection {
        const { M::ROLES.check() };
        match self {
            Self::System(message) => Projection::one(Message::System(message.clone())),
            Self::User(message) => Projection::one(Message::User(message.clone())),
            Self::Assistant(message) => Projection::one(Message::Assistant(message.clone())),
            Self::ToolResult(message) => Projection::one(Message::ToolResult(message.clone())),
            Self::Custom(message) => message.project(),
        }
    }
}

/// By hand, since messages are shared: `M` itself need not be `Clone`.
impl<M> Clone for AgentMessage<M> {
    fn clone(&self) -> Self {
        match self {
            Self::System(message) => Self::System(message.clone()),
            Self::User(message) => Self::User(message.clone()),
            Self::Assistant(message) => Self::Assistant(message.clone()),
            Self::ToolResult(message) => Self::ToolResult(message.clone()),
            Self::Custom(message) => Self::Custom(message.clone()),
        }
    }
}

impl<M: PartialEq> PartialEq for AgentMessage<M> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::System(a), Self::System(b)) => same(a, b),
            (Self::User(a), Self::User(b)) => same(a, b),
            (Self::Assistant(a), Self::Assistant(b)) => same(a, b),
            (Self::ToolResult(a), Self::ToolResult(b)) => same(a, b),
            (Self::Custom(a), Self::Custom(b)) => same(a, b),
            _ => false,
        }
    }
}

/// Whether two values are equal; shared ones need no comparison.
pub(crate) fn same<T: PartialEq>(a: &Arc<T>, b: &Arc<T>) -> bool {
    Arc::ptr_eq(a, b) || a == b
}

impl<M: CustomMessage> Serialize for AgentMessage<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::System(message) => message.serialize(serializer),
            Self::User(message) => message.serialize(serializer),
            Self::Assistant(message) => message.serialize(serializer),
            Self::ToolResult(message) => message.serialize(serializer),
            Self::Custom(message) => serialize_flat(&**message, serializer),
        }
    }
}

impl<'de, M: CustomMessage> FromTagged<'de> for AgentMessage<M> {
    const TAG: &'static str = "role";

    fn from_tagged<D: Deserializer<'de>>(role: &str, fields: D) -> Result<Self, D::Error> {
        const { M::ROLES.check() };
        match role {
            "system" => SystemMessage::deserialize(fields).map(Self::from),
            "user" => UserMessage::deserialize(fields).map(Self::from),
            "assistant" => AssistantMessage::deserialize(fields).map(Self::from),
            "toolResult" => ToolResultMessage::deserialize(fields).map(Self::from),
            custom if M::ROLES.contains(custom) => {
                M::deserialize_fields(custom, fields).map(|message| Self::Custom(Arc::new(message)))
            }
            unknown => {
                let custom = M::ROLES.all();
                let known: Vec<_> =
                    Roles::RESERVED.into_iter().chain(custom.iter().map(|role| role.name)).collect();
                Err(unknown_tag("role", unknown, &known))
            }
        }
    }
}

impl<'de, M: CustomMessage> Deserialize<'de> for AgentMessage<M> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_tagged(deserializer)
    }
}

/// One message as a model sees it: one of the four standard roles.
///
/// 16 bytes, and cheap to clone: the content is shared.
#[derive(Debug, Clone)]
pub enum Message {
    /// The host's instructions, and the declarations of tools.
    System(Arc<SystemMessage>),
    /// A person's, or the host's, message to the model.
    User(Arc<UserMessage>),
    /// An answer of the model.
    Assistant(Arc<AssistantMessage>),
    /// The result of a tool call.
    ToolResult(Arc<ToolResultMessage>),
}

impl Message {
    /// A user message of one text, without a timestamp.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::User(Arc::new(UserMessage::new(text.into())))
    }

    /// A system message of one text, without a timestamp.
    #[must_use]
    pub fn system(text: impl Into<String>) -> Self {
        Self::System(Arc::new(SystemMessage::new(text)))
    }

    /// The role: the value of `role` in the message's JSON.
    #[must_use]
    pub fn role(&self) -> &'static str {
        match self {
            Self::System(_) => "system",
            Self::User(_) => "user",
            Self::Assistant(_) => "assistant",
            Self::ToolResult(_) => "toolResult",
        }
    }

    /// When the message was made; 0 for a message without a time.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        match self {
            Self::System(message) => message.timestamp,
            Self::User(message) => message.timestamp,
            Self::Assistant(message) => message.timestamp,
            Self::ToolResult(message) => message.timestamp,
        }
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::System(a), Self::System(b)) => same(a, b),
            (Self::User(a), Self::User(b)) => same(a, b),
            (Self::Assistant(a), Self::Assistant(b)) => same(a, b),
            (Self::ToolResult(a), Self::ToolResult(b)) => same(a, b),
            _ => false,
        }
    }
}

impl Serialize for Message {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::System(message) => message.serialize(serializer),
            Self::User(message) => message.serialize(serializer),
            Self::Assistant(message) => message.serialize(serializer),
            Self::ToolResult(message) => message.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match AgentMessage::<NoCustom>::deserialize(deserializer)? {
            AgentMessage::System(message) => Self::System(message),
            AgentMessage::User(message) => Self::User(message),
            AgentMessage::Assistant(message) => Self::Assistant(message),
            AgentMessage::ToolResult(message) => Self::ToolResult(message),
            AgentMessage::Custom(never) => match *never {},
        })
    }
}

impl<M> From<Message> for AgentMessage<M> {
    fn from(message: Message) -> Self {
        match message {
            Message::System(message) => Self::System(message),
            Message::User(message) => Self::User(message),
            Message::Assistant(message) => Self::Assistant(message),
            Message::ToolResult(message) => Self::ToolResult(message),
        }
    }
}

impl<M: CustomMessage> From<M> for AgentMessage<M> {
    fn from(message: M) -> Self {
        Self::Custom(Arc::new(message))
    }
}

/// Every standard message, owned or shared, becomes either enum.
macro_rules! from_standard {
    ($($variant:ident($message:ty)),*) => {$(
        impl<M> From<$message> for AgentMessage<M> {
            fn from(message: $message) -> Self {
                Self::$variant(Arc::new(message))
            }
        }

        impl<M> From<Arc<$message>> for AgentMessage<M> {
            fn from(message: Arc<$message>) -> Self {
                Self::$variant(message)
            }
        }

        impl From<$message> for Message {
            fn from(message: $message) -> Self {
                Self::$variant(Arc::new(message))
            }
        }

        impl From<Arc<$message>> for Message {
            fn from(message: Arc<$message>) -> Self {
                Self::$variant(message)
            }
        }
    )*};
}

from_standard!(
    System(SystemMessage),
    User(UserMessage),
    Assistant(AssistantMessage),
    ToolResult(ToolResultMessage)
);
