//! Tool results.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::null_as_default;
use super::{Content, Timestamp, Usage};

/// The result of one tool call.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "role", rename = "toolResult", rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolResultMessage {
    /// The id of the call it answers.
    pub tool_call_id: String,
    /// The name of the tool that was called.
    #[serde(default, deserialize_with = "null_as_default")]
    pub tool_name: String,
    /// What the model reads; may be empty.
    #[serde(default, deserialize_with = "null_as_default")]
    pub content: Vec<Content>,
    /// What the host keeps beside it; never sent to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What the tool itself used, apart from the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The calls that the tool made itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nested_calls: Option<Box<NestedCalls>>,
    /// Whether it tells of a failure.
    #[serde(default, deserialize_with = "null_as_default")]
    pub is_error: bool,
    /// Whether the loop made the result up, since the call did not run to its end. `false` is not written.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", deserialize_with = "null_as_default")]
    pub made_up: bool,
    /// When the result was there.
    #[serde(default, deserialize_with = "null_as_default")]
    pub timestamp: Timestamp,
    /// Milliseconds spent in the tool alone; absent when it did not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl ToolResultMessage {
    /// A result for the call `tool_call_id` of the tool `tool_name`.
    #[must_use]
    pub fn new(tool_call_id: impl Into<String>, tool_name: impl Into<String>, content: Vec<Content>) -> Self {
        Self { tool_call_id: tool_call_id.into(), tool_name: tool_name.into(), content, ..Self::default() }
    }

    /// The texts of the content, in order, without the images.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(Content::as_text)
    }
}

/// The calls that a tool made itself while it ran.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct NestedCalls {
    /// The calls, in the order they were made.
    #[serde(deserialize_with = "null_as_default")]
    pub calls: Vec<NestedCall>,
    /// Whether the list holds all of them, with everything known of each.
    #[serde(deserialize_with = "null_as_default")]
    pub complete: bool,
}

/// One call that a tool made itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct NestedCall {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments, where they were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// The size of arguments that were not kept, in bytes of JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_bytes: Option<u64>,
    /// How it ended.
    pub status: NestedCallStatus,
    /// Milliseconds spent in the tool alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl NestedCall {
    /// A call that has not ended.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: None,
            arguments_bytes: None,
            status: NestedCallStatus::Unfinished,
            duration_ms: None,
            error: None,
        }
    }
}

/// How a call that a tool made itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum NestedCallStatus {
    /// With a result.
    Ok,
    /// With an error.
    Error,
    /// It had not ended when the tool did.
    Unfinished,
}
