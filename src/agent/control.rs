//! What can be done to a shared agent at any time: its queues, and what the next run is given.

use std::sync::Arc;

use super::Agent;
use crate::agent_loop::{LoopConfig, Tools, TurnChange};
use crate::error_text::drop_foreign;
use crate::hook::Hooks;
use crate::message::{AgentMessage, CustomMessage, ThinkingLevel};
use crate::model::{ApiKey, Model, RequestOptions, StreamFn};
use crate::run::{IntoPrompt, QueueKind, QueueMode, Queued, Ticket};
use crate::tool::{AgentTool, ExecutionMode};

/// The run under way and the queues, as with a [`Handle`](crate::Handle).
impl<M: CustomMessage> Agent<M> {
    /// Queues messages that are put in after the current batch, before the next request. While the agent is idle, they
    /// wait for the next run.
    pub fn steer(&self, message: impl IntoPrompt<M>) -> Ticket<M> {
        self.0.handle.steer(message)
    }

    /// Queues messages that are put in only when a run would otherwise end. While the agent is idle, they wait for the
    /// next run; also those queued by a listener of `agent_end`, since nothing is polled after it.
    pub fn follow_up(&self, message: impl IntoPrompt<M>) -> Ticket<M> {
        self.0.handle.follow_up(message)
    }

    /// Aborts the run under way; does nothing while the agent is idle. No listener is called inside this call.
    pub fn abort(&self) {
        self.0.handle.abort();
    }

    /// Changes the model, the thinking level or the tools of the run under way, from its next turn on to its end; see
    /// [`Handle::change_next_turn`](crate::Handle::change_next_turn). `false` while no run is under way.
    #[must_use = "where no run is under way nothing is kept"]
    pub fn change_next_turn(&self, change: TurnChange) -> bool {
        self.0.handle.change_next_turn(change)
    }

    /// The messages that the next drain point would deliver: steers first, as many as the mode says. Takes nothing.
    #[must_use]
    pub fn peek(&self) -> Vec<AgentMessage<M>> {
        self.0.handle.peek()
    }

    /// All messages that wait in a queue, oldest first. Takes nothing.
    #[must_use]
    pub fn queued(&self, kind: QueueKind) -> Vec<AgentMessage<M>> {
        self.0.handle.queued(kind)
    }

    /// Whether any message waits.
    #[must_use]
    pub fn has_queued(&self) -> bool {
        self.0.handle.has_queued()
    }

    /// Takes out everything that waits, in one step: nothing is lost or delivered twice, whatever others do meanwhile.
    #[must_use = "what is taken out is not delivered any more"]
    pub fn take(&self) -> Queued<M> {
        self.0.handle.take()
    }

    /// Empties the steering queue.
    pub fn clear_steering(&self) {
        self.0.handle.clear_steering();
    }

    /// Empties the follow-up queue.
    pub fn clear_follow_ups(&self) {
        self.0.handle.clear_follow_ups();
    }

    /// Empties both queues.
    pub fn clear_queues(&self) {
        self.0.handle.clear_queues();
    }

    /// Sets how many messages a drain point delivers. It counts from the next drain point on.
    pub fn set_queue_mode(&self, kind: QueueKind, mode: QueueMode) {
        self.0.handle.set_queue_mode(kind, mode);
    }

    /// How many messages a drain point delivers.
    #[must_use]
    pub fn queue_mode(&self, kind: QueueKind) -> QueueMode {
        self.0.handle.queue_mode(kind)
    }
}

/// What the next run is given. What is set while a run is under way counts from the next run on. A run under way is
/// changed by its hooks, or by [`change_next_turn`](Agent::change_next_turn).
impl<M: CustomMessage> Agent<M> {
    /// The model that the next run asks.
    #[must_use]
    pub fn model(&self) -> Arc<Model> {
        self.0.slot().config.model.clone()
    }

    /// Sets the model that the next run asks.
    pub fn set_model(&self, model: impl Into<Arc<Model>>) {
        self.set(|config| &mut config.model, model.into());
    }

    /// Sets the model, as a function, that the next run asks.
    pub fn set_model_stream(&self, stream: impl StreamFn) {
        let stream: Arc<dyn StreamFn> = Arc::new(stream);
        self.set(|config| &mut config.stream, stream);
    }

    /// How much the model is asked to think by the next run.
    #[must_use]
    pub fn thinking_level(&self) -> ThinkingLevel {
        self.0.slot().config.thinking_level
    }

    /// Sets how much the model is asked to think by the next run.
    pub fn set_thinking_level(&self, level: ThinkingLevel) {
        self.set(|config| &mut config.thinking_level, level);
    }

    /// The tools of the next run.
    #[must_use]
    pub fn tools(&self) -> Tools {
        self.0.slot().config.tools.clone()
    }

    /// Replaces the tools for the next run, which declares the difference to the model.
    pub fn set_tools(&self, tools: impl IntoIterator<Item = AgentTool>) {
        self.set(|config| &mut config.tools, Tools::new(tools));
    }

    /// Whether calls of a batch run at the same time in the next run.
    #[must_use]
    pub fn tool_execution(&self) -> ExecutionMode {
        self.0.slot().config.tool_execution
    }

    /// Sets whether calls of a batch run at the same time in the next run.
    pub fn set_tool_execution(&self, mode: ExecutionMode) {
        self.set(|config| &mut config.tool_execution, mode);
    }

    /// The hooks of the next run.
    #[must_use]
    pub fn hooks(&self) -> Hooks<M> {
        self.0.slot().config.hooks.clone()
    }

    /// Replaces the hooks for the next run.
    pub fn set_hooks(&self, hooks: Hooks<M>) {
        self.set(|config| &mut config.hooks, hooks);
    }

    /// What else each request of the next run carries.
    #[must_use]
    pub fn options(&self) -> Arc<RequestOptions> {
        self.0.slot().config.options.clone()
    }

    /// Sets what else each request of the next run carries.
    pub fn set_options(&self, options: impl Into<Arc<RequestOptions>>) {
        self.set(|config| &mut config.options, options.into());
    }

    /// Sets the key that is used where no hook gives one.
    pub fn set_api_key(&self, key: impl Into<ApiKey>) {
        self.set(|config| &mut config.api_key, Some(key.into()));
    }

    fn set<T>(&self, field: impl FnOnce(&mut LoopConfig<M>) -> &mut T, value: T) {
        let replaced = std::mem::replace(field(&mut self.0.slot().config), value);
        // A tool's or a hook's own drop runs foreign code: not under the lock.
        drop_foreign(replaced);
    }
}
