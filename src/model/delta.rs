//! The pieces of an answer as it streams.

use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::message::{AssistantContent, AssistantMessage, Deferred, Diagnostic, StopReason, ToolCall, Usage};

/// One piece of a model's answer.
///
/// A well-formed answer is `Start`, blocks, and `Done` or `Error`. Each block has a content `index`: its start, any
/// number of pieces, and its end. Blocks may interleave; the finished message is ordered by index, whatever the order
/// of opening. A whole message is an answer of one delta, for replaying a stored one.
///
/// 32 bytes at most, so that a delta costs almost nothing.
///
/// JSON: `{"type": "text_delta", "contentIndex": 0, "delta": "…"}`, the shapes of the proxy's wire protocol.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Delta {
    /// The answer begins. A second one is ignored.
    Start,
    /// A text block begins.
    TextStart {
        /// The block's place in the content.
        #[serde(rename = "contentIndex")]
        index: u32,
    },
    /// Text, to be added to its block.
    #[serde(rename = "text_delta")]
    Text {
        /// The block's place in the content.
        #[serde(rename = "contentIndex")]
        index: u32,
        /// The text; may be empty.
        delta: String,
    },
    /// A text block ends.
    TextEnd {
        /// The block's place in the content.
        #[serde(rename = "contentIndex")]
        index: u32,
        /// The provider's opaque mark of the block.
        #[serde(default, rename = "contentSignature", skip_serializing_if = "Option::is_none")]
        signature: Option<Box<str>>,
    },
    /// A thinking block begins.
    ThinkingStart {
        /// The block's place in the content.
        #[serde(rename = "contentIndex")]
        index: u32,
    },
    /// Thinking, to be added to its block.
    #[serde(rename = "thinking_delta")]
    Thinking {
        /// The block's place in the content.
        #[serde(rename = "contentIndex")]
        index: u32,
        /// The text; may be empty.
        delta: String,
    },
    /// A thinking block ends.
    ThinkingEnd {
        /// The block's place in the content.
        #[serde(rename = "contentIndex")]
        index: u32,
        /// The provider's opaque mark of the block.
        #[serde(default, rename = "contentSignature", skip_serializing_if = "Option::is_none")]
        signature: Option<Box<str>>,
        /// Whether the provider has hidden the thinking; its payload is then the signature.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        redacted: bool,
    },
    /// A tool call begins.
    #[serde(rename = "toolcall_start")]
    ToolCallStart {
        /// The block's place in the content.
        #[serde(rename = "contentIndex")]
        index: u32,
        /// Which tool, under which id.
        #[serde(flatten, with = "super::shared")]
        call: Arc<ToolCallHead>,
    },
    /// A fragment of the JSON text of a tool call's arguments.
    #[serde(rename = "toolcall_delta")]
    ToolCall {
        /// The block's place in the content.
        #[serde(rename = "contentIndex")]
        index: u32,
        /// The fragment; it may split anywhere between two characters.
        delta: String,
    },
    /// A tool call ends.
    #[serde(rename = "toolcall_end")]
    ToolCallEnd {
        /// The block's place in the content.
        #[serde(rename = "contentIndex")]
        index: u32,
        /// The complete call, where the transport has it: it replaces what the fragments gave.
        #[serde(
            default,
            rename = "toolCall",
            skip_serializing_if = "Option::is_none",
            serialize_with = "as_block"
        )]
        call: Option<Box<ToolCall>>,
    },
    /// What is known of the answer beside its content, as soon as it is known. A later one adds to it.
    Metadata(Box<Metadata>),
    /// The answer is complete.
    Done(Box<Done>),
    /// The answer failed or was aborted. What came before is kept.
    Error(Box<Failure>),
    /// The whole answer at once, taken as it is.
    Whole {
        /// The answer.
        #[serde(with = "super::shared")]
        message: Arc<AssistantMessage>,
    },
}

impl Delta {
    /// Text for the text block at `index`.
    #[must_use]
    pub fn text(index: u32, delta: impl Into<String>) -> Self {
        Self::Text { index, delta: delta.into() }
    }

    /// Thinking for the thinking block at `index`.
    #[must_use]
    pub fn thinking(index: u32, delta: impl Into<String>) -> Self {
        Self::Thinking { index, delta: delta.into() }
    }

    /// The beginning of a tool call at `index`.
    #[must_use]
    pub fn tool_call_start(index: u32, id: impl Into<String>, name: impl Into<String>) -> Self {
        Self::ToolCallStart { index, call: Arc::new(ToolCallHead::new(id, name)) }
    }

    /// A fragment of the arguments of the tool call at `index`.
    #[must_use]
    pub fn tool_call(index: u32, delta: impl Into<String>) -> Self {
        Self::ToolCall { index, delta: delta.into() }
    }

    /// The answer is complete.
    #[must_use]
    pub fn done(reason: StopReason) -> Self {
        Self::Done(Box::new(Done::new(reason)))
    }

    /// The answer failed; `message` says why.
    #[must_use]
    pub fn error(message: impl Into<String>) -> Self {
        Self::Error(Box::new(Failure::new(message)))
    }

    /// The whole answer at once.
    #[must_use]
    pub fn whole(message: impl Into<Arc<AssistantMessage>>) -> Self {
        Self::Whole { message: message.into() }
    }

    /// Whether an answer ends with it.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Done(_) | Self::Error(_) | Self::Whole { .. })
    }

    /// The content index it speaks of, if it speaks of a block.
    #[must_use]
    pub fn index(&self) -> Option<u32> {
        match self {
            Self::TextStart { index }
            | Self::Text { index, .. }
            | Self::TextEnd { index, .. }
            | Self::ThinkingStart { index }
            | Self::Thinking { index, .. }
            | Self::ThinkingEnd { index, .. }
            | Self::ToolCallStart { index, .. }
            | Self::ToolCall { index, .. }
            | Self::ToolCallEnd { index, .. } => Some(*index),
            Self::Start | Self::Metadata(_) | Self::Done(_) | Self::Error(_) | Self::Whole { .. } => None,
        }
    }
}

/// A complete call is written as the block it is, with its `type`: other clients of the wire put it into the message.
fn as_block<S: Serializer>(call: &Option<Box<ToolCall>>, serializer: S) -> Result<S::Ok, S::Error> {
    call.as_deref().cloned().map(AssistantContent::from).serialize(serializer)
}

/// Which tool a call is for, under which id.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ToolCallHead {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    #[serde(rename = "toolName")]
    pub name: String,
    /// The provider's opaque mark of the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thought_signature: Option<String>,
    /// The provider's namespace of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
}

impl ToolCallHead {
    /// A call of the tool `name` under `id`.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>) -> Self {
        Self { id: id.into(), name: name.into(), ..Self::default() }
    }
}

/// What is known of an answer beside its content. A field that is not set changes nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Metadata {
    /// Tokens used so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The wire protocol it came by, where it is not the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api: Option<String>,
    /// The provider it came from, where it is not the model's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model that answers, where the provider names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_model: Option<String>,
    /// The provider's id of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// The provider's own word for the thinking level it uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider_thinking_level: Option<String>,
    /// The provider's own word for why the answer ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_stop_reason: Option<String>,
    /// Whether the model itself said that its turn is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_turn: Option<bool>,
    /// Something that went wrong on the way; added to what was told before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub diagnostics: Vec<Diagnostic>,
    /// Where to fetch the answer that the provider makes later.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deferred: Option<Box<Deferred>>,
}

/// The end of a complete answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Done {
    /// Why it ended.
    pub reason: StopReason,
    /// What else is known at the end.
    #[serde(flatten)]
    pub metadata: Metadata,
}

impl Done {
    /// An end for this reason.
    #[must_use]
    pub fn new(reason: StopReason) -> Self {
        Self { reason, metadata: Metadata::default() }
    }

    /// Sets the tokens used.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.metadata.usage = Some(usage);
        self
    }
}

impl From<Done> for Delta {
    fn from(done: Done) -> Self {
        Self::Done(Box::new(done))
    }
}

/// The end of an answer that failed or was aborted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Failure {
    /// [`StopReason::Error`] or [`StopReason::Aborted`]; any other is taken as an error.
    pub reason: StopReason,
    /// What went wrong.
    #[serde(default, rename = "errorMessage")]
    pub message: String,
    /// What else is known at the end.
    #[serde(flatten)]
    pub metadata: Metadata,
}

impl Failure {
    /// A failure; `message` says why.
    #[must_use]
    pub fn new(message: impl Into<String>) -> Self {
        Self { reason: StopReason::Error, message: message.into(), metadata: Metadata::default() }
    }

    /// The provider, or somebody on the way, aborted the answer.
    #[must_use]
    pub fn aborted(message: impl Into<String>) -> Self {
        Self { reason: StopReason::Aborted, ..Self::new(message) }
    }
}

impl From<Failure> for Delta {
    fn from(failure: Failure) -> Self {
        Self::Error(Box::new(failure))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_takes_32_bytes() {
        assert!(size_of::<Delta>() <= 32, "{}", size_of::<Delta>());
        assert!(size_of::<Option<Delta>>() <= 32, "{}", size_of::<Option<Delta>>());
    }
}
