//! Tools: what the model may call.
//!
//! Write a typed tool by implementing [`Tool`], or from an async closure with [`tool_fn`]; one with a raw JSON Schema
//! with [`AgentTool::raw`]. All become an [`AgentTool`], which is what a run holds. The guide
//! [tools](crate::guide::tools) goes from the first tool to the last.

mod agent_tool;
mod context;
mod error;
mod function;
mod output;
pub mod schema;
mod typed;

pub use agent_tool::{AgentTool, ExecutionMode, IntoTool, Next, OnAbort, ReplayPolicy};
pub use context::ToolContext;
pub(crate) use context::{CallTool, ToolHost, UpdateFn};
pub use error::ToolError;
pub use function::tool_fn;
pub use output::{ToolOutput, ToolResult};
pub use typed::{NoArgs, Tool, ToolArgs};
