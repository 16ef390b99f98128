//! Tools with their argument type erased: what a run holds.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::schema::{Coercion, Schema, SchemaError};
use super::{Tool, ToolArgs, ToolContext, ToolError, ToolOutput};
use crate::async_fn::{SendAsyncFn2, SendAsyncFn3};
use crate::error_text::without_endless_quotes;
use crate::message::{ConstrainedSampling, ToolDeclaration};

/// A tool as a run holds it: declared, checked and executed without its argument type. Cheap to clone.
#[derive(Clone)]
pub struct AgentTool(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    declaration: Arc<ToolDeclaration>,
    /// A schema that cannot be used is kept as the reason: the tool cannot be called.
    schema: Result<Schema, SchemaError>,
    label: Option<String>,
    execution_mode: ExecutionMode,
    on_abort: OnAbort,
    replay_policy: ReplayPolicy,
    output_schema: Option<Arc<Value>>,
    coercion: Coercion,
    body: Arc<dyn Body>,
}

/// Whether other calls may run beside a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ExecutionMode {
    /// Calls of a batch run at the same time.
    #[default]
    Parallel,
    /// Calls of a batch run one after the other, in order. One such call makes its whole batch sequential.
    Sequential,
}

/// What an abort does to a running call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum OnAbort {
    /// The call is polled once more, so that it can answer the signal, and then dropped.
    #[default]
    Drop,
    /// The call is waited for: it must look at the signal, or the run does not end.
    Wait,
}

/// Whether a call whose result was lost may be run again, for hosts that resume stored runs. The loop itself never runs
/// a call twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ReplayPolicy {
    /// Nobody said.
    #[default]
    Unknown,
    /// It may: running twice does no harm.
    Safe,
    /// It must not.
    Never,
}

/// What a tool does, with its types erased.
trait Body: Send + Sync + 'static {
    fn prepare(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        Ok(arguments)
    }

    fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        cx: ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

impl AgentTool {
    /// A typed tool.
    ///
    /// A schema of its arguments that cannot be used is a mistake in the program. It does not panic: the tool is declared
    /// with any object for its arguments, each call of it gets an error result that tells the mistake, and
    /// [`schema_fault`](Self::schema_fault) gives it, for an assertion in a test. [`try_new`](Self::try_new) makes no such
    /// tool.
    #[must_use]
    pub fn new(tool: impl Tool) -> Self {
        let schema = schema_of(&tool);
        Self::typed(tool, schema)
    }

    /// A typed tool, or why its schema cannot be used.
    ///
    /// # Errors
    /// When the JSON Schema of its arguments cannot be compiled.
    pub fn try_new(tool: impl Tool) -> Result<Self, SchemaError> {
        let schema = schema_of(&tool)?;
        Ok(Self::typed(tool, Ok(schema)))
    }

    fn typed<T: Tool>(tool: T, schema: Result<Schema, SchemaError>) -> Self {
        let declared = match &schema {
            Ok(schema) => schema.to_shared_json(),
            Err(_) => Arc::new(json!({ "type": "object" })),
        };
        Self(Arc::new(Inner {
            declaration: Arc::new(ToolDeclaration::new(tool.name(), tool.description(), declared)),
            schema,
            label: tool.label().map(str::to_owned),
            execution_mode: tool.execution_mode(),
            on_abort: tool.on_abort(),
            replay_policy: tool.replay_policy(),
            output_schema: tool.output_schema().map(Arc::new),
            coercion: tool.coercion(),
            body: Arc::new(Typed(tool)),
        }))
    }

    /// A tool with a raw JSON Schema, and its arguments as a JSON object.
    ///
    /// Write `async |arguments, cx| ..`: a closure that returns a future, `|arguments, cx| async move { .. }`, is refused,
    /// in the words that [`tool_fn`](super::tool_fn) lists. It is cloned for each call.
    ///
    /// # Errors
    /// When the schema cannot be used: it is no schema, refers to something remote, or to itself without data.
    pub fn raw<T, F>(
        name: impl Into<String>,
        description: impl Into<String>,
        schema: Value,
        function: F,
    ) -> Result<Self, SchemaError>
    where
        T: Into<ToolOutput> + 'static,
        F: AsyncFnOnce(Map<String, Value>, ToolContext<'_>) -> Result<T, ToolError>
            + for<'a> SendAsyncFn2<Map<String, Value>, ToolContext<'a>, Result<T, ToolError>>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        let schema = Schema::from_json(schema)?;
        Ok(Self(Arc::new(Inner {
            declaration: Arc::new(ToolDeclaration::new(name, description, schema.to_shared_json())),
            schema: Ok(schema),
            label: None,
            execution_mode: ExecutionMode::default(),
            on_abort: OnAbort::default(),
            replay_policy: ReplayPolicy::default(),
            output_schema: None,
            coercion: Coercion::default(),
            body: Arc::new(Raw(function, std::marker::PhantomData)),
        })))
    }

    /// Puts a function around the execution: it may change the arguments, run the tool or not, and change the output.
    ///
    /// This is the place for journals (return a stored output instead of running the tool), for time limits, for logs.
    ///
    /// ```
    /// use turnstate::tool::{NoArgs, tool_fn};
    ///
    /// let loud = tool_fn("clock", "Tells the time.", async |_: NoArgs, _| Ok("12:00")).around(
    ///     async |arguments, cx, next| {
    ///         let output = next.run(arguments, cx).await?;
    ///         Ok(output.with("!"))
    ///     },
    /// );
    /// # let _ = loud;
    /// ```
    #[must_use]
    pub fn around<F>(self, function: F) -> Self
    where
        F: for<'a> AsyncFnOnce(
                Map<String, Value>,
                ToolContext<'a>,
                Next<'a>,
            ) -> Result<ToolOutput, ToolError>
            + for<'a> SendAsyncFn3<Map<String, Value>, ToolContext<'a>, Next<'a>, Result<ToolOutput, ToolError>>
            + Clone
            + Send
            + Sync
            + 'static,
    {
        let inner_body = self.0.body.clone();
        self.with(|inner| inner.body = Arc::new(Around { function, body: inner_body }))
    }

    /// Changes the raw arguments before they are coerced and checked, after the tool's own preparation.
    #[must_use]
    pub fn with_argument_preparation(
        self,
        prepare: impl Fn(Map<String, Value>) -> Result<Map<String, Value>, ToolError> + Send + Sync + 'static,
    ) -> Self {
        let inner_body = self.0.body.clone();
        self.with(|inner| inner.body = Arc::new(Prepared { prepare, body: inner_body }))
    }

    /// Sets the name for people.
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        self.with(|inner| inner.label = Some(label.into()))
    }

    /// Sets whether other calls may run beside a call.
    #[must_use]
    pub fn with_execution_mode(self, mode: ExecutionMode) -> Self {
        self.with(|inner| inner.execution_mode = mode)
    }

    /// Sets what an abort does to a running call.
    #[must_use]
    pub fn with_on_abort(self, on_abort: OnAbort) -> Self {
        self.with(|inner| inner.on_abort = on_abort)
    }

    /// Sets whether a call whose result was lost may be run again.
    #[must_use]
    pub fn with_replay_policy(self, policy: ReplayPolicy) -> Self {
        self.with(|inner| inner.replay_policy = policy)
    }

    /// Sets the JSON Schema of the structured content, for hosts.
    #[must_use]
    pub fn with_output_schema(self, schema: Value) -> Self {
        self.with(|inner| inner.output_schema = Some(Arc::new(schema)))
    }

    /// Sets whether arguments that do not fit may be converted without loss before they are checked.
    #[must_use]
    pub fn with_coercion(self, coercion: Coercion) -> Self {
        self.with(|inner| inner.coercion = coercion)
    }

    /// Sets how strictly a provider is to hold the model to the schema.
    #[must_use]
    pub fn with_constrained_sampling(self, sampling: ConstrainedSampling) -> Self {
        self.with(|inner| Arc::make_mut(&mut inner.declaration).constrained_sampling = Some(sampling))
    }

    fn with(mut self, change: impl FnOnce(&mut Inner)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// The name the model calls it by.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.declaration.name
    }

    /// What the model is told of it.
    #[must_use]
    pub fn declaration(&self) -> &Arc<ToolDeclaration> {
        &self.0.declaration
    }

    /// The name for people; the model's name if there is no other.
    #[must_use]
    pub fn label(&self) -> &str {
        self.0.label.as_deref().unwrap_or(self.name())
    }

    /// Whether other calls may run beside a call.
    #[must_use]
    pub fn execution_mode(&self) -> ExecutionMode {
        self.0.execution_mode
    }

    /// What an abort does to a running call.
    #[must_use]
    pub fn on_abort(&self) -> OnAbort {
        self.0.on_abort
    }

    /// Whether a call whose result was lost may be run again.
    #[must_use]
    pub fn replay_policy(&self) -> ReplayPolicy {
        self.0.replay_policy
    }

    /// Why the schema of the arguments cannot be used, if it cannot: such a tool cannot be called. Only
    /// [`new`](Self::new), and what makes tools through it as [`tool_fn`](super::tool_fn) does, can make one.
    #[must_use]
    pub fn schema_fault(&self) -> Option<&SchemaError> {
        self.0.schema.as_ref().err()
    }

    /// The JSON Schema of the structured content, if the tool has one.
    #[must_use]
    pub fn output_schema(&self) -> Option<&Value> {
        self.0.output_schema.as_deref()
    }

    /// The tool's own change of the raw arguments.
    pub(crate) fn prepare(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        self.0.body.prepare(arguments)
    }

    /// Coerces the arguments and checks them against the schema.
    pub(crate) fn check(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        let name = self.name();
        match &self.0.schema {
            Ok(schema) => Ok(schema.check(name, arguments, self.0.coercion)?),
            Err(fault) => Err(ToolError::from(format!(
                "Tool `{name}` cannot be called, whatever the arguments: {fault}. This is a mistake in the program that \
                 offers it: go on without the tool."
            ))),
        }
    }

    /// Runs the tool on checked arguments.
    pub(crate) fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        cx: ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.0.body.execute(arguments, cx)
    }
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentTool")
            .field("name", &self.name())
            .field("execution_mode", &self.0.execution_mode)
            .field("on_abort", &self.0.on_abort)
            .finish_non_exhaustive()
    }
}

/// Whatever can be given to a run as a tool: an [`AgentTool`], or anything that implements [`Tool`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "not a tool",
    note = "implement `Tool` for `{Self}`, or make one from an async closure with `tool_fn(..)`"
)]
pub trait IntoTool {
    /// The tool as a run holds it.
    fn into_tool(self) -> AgentTool;
}

impl IntoTool for AgentTool {
    fn into_tool(self) -> AgentTool {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<T: Tool> IntoTool for T {
    fn into_tool(self) -> AgentTool {
        AgentTool::new(self)
    }
}

/// The tool inside [`AgentTool::around`].
#[derive(Clone, Copy)]
#[must_use = "without `run` the tool is not executed"]
pub struct Next<'a>(&'a dyn Body);

impl<'a> Next<'a> {
    /// Runs the tool.
    ///
    /// # Errors
    /// Those of the tool.
    pub async fn run(
        self,
        arguments: Map<String, Value>,
        cx: ToolContext<'a>,
    ) -> Result<ToolOutput, ToolError> {
        self.0.execute(arguments, cx).await
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Next")
    }
}

fn schema_of<T: Tool>(_: &T) -> Result<Schema, SchemaError> {
    T::Args::schema()
}

struct Typed<T>(T);

impl<T: Tool> Body for Typed<T> {
    fn prepare(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        self.0.prepare_arguments(arguments)
    }

    fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        cx: ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        match read::<T::Args>(arguments) {
            Ok(args) => Box::pin(self.0.execute(args, cx)),
            Err(error) => {
                let text = format!("The arguments for tool `{}` do not fit: {error}", self.0.name());
                Box::pin(std::future::ready(Err(ToolError::from(text))))
            }
        }
    }
}

/// Reads arguments into their type; the error names the path.
fn read<A: for<'de> Deserialize<'de>>(arguments: Map<String, Value>) -> Result<A, String> {
    serde_path_to_error::deserialize(Value::Object(arguments)).map_err(|error| {
        without_endless_quotes(match error.path().to_string().as_str() {
            "." => error.inner().to_string(),
            path => format!("`{path}`: {}", error.inner()),
        })
    })
}

struct Raw<T, F>(F, std::marker::PhantomData<fn() -> T>);

impl<T, F> Body for Raw<T, F>
where
    T: Into<ToolOutput> + 'static,
    F: for<'a> SendAsyncFn2<Map<String, Value>, ToolContext<'a>, Result<T, ToolError>>
        + Clone
        + Send
        + Sync
        + 'static,
{
    fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        cx: ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        let running = (self.0.clone())(arguments, cx);
        Box::pin(async move { Ok(running.await?.into()) })
    }
}

struct Around<F> {
    function: F,
    body: Arc<dyn Body>,
}

impl<F> Body for Around<F>
where
    F: for<'a> SendAsyncFn3<Map<String, Value>, ToolContext<'a>, Next<'a>, Result<ToolOutput, ToolError>>
        + Clone
        + Send
        + Sync
        + 'static,
{
    fn prepare(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        self.body.prepare(arguments)
    }

    fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        cx: ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin((self.function.clone())(arguments, cx, Next(&*self.body)))
    }
}

struct Prepared<F> {
    prepare: F,
    body: Arc<dyn Body>,
}

impl<F> Body for Prepared<F>
where
    F: Fn(Map<String, Value>) -> Result<Map<String, Value>, ToolError> + Send + Sync + 'static,
{
    fn prepare(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, ToolError> {
        (self.prepare)(self.body.prepare(arguments)?)
    }

    fn execute<'a>(
        &'a self,
        arguments: Map<String, Value>,
        cx: ToolContext<'a>,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.body.execute(arguments, cx)
    }
}
