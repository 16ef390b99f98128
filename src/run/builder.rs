//! Building a run.

use std::fmt;
use std::sync::Arc;

use super::handle::Hub;
use super::queue::{QueueMode, Queues};
use super::{Idle, Run};
use crate::agent_loop::{LoopConfig, Spawner, Tools};
use crate::async_fn::{SendAsyncFn1, SendAsyncFn2, SendAsyncFn3};
use crate::clock::{Clock, SystemClock};
use crate::hook::{
    AfterToolCall, AfterToolCallFn, ApiKeyFn, BeforeToolCall, BeforeToolCallFn, ConvertFn, FinishTurn,
    FinishTurnFn, FinishedTurn, Hook, HookContext, Hooks, PrepareNextTurn, PrepareNextTurnFn, PrepareRequest,
    PrepareRequestFn, SharedClosure, TransformContextFn,
};
use crate::message::{CustomMessage, NoCustom, SystemMessage, TextContent, ThinkingLevel, ToolCall};
use crate::model::{ApiKey, Model, ModelError, RequestOptions, StreamFn};
use crate::tool::{AgentTool, ExecutionMode, IntoTool, ToolOutput};
use crate::transcript::{IntoTranscript, Messages, Repair, Transcript, initial_system_message};

/// The messages of a builder that has not been told yet: [`custom_messages`](RunBuilder::custom_messages) may still be
/// called. Otherwise they are [`NoCustom`].
#[derive(Debug, Clone, Copy)]
pub enum Open {}

/// What a [`RunBuilder`] knows of its run's message type.
pub trait BuilderMessages: sealed::Sealed {
    /// The message type of the run.
    type M: CustomMessage;
}

impl BuilderMessages for Open {
    type M = NoCustom;
}

impl<M: CustomMessage> BuilderMessages for M {
    type M = M;
}

/// A builder that may still be told its message type: [`Open`]. It is a bound, so that the compiler's message says what
/// to do.
#[diagnostic::on_unimplemented(
    message = "the builder's message type is decided already: `custom_messages` comes before the first hook and the transcript",
    label = "too late here",
    note = "move `.custom_messages::<AppMessage>()` to the start of the builder"
)]
pub trait Undecided: BuilderMessages + sealed::Undecided {}

impl Undecided for Open {}

mod sealed {
    use super::{CustomMessage, Open};

    pub trait Sealed {}
    impl Sealed for Open {}
    impl<M: CustomMessage> Sealed for M {}

    pub trait Undecided {}
    impl Undecided for Open {}
}

/// Builds a [`Run`]. Start with [`Run::builder`].
///
/// `B` is the run's message type, or [`Open`] until a hook, a transcript or
/// [`custom_messages`](Self::custom_messages) decides it.
#[must_use = "a builder makes nothing until `build` is called"]
pub struct RunBuilder<B: BuilderMessages = Open> {
    parts: Parts,
    hooks: Hooks<B::M>,
    transcript: Transcript<B::M>,
}

/// What does not depend on the message type.
struct Parts {
    stream: Arc<dyn StreamFn>,
    system: SystemMessage,
    model: Arc<Model>,
    thinking_level: ThinkingLevel,
    options: RequestOptions,
    api_key: Option<ApiKey>,
    tools: Vec<AgentTool>,
    tool_execution: ExecutionMode,
    steering: QueueMode,
    follow_ups: QueueMode,
    repair: Repair,
    clock: Arc<dyn Clock>,
    spawner: Option<Arc<dyn Spawner>>,
}

impl RunBuilder {
    pub(super) fn new(stream: impl StreamFn) -> Self {
        let parts = Parts {
            stream: Arc::new(stream),
            system: SystemMessage::default(),
            model: Arc::default(),
            thinking_level: ThinkingLevel::Off,
            options: RequestOptions::default(),
            api_key: None,
            tools: Vec::new(),
            tool_execution: ExecutionMode::Parallel,
            steering: QueueMode::OneAtATime,
            follow_ups: QueueMode::OneAtATime,
            repair: Repair::On,
            clock: Arc::new(SystemClock::new()),
            spawner: None,
        };
        Self { parts, hooks: Hooks::new(), transcript: Transcript::new() }
    }
}

/// What does not decide the message type, except for the first.
impl<B: BuilderMessages> RunBuilder<B> {
    /// Sets the application's own message type. It comes before the first hook and the transcript, since these are for
    /// one message type.
    pub fn custom_messages<M: CustomMessage>(self) -> RunBuilder<M>
    where
        B: Undecided,
    {
        RunBuilder { parts: self.parts, hooks: Hooks::new(), transcript: Transcript::new() }
    }

    /// Sets the prompt of the system message that a new conversation starts with. A [`transcript`](Self::transcript)
    /// that was loaded keeps its own: [how to change that](crate::guide::runs#saved-and-taken-up-again).
    pub fn system_prompt(mut self, prompt: impl Into<TextContent>) -> Self {
        self.parts.system.content = prompt.into();
        self
    }

    /// Sets a named section of the system message that a new conversation starts with. Sections keep their order.
    pub fn system_section(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.parts.system.sections.set(name, Some(text.into()));
        self
    }

    /// Sets the model that is asked.
    pub fn model(mut self, model: impl Into<Arc<Model>>) -> Self {
        self.parts.model = model.into();
        self
    }

    /// Sets how much the model is asked to think.
    pub fn thinking_level(mut self, level: ThinkingLevel) -> Self {
        self.parts.thinking_level = level;
        self
    }

    /// Sets what else each request carries.
    pub fn options(mut self, options: RequestOptions) -> Self {
        self.parts.options = options;
        self
    }

    /// Sets the key that is used where no hook gives one.
    pub fn api_key(mut self, key: impl Into<ApiKey>) -> Self {
        self.parts.api_key = Some(key.into());
        self
    }

    /// Adds a tool: anything that implements [`Tool`](crate::tool::Tool), or one made with
    /// [`tool_fn`](crate::tool::tool_fn). Of several with one name the last counts, in the place of the first.
    pub fn tool(mut self, tool: impl IntoTool) -> Self {
        self.parts.tools.push(tool.into_tool());
        self
    }

    /// Adds several tools.
    pub fn tools(mut self, tools: impl IntoIterator<Item = AgentTool>) -> Self {
        self.parts.tools.extend(tools);
        self
    }

    /// Sets whether calls of a batch run at the same time: they do ([`ExecutionMode::Parallel`]) unless this is called.
    pub fn tool_execution(mut self, mode: ExecutionMode) -> Self {
        self.parts.tool_execution = mode;
        self
    }

    /// Sets how many steers a drain point delivers: one at a time ([`QueueMode::OneAtATime`]) unless this is called.
    pub fn steering_mode(mut self, mode: QueueMode) -> Self {
        self.parts.steering = mode;
        self
    }

    /// Sets how many follow-ups a drain point delivers: one at a time ([`QueueMode::OneAtATime`]) unless this is called.
    pub fn follow_up_mode(mut self, mode: QueueMode) -> Self {
        self.parts.follow_ups = mode;
        self
    }

    /// Sets whether requests are repaired: they are ([`Repair::On`]) unless this is called.
    pub fn repair(mut self, repair: Repair) -> Self {
        self.parts.repair = repair;
        self
    }

    /// Sets the clocks.
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.parts.clock = Arc::new(clock);
        self
    }

    /// Has tools run on the host's own threads. Without it, they run where the run is polled, and nothing is spawned.
    pub fn spawner(mut self, spawner: impl Spawner) -> Self {
        self.parts.spawner = Some(Arc::new(spawner));
        self
    }

    fn decided(self) -> RunBuilder<B::M> {
        RunBuilder { parts: self.parts, hooks: self.hooks, transcript: self.transcript }
    }

    /// Starts from a transcript: one that was saved, or made otherwise. If it starts with a system message, that is
    /// kept, and the builder's prompt is not used.
    pub fn transcript(self, transcript: impl IntoTranscript<B::M>) -> RunBuilder<B::M> {
        let mut builder = self.decided();
        builder.transcript = transcript.into_transcript();
        builder
    }

    /// The idle run.
    pub fn build(self) -> Run<Idle, B::M> {
        let RunBuilder { parts, hooks, mut transcript } = self.decided();
        let tools = Tools::new(parts.tools);
        transcript.begin_with(initial_system_message(parts.system, tools.declarations()));
        let queues = Arc::new(Queues::new(parts.steering, parts.follow_ups));
        let hub = Hub::new(queues.clone(), parts.clock.clone());
        let config = LoopConfig {
            stream: parts.stream,
            model: parts.model,
            thinking_level: parts.thinking_level,
            options: Arc::new(parts.options),
            api_key: parts.api_key,
            tools,
            tool_execution: parts.tool_execution,
            hooks,
            repair: parts.repair,
            messages: queues,
            clock: parts.clock,
            spawner: parts.spawner,
        };
        Run::new(config, Arc::new(hub), transcript)
    }
}

/// Hooks. The first one decides the message type: without `custom_messages` before it, it is [`NoCustom`].
///
/// Each closure form takes an async closure, written `async |..| ..` (with `move` where it captures). It is cloned for
/// each call, so what it captures is `Clone`: shared state goes into an `Arc`. A closure that returns a future,
/// `|..| async move { .. }`, is refused; [`SharedClosure`] lists what the compiler says of it. The guide
/// [hooks](crate::guide::hooks) shows each step.
impl<B: BuilderMessages> RunBuilder<B> {
    /// Adds a hook after those that are there.
    pub fn hook(self, hook: impl Hook<B::M>) -> RunBuilder<B::M> {
        let mut builder = self.decided();
        builder.hooks.push(hook);
        builder
    }

    /// Adds a [`transform_context`](Hook::transform_context) hook. Write `async |context, cx| ..`: a closure that
    /// returns a future is refused, see [`SharedClosure`].
    pub fn transform_context<F>(self, f: F) -> RunBuilder<B::M>
    where
        F: AsyncFnOnce(&mut Transcript<B::M>, HookContext<'_, B::M>)
            + for<'a> SendAsyncFn2<&'a mut Transcript<B::M>, HookContext<'a, B::M>, ()>
            + SharedClosure,
    {
        self.hook(TransformContextFn(f))
    }

    /// Adds a [`convert`](Hook::convert) hook. Write `async |messages, cx| ..`: a closure that
    /// returns a future is refused, see [`SharedClosure`].
    pub fn convert<F>(self, f: F) -> RunBuilder<B::M>
    where
        F: AsyncFnOnce(&mut Messages, HookContext<'_, B::M>)
            + for<'a> SendAsyncFn2<&'a mut Messages, HookContext<'a, B::M>, ()>
            + SharedClosure,
    {
        self.hook(ConvertFn(f))
    }

    /// Adds a [`prepare_request`](Hook::prepare_request) hook. Write `async |cx| ..`: a closure that
    /// returns a future is refused, see [`SharedClosure`].
    pub fn prepare_request<F>(self, f: F) -> RunBuilder<B::M>
    where
        F: AsyncFnOnce(HookContext<'_, B::M>) -> PrepareRequest<B::M>
            + for<'a> SendAsyncFn1<HookContext<'a, B::M>, PrepareRequest<B::M>>
            + SharedClosure,
    {
        self.hook(PrepareRequestFn(f))
    }

    /// Adds a [`prepare_next_turn`](Hook::prepare_next_turn) hook. Write `async |turn, cx| ..`: a closure that
    /// returns a future is refused, see [`SharedClosure`].
    pub fn prepare_next_turn<F>(self, f: F) -> RunBuilder<B::M>
    where
        F: AsyncFnOnce(&FinishedTurn, HookContext<'_, B::M>) -> PrepareNextTurn<B::M>
            + for<'a> SendAsyncFn2<&'a FinishedTurn, HookContext<'a, B::M>, PrepareNextTurn<B::M>>
            + SharedClosure,
    {
        self.hook(PrepareNextTurnFn(f))
    }

    /// Adds a [`before_tool_call`](Hook::before_tool_call) hook. Write `async |call, cx| ..`: a closure that
    /// returns a future is refused, see [`SharedClosure`].
    ///
    /// ```
    /// use turnstate::Run;
    /// use turnstate::hook::BeforeToolCall;
    /// # let model = |_: turnstate::model::Request| futures::stream::empty::<turnstate::model::Delta>();
    ///
    /// let run = Run::builder(model)
    ///     .before_tool_call(async |call, cx| match call.name.as_str() {
    ///         "delete" if cx.added.len() > 20 => BeforeToolCall::block("Nothing is deleted in a run this long."),
    ///         _ => BeforeToolCall::Allow,
    ///     })
    ///     .build();
    /// # drop(run);
    /// ```
    pub fn before_tool_call<F>(self, f: F) -> RunBuilder<B::M>
    where
        F: AsyncFnOnce(&ToolCall, HookContext<'_, B::M>) -> BeforeToolCall
            + for<'a> SendAsyncFn2<&'a ToolCall, HookContext<'a, B::M>, BeforeToolCall>
            + SharedClosure,
    {
        self.hook(BeforeToolCallFn(f))
    }

    /// Adds an [`after_tool_call`](Hook::after_tool_call) hook. Write `async |call, output, cx| ..`: a closure that
    /// returns a future is refused, see [`SharedClosure`].
    pub fn after_tool_call<F>(self, f: F) -> RunBuilder<B::M>
    where
        F: AsyncFnOnce(&ToolCall, &ToolOutput, HookContext<'_, B::M>) -> AfterToolCall
            + for<'a> SendAsyncFn3<&'a ToolCall, &'a ToolOutput, HookContext<'a, B::M>, AfterToolCall>
            + SharedClosure,
    {
        self.hook(AfterToolCallFn(f))
    }

    /// Adds a [`finish_turn`](Hook::finish_turn) hook. Write `async |turn, cx| ..`: a closure that
    /// returns a future is refused, see [`SharedClosure`].
    pub fn finish_turn<F>(self, f: F) -> RunBuilder<B::M>
    where
        F: AsyncFnOnce(&FinishedTurn, HookContext<'_, B::M>) -> FinishTurn
            + for<'a> SendAsyncFn2<&'a FinishedTurn, HookContext<'a, B::M>, FinishTurn>
            + SharedClosure,
    {
        self.hook(FinishTurnFn(f))
    }

    /// Adds an [`api_key`](Hook::api_key) hook. Write `async |provider, cx| ..`: a closure that returns a future
    /// is refused, see [`SharedClosure`].
    pub fn api_key_from<F>(self, f: F) -> RunBuilder<B::M>
    where
        F: AsyncFnOnce(&str, HookContext<'_, B::M>) -> Result<Option<ApiKey>, ModelError>
            + for<'a> SendAsyncFn2<&'a str, HookContext<'a, B::M>, Result<Option<ApiKey>, ModelError>>
            + SharedClosure,
    {
        self.hook(ApiKeyFn(f))
    }
}

impl<B: BuilderMessages> fmt::Debug for RunBuilder<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunBuilder")
            .field("model", &self.parts.model)
            .field("api_key", &self.parts.api_key)
            .field("tools", &self.parts.tools)
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}
