//! The application's own messages, beside the four standard roles.

use turnstate::CustomMessage;

/// The chat's own messages. Each says what the model sees of it; one that did not would not compile.
#[derive(Debug, Clone, PartialEq, CustomMessage)]
pub(crate) enum ChatMessage {
    /// Tells the person what happened. The model never sees it.
    #[message(skip)]
    Notification {
        /// What happened.
        text: String,
    },
    /// What the person wants the model to know without an answer: it reads it with the next request, and none is made for
    /// it.
    #[message(user = "A note from the user, for your information: {text}")]
    Note {
        /// The note.
        text: String,
    },
}

impl ChatMessage {
    /// Tells the person what happened.
    pub(crate) fn notification(text: impl Into<String>) -> Self {
        Self::Notification { text: text.into() }
    }

    /// Something for the model to know.
    pub(crate) fn note(text: impl Into<String>) -> Self {
        Self::Note { text: text.into() }
    }
}
