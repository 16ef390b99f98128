//! The transcript's messages: what each role holds, and how it reads and writes as JSON.
//!
//! [`AgentMessage<M>`] is what a transcript is made of: the four standard roles and the application's own
//! ([`CustomMessage`]). [`Message`] is what a model sees: the same without the custom roles. Both are enums of
//! [`Arc`](std::sync::Arc)s, 16 bytes each, so transcripts, requests and events share messages instead of copying them.

mod agent_message;
mod assistant;
mod content;
mod convert;
mod custom;
mod declaration;
mod field;
mod flat;
mod json;
mod projection;
mod roles;
mod system;
mod texts;
mod tool_result;
mod usage;
mod user;

pub(crate) use agent_message::same;
pub use agent_message::{AgentMessage, Message};
pub use assistant::{
    AssistantContent, AssistantMessage, Deferred, Diagnostic, DiagnosticCode, DiagnosticError, StopReason,
    ThinkingLevel, ToolCall,
};
pub use content::{Content, Image, Text, Thinking};
pub use convert::ConvertError;
pub use custom::{CustomMessage, NoCustom, Unknown};
pub use declaration::{
    Attribution, ClientIdentity, ConstrainedSampling, StrictSchema, ToolDeclaration, UserAgent,
};
pub use field::{ContentField, TimestampField};
pub(crate) use json::unknown_tag;
pub use projection::{IntoProjection, Projection};
pub use roles::{Role, Roles};
pub use system::{RemovedTool, Sections, SystemMessage, TextContent};
pub use tool_result::{NestedCall, NestedCallStatus, NestedCalls, ToolResultMessage};
pub use usage::{Cost, Usage};
pub use user::{UserContent, UserMessage};

/// Milliseconds since the Unix epoch, as every `timestamp` in a transcript.
pub type Timestamp = u64;
