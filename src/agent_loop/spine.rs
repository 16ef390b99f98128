//! What the two loops work with: the context, the settings of the moment, and the named steps of a turn.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::batch::BatchResults;
use super::call::Batch;
use super::closing::ABORTED_ANSWER;
use super::config::{LoopConfig, Tools};
use super::desk::{Asking, Desk, give_back};
use super::schedule::{BatchOutcome, Finish, polls_again};
use super::turn_change::TurnChange;
use super::unless_aborted::unless_aborted;
use super::updates::Updates;
use crate::abort::AbortSignal;
use crate::error_text::{foreign_text, panic_text};
use crate::event::{AgentEvent, Ending};
use crate::hook::{FinishTurn, FinishedTurn, HookContext, PrepareNextTurn, PrepareRequest};
use crate::message::{AgentMessage, AssistantMessage, ClientIdentity, CustomMessage, ThinkingLevel};
use crate::model::{ApiKey, BoxDeltaStream, Failure, Request, RequestOptions};
use crate::transcript::{Messages, Projector, Repair, Replay, Transcript, declare};

/// The loop's own memory of the conversation: what it sends from. It outlives the run, so that the next one starts
/// without building it again.
pub(crate) struct Memory<M> {
    pub(crate) context: Transcript<M>,
    projector: Projector,
    replay: Replay,
}

impl<M: CustomMessage> Memory<M> {
    pub(crate) fn of(context: Transcript<M>, repair: Repair) -> Self {
        // Its own list: the state keeps another, and sharing one would copy it with each message.
        let context: Transcript<M> = context.iter().cloned().collect();
        Self { projector: Projector::of(repair, &context), replay: Replay::of(&context), context }
    }

    fn push(&mut self, message: AgentMessage<M>) {
        self.projector.push(&message);
        self.replay.push_message(&message);
        self.context.push(message);
    }
}

/// What a run begins with: the loop's memory, or the transcript to build it from.
pub(super) enum Recall<M> {
    /// The memory that the last run left.
    Memory(Box<Memory<M>>),
    /// There is none, or the host has changed the transcript.
    Transcript(Transcript<M>),
}

impl<M: CustomMessage> Recall<M> {
    /// The memory. Building it projects every message, which runs the host's code: so it is the loop that does it, once
    /// the run has begun.
    pub(super) fn memory(self, repair: Repair) -> Memory<M> {
        match self {
            Self::Memory(memory) => *memory,
            Self::Transcript(transcript) => Memory::of(transcript, repair),
        }
    }
}

/// The loop, as far as it is not its two loops.
pub(crate) struct Spine<M: CustomMessage> {
    desk: Desk<M>,
    /// Model, thinking level and tools in it change with what hooks say.
    pub(super) config: Arc<LoopConfig<M>>,
    options: Arc<RequestOptions>,
    memory: Memory<M>,
    /// Whether a hook has replaced the context: then it is no memory of the transcript any more.
    context_replaced: bool,
    added: Transcript<M>,
    /// The model's own among the answers in `added`.
    answers: Arc<Vec<Arc<AssistantMessage>>>,
    pub(super) abort: AbortSignal,
}

/// Messages to put in at the start of a turn. The last `queued` came from a queue.
pub(super) struct Pending<M> {
    messages: Vec<AgentMessage<M>>,
    queued: usize,
}

impl<M> Pending<M> {
    pub(super) fn none() -> Self {
        Self { messages: Vec::new(), queued: 0 }
    }

    pub(super) fn prompt(messages: Vec<AgentMessage<M>>) -> Self {
        Self { messages, queued: 0 }
    }

    pub(super) fn from_queue(messages: Vec<AgentMessage<M>>) -> Self {
        Self { queued: messages.len(), messages }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
}

impl<M: CustomMessage> Spine<M> {
    pub(super) fn new(
        desk: Desk<M>,
        config: Arc<LoopConfig<M>>,
        memory: Memory<M>,
        abort: AbortSignal,
    ) -> Self {
        let options = with_identity(&config.options);
        Self {
            desk,
            config,
            options,
            memory,
            context_replaced: false,
            added: Transcript::new(),
            answers: Arc::default(),
            abort,
        }
    }

    /// The memory, for the next run; `None` when it is no memory of the transcript any more.
    pub(super) fn into_memory(self) -> Option<Memory<M>> {
        (!self.context_replaced).then_some(self.memory)
    }

    pub(super) fn is_aborted(&self) -> bool {
        self.abort.is_delivered()
    }

    /// Tells an event, and goes on when the consumer asks for the next one.
    pub(super) fn emit(&mut self, event: AgentEvent<M>) -> impl Future<Output = ()> {
        self.desk.emit(event)
    }

    /// Tells an event with the next one.
    pub(super) fn note(&mut self, event: AgentEvent<M>) {
        self.desk.note(event);
    }

    /// Tells events with the next one, one after the other.
    pub(super) fn note_all(&mut self, events: impl IntoIterator<Item = AgentEvent<M>>) {
        self.desk.note_all(events);
    }

    /// Tells what was noted.
    pub(super) fn told(&mut self) -> impl Future<Output = ()> {
        self.desk.told()
    }

    /// Ends the run.
    pub(super) async fn end_run(&mut self, ending: Ending) {
        self.desk.set_ending(ending);
        let messages = self.added.clone();
        self.emit(AgentEvent::AgentEnd { messages }).await;
    }

    /// A message is in the transcript: it is part of the context from here on.
    pub(super) fn remember(&mut self, message: AgentMessage<M>) {
        self.added.push(message.clone());
        self.memory.push(message);
    }

    // Messages that are put in.

    pub(super) fn poll_steering(&self) -> Pending<M> {
        Pending::from_queue(self.config.messages.take_steering())
    }

    pub(super) fn poll_follow_ups(&self) -> Pending<M> {
        Pending::from_queue(self.config.messages.take_follow_ups())
    }

    /// Writes messages, and with them what the transcript does not yet say of the tools.
    pub(super) async fn put_in(&mut self, pending: Pending<M>) {
        let Pending { messages, queued } = pending;
        let declarations = self.config.tools.declarations();
        let now = || self.config.clock.timestamp();
        let messages = declare(&self.memory.replay, declarations, messages, now);
        if messages.is_empty() {
            return;
        }
        self.desk.take_in_hand(messages, queued);
        while let Some(message) = self.desk.next_in_hand() {
            self.emit(AgentEvent::MessageStart { message: message.clone() }).await;
            self.desk.written();
            self.emit(AgentEvent::MessageEnd { message: message.clone() }).await;
            self.remember(message);
        }
    }

    /// Between two turns: what was asked for from outside changes, the hooks prepare, steering is asked once more if
    /// nothing is pending, the turn starts.
    ///
    /// What came from a queue stays in hand meanwhile. After an abort nothing is prepared and nothing put in: it goes
    /// back to its queue.
    pub(super) async fn next_turn(&mut self, finished: &FinishedTurn, pending: Pending<M>) -> Pending<M> {
        let mut queued = pending.messages;
        if !queued.is_empty() {
            self.desk.take_in_hand(queued.clone(), queued.len());
        }
        self.take_change();
        let mut messages = self.prepare_next_turn(finished).await;
        if polls_again(queued.len(), self.is_aborted()) {
            queued = self.config.messages.take_steering();
            if !queued.is_empty() {
                self.desk.take_in_hand(queued.clone(), queued.len());
            }
        }
        self.emit(AgentEvent::TurnStart).await;
        let (_, from_queue) = self.desk.give_up_hand();
        if self.is_aborted() {
            give_back(&*self.config.messages, from_queue);
            return Pending::none();
        }
        messages.extend(queued);
        Pending { messages, queued: from_queue }
    }

    /// Takes over what was asked for from outside.
    fn take_change(&mut self) {
        if self.is_aborted() {
            return;
        }
        let TurnChange { model, thinking_level, tools } = self.config.messages.take_change();
        self.change(PrepareRequest { model, thinking_level, context: None, tools });
    }

    async fn prepare_next_turn(&mut self, finished: &FinishedTurn) -> Vec<AgentMessage<M>> {
        let mut messages = Vec::new();
        let config = self.config.clone();
        for hook in config.hooks.iter() {
            if self.is_aborted() {
                break;
            }
            let Some(prepared) =
                unless_aborted(&self.abort, hook.prepare_next_turn(finished, self.cx())).await
            else {
                break;
            };
            let PrepareNextTurn { messages: given, model, thinking_level, context, tools } = prepared;
            messages.extend(given);
            self.change(PrepareRequest { model, thinking_level, context, tools });
        }
        messages
    }

    /// Takes over what is to change.
    fn change(&mut self, change: PrepareRequest<M>) {
        let PrepareRequest { model, thinking_level, context, tools } = change;
        if model.is_some() || thinking_level.is_some() {
            let config = Arc::make_mut(&mut self.config);
            config.model = model.unwrap_or_else(|| config.model.clone());
            config.thinking_level = thinking_level.unwrap_or(config.thinking_level);
            self.desk.set_head(self.config.head());
        }
        if let Some(context) = context {
            self.memory = Memory::of(context, self.config.repair);
            self.context_replaced = true;
        }
        if let Some(tools) = tools {
            Arc::make_mut(&mut self.config).tools = Tools::new(tools);
        }
    }

    // Asking the model.

    /// Asks the model, and gives the finished answer. After an abort no request is made.
    pub(super) async fn ask_model(&mut self) -> Arc<AssistantMessage> {
        let answer = match self.request().await {
            Ok(request) => match self.open_stream(request) {
                Ok(asking) => self.desk.answer(asking).await,
                Err(panic) if self.is_aborted() => self.answer_alone(&Failure::aborted(panic)).await,
                Err(panic) => self.answer_alone(&Failure::new(panic)).await,
            },
            Err(failure) => self.answer_alone(&failure).await,
        };
        self.remember(answer.clone().into());
        Arc::make_mut(&mut self.answers).push(answer.clone());
        answer
    }

    /// Everything that leads to a request: the hooks' changes, the projection, the conversion, the key.
    async fn request(&mut self) -> Result<Request, Box<Failure>> {
        self.unless_aborted_now()?;
        self.prepare_request().await?;
        let mut messages = self.project().await?;
        self.convert(&mut messages).await?;
        let api_key = self.api_key().await?;
        let level = self.config.thinking_level;
        Ok(Request {
            model: self.config.model.clone(),
            messages,
            thinking_level: (level != ThinkingLevel::Off).then_some(level),
            options: self.options.clone(),
            api_key,
            abort: self.abort.clone(),
        })
    }

    async fn prepare_request(&mut self) -> Result<(), Box<Failure>> {
        let config = self.config.clone();
        for hook in config.hooks.iter() {
            let prepared = unless_aborted(&self.abort, hook.prepare_request(self.cx())).await;
            self.unless_aborted_now()?;
            self.change(prepared.unwrap_or_default());
        }
        Ok(())
    }

    /// What the model sees: of the kept projection, or of the context as hooks change it for this request alone.
    async fn project(&mut self) -> Result<Messages, Box<Failure>> {
        if self.config.hooks.is_empty() {
            return Ok(self.memory.projector.request());
        }
        let mut context = self.memory.context.clone();
        for hook in self.config.hooks.iter() {
            unless_aborted(&self.abort, hook.transform_context(&mut context, self.cx())).await;
            self.unless_aborted_now()?;
        }
        if context.ptr_eq(&self.memory.context) {
            return Ok(self.memory.projector.request());
        }
        Ok(Projector::of(self.config.repair, &context).request())
    }

    async fn convert(&self, messages: &mut Messages) -> Result<(), Box<Failure>> {
        for hook in self.config.hooks.iter() {
            unless_aborted(&self.abort, hook.convert(messages, self.cx())).await;
            self.unless_aborted_now()?;
        }
        Ok(())
    }

    async fn api_key(&self) -> Result<Option<ApiKey>, Box<Failure>> {
        let asking = self.config.hooks.api_key(&self.config.model.provider, self.cx());
        match unless_aborted(&self.abort, asking).await {
            Some(Ok(key)) => {
                self.unless_aborted_now()?;
                Ok(key.or_else(|| self.config.api_key.clone()))
            }
            Some(Err(error)) => Err(Box::new(Failure::new(foreign_text(error)))),
            None => Err(Box::new(Failure::aborted(ABORTED_ANSWER))),
        }
    }

    fn unless_aborted_now(&self) -> Result<(), Box<Failure>> {
        if self.is_aborted() { Err(Box::new(Failure::aborted(ABORTED_ANSWER))) } else { Ok(()) }
    }

    /// Calls the host's stream function; its panic is a failed answer.
    fn open_stream(&self, request: Request) -> Result<Asking, String> {
        let head = Arc::new(self.config.head());
        let asked_at = self.config.clock.moment();
        let open = AssertUnwindSafe(|| -> BoxDeltaStream { self.config.stream.stream(request) });
        let stream = catch_unwind(open).map_err(panic_text)?;
        Ok(Asking { stream, head, asked_at })
    }

    /// An answer that no model gave.
    async fn answer_alone(&mut self, failure: &Failure) -> Arc<AssistantMessage> {
        let mut answer = Arc::new(self.config.head());
        let failed = Arc::make_mut(&mut answer);
        failed.stop_reason = failure.reason;
        failed.error_message = Some(failure.message.clone());
        self.desk.answer_alone(answer).await
    }

    // The end of a turn.

    /// A turn's answer and its results, for the hooks.
    pub(super) fn finished(&self, answer: &Arc<AssistantMessage>, batch: &BatchResults) -> FinishedTurn {
        let goes_on = || {
            let queued = !self.is_aborted() && self.config.messages.has_messages();
            answer.is_usable() && (batch.outcome == BatchOutcome::Results || queued)
        };
        // Nobody else reads it.
        let goes_on = !self.config.hooks.is_empty() && goes_on();
        FinishedTurn { message: answer.clone(), tool_results: batch.results.clone(), goes_on }
    }

    /// Asks the hooks, tells the end of the turn, and gives what the hooks decided. The hooks are awaited even after an
    /// abort: hosts save there.
    pub(super) async fn finish_turn(&mut self, turn: &FinishedTurn) -> FinishTurn {
        let mut decided = FinishTurn::Default;
        for hook in self.config.hooks.iter() {
            let answer = hook.finish_turn(turn, self.cx()).await;
            decided = stronger(decided, answer);
        }
        let FinishedTurn { message, tool_results, .. } = turn.clone();
        self.emit(AgentEvent::TurnEnd { message, tool_results }).await;
        decided
    }

    /// How the run ends with a failed or aborted answer.
    pub(super) fn failed_ending(&self, answer: &AssistantMessage) -> Ending {
        Ending::Failed { message: answer.error_message.clone().unwrap_or_default() }
    }

    // What hooks and calls are given.

    fn cx(&self) -> HookContext<'_, M> {
        HookContext {
            transcript: &self.memory.context,
            added: &self.added,
            answers: &self.answers,
            model: &self.config.model,
            thinking_level: self.config.thinking_level,
            tools: self.config.tools.as_slice(),
            abort: &self.abort,
        }
    }

    pub(super) fn batch(&self) -> Batch<M> {
        Batch {
            config: self.config.clone(),
            context: self.memory.context.clone(),
            added: self.added.clone(),
            answers: self.answers.clone(),
            abort: self.abort.clone(),
            updates: Updates::default(),
        }
    }
}

/// An end beats a continue, a continue beats nothing; the first of equals stays.
fn stronger(decided: FinishTurn, answer: FinishTurn) -> FinishTurn {
    match (&decided, &answer) {
        (FinishTurn::Default, _) | (FinishTurn::Continue, FinishTurn::End { .. }) => answer,
        _ => decided,
    }
}

/// A hook's decision, as far as scheduling goes.
pub(super) fn finish(decided: &FinishTurn) -> Finish {
    match decided {
        FinishTurn::Default => Finish::Default,
        FinishTurn::Continue => Finish::Continue,
        FinishTurn::End { .. } => Finish::End,
    }
}

/// The run's identity, merged over this crate's.
fn with_identity(options: &Arc<RequestOptions>) -> Arc<RequestOptions> {
    let mut options = RequestOptions::clone(options);
    let identity = options.identity.take().unwrap_or_default();
    options.identity = Some(identity.merged_over(ClientIdentity::this_crate()));
    Arc::new(options)
}
