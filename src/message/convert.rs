//! Taking messages from one run to another whose custom messages are of another type.

use std::any::Any;
use std::convert::Infallible;
use std::sync::Arc;

use serde::Deserialize;

use super::{AgentMessage, CustomMessage, NoCustom};

/// Why a custom message is none of another type.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The other type has no such role. Extend it with the type that has, or with [`Unknown`](super::Unknown), which
    /// keeps every role.
    #[error("no custom message of the other type has the role `{role}`")]
    UnknownRole {
        /// The message's role.
        role: String,
    },
    /// The other type has the role, with other fields.
    #[error("the fields of the custom message `{role}` do not fit the other type")]
    Fields {
        /// The message's role.
        role: String,
        /// What is missing or of another type.
        source: serde_json::Error,
    },
}

impl<M: CustomMessage> AgentMessage<M> {
    /// The same message for a run whose custom messages are `N`: the one of `N` with the same role and fields.
    ///
    /// A standard message is shared, and so is a custom one where both types are the same. Otherwise it goes by its
    /// JSON, so what `N` does not know of it is lost, as when it is saved and loaded.
    ///
    /// # Errors
    /// If `N` has no such role, or the role has other fields there.
    pub fn convert<N: CustomMessage>(&self) -> Result<AgentMessage<N>, ConvertError> {
        self.clone().try_map_custom(|message| {
            let shared: Arc<dyn Any + Send + Sync> = message;
            match shared.downcast::<N>() {
                Ok(same) => Ok(AgentMessage::Custom(same)),
                Err(_) => self.reread(),
            }
        })
    }

    /// This message, written and read again.
    fn reread<N: CustomMessage>(&self) -> Result<AgentMessage<N>, ConvertError> {
        let role = self.role();
        if !N::ROLES.contains(role) {
            return Err(ConvertError::UnknownRole { role: role.to_owned() });
        }
        serde_json::to_value(self)
            .and_then(AgentMessage::deserialize)
            .map_err(|source| ConvertError::Fields { role: role.to_owned(), source })
    }
}

impl AgentMessage<NoCustom> {
    /// The same message for a run with custom messages of any type.
    #[must_use]
    pub fn widen<M>(self) -> AgentMessage<M> {
        self.map_custom(|never| match *never {})
    }
}

impl<M> AgentMessage<M> {
    /// The same message with another one in a custom message's place; a standard message stays as it is.
    #[must_use]
    pub fn map_custom<N>(self, map: impl FnOnce(Arc<M>) -> AgentMessage<N>) -> AgentMessage<N> {
        let Ok(mapped) = self.try_map_custom(|message| Ok::<_, Infallible>(map(message)));
        mapped
    }

    /// The same message with another one in a custom message's place, if there is one.
    ///
    /// # Errors
    /// Those of the function.
    pub fn try_map_custom<N, E>(
        self,
        map: impl FnOnce(Arc<M>) -> Result<AgentMessage<N>, E>,
    ) -> Result<AgentMessage<N>, E> {
        match self {
            Self::Custom(message) => map(message),
            Self::System(message) => Ok(AgentMessage::System(message)),
            Self::User(message) => Ok(AgentMessage::User(message)),
            Self::Assistant(message) => Ok(AgentMessage::Assistant(message)),
            Self::ToolResult(message) => Ok(AgentMessage::ToolResult(message)),
        }
    }
}
