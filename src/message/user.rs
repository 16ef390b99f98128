//! User messages.

use serde::{Deserialize, Deserializer, Serialize};

use super::json::{TextOrBlocks, null_as_default};
use super::{Content, Timestamp};

/// What a person, or the host in a person's name, says to the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "role", rename = "user", rename_all = "camelCase")]
#[non_exhaustive]
pub struct UserMessage {
    /// Text, or text and images.
    #[serde(default)]
    pub content: UserContent,
    /// When it was made.
    #[serde(default, deserialize_with = "null_as_default")]
    pub timestamp: Timestamp,
}

impl UserMessage {
    /// A user message without a timestamp (0); a run stamps a prompt given as text by its clock.
    #[must_use]
    pub fn new(content: impl Into<UserContent>) -> Self {
        Self { content: content.into(), timestamp: 0 }
    }

    /// Sets the timestamp.
    #[must_use]
    pub fn at(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = timestamp;
        self
    }
}

/// User content in either of its two JSON forms: one text, or a list of blocks. The form is kept.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum UserContent {
    /// One text.
    Text(String),
    /// Text and image blocks in order.
    Blocks(Vec<Content>),
}

impl UserContent {
    /// The texts, in order, without the images.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (text, blocks) = match self {
            Self::Text(text) => (Some(text.as_str()), &[][..]),
            Self::Blocks(blocks) => (None, &blocks[..]),
        };
        text.into_iter().chain(blocks.iter().filter_map(Content::as_text))
    }
}

impl Default for UserContent {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<&str> for UserContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for UserContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<Content>> for UserContent {
    fn from(blocks: Vec<Content>) -> Self {
        Self::Blocks(blocks)
    }
}

impl<'de> Deserialize<'de> for UserContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match TextOrBlocks::deserialize(deserializer)? {
            TextOrBlocks::Text(text) => Self::Text(text),
            TextOrBlocks::Blocks(blocks) => Self::Blocks(blocks),
        })
    }
}
