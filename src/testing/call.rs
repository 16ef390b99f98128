//! Calling one tool without a run.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::stream;
use serde_json::{Map, Value};

use crate::abort::AbortSignal;
use crate::agent_loop::{Batch, LoopConfig, Prepared};
use crate::clock::Clock;
use crate::message::{NoCustom, ToolCall};
use crate::model::Request;
use crate::tool::{AgentTool, IntoTool, ToolOutput, ToolResult};
use crate::transcript::Transcript;

/// What a call of a tool came to.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Called {
    /// The whole result, as the run would write and tell it.
    pub result: Arc<ToolResult>,
    /// What the tool told of its progress, in order.
    pub updates: Vec<ToolOutput>,
}

impl Called {
    /// The texts of the result, in order, joined by line breaks.
    #[must_use]
    pub fn text(&self) -> String {
        self.result.message.texts().collect::<Vec<_>>().join("\n")
    }

    /// Whether the result tells of a failure: the tool failed or panicked, or its arguments did not fit.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.result.message.is_error
    }
}

/// Calls one tool as a run would: the arguments are prepared, coerced and checked, the tool is executed, and whatever
/// goes wrong on the way is an error result.
///
/// For a tool that calls others, or that is to be aborted, use a [`ToolCaller`].
///
/// ```
/// use serde_json::json;
/// use turnstate::testing::{block_on, call_tool};
/// use turnstate::tool::{ToolContext, tool_fn};
///
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// struct Greet {
///     name: String,
/// }
///
/// let greet = tool_fn("greet", "Greets.", async |args: Greet, cx: ToolContext<'_>| {
///     cx.update("thinking of something nice");
///     Ok(format!("Hello, {}!", args.name))
/// });
/// let called = block_on(call_tool(greet, json!({ "name": "Ada" })));
/// assert_eq!(called.text(), "Hello, Ada!");
/// assert_eq!(called.updates.len(), 1);
/// ```
pub async fn call_tool(tool: impl IntoTool, arguments: impl Into<Value>) -> Called {
    let tool = tool.into_tool();
    let name = tool.name().to_owned();
    ToolCaller::new().tool(tool).call(&name, arguments).await
}

/// Calls tools without a run: with others that they may call, with an abort signal, with a clock.
#[derive(Debug, Default)]
#[must_use = "it does nothing until a tool is called"]
pub struct ToolCaller {
    tools: Vec<AgentTool>,
    abort: AbortSignal,
    clock: Option<Arc<dyn Clock>>,
}

impl ToolCaller {
    /// No tools yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a tool.
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.tools.push(tool.into_tool());
        self
    }

    /// Sets the signal that the tools see; raise it to see what they do.
    pub fn abort_signal(mut self, signal: &AbortSignal) -> Self {
        self.abort = signal.clone();
        self
    }

    /// Sets the clocks.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Some(Arc::new(clock));
        self
    }

    /// Calls a tool; the id of the call is `call`. An unknown tool is an error result, as in a run, and so are
    /// arguments that are no object.
    ///
    /// # Cancel safety
    /// Dropping the future drops the tool.
    pub async fn call(&self, name: &str, arguments: impl Into<Value>) -> Called {
        let call = Arc::new(tool_call(name, arguments.into()));
        let batch = Arc::new(self.batch());
        let updates = Mutex::new(Vec::new());
        let update = |partial| updates.lock().unwrap_or_else(PoisonError::into_inner).push(partial);
        let result = match batch.prepare(&call).await {
            Prepared::Settled(result) => result,
            Prepared::Ready(ready) => batch.execute(&call, ready, &update, 0).await,
        };
        Called { result, updates: updates.into_inner().unwrap_or_else(PoisonError::into_inner) }
    }

    fn batch(&self) -> Batch<NoCustom> {
        // No model is asked.
        let mut config = LoopConfig::new(|_: Request| stream::empty());
        config.tools = self.tools.iter().cloned().collect();
        if let Some(clock) = &self.clock {
            config.clock = clock.clone();
        }
        Batch {
            config: Arc::new(config),
            context: Transcript::new(),
            added: Transcript::new(),
            answers: Arc::default(),
            abort: self.abort.clone(),
            updates: Default::default(),
        }
    }
}

fn tool_call(name: &str, arguments: Value) -> ToolCall {
    match arguments {
        Value::Object(arguments) => ToolCall::new("call", name, arguments),
        _ => {
            let mut call = ToolCall::new("call", name, Map::new());
            call.arguments_error = Some("they are no JSON object".to_owned());
            call
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Gate, ScriptedTool, ToolScript, block_on};

    #[test]
    fn a_tool_is_called_as_a_run_would_call_it() {
        let outer = ScriptedTool::new("outer")
            .does(ToolScript::new().update("1").calls("inner", json!({})).returns("done"));
        let inner = ScriptedTool::new("inner").fails("no");
        let caller = ToolCaller::new().tool(outer.clone()).tool(inner.clone());
        let called = block_on(caller.call("outer", json!({ "x": 1 })));
        assert_eq!((called.text().as_str(), called.is_error()), ("done\nno", false));
        assert_eq!(called.updates, [ToolOutput::text("1")]);
        assert_eq!(called.result.message.nested_calls.as_ref().map(|nested| nested.calls.len()), Some(1));
        assert_eq!(inner.executions().len(), 1);
        assert_eq!(outer.executions().first().map(|execution| execution.call.arguments.len()), Some(1));
        assert!(block_on(call_tool(outer, json!([1]))).is_error());
        assert!(block_on(caller.call("ghost", json!({}))).is_error());
    }

    #[test]
    fn an_aborted_tool_answers_or_is_dropped_as_its_script_says() {
        let gate = Gate::new("never");
        let answers = ToolScript::new().waits_or_on_abort(&gate, ToolScript::new().returns("half"));
        let deaf = ToolScript::new().waits(&gate);
        for (script, text) in [(answers, "half"), (deaf, "Operation aborted")] {
            let signal = AbortSignal::new();
            let tool = ScriptedTool::new("tool").does(script);
            let caller = ToolCaller::new().tool(tool).abort_signal(&signal);
            let called = block_on(async {
                let (called, ()) = futures::join!(caller.call("tool", json!({})), async { signal.abort() });
                called
            });
            assert_eq!(called.text(), text);
        }
    }
}
