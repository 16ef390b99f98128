//! Hooks: where a host watches, changes and ends what a run does.
//!
//! One trait, [`Hook`], with a default for each method; write those that are needed, as plain `async fn`. Hooks stack:
//! several run in order of registration. Small ones can be async closures, given to the builder
//! ([`RunBuilder::before_tool_call`](crate::RunBuilder::before_tool_call) and its siblings). The guide
//! [hooks](crate::guide::hooks) goes through all steps.
//!
//! Ready-made ones: [`TurnLimit`], [`ToolCallLimit`], [`TokenBudget`], [`CostBudget`] and [`RepeatedCalls`] end a run
//! with a reason that its outcome shows; [`ToolFilter`] and [`Approval`] decide which calls run. Limits count for each
//! run anew and keep nothing themselves: what they count is in the messages the run has added. So one of them may
//! serve many runs, also at the same time.

mod answers;
mod closure;
mod context;
mod erased;
mod ready;
mod stack;

use std::future::Future;

pub use crate::async_fn::SharedClosure;
pub use answers::{AfterToolCall, BeforeToolCall, FinishTurn, FinishedTurn, PrepareNextTurn, PrepareRequest};
pub(crate) use closure::{
    AfterToolCallFn, ApiKeyFn, BeforeToolCallFn, ConvertFn, FinishTurnFn, PrepareNextTurnFn,
    PrepareRequestFn, TransformContextFn,
};
pub use context::HookContext;
use erased::Unchanged;
pub use ready::{
    Approval, ApprovalRequest, CostBudget, Decision, RepeatedCalls, TokenBudget, ToolCallLimit, ToolFilter,
    TurnLimit,
};
pub use stack::Hooks;

use crate::message::{CustomMessage, ToolCall};
use crate::model::{ApiKey, ModelError};
use crate::tool::ToolOutput;
use crate::transcript::{Messages, Transcript};

/// What a host does around the steps of a run. Every method has a default that changes nothing and costs nothing.
///
/// Write `impl<M: CustomMessage> Hook<M> for MyHook`: a hook for every run. One that looks into the application's own
/// messages is an `impl Hook<AppMessage> for MyHook`. The guide [hooks](crate::guide::hooks) has an example of each
/// step.
///
/// A hook returns values, it does not fail; where something may fail, the answer has a form for it. A panic in
/// `before_tool_call` or `after_tool_call` is an error result of that call; in any other method it ends the run as
/// failed, with a complete event sequence, and the run is usable again.
///
/// ```
/// use turnstate::hook::{BeforeToolCall, Hook, HookContext};
/// use turnstate::message::{CustomMessage, ToolCall};
///
/// struct ReadOnly;
///
/// impl<M: CustomMessage> Hook<M> for ReadOnly {
///     async fn before_tool_call(&self, call: &ToolCall, _: HookContext<'_, M>) -> BeforeToolCall {
///         if call.name.starts_with("write") {
///             BeforeToolCall::block("This agent only reads. Answer without writing.")
///         } else {
///             BeforeToolCall::Allow
///         }
///     }
/// }
/// ```
///
/// # Cancel safety
/// When a run is aborted, a pending hook is polled once more and then dropped: the call a `before_tool_call` was asked
/// about is aborted, a tool's own result stands without its `after_tool_call`, the others change nothing. Only
/// `finish_turn` is awaited, since hosts save there. When the run is dropped or cancelled, the hook is dropped at once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a hook for runs with messages of type `{M}`",
    label = "not a hook for these messages",
    note = "a hook for every run is written `impl<M: CustomMessage> Hook<M> for {Self}`",
    note = "a hook for this run alone is written `impl Hook<{M}> for {Self}`"
)]
pub trait Hook<M: CustomMessage>: Send + Sync + 'static {
    /// Changes what the model is to see in this request only: called before each request, with the loop's context.
    ///
    /// The transcript and the events never show the change. Changes of several hooks chain. A request whose context is
    /// changed is projected anew.
    fn transform_context(
        &self,
        context: &mut Transcript<M>,
        cx: HookContext<'_, M>,
    ) -> impl Future<Output = ()> + Send {
        let _ = (context, cx);
        Unchanged::new()
    }

    /// Changes the messages after the projection, just before the request: for this request only. Changes of several
    /// hooks chain.
    fn convert(&self, messages: &mut Messages, cx: HookContext<'_, M>) -> impl Future<Output = ()> + Send {
        let _ = (messages, cx);
        Unchanged::new()
    }

    /// Called before each request, first of all: may change the model, the thinking level, the context and the tools,
    /// for this request and the rest of the run. Of several hooks each sees the changes of those before it.
    ///
    /// Tools replaced here can be executed at once, but the model is told of them only with the next turn.
    fn prepare_request(&self, cx: HookContext<'_, M>) -> impl Future<Output = PrepareRequest<M>> + Send {
        let _ = cx;
        Unchanged::new()
    }

    /// Called between two turns, before the next one starts: may give messages to put in, and change the model, the
    /// thinking level, the context and the tools for the rest of the run. Not called before the first turn, nor after
    /// the last, nor after an abort. Of several hooks each sees the changes of those before it; their messages add up.
    fn prepare_next_turn(
        &self,
        turn: &FinishedTurn,
        cx: HookContext<'_, M>,
    ) -> impl Future<Output = PrepareNextTurn<M>> + Send {
        let _ = (turn, cx);
        Unchanged::new()
    }

    /// Asked for each tool call that can run, in the order of the calls, one at a time: allow it, change its arguments,
    /// block it, or answer in the tool's place.
    ///
    /// The call shows the arguments after coercion and validation. Of several hooks the first block or answer wins;
    /// changed arguments are what the next hook sees, and are not validated again. Not asked about unknown tools and
    /// invalid arguments.
    fn before_tool_call(
        &self,
        call: &ToolCall,
        cx: HookContext<'_, M>,
    ) -> impl Future<Output = BeforeToolCall> + Send {
        let _ = (call, cx);
        Unchanged::new()
    }

    /// Called for each call that was executed or answered by a hook, also after an abort, before its end event: may
    /// replace parts of the result. Calls of a parallel batch come as they complete. Of several hooks each sees the
    /// result as the one before it left it.
    fn after_tool_call(
        &self,
        call: &ToolCall,
        output: &ToolOutput,
        cx: HookContext<'_, M>,
    ) -> impl Future<Output = AfterToolCall> + Send {
        let _ = (call, output, cx);
        Unchanged::new()
    }

    /// Called at the end of each turn, after the last result and before `turn_end`: may end the run, or ask for one
    /// more turn. It is awaited even after an abort: save here. After a failed or aborted answer its decision is
    /// ignored. Of several hooks all are called; an end beats a continue.
    ///
    /// A hook that always continues never lets the run end: count.
    fn finish_turn(
        &self,
        turn: &FinishedTurn,
        cx: HookContext<'_, M>,
    ) -> impl Future<Output = FinishTurn> + Send {
        let _ = (turn, cx);
        Unchanged::new()
    }

    /// Asked before each request for the key of the model's provider. Of several hooks the first key wins; without one
    /// the configured key is used. A failure is a failed answer with its text.
    fn api_key(
        &self,
        provider: &str,
        cx: HookContext<'_, M>,
    ) -> impl Future<Output = Result<Option<ApiKey>, ModelError>> + Send {
        let _ = (provider, cx);
        Unchanged::new()
    }
}
