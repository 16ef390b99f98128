//! What a running tool is given beside its arguments.

use std::fmt;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::ToolOutput;
use crate::abort::AbortSignal;
use crate::message::ToolCall;

/// What a running tool is given beside its arguments: the call, the abort signal, the way to tell of its progress, and
/// to call other tools. It borrows from the call, so updates can come only while the tool runs.
#[derive(Clone, Copy)]
pub struct ToolContext<'a> {
    call: &'a ToolCall,
    host: &'a ToolHost<'a>,
}

/// What stands behind a [`ToolContext`].
pub(crate) struct ToolHost<'a> {
    pub(crate) abort: &'a AbortSignal,
    pub(crate) update: &'a UpdateFn<'a>,
    pub(crate) calls: &'a dyn CallTool,
}

/// Takes the updates of one call.
pub(crate) type UpdateFn<'a> = dyn Fn(ToolOutput) + Send + Sync + 'a;

/// Runs the calls that a tool makes itself. It hides the run's message type: tools have none.
pub(crate) trait CallTool: Send + Sync {
    fn call_tool<'a>(
        &'a self,
        name: &'a str,
        arguments: Map<String, Value>,
        update: &'a UpdateFn<'a>,
    ) -> BoxFuture<'a, ToolOutput>;
}

impl<'a> ToolContext<'a> {
    pub(crate) fn new(call: &'a ToolCall, host: &'a ToolHost<'a>) -> Self {
        Self { call, host }
    }

    /// The call: its id, the tool's name, and the arguments as they were checked and changed by hooks.
    #[must_use]
    pub fn call(&self) -> &'a ToolCall {
        self.call
    }

    /// The run's abort signal. A tool that is waited for on abort must look at it.
    #[must_use]
    pub fn abort(&self) -> &'a AbortSignal {
        self.host.abort
    }

    /// Tells of progress: what the tool has so far. It becomes an event, in order, before the call's end.
    ///
    /// An update is no result: when the tool is dropped, what it only told here is lost.
    pub fn update(&self, partial: impl Into<ToolOutput>) {
        (self.host.update)(partial.into());
    }

    /// Calls another tool of the run, or the same, through the same hooks and checks. There are no events and no
    /// messages of it; the result of the outer call records it.
    ///
    /// Its id is the outer call's id, a slash, and a counter from 1: `call_7/1`.
    /// Calls may stand 32 levels deep. An unknown tool, arguments that do not fit, a block and a failure are outputs with
    /// [`is_error`](ToolOutput::is_error).
    ///
    /// # Cancel safety
    /// Dropping the future drops the inner call; it is recorded as unfinished.
    pub async fn call_tool(&self, name: &str, arguments: Map<String, Value>) -> ToolOutput {
        self.host.calls.call_tool(name, arguments, &|_| {}).await
    }

    /// Calls another tool as [`call_tool`](Self::call_tool) does, and is told of its progress.
    ///
    /// # Cancel safety
    /// As [`call_tool`](Self::call_tool).
    pub async fn call_tool_with_updates(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        on_update: impl Fn(ToolOutput) + Send + Sync,
    ) -> ToolOutput {
        self.host.calls.call_tool(name, arguments, &on_update).await
    }
}

impl fmt::Debug for ToolContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext").field("call", &self.call).finish_non_exhaustive()
    }
}
