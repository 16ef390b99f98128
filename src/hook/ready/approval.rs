//! Asking somebody before a tool runs.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abort::AbortSignal;
use crate::async_fn::SendAsyncFn1;
use crate::hook::{BeforeToolCall, Hook, HookContext, SharedClosure};
use crate::message::{CustomMessage, ToolCall};
use crate::tool::AgentTool;

/// Asks an async function before each tool call: a person at a terminal, a policy on a server.
///
/// A tool that was answered with [`Decision::AlwaysAllow`] is not asked about again, in this run and in those that come.
/// Clones of one approval share that list, so a host that keeps a clone can look at it and take back from it. Calls of
/// a parallel batch are asked about one after the other, before the first of them runs; those of a sequential one just
/// before each runs, and calls that a tool makes itself as they come. After an abort nothing is asked, and a question that
/// is open is dropped.
///
/// The function is cloned for each question, so what it captures is `Clone`: shared state goes into an `Arc`.
///
/// ```
/// # futures::executor::block_on(async {
/// # use turnstate::{message::{AssistantMessage, StopReason}, model::{Delta, Request}, tool::{NoArgs, tool_fn}};
/// # let model = |request: Request| match request.messages.last().map(|message| message.role()) {
/// #     Some("user") => futures::stream::iter(vec![
/// #         Delta::tool_call_start(0, "c", "delete"), Delta::tool_call(0, "{}"), Delta::done(StopReason::ToolUse),
/// #     ]),
/// #     _ => futures::stream::iter(vec![Delta::whole(AssistantMessage::text("I cannot."))]),
/// # };
/// # let delete = tool_fn("delete", "Deletes everything.", async |_: NoArgs, _| Ok("gone"));
/// use turnstate::Run;
/// use turnstate::hook::{Approval, Decision};
///
/// let approval = Approval::new(async |request| match request.call.name.as_str() {
///     "delete" => Decision::refuse("The user wants to keep the files."),
///     _ => Decision::AlwaysAllow,
/// });
/// let run = Run::builder(model).tool(delete).hook(approval.clone()).build();
/// let run = run.prompt("Delete everything.").finish().await;
/// let result = run.transcript().iter().find_map(|message| message.as_tool_result()).unwrap();
/// assert_eq!(result.texts().collect::<String>(), "The user wants to keep the files.");
/// assert!(approval.always_allowed().is_empty());
/// # });
/// ```
#[derive(Clone)]
pub struct Approval<F> {
    ask: F,
    always: Arc<Mutex<BTreeSet<String>>>,
}

/// What is asked about.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ApprovalRequest<'a> {
    /// The call, with its arguments as the tool would get them.
    pub call: &'a ToolCall,
    /// The tool.
    pub tool: Option<&'a AgentTool>,
    /// The run's abort signal: once it is raised, the question is dropped.
    pub abort: &'a AbortSignal,
}

/// What is answered.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decision {
    /// This call runs.
    Allow,
    /// This call runs, and so does every later one of the same tool.
    AlwaysAllow,
    /// This call does not run; the model reads the reason.
    Refuse {
        /// Why; an empty one is replaced by a stock text.
        reason: String,
    },
}

impl Decision {
    /// The call does not run; the model reads the reason.
    #[must_use]
    pub fn refuse(reason: impl Into<String>) -> Self {
        Self::Refuse { reason: reason.into() }
    }
}

impl<F> Approval<F> {
    /// Asks this function. Write `async |request| ..`, or `async move` where it captures.
    #[must_use]
    pub fn new(ask: F) -> Self
    where
        F: AsyncFnOnce(ApprovalRequest<'_>) -> Decision
            + for<'a> SendAsyncFn1<ApprovalRequest<'a>, Decision>
            + SharedClosure,
    {
        Self { ask, always: Arc::default() }
    }

    /// Does not ask about these tools.
    #[must_use]
    pub fn always_allow<N: Into<String>>(self, tools: impl IntoIterator<Item = N>) -> Self {
        let tools: Vec<String> = tools.into_iter().map(Into::into).collect();
        self.always().extend(tools);
        self
    }

    /// The tools that are not asked about, by name.
    #[must_use]
    pub fn always_allowed(&self) -> Vec<String> {
        self.always().iter().cloned().collect()
    }

    /// Asks about a tool again; `false` if it was asked about anyway.
    pub fn ask_again(&self, tool: &str) -> bool {
        self.always().remove(tool)
    }

    fn always(&self) -> MutexGuard<'_, BTreeSet<String>> {
        // No foreign code runs under the lock, so it cannot be left half-changed.
        self.always.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<M: CustomMessage, F> Hook<M> for Approval<F>
where
    F: for<'a> SendAsyncFn1<ApprovalRequest<'a>, Decision> + SharedClosure,
{
    async fn before_tool_call(&self, call: &ToolCall, cx: HookContext<'_, M>) -> BeforeToolCall {
        if self.always().contains(&call.name) {
            return BeforeToolCall::Allow;
        }
        let tool = cx.tools.iter().find(|tool| tool.name() == call.name);
        match (self.ask.clone())(ApprovalRequest { call, tool, abort: cx.abort }).await {
            Decision::Allow => BeforeToolCall::Allow,
            Decision::AlwaysAllow => {
                self.always().insert(call.name.clone());
                BeforeToolCall::Allow
            }
            Decision::Refuse { reason } => BeforeToolCall::block(reason),
        }
    }
}

impl<F> fmt::Debug for Approval<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approval")
            .field("ask", &std::any::type_name::<F>())
            .field("always_allowed", &self.always_allowed())
            .finish()
    }
}
