//! Typed tools.

use std::future::Future;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::schema::{Coercion, Schema, SchemaError};
use super::{ExecutionMode, OnAbort, ReplayPolicy, ToolContext, ToolError, ToolOutput};

/// A tool whose arguments are a Rust type. The guide [tools](crate::guide::tools) shows what it can do.
///
/// ```
/// use turnstate::tool::{Tool, ToolContext, ToolError, ToolOutput};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Add {
///     /// The first number.
///     a: f64,
///     /// The second number.
///     b: f64,
/// }
///
/// struct Calculator;
///
/// impl Tool for Calculator {
///     type Args = Add;
///
///     fn name(&self) -> &str {
///         "add"
///     }
///
///     fn description(&self) -> &str {
///         "Adds two numbers."
///     }
///
///     async fn execute(&self, args: Add, _: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
///         Ok((args.a + args.b).to_string().into())
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "implement `Tool` for `{Self}`, or make one from an async closure with `tool_fn(..)`"
)]
pub trait Tool: Send + Sync + 'static {
    /// The arguments. [`NoArgs`] for a tool without; not `()`, which does not read `{}`.
    type Args: ToolArgs;

    /// The name the model calls it by.
    fn name(&self) -> &str;

    /// What it does, for the model.
    fn description(&self) -> &str;

    /// Runs the tool.
    ///
    /// A failure becomes an error result that the model reads; `?` works with every error. A panic becomes one too.
    ///
    /// # Errors
    /// Whatever made the tool fail.
    ///
    /// # Cancel safety
    /// When the run is aborted, the future is polled once more and then dropped, unless [`on_abort`](Self::on_abort)
    /// says that it is waited for. When the run is dropped or cancelled, it is dropped at once.
    fn execute(
        &self,
        args: Self::Args,
        cx: ToolContext<'_>,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;

    /// A name for people.
    fn label(&self) -> Option<&str> {
        None
    }

    /// Whether other calls may run beside it. One sequential call makes its whole batch sequential.
    fn execution_mode(&self) -> ExecutionMode {
        ExecutionMode::Parallel
    }

    /// What an abort does to a running call.
    fn on_abort(&self) -> OnAbort {
        OnAbort::Drop
    }

    /// Whether a call whose result was lost may be run again.
    fn replay_policy(&self) -> ReplayPolicy {
        ReplayPolicy::Unknown
    }

    /// The JSON Schema of the structured content, for hosts; it is not declared to the model.
    fn output_schema(&self) -> Option<Value> {
        None
    }

    /// Whether arguments that do not fit may be converted without loss before they are checked.
    fn coercion(&self) -> Coercion {
        Coercion::default()
    }

    /// Changes the raw arguments before they are coerced and checked: for models that keep an old form of them.
    ///
    /// # Errors
    /// When the arguments are beyond repair: the text becomes the call's error result.
    fn prepare_arguments(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        Ok(arguments)
    }
}

/// The arguments of a typed tool: any type that can be deserialized and has a JSON Schema.
///
/// With the feature `schema` it is implemented for everything that implements `serde::Deserialize` and
/// `schemars::JsonSchema`. Without it, implement it by hand.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a tool",
    label = "cannot be a tool's arguments",
    note = "derive `serde::Deserialize` and `schemars::JsonSchema` for it; a tool without arguments takes `NoArgs`"
)]
pub trait ToolArgs: DeserializeOwned + Send + 'static {
    /// The JSON Schema that the model is shown, and that each call's arguments are checked against.
    ///
    /// # Errors
    /// When the schema cannot be used: [`AgentTool::new`](super::AgentTool::new) says what becomes of such a tool.
    fn schema() -> Result<Schema, SchemaError>;
}

#[cfg(feature = "schema")]
#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + schemars::JsonSchema + Send + 'static> ToolArgs for T {
    fn schema() -> Result<Schema, SchemaError> {
        Schema::of::<T>()
    }
}

#[cfg(not(feature = "schema"))]
impl ToolArgs for NoArgs {
    fn schema() -> Result<Schema, SchemaError> {
        // As the feature `schema` has it: what a model sends all the same is ignored.
        Schema::from_json(serde_json::json!({ "type": "object", "properties": {} }))
    }
}

/// The arguments of a tool that takes none: an empty object. What a model sends all the same is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NoArgs {}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for NoArgs {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NoArgs".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "object", "properties": {} })
    }
}
