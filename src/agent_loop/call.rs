//! One tool call, from its raw arguments to its result: prepare, coerce, validate, before-hook, execute, after-hook.
//!
//! Calls of the model and calls that a tool makes itself go the same way. A batch is one shared environment, owned by
//! its call futures, so that they can run anywhere; a failure of any kind on the way is a result that the model reads.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::closing::{ABORTED_CALL, made_up_result};
use super::config::LoopConfig;
use super::foreign::Foreign;
use super::unless_aborted::unless_aborted;
use super::updates::Updates;
use crate::abort::AbortSignal;
use crate::error_text::{foreign_text, panic_text, without_endless_quotes};
use crate::hook::{BeforeToolCall, HookContext};
use crate::message::{
    AssistantMessage, CustomMessage, NestedCall, NestedCallStatus, NestedCalls, ToolCall, ToolResultMessage,
};
use crate::tool::{AgentTool, CallTool, OnAbort, ToolContext, ToolHost, ToolOutput, ToolResult, UpdateFn};
use crate::transcript::Transcript;

/// What all calls of one answer share.
pub(crate) struct Batch<M> {
    pub(crate) config: Arc<LoopConfig<M>>,
    pub(crate) context: Transcript<M>,
    pub(crate) added: Transcript<M>,
    pub(crate) answers: Arc<Vec<Arc<AssistantMessage>>>,
    pub(crate) abort: AbortSignal,
    pub(crate) updates: Updates,
}

/// A call after its preparation.
pub(crate) enum Prepared {
    /// It can be executed.
    Ready(Ready),
    /// It has its result already.
    Settled(Arc<ToolResult>),
}

/// A call that can be executed.
pub(crate) struct Ready {
    tool: AgentTool,
    /// The call with the arguments it is executed with: the model's own, where nothing of it was changed.
    call: Arc<ToolCall>,
    /// These arguments once more, for the tool to keep.
    arguments: Map<String, Value>,
    /// A hook's answer in the tool's place.
    answer: Option<Box<ToolOutput>>,
}

impl<M: CustomMessage> Batch<M> {
    /// Takes a call as far as it goes without executing it.
    ///
    /// After an abort every call is aborted, even one that could not run anyway.
    pub(crate) async fn prepare(&self, call: &Arc<ToolCall>) -> Prepared {
        if self.abort.is_delivered() {
            return self.refuse(call, ABORTED_CALL.to_owned());
        }
        let tool = match self.config.tools.get(&call.name) {
            Some(tool) => tool,
            None => return self.refuse(call, self.unknown_tool(call)),
        };
        let arguments = match arguments(tool, call) {
            Ok(arguments) => arguments,
            Err(text) => return self.refuse(call, text),
        };
        if self.config.hooks.is_empty() {
            let call = if is_as_made(call, &arguments) {
                call.clone()
            } else {
                Arc::new(with_arguments(call, arguments.clone()))
            };
            return Prepared::Ready(Ready { tool: tool.clone(), call, arguments, answer: None });
        }
        let mut call = with_arguments(call, arguments);
        let answer = match self.ask_before_hooks(&mut call).await {
            BeforeToolCall::Fail(error) => return self.refuse(&call, foreign_text(error)),
            _ if self.abort.is_delivered() => return self.refuse(&call, ABORTED_CALL.to_owned()),
            BeforeToolCall::Block { reason, terminate } => return self.block(&call, reason, terminate),
            BeforeToolCall::Answer(output) => Some(Box::new(output)),
            BeforeToolCall::Allow | BeforeToolCall::AllowWith(_) => None,
        };
        let arguments = call.arguments.clone();
        Prepared::Ready(Ready { tool: tool.clone(), call: Arc::new(call), arguments, answer })
    }

    /// Asks the hooks in order; arguments they change are in the call when the next is asked.
    async fn ask_before_hooks(&self, call: &mut ToolCall) -> BeforeToolCall {
        for hook in self.config.hooks.iter() {
            // A hook's code before its first await runs here, so its panic has to be caught here too.
            let asking = async { Foreign::new(hook.before_tool_call(call, self.cx())).await };
            let asking = AssertUnwindSafe(asking).catch_unwind();
            match unless_aborted(&self.abort, asking).await {
                // Dropped by an abort: the call is refused as aborted.
                None => return BeforeToolCall::Allow,
                Some(Err(panic)) => return BeforeToolCall::fail(panic_text(panic)),
                Some(Ok(BeforeToolCall::Allow)) => {}
                Some(Ok(BeforeToolCall::AllowWith(arguments))) => call.arguments = arguments,
                Some(Ok(decided)) => return decided,
            }
        }
        BeforeToolCall::Allow
    }

    /// Executes a call that was prepared, and gives its result. `raw` is the call as the model made it.
    pub(crate) async fn execute(
        self: &Arc<Self>,
        raw: &ToolCall,
        ready: Ready,
        update: &UpdateFn<'_>,
        depth: u32,
    ) -> Arc<ToolResult> {
        if self.abort.is_delivered() {
            return Arc::new(made_up_result(raw, ABORTED_CALL.to_owned(), self.config.clock.timestamp()));
        }
        let Ready { tool, call, arguments, answer } = ready;
        let nested = Nested::new(self, &call, depth);
        let mut duration = None;
        let mut output = match answer {
            Some(answer) => *answer,
            None => {
                let started = self.config.clock.moment();
                let executed = self.run_tool(&tool, &call, arguments, update, &nested).await;
                duration = Some(self.config.clock.since(started));
                match executed {
                    Some(output) => output,
                    None => return Arc::new(self.aborted(raw, duration, nested.record())),
                }
            }
        };
        if !self.config.hooks.is_empty() {
            // Boxed, so that calls without hooks stay small.
            output = Box::pin(self.ask_after_hooks(&call, output)).await;
        }
        Arc::new(self.result(raw, output, duration, nested.record()))
    }

    /// Runs the tool; `None` when an abort made the loop drop it. A panic is a failure like any other.
    async fn run_tool(
        self: &Arc<Self>,
        tool: &AgentTool,
        call: &ToolCall,
        arguments: Map<String, Value>,
        update: &UpdateFn<'_>,
        nested: &Nested<'_, M>,
    ) -> Option<ToolOutput> {
        let host = ToolHost { abort: &self.abort, update, calls: nested };
        // The tool's code before its first await runs here, so its panic has to be caught here too.
        let running = async { Foreign::new(tool.execute(arguments, ToolContext::new(call, &host))).await };
        let running = AssertUnwindSafe(running).catch_unwind();
        let executed = match tool.on_abort() {
            OnAbort::Wait => running.await,
            OnAbort::Drop => unless_aborted(&self.abort, running).await?,
        };
        Some(match executed {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => ToolOutput::error(foreign_text(error)),
            Err(panic) => ToolOutput::error(format!("The tool panicked: {}", panic_text(panic))),
        })
    }

    /// Lets the hooks change the output in order. One that an abort drops changes nothing.
    async fn ask_after_hooks(&self, call: &ToolCall, mut output: ToolOutput) -> ToolOutput {
        // A hook looks at a call that has told everything: the consumer has had its updates.
        self.updates.told().await;
        for hook in self.config.hooks.iter() {
            let asking = async { Foreign::new(hook.after_tool_call(call, &output, self.cx())).await };
            let asking = AssertUnwindSafe(asking).catch_unwind();
            match unless_aborted(&self.abort, asking).await {
                None => {}
                Some(Ok(change)) => output = change.apply(output),
                Some(Err(panic)) => output = ToolOutput::error(panic_text(panic)),
            }
        }
        output
    }

    fn cx(&self) -> HookContext<'_, M> {
        HookContext {
            transcript: &self.context,
            added: &self.added,
            answers: &self.answers,
            model: &self.config.model,
            thinking_level: self.config.thinking_level,
            tools: self.config.tools.as_slice(),
            abort: &self.abort,
        }
    }

    fn refuse(&self, call: &ToolCall, text: String) -> Prepared {
        Prepared::Settled(Arc::new(made_up_result(call, text, self.config.clock.timestamp())))
    }

    fn block(&self, call: &ToolCall, reason: String, terminate: bool) -> Prepared {
        let text =
            if reason.is_empty() { format!("The call of tool `{}` was blocked.", call.name) } else { reason };
        let mut result = made_up_result(call, text, self.config.clock.timestamp());
        result.terminate = terminate;
        Prepared::Settled(Arc::new(result))
    }

    fn unknown_tool(&self, call: &ToolCall) -> String {
        let name = without_endless_quotes(call.name.clone());
        let known: Vec<_> =
            self.config.tools.as_slice().iter().map(|tool| format!("`{}`", tool.name())).collect();
        match known.is_empty() {
            true => format!("There is no tool `{name}`: no tools can be called now."),
            false => format!("There is no tool `{name}`. The tools are: {}.", known.join(", ")),
        }
    }

    fn aborted(&self, raw: &ToolCall, duration: Option<Duration>, nested: Option<NestedCalls>) -> ToolResult {
        let mut result = self.result(raw, ToolOutput::error(ABORTED_CALL), duration, nested);
        Arc::make_mut(&mut result.message).made_up = true;
        result
    }

    fn result(
        &self,
        raw: &ToolCall,
        output: ToolOutput,
        duration: Option<Duration>,
        nested: Option<NestedCalls>,
    ) -> ToolResult {
        let ToolOutput { content, details, structured_content, usage, is_error, terminate } = output;
        let message = Arc::new(ToolResultMessage {
            tool_call_id: raw.id.clone(),
            tool_name: raw.name.clone(),
            content,
            details,
            usage,
            nested_calls: nested.map(Box::new),
            is_error,
            made_up: false,
            timestamp: self.config.clock.timestamp(),
            duration_ms: duration.map(milliseconds),
        });
        ToolResult { message, structured_content, terminate }
    }
}

pub(crate) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The arguments a call is executed with: prepared by the tool, coerced, validated. The error is for the model.
fn arguments(tool: &AgentTool, call: &ToolCall) -> Result<Map<String, Value>, String> {
    if let Some(error) = &call.arguments_error {
        return Err(format!("The arguments for tool `{}` could not be read: {error}", call.name));
    }
    let prepared = std::panic::catch_unwind(AssertUnwindSafe(|| tool.prepare(call.arguments.clone())))
        .map_err(panic_text)?
        .map_err(foreign_text)?;
    tool.check(prepared).map_err(|invalid| invalid.to_string())
}

/// Whether tools and hooks may see the call as the model made it.
fn is_as_made(call: &ToolCall, arguments: &Map<String, Value>) -> bool {
    call.thought_signature.is_none() && call.arguments == *arguments
}

fn with_arguments(call: &ToolCall, arguments: Map<String, Value>) -> ToolCall {
    ToolCall {
        id: call.id.clone(),
        name: call.name.clone(),
        arguments,
        thought_signature: None,
        namespace: call.namespace.clone(),
        arguments_error: None,
    }
}

/// The calls that one running call makes itself.
struct Nested<'a, M> {
    batch: &'a Arc<Batch<M>>,
    parent: &'a str,
    /// How many calls stand above these.
    depth: u32,
    counter: AtomicU32,
    calls: Mutex<Vec<NestedCall>>,
}

/// How many calls deep tools may call tools. Each level is polled inside the one above, so the stack bounds it.
const NESTED_DEPTH: u32 = 32;

/// Arguments up to this many bytes of JSON are kept in the record of nested calls.
const RECORDED_ARGUMENTS: usize = 4096;

impl<'a, M: CustomMessage> Nested<'a, M> {
    fn new(batch: &'a Arc<Batch<M>>, parent: &'a ToolCall, depth: u32) -> Self {
        Self {
            batch,
            parent: &parent.id,
            depth: depth + 1,
            counter: AtomicU32::new(0),
            calls: Mutex::default(),
        }
    }

    /// Prepares a call, unless it stands too deep.
    async fn prepare(&self, call: &Arc<ToolCall>) -> Prepared {
        if self.depth > NESTED_DEPTH {
            let text = format!("The call was not run: tools call tools at most {NESTED_DEPTH} levels deep.");
            return self.batch.refuse(call, text);
        }
        self.batch.prepare(call).await
    }

    /// What is known of the calls once the outer one is over.
    fn record(self) -> Option<NestedCalls> {
        let calls = self.calls.into_inner().unwrap_or_else(PoisonError::into_inner);
        if calls.is_empty() {
            return None;
        }
        let complete =
            calls.iter().all(|call| call.arguments.is_some() && call.status != NestedCallStatus::Unfinished);
        Some(NestedCalls { calls, complete })
    }

    /// Notes that a call begins, and where its record is.
    fn begin(&self, call: &ToolCall) -> usize {
        let mut record = NestedCall::new(&call.id, &call.name);
        let size = serde_json::to_string(&call.arguments).map_or(0, |json| json.len());
        if size <= RECORDED_ARGUMENTS {
            record.arguments = Some(Value::Object(call.arguments.clone()));
        } else {
            record.arguments_bytes = u64::try_from(size).ok();
        }
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(record);
        calls.len() - 1
    }

    fn end(&self, at: usize, result: &ToolResult) {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(record) = calls.get_mut(at) {
            record.duration_ms = result.message.duration_ms;
            record.status =
                if result.message.is_error { NestedCallStatus::Error } else { NestedCallStatus::Ok };
            record.error =
                result.message.is_error.then(|| result.message.texts().collect::<Vec<_>>().join("\n"));
        }
    }
}

impl<M: CustomMessage> CallTool for Nested<'_, M> {
    fn call_tool<'a>(
        &'a self,
        name: &'a str,
        arguments: Map<String, Value>,
        update: &'a UpdateFn<'a>,
    ) -> BoxFuture<'a, ToolOutput> {
        let number = self.counter.fetch_add(1, Ordering::Relaxed) + 1;
        let call = Arc::new(ToolCall::new(format!("{}/{number}", self.parent), name, arguments));
        Box::pin(async move {
            let at = self.begin(&call);
            let result = match self.prepare(&call).await {
                Prepared::Settled(result) => result,
                Prepared::Ready(ready) => self.batch.execute(&call, ready, update, self.depth).await,
            };
            self.end(at, &result);
            into_output(result)
        })
    }
}

fn into_output(result: Arc<ToolResult>) -> ToolOutput {
    let ToolResult { message, structured_content, terminate } = Arc::unwrap_or_clone(result);
    let message = Arc::unwrap_or_clone(message);
    let mut output = ToolOutput::from(message.content);
    output.details = message.details;
    output.structured_content = structured_content;
    output.usage = message.usage;
    output.is_error = message.is_error;
    output.terminate = terminate;
    output
}
