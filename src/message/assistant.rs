//! Assistant messages: one answer of a model.

use std::fmt;
use std::sync::Arc;

use serde::ser::Serializer;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::json::{FromTagged, null_as_default, read_tagged, unknown_tag};
use super::{Text, Thinking, Timestamp, Usage};

/// One answer of a model, complete or cut off.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "role", rename = "assistant", rename_all = "camelCase")]
#[non_exhaustive]
pub struct AssistantMessage {
    /// Text, thinking and tool calls, in the order of the answer.
    #[serde(default, deserialize_with = "null_as_default")]
    pub content: Vec<AssistantContent>,
    /// The wire protocol it came by.
    #[serde(default, deserialize_with = "null_as_default")]
    pub api: String,
    /// The provider it came from.
    #[serde(default, deserialize_with = "null_as_default")]
    pub provider: String,
    /// The id of the model that was asked.
    #[serde(default, deserialize_with = "null_as_default")]
    pub model: String,
    /// The model that answered, where the provider names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// The provider's id of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The provider's own word for the thinking level it used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider_thinking_level: Option<String>,
    /// The thinking level the loop asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// What went wrong on the way without failing the answer, as retries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub diagnostics: Option<Vec<Diagnostic>>,
    /// Tokens used.
    #[serde(default, deserialize_with = "null_as_default")]
    pub usage: Usage,
    /// Why the answer ended.
    #[serde(default, deserialize_with = "null_as_default")]
    pub stop_reason: StopReason,
    /// Where to fetch an answer that the provider makes later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Box<Deferred>>,
    /// Why it failed or was aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_message: Option<String>,
    /// The provider's own word for why it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
    /// Whether the model itself said that its turn is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_turn: Option<bool>,
    /// When the request was made.
    #[serde(default, deserialize_with = "null_as_default")]
    pub timestamp: Timestamp,
    /// Milliseconds from the request to the end of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
}

impl AssistantMessage {
    /// An answer with this content that ended by itself.
    #[must_use]
    pub fn new(content: Vec<AssistantContent>) -> Self {
        Self { content, stop_reason: StopReason::Stop, ..Self::default() }
    }

    /// An answer of one text block that ended by itself.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(vec![AssistantContent::text(text)])
    }

    /// Sets why the answer ended.
    #[must_use]
    pub fn with_stop_reason(mut self, stop_reason: StopReason) -> Self {
        self.stop_reason = stop_reason;
        self
    }

    /// Sets the timestamp.
    #[must_use]
    pub fn at(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// The tool calls, in the order of the answer.
    pub fn tool_calls(&self) -> impl Iterator<Item = &Arc<ToolCall>> {
        self.content.iter().filter_map(AssistantContent::as_tool_call)
    }

    /// The text blocks, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(|block| match block {
            AssistantContent::Text(text) => Some(text.text.as_str()),
            _ => None,
        })
    }

    /// Whether the answer can be built upon: it neither failed nor was aborted.
    #[must_use]
    pub fn is_usable(&self) -> bool {
        !matches!(self.stop_reason, StopReason::Error | StopReason::Aborted)
    }
}

/// One block of an answer.
///
/// JSON: `{"type": "text" | "thinking" | "toolCall", …}`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AssistantContent {
    /// Text for the reader.
    Text(Text),
    /// The model's thinking.
    Thinking(Thinking),
    /// A call of a tool. Shared, since events and results speak of it too.
    ToolCall(Arc<ToolCall>),
}

impl AssistantContent {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::new(text))
    }

    /// A thinking block.
    #[must_use]
    pub fn thinking(thinking: impl Into<String>) -> Self {
        Self::Thinking(Thinking::new(thinking))
    }

    /// The tool call, if this is one.
    #[must_use]
    pub fn as_tool_call(&self) -> Option<&Arc<ToolCall>> {
        match self {
            Self::ToolCall(call) => Some(call),
            _ => None,
        }
    }
}

impl From<ToolCall> for AssistantContent {
    fn from(call: ToolCall) -> Self {
        Self::ToolCall(Arc::new(call))
    }
}

impl From<Text> for AssistantContent {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

impl From<Thinking> for AssistantContent {
    fn from(thinking: Thinking) -> Self {
        Self::Thinking(thinking)
    }
}

impl Serialize for AssistantContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "camelCase")]
        enum Tagged<'a> {
            Text(&'a Text),
            Thinking(&'a Thinking),
            ToolCall(&'a ToolCall),
        }
        match self {
            Self::Text(text) => Tagged::Text(text),
            Self::Thinking(thinking) => Tagged::Thinking(thinking),
            Self::ToolCall(call) => Tagged::ToolCall(call),
        }
        .serialize(serializer)
    }
}

impl<'de> FromTagged<'de> for AssistantContent {
    const TAG: &'static str = "type";

    fn from_tagged<D: Deserializer<'de>>(tag: &str, fields: D) -> Result<Self, D::Error> {
        match tag {
            "text" => Text::deserialize(fields).map(Self::Text),
            "thinking" => Thinking::deserialize(fields).map(Self::Thinking),
            "toolCall" => ToolCall::deserialize(fields).map(Self::from),
            other => Err(unknown_tag("answer block type", other, &["text", "thinking", "toolCall"])),
        }
    }
}

impl<'de> Deserialize<'de> for AssistantContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_tagged(deserializer)
    }
}

/// A tool call that the model asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCall {
    /// The model's id of the call; its result names it. Ids may repeat, even inside one answer.
    #[serde(default, deserialize_with = "null_as_default")]
    pub id: String,
    /// The name of the tool.
    #[serde(default, deserialize_with = "null_as_default")]
    pub name: String,
    /// The arguments, as the model gave them; empty when they were unreadable (see `arguments_error`).
    #[serde(default, deserialize_with = "null_as_default")]
    pub arguments: Map<String, Value>,
    /// The provider's opaque mark of this block, sent back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// The provider's namespace of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Why the complete arguments were not a JSON object. Such a call never runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_error: Option<String>,
}

impl ToolCall {
    /// A call of `name` with `arguments`.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self { id: id.into(), name: name.into(), arguments, ..Self::default() }
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub enum StopReason {
    /// It has not ended: it is streaming.
    Pending,
    /// By itself.
    #[default]
    Stop,
    /// At the limit of its length. Tool calls in it are not run.
    Length,
    /// To have its tool calls run.
    ToolUse,
    /// It failed.
    Error,
    /// It was aborted.
    Aborted,
    /// The provider makes the answer later.
    Deferred,
}

impl StopReason {
    /// The word used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Stop => "stop",
            Self::Length => "length",
            Self::ToolUse => "toolUse",
            Self::Error => "error",
            Self::Aborted => "aborted",
            Self::Deferred => "deferred",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much a model is asked to think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ThinkingLevel {
    /// Not asked to.
    #[default]
    Off,
    /// As little as the model can.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
    /// As much as the model can.
    Max,
}

impl ThinkingLevel {
    /// The word used in JSON.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}

impl fmt::Display for ThinkingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Something that went wrong on the way to an answer without failing it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Diagnostic {
    /// Its kind, as `retry`.
    #[serde(rename = "type")]
    pub kind: String,
    /// When it happened.
    #[serde(default, deserialize_with = "null_as_default")]
    pub timestamp: Timestamp,
    /// The error behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<DiagnosticError>,
    /// Whatever else is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Map<String, Value>>,
}

impl Diagnostic {
    /// A diagnostic of this kind.
    #[must_use]
    pub fn new(kind: impl Into<String>, timestamp: Timestamp) -> Self {
        Self { kind: kind.into(), timestamp, error: None, details: None }
    }
}

/// The error behind a [`Diagnostic`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct DiagnosticError {
    /// The error's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The error's text.
    #[serde(default, deserialize_with = "null_as_default")]
    pub message: String,
    /// Where it was raised.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The error's code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<DiagnosticCode>,
}

/// An error's code: a number or a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum DiagnosticCode {
    /// A number, as an HTTP status.
    Number(i64),
    /// A text.
    Text(String),
}

/// Where to fetch an answer that the provider makes later.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Deferred {
    /// The provider.
    #[serde(deserialize_with = "null_as_default")]
    pub provider: String,
    /// The model.
    #[serde(deserialize_with = "null_as_default")]
    pub model_id: String,
    /// The wire protocol.
    #[serde(deserialize_with = "null_as_default")]
    pub api: String,
    /// The provider's id of the answer.
    #[serde(deserialize_with = "null_as_default")]
    pub id: String,
    /// Until when it can be fetched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Milliseconds to wait between two attempts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poll_after_ms: Option<u64>,
    /// Whatever else the provider needs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use super::*;

    #[test]
    fn words_are_shown_as_they_are_written_in_json() {
        let reasons = ["pending", "stop", "length", "toolUse", "error", "aborted", "deferred"];
        for word in reasons {
            assert_eq!(serde_json::from_value::<StopReason>(word.into()).unwrap().to_string(), word);
        }
        for word in ["off", "minimal", "low", "medium", "high", "xhigh", "max"] {
            assert_eq!(serde_json::from_value::<ThinkingLevel>(word.into()).unwrap().to_string(), word);
        }
    }
}
