//! Scripted tools.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use serde_json::{Map, Value, json};

use super::Gate;
use super::gate::quiet_panic;
use crate::message::ToolCall;
use crate::tool::{AgentTool, ExecutionMode, IntoTool, OnAbort, ToolContext, ToolError, ToolOutput};

/// A tool that does as it is told, and records its executions. Cheap to clone; all clones are one tool.
///
/// Each call goes by the script of its id, or else by the tool's own. Without any it returns `ok` at once.
///
/// ```
/// use serde_json::json;
/// use turnstate::Run;
/// use turnstate::testing::{Response, ScriptedModel, ScriptedTool, ToolScript, block_on};
///
/// let read = ScriptedTool::new("read").on_call("c2", ToolScript::new().update("half").fails("no such file"));
/// let model = ScriptedModel::new([
///     Response::tool_call("c1", "read", json!({})).and_tool_call("c2", "read", json!({})),
///     Response::text("One of the two is missing."),
/// ]);
/// let run = block_on(Run::builder(model).tool(read.clone()).build().prompt("Read both").finish());
/// assert_eq!(read.executions().len(), 2);
/// assert!(run.transcript()[4].as_tool_result().is_some_and(|result| result.is_error));
/// ```
#[derive(Clone)]
pub struct ScriptedTool {
    name: String,
    description: String,
    schema: Value,
    execution_mode: ExecutionMode,
    on_abort: OnAbort,
    script: ToolScript,
    scripts: HashMap<String, ToolScript>,
    log: Arc<Mutex<Vec<Execution>>>,
}

/// One execution of a scripted tool.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Execution {
    /// The call, with the arguments it was executed with.
    pub call: ToolCall,
    /// Whether the abort signal was raised when it began.
    pub began_aborted: bool,
    /// How it ended.
    pub end: ExecutionEnd,
}

/// How an execution of a scripted tool ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecutionEnd {
    /// It runs, or waits.
    Running,
    /// It came to the end of its script: a result, a failure or a panic.
    Ended,
    /// Its future was dropped before.
    Dropped,
}

impl ScriptedTool {
    /// A tool of this name that takes any object.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            description: format!("The scripted tool `{name}`."),
            name,
            schema: json!({ "type": "object" }),
            execution_mode: ExecutionMode::Parallel,
            on_abort: OnAbort::Drop,
            script: ToolScript::new(),
            scripts: HashMap::new(),
            log: Arc::default(),
        }
    }

    /// Sets what every call does that has no script of its own.
    #[must_use]
    pub fn does(mut self, script: ToolScript) -> Self {
        self.script = script;
        self
    }

    /// Has every call return this, unless it has a script of its own.
    #[must_use]
    pub fn returns(self, output: impl Into<ToolOutput>) -> Self {
        self.does(ToolScript::new().returns(output))
    }

    /// Has every call fail with this text, unless it has a script of its own.
    #[must_use]
    pub fn fails(self, message: impl Into<String>) -> Self {
        self.does(ToolScript::new().fails(message))
    }

    /// Sets what the call of this id does, each time it comes.
    #[must_use]
    pub fn on_call(mut self, id: impl Into<String>, script: ToolScript) -> Self {
        self.scripts.insert(id.into(), script);
        self
    }

    /// Sets the JSON Schema of the arguments. It has to be a usable one: giving the tool to a run panics otherwise.
    #[must_use]
    pub fn with_schema(mut self, schema: impl Into<Value>) -> Self {
        self.schema = schema.into();
        self
    }

    /// Sets whether other calls may run beside a call.
    #[must_use]
    pub fn with_execution_mode(mut self, mode: ExecutionMode) -> Self {
        self.execution_mode = mode;
        self
    }

    /// Sets what an abort does to a running call.
    #[must_use]
    pub fn with_on_abort(mut self, on_abort: OnAbort) -> Self {
        self.on_abort = on_abort;
        self
    }

    /// The executions so far, in the order they began.
    #[must_use]
    pub fn executions(&self) -> Vec<Execution> {
        lock(&self.log).clone()
    }

    fn script_of(&self, call: &ToolCall) -> ToolScript {
        self.scripts.get(&call.id).unwrap_or(&self.script).clone()
    }
}

impl IntoTool for ScriptedTool {
    /// # Panics
    /// When the schema cannot be used.
    fn into_tool(self) -> AgentTool {
        let (name, description, schema) = (self.name.clone(), self.description.clone(), self.schema.clone());
        let (mode, on_abort) = (self.execution_mode, self.on_abort);
        let tool = Arc::new(self);
        let made = AgentTool::raw(name, description, schema, async move |_, cx| tool.execute(cx).await);
        match made {
            Ok(made) => made.with_execution_mode(mode).with_on_abort(on_abort),
            Err(error) => panic!("the schema of a scripted tool cannot be used: {error}"),
        }
    }
}

impl ScriptedTool {
    async fn execute(&self, cx: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        let mut running = RunningExecution::begin(&self.log, cx);
        let result = self.script_of(cx.call()).play(cx).await;
        running.end = ExecutionEnd::Ended;
        result
    }
}

impl fmt::Debug for ScriptedTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedTool")
            .field("name", &self.name)
            .field("executions", &lock(&self.log).len())
            .finish_non_exhaustive()
    }
}

/// Notes how an execution ends, also when its future is dropped.
struct RunningExecution<'a> {
    log: &'a Mutex<Vec<Execution>>,
    at: usize,
    end: ExecutionEnd,
}

impl<'a> RunningExecution<'a> {
    fn begin(log: &'a Mutex<Vec<Execution>>, cx: ToolContext<'_>) -> Self {
        let mut executions = lock(log);
        executions.push(Execution {
            call: cx.call().clone(),
            began_aborted: cx.abort().is_aborted(),
            end: ExecutionEnd::Running,
        });
        Self { log, at: executions.len() - 1, end: ExecutionEnd::Dropped }
    }
}

impl Drop for RunningExecution<'_> {
    fn drop(&mut self) {
        let end = if std::thread::panicking() { ExecutionEnd::Ended } else { self.end };
        if let Some(execution) = lock(self.log).get_mut(self.at) {
            execution.end = end;
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a call of a scripted tool does: steps, and an end. Without an end it returns `ok`.
///
/// ```
/// use turnstate::testing::{Gate, ToolScript};
///
/// let saved = Gate::new("saved");
/// let patient = ToolScript::new()
///     .update("saving")
///     .waits_or_on_abort(&saved, ToolScript::new().returns("half of it is saved"))
///     .returns("saved");
/// # let _ = patient;
/// ```
#[derive(Debug, Clone, Default)]
#[must_use = "a script does nothing until a scripted tool plays it"]
pub struct ToolScript {
    steps: Vec<ToolStep>,
    end: ScriptEnd,
}

#[derive(Debug, Clone)]
enum ToolStep {
    Update(ToolOutput),
    Wait { gate: Gate, on_abort: Option<Box<ToolScript>> },
    Yield,
    Call { tool: String, arguments: Map<String, Value> },
}

#[derive(Debug, Clone, Default)]
#[allow(clippy::large_enum_variant, reason = "one for each scripted call")]
enum ScriptEnd {
    #[default]
    Ok,
    Returns(ToolOutput),
    Fails(String),
    Panics(String),
}

impl ToolScript {
    /// No steps: it returns `ok` at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tells of its progress.
    pub fn update(self, partial: impl Into<ToolOutput>) -> Self {
        self.step(ToolStep::Update(partial.into()))
    }

    /// Waits on a gate, and does not look at the abort signal meanwhile.
    pub fn waits(self, gate: &Gate) -> Self {
        self.step(ToolStep::Wait { gate: gate.clone(), on_abort: None })
    }

    /// Waits on a gate; once the abort signal is raised it goes on with the other script instead.
    pub fn waits_or_on_abort(self, gate: &Gate, on_abort: ToolScript) -> Self {
        self.step(ToolStep::Wait { gate: gate.clone(), on_abort: Some(Box::new(on_abort)) })
    }

    /// Is pending once, and wakes at once.
    pub fn yields(self) -> Self {
        self.step(ToolStep::Yield)
    }

    /// Calls another tool, or the same, and adds the text of its result to what it returns. What is no object counts as
    /// no arguments.
    pub fn calls(self, tool: impl Into<String>, arguments: impl Into<Value>) -> Self {
        let arguments = match arguments.into() {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        self.step(ToolStep::Call { tool: tool.into(), arguments })
    }

    /// Ends with this result.
    pub fn returns(mut self, output: impl Into<ToolOutput>) -> Self {
        self.end = ScriptEnd::Returns(output.into());
        self
    }

    /// Ends with a failure.
    pub fn fails(mut self, message: impl Into<String>) -> Self {
        self.end = ScriptEnd::Fails(message.into());
        self
    }

    /// Ends with a panic.
    pub fn panics(mut self, message: impl Into<String>) -> Self {
        self.end = ScriptEnd::Panics(message.into());
        self
    }

    fn step(mut self, step: ToolStep) -> Self {
        self.steps.push(step);
        self
    }

    async fn play(self, cx: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
        let mut end = self.end;
        let mut steps = VecDeque::from(self.steps);
        let mut nested = Vec::new();
        while let Some(step) = steps.pop_front() {
            match step {
                ToolStep::Update(partial) => cx.update(partial),
                ToolStep::Yield => yield_once().await,
                ToolStep::Wait { gate, on_abort: None } => gate.wait().await,
                ToolStep::Wait { gate, on_abort: Some(other) } => {
                    // The signal first: a tool that is aborted already does not begin to wait.
                    if let Either::Left(_) = select(cx.abort().aborted(), gate.wait()).await {
                        steps = other.steps.into();
                        end = other.end;
                    }
                }
                ToolStep::Call { tool, arguments } => {
                    let output = cx.call_tool(&tool, arguments).boxed().await;
                    nested.extend(output.content);
                }
            }
        }
        let mut output = match end {
            ScriptEnd::Ok => ToolOutput::text("ok"),
            ScriptEnd::Returns(output) => output,
            ScriptEnd::Fails(message) => return Err(message.into()),
            ScriptEnd::Panics(message) => quiet_panic(message),
        };
        output.content.extend(nested);
        Ok(output)
    }
}

/// Is pending once, and wakes at once.
pub(super) async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}
