//! What a tool gives back.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{Content, ToolResultMessage, Usage};

/// What a tool gives back, or tells of its progress.
///
/// Made from a text, a list of content blocks or a JSON value by `into()`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ToolOutput {
    /// What the model reads; may be empty.
    pub content: Vec<Content>,
    /// What the host keeps beside it; never sent to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The result as data, for hosts and programs; not sent to the model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub structured_content: Option<Value>,
    /// What the tool itself used, apart from the conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Whether it tells of a failure. Content and details are kept all the same.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
    /// Whether the run is to end after this batch. It ends if every call of the batch says so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub terminate: bool,
}

impl ToolOutput {
    /// Text for the model.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::text(text)], ..Self::default() }
    }

    /// A failure, told in text for the model.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::text(text) }
    }

    /// Sets what the host keeps beside the content.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<Value>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Sets the result as data.
    #[must_use]
    pub fn with_structured_content(mut self, structured_content: impl Into<Value>) -> Self {
        self.structured_content = Some(structured_content.into());
        self
    }

    /// Sets what the tool itself used.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Adds a content block.
    #[must_use]
    pub fn with(mut self, content: impl Into<Content>) -> Self {
        self.content.push(content.into());
        self
    }

    /// Asks the run to end after this batch; it does if every call of the batch asks.
    #[must_use]
    pub fn terminating(mut self) -> Self {
        self.terminate = true;
        self
    }

    /// The texts of the content, in order, without the images.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(Content::as_text)
    }
}

impl From<()> for ToolOutput {
    fn from((): ()) -> Self {
        Self::default()
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl From<Content> for ToolOutput {
    fn from(content: Content) -> Self {
        Self { content: vec![content], ..Self::default() }
    }
}

impl From<Vec<Content>> for ToolOutput {
    fn from(content: Vec<Content>) -> Self {
        Self { content, ..Self::default() }
    }
}

/// The model reads the JSON text; the value itself is the structured content.
impl From<Value> for ToolOutput {
    fn from(value: Value) -> Self {
        Self::text(value.to_string()).with_structured_content(value)
    }
}

/// The whole result of a call: the message for the transcript, and what only events show.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolResult {
    /// The result as it stands in the transcript.
    pub message: Arc<ToolResultMessage>,
    /// The result as data.
    pub structured_content: Option<Value>,
    /// Whether the call asks the run to end after its batch.
    pub terminate: bool,
}
