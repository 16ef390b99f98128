//! A run and its two states: idle, when it takes a prompt, and streaming, when it tells its events.

mod builder;
mod handle;
mod prompt;
mod queue;

use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;

pub use builder::{BuilderMessages, Open, RunBuilder, Undecided};
pub use handle::Handle;
pub use prompt::IntoPrompt;
pub use queue::{QueueKind, QueueMode, Queued, Ticket};

use self::handle::Hub;
use crate::abort::AbortSignal;
use crate::agent_loop::{AgentLoop, Entry, LoopConfig, Memory, NothingToResume, Tools};
use crate::event::{AgentEvent, Outcome};
use crate::hook::Hooks;
use crate::message::{CustomMessage, NoCustom, ThinkingLevel};
use crate::model::{ApiKey, Model, NoDefaultStreamFn, RequestOptions, StreamFn, default_stream_fn};
use crate::state::State;
use crate::tool::{AgentTool, ExecutionMode};
use crate::transcript::{Tail, Transcript};

/// An agent's conversation, in one of two states.
///
/// [`Run<Idle, M>`] takes a prompt, and becomes a [`Run<Streaming, M>`] by it: a stream of events. When it is over,
/// [`finish`](Run::finish) makes the idle run of it again. A second prompt while one is answered does not compile:
///
/// ```compile_fail
/// # use turnstate::{Run, model::Delta};
/// # let run = Run::builder(|_: turnstate::model::Request| futures::stream::empty::<Delta>()).build();
/// let first = run.prompt("Hello");
/// let second = run.prompt("Hello?"); // `run` was moved: use `first.steer(..)` to put a message in
/// ```
///
/// `M` is the application's own message type; runs without one use [`NoCustom`], and nobody has to write it.
///
/// The guide [runs](crate::guide::runs) shows how a struct or a user interface holds one;
/// [events](crate::guide::events) what it tells.
#[must_use = "a run does nothing by itself: give it a prompt, and read its events"]
pub struct Run<S: RunState, M: CustomMessage = NoCustom> {
    /// Shared with the run under way.
    config: Arc<LoopConfig<M>>,
    hub: Arc<Hub<M>>,
    data: S::Data<M>,
}

/// The state of a run that takes a prompt.
#[derive(Debug)]
#[non_exhaustive]
pub enum Idle {}

/// The state of a run that tells its events.
#[derive(Debug)]
#[non_exhaustive]
pub enum Streaming {}

/// A state of a [`Run`]: [`Idle`] or [`Streaming`].
pub trait RunState: sealed::Sealed {
    /// What a run holds in this state.
    #[doc(hidden)]
    type Data<M: CustomMessage>;
}

impl RunState for Idle {
    type Data<M: CustomMessage> = IdleData<M>;
}

impl RunState for Streaming {
    type Data<M: CustomMessage> = StreamingData<M>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Idle {}
    impl Sealed for super::Streaming {}
}

/// What an idle run holds.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "nobody sees it: it is shown as part of the run")]
pub struct IdleData<M: CustomMessage> {
    state: State<M>,
    /// The loop's own memory of the transcript; `None` once the transcript was changed by the host.
    memory: Option<Memory<M>>,
}

/// What a streaming run holds.
#[doc(hidden)]
#[allow(missing_debug_implementations, reason = "nobody sees it: it is shown as part of the run")]
pub struct StreamingData<M: CustomMessage> {
    driver: AgentLoop<M>,
    /// Only its drop counts: however the run ends, an abort after that is for nobody.
    _under_way: UnderWay<M>,
}

struct UnderWay<M>(Arc<Hub<M>>);

impl<M> Drop for UnderWay<M> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// A state that takes a prompt. It is a bound, so that the compiler's message says what to do.
#[diagnostic::on_unimplemented(
    message = "this run is still streaming, it takes no new prompt",
    label = "still streaming",
    note = "to put a message in while it works, use `run.steer(..)` or `run.follow_up(..)`",
    note = "to give a new prompt, finish it first: `let run = run.finish().await;`"
)]
pub trait TakesPrompt: RunState {
    #[doc(hidden)]
    fn into_idle<M: CustomMessage>(run: Run<Self, M>) -> Run<Idle, M>
    where
        Self: Sized;

    #[doc(hidden)]
    fn forget<M: CustomMessage>(data: &mut Self::Data<M>);
}

impl TakesPrompt for Idle {
    fn into_idle<M: CustomMessage>(run: Run<Self, M>) -> Run<Idle, M> {
        run
    }

    fn forget<M: CustomMessage>(data: &mut IdleData<M>) {
        *data = IdleData { state: State::idle(data.state.transcript().baseline()), memory: None };
    }
}

/// Both states.
impl<S: RunState, M: CustomMessage> Run<S, M> {
    /// A handle for other tasks: it steers, aborts, and looks into the queues. It stays valid through all states.
    #[must_use]
    pub fn handle(&self) -> Handle<M> {
        Handle(self.hub.clone())
    }

    /// Queues messages that are put in after the current batch, before the next request; see [`Handle::steer`]. While
    /// the run is idle, they wait for the next prompt or resume.
    pub fn steer(&self, message: impl IntoPrompt<M>) -> Ticket<M> {
        self.handle().steer(message)
    }

    /// Queues messages that are put in only when the run would otherwise end; see [`Handle::follow_up`]. While the run
    /// is idle, they wait for the next prompt or resume.
    pub fn follow_up(&self, message: impl IntoPrompt<M>) -> Ticket<M> {
        self.handle().follow_up(message)
    }

    /// Starts a run with a prompt: a text, a message, several of them.
    ///
    /// Nothing happens until the run is polled for its events.
    pub fn prompt(self, prompt: impl IntoPrompt<M>) -> Run<Streaming, M>
    where
        S: TakesPrompt,
    {
        let messages = prompt.into_prompt(self.config.clock.timestamp());
        S::into_idle(self).enter(Entry::Prompt(messages))
    }

    /// Goes on where the transcript ends: after a user message, a tool result or a custom message; it retries after a
    /// failed or aborted answer. After a usable answer the queued messages are the prompt: a batch of steers, or else
    /// of follow-ups. Calls that have no result are answered for the model by [repair](crate::transcript::Repair).
    ///
    /// It also runs from a custom message at the transcript's end, whether or not the model sees it. A host that writes
    /// notes of its own behind an answer, and wants no request for them, looks at the last outcome, or at
    /// [`has_queued`](Handle::has_queued), first.
    ///
    /// # Errors
    /// When there is nothing to go on from. The error gives the run back; nothing has changed.
    #[allow(clippy::result_large_err, reason = "the error is the run itself, given back")]
    pub fn resume(self) -> Result<Run<Streaming, M>, ResumeError<M>>
    where
        S: TakesPrompt,
    {
        S::into_idle(self).resume_idle()
    }

    /// Forgets the conversation: what stays is the system message of the moment, with prompt and tools. The queues are
    /// emptied.
    pub fn reset(&mut self)
    where
        S: TakesPrompt,
    {
        S::forget(&mut self.data);
        drop(self.hub.queues.take());
    }
}

impl Run<Idle, NoCustom> {
    /// Builds a run on a model. See [`stream_fn`](crate::model::stream_fn) for how to write one.
    pub fn builder(model_stream: impl StreamFn) -> RunBuilder {
        RunBuilder::new(model_stream)
    }

    /// Builds a run on the model that the host has installed for the whole process
    /// ([`set_default_stream_fn`](crate::model::set_default_stream_fn)).
    ///
    /// # Errors
    /// When none is installed.
    pub fn builder_with_default_model() -> Result<RunBuilder, NoDefaultStreamFn> {
        Ok(RunBuilder::new(default_stream_fn()?))
    }
}

/// An idle run: everything about it can be looked at and changed.
impl<M: CustomMessage> Run<Idle, M> {
    fn new(config: LoopConfig<M>, hub: Arc<Hub<M>>, transcript: Transcript<M>) -> Self {
        let data = IdleData { state: State::idle(transcript), memory: None };
        Self { config: Arc::new(config), hub, data }
    }

    pub(crate) fn config(&self) -> &LoopConfig<M> {
        &self.config
    }

    pub(crate) fn replace_config(&mut self, config: LoopConfig<M>) -> Arc<LoopConfig<M>> {
        std::mem::replace(&mut self.config, Arc::new(config))
    }

    fn config_mut(&mut self) -> &mut LoopConfig<M> {
        Arc::make_mut(&mut self.config)
    }

    /// What `resume` would say. Nothing is taken from the queues.
    pub(crate) fn check_resume(&self) -> Result<(), NothingToResume> {
        let tail = Tail::of(self.transcript());
        if tail.takes_queued() && self.handle().has_queued() { Ok(()) } else { NothingToResume::check(tail) }
    }

    /// How the last run ended, to be completed by those who know more.
    pub(crate) fn outcome_mut(&mut self) -> Option<&mut Outcome<M>> {
        self.data.state.outcome_mut()
    }

    fn enter(self, entry: Entry<M>) -> Run<Streaming, M> {
        let Self { config, hub, data: IdleData { state, memory } } = self;
        let abort = AbortSignal::new();
        hub.begin(abort.clone());
        let driver = AgentLoop::with_state(entry, state, memory, config.clone(), abort);
        let data = StreamingData { driver, _under_way: UnderWay(hub.clone()) };
        Run { config, hub, data }
    }

    #[allow(clippy::result_large_err, reason = "the error is the run itself, given back")]
    fn resume_idle(self) -> Result<Run<Streaming, M>, ResumeError<M>> {
        let tail = Tail::of(self.transcript());
        if tail.takes_queued() {
            let queued = self.hub.queues.drain_first();
            if !queued.is_empty() {
                return Ok(self.enter(Entry::Queued(queued)));
            }
        }
        match NothingToResume::check(tail) {
            Ok(()) => Ok(self.enter(Entry::Continue)),
            Err(reason) => Err(ResumeError { run: self, reason }),
        }
    }

    /// What the run knows: the transcript, and how the last run went.
    #[must_use]
    pub fn state(&self) -> &State<M> {
        &self.data.state
    }

    /// Every message, in order.
    #[must_use]
    pub fn transcript(&self) -> &Transcript<M> {
        self.data.state.transcript()
    }

    /// The transcript, to be changed. The next run works out anew what the model sees.
    pub fn transcript_mut(&mut self) -> &mut Transcript<M> {
        self.data.memory = None;
        self.data.state.transcript_mut()
    }

    /// How the last run ended, what it added, and what it cost; `None` before the first.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome<M>> {
        self.data.state.outcome()
    }

    /// The tools, in order.
    #[must_use]
    pub fn tools(&self) -> &[AgentTool] {
        self.config.tools.as_slice()
    }

    /// Replaces the tools. The next run declares the difference to the model.
    pub fn set_tools(&mut self, tools: impl IntoIterator<Item = AgentTool>) {
        self.config_mut().tools = Tools::new(tools);
    }

    /// The model that is asked.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.config.model
    }

    /// Sets the model that is asked.
    pub fn set_model(&mut self, model: impl Into<Arc<Model>>) {
        self.config_mut().model = model.into();
    }

    /// How much the model is asked to think.
    #[must_use]
    pub fn thinking_level(&self) -> ThinkingLevel {
        self.config.thinking_level
    }

    /// Sets how much the model is asked to think.
    pub fn set_thinking_level(&mut self, level: ThinkingLevel) {
        self.config_mut().thinking_level = level;
    }

    /// What else each request carries.
    #[must_use]
    pub fn options(&self) -> &RequestOptions {
        &self.config.options
    }

    /// Sets what else each request carries.
    pub fn set_options(&mut self, options: impl Into<Arc<RequestOptions>>) {
        self.config_mut().options = options.into();
    }

    /// Sets the key that is used where no hook gives one.
    pub fn set_api_key(&mut self, key: impl Into<ApiKey>) {
        self.config_mut().api_key = Some(key.into());
    }

    /// Sets whether calls of a batch run at the same time.
    pub fn set_tool_execution(&mut self, mode: ExecutionMode) {
        self.config_mut().tool_execution = mode;
    }

    /// The hooks, in order.
    #[must_use]
    pub fn hooks(&self) -> &Hooks<M> {
        &self.config.hooks
    }

    /// Replaces the hooks.
    pub fn set_hooks(&mut self, hooks: Hooks<M>) {
        self.config_mut().hooks = hooks;
    }
}

/// A streaming run: a stream of its events, with its state.
///
/// It advances only when it is polled for the next event; nothing is spawned. `Send + Sync + Unpin + 'static` when `M`
/// allows.
///
/// # Cancel safety
/// Waiting for the next event can be given up at any time; no event is lost. *Dropping* the run stops everything at
/// once and loses the transcript with it; messages that were taken from a queue and not written go back to it. To stop
/// and keep the run, use [`cancel`](Run::cancel), or [`abort`](Run::abort) and then [`finish`](Run::finish).
///
/// # Panics
/// None of its own. A panic of a tool is an error result; a panic of a hook, a projection or the model's stream ends
/// the run as failed, with a complete event sequence.
impl<M: CustomMessage> Run<Streaming, M> {
    /// The next event; `None` when the run is over.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: the next call goes on where this one was.
    pub async fn next(&mut self) -> Option<AgentEvent<M>> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// What the run knows now: exact at every event.
    #[must_use]
    pub fn state(&self) -> &State<M> {
        self.data.driver.state()
    }

    /// The run's abort signal.
    #[must_use]
    pub fn abort_signal(&self) -> &AbortSignal {
        self.data.driver.abort_signal()
    }

    /// Aborts the run: the model's stream is dropped, tools as they declare; no further request is made, every call gets
    /// its result, and queued messages stay queued. It acts as the run is polled on.
    pub fn abort(&self) {
        self.data.driver.abort_signal().abort();
    }

    /// Drives the run to its end, and makes the idle run of it.
    ///
    /// # Cancel safety
    /// Dropped half-way this future loses the run and its transcript. In a `select!`, poll
    /// `while run.next().await.is_some() {}` instead, and call `finish` or [`cancel`](Run::cancel) afterwards.
    pub async fn finish(mut self) -> Run<Idle, M> {
        while self.next().await.is_some() {}
        self.into_idle().0
    }

    /// Stops the run here and now, and makes the idle run of it.
    ///
    /// All work in flight is dropped. The transcript is closed so that the next prompt works, and `resume` too: every
    /// call has its result, and an aborted answer stands at its end. Messages that were taken from a queue and not
    /// written go back to it.
    pub fn cancel(self) -> Run<Idle, M> {
        self.into_idle().0
    }

    /// Stops the run as [`cancel`](Run::cancel) does, and returns the closing events that nobody has seen as well: for
    /// hosts that store events.
    pub fn cancel_with_events(self) -> (Run<Idle, M>, Vec<AgentEvent<M>>) {
        self.into_idle()
    }

    /// Ends the run as failed, for a reason outside of it: the next events close it.
    pub(crate) fn fail(&mut self, message: String) {
        self.data.driver.fail(message);
    }

    fn into_idle(self) -> (Run<Idle, M>, Vec<AgentEvent<M>>) {
        let Self { config, hub, data: StreamingData { driver, .. } } = self;
        let (state, memory, missed) = driver.into_parts();
        (Run { config, hub, data: IdleData { state, memory } }, missed)
    }

    #[inline]
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<AgentEvent<M>>> {
        let mut told = Poll::Ready(None);
        self.data.driver.poll_update(cx, &mut told);
        if let Poll::Ready(None) = told { self.poll_on(cx) } else { told }
    }

    fn poll_on(&mut self, cx: &mut Context<'_>) -> Poll<Option<AgentEvent<M>>> {
        let polled = self.data.driver.poll_on(cx);
        if matches!(polled, Poll::Ready(Some(AgentEvent::AgentEnd { .. }) | None)) {
            // An abort after the end is for nobody.
            self.hub.end();
        }
        polled
    }
}

impl<M: CustomMessage> Stream for Run<Streaming, M> {
    type Item = AgentEvent<M>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AgentEvent<M>>> {
        self.poll_event(cx)
    }
}

impl<M: CustomMessage> fmt::Debug for Run<Idle, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run<Idle>")
            .field("messages", &self.transcript().len())
            .field("config", &self.config)
            .finish()
    }
}

impl<M: CustomMessage> fmt::Debug for Run<Streaming, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run<Streaming>").field("loop", &self.data.driver).finish()
    }
}

/// A run that could not be resumed, and why. Nothing has changed.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
#[non_exhaustive]
pub struct ResumeError<M: CustomMessage = NoCustom> {
    /// The run, as it was.
    pub run: Run<Idle, M>,
    /// Why.
    pub reason: NothingToResume,
}
