//! The driver: polls the loop, drives the model's stream, keeps the state, and hands out the events.
//!
//! While a model streams the loop's future is not polled: a delta goes from the stream into the state and to the
//! consumer, and through nothing else. Abort, an early end, a malformed delta and a panic of the stream are handled
//! here, once for every transport.

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::StreamExt;

use super::call::milliseconds;
use super::closing::{ABORTED_ANSWER, Closing, failed_answer};
use super::config::{LoopConfig, MessageSource};
use super::desk::{Asking, Desk, HandBack, Order, give_back};
use super::spine::{Memory, Recall};
use super::{Entry, run};
use crate::abort::{AbortSignal, Wait};
use crate::breath::Breath;
use crate::clock::Clock;
use crate::error_text::{drop_foreign, panic_text};
use crate::event::{AgentEvent, Ending, Outcome};
use crate::message::{AssistantContent, AssistantMessage, CustomMessage, NoCustom, StopReason, ToolCall};
use crate::model::{BoxDeltaStream, Delta, Done, Failure, PartialMessage};
use crate::state::{OpenMessage, State};
use crate::transcript::Transcript;

/// A running loop: a stream of its events, with its state.
///
/// The loop advances only when it is polled for the next event; nothing is spawned. `Send + Sync + Unpin + 'static`.
///
/// # Cancel safety
/// Waiting for the next event can be given up at any time; no event is lost. Dropping the stream stops everything at
/// once: the model's stream and running tools are dropped, and messages that were taken from a queue and not written go
/// back to it. The transcript up to then is lost with the state; take it out before, or use [`Run`](crate::Run).
///
/// # Panics
/// None of its own. A panic of a hook, a projection or the model's stream ends the run as failed.
#[must_use = "a loop does nothing unless it is polled for its events"]
pub struct AgentLoop<M: CustomMessage = NoCustom> {
    state: State<M>,
    /// Events that follow each other without anything in between.
    upcoming: VecDeque<AgentEvent<M>>,
    answering: Option<Answering>,
    stage: Stage<M>,
    desk: Desk<M>,
    abort: AbortSignal,
    /// Wakes the run when an abort is delivered; `None` once it has been.
    delivered: Option<Wait>,
    clock: Arc<dyn Clock>,
    source: Arc<dyn MessageSource<M>>,
    memory: Option<Memory<M>>,
    /// Why the run is to fail before the loop is polled again.
    failing: Option<Box<Failure>>,
    /// Only its drop counts.
    _hand_back: HandBack<M>,
}

/// What comes when no answer streams and no event waits.
enum Stage<M> {
    /// The loop's future. The lock is never taken, since the future is only reached by `&mut`: it makes the run `Sync`.
    Loop(Mutex<BoxFuture<'static, Option<Memory<M>>>>),
    /// The events that close a broken run are told; then its end, which goes like this.
    Closing(Ending),
    /// Everything is told.
    Over,
}

/// An answer that streams.
struct Answering {
    /// The lock is never taken: it makes the run `Sync`.
    stream: Mutex<BoxDeltaStream>,
    /// When the request was made, on the monotonic clock.
    asked_at: Duration,
    /// Whether the stream has said `Start`. Without it updates are not shown, only the finished message is.
    started: bool,
}

impl<M: CustomMessage> AgentLoop<M> {
    pub(crate) fn start(
        entry: Entry<M>,
        transcript: Transcript<M>,
        config: LoopConfig<M>,
        abort: AbortSignal,
    ) -> Self {
        Self::with_state(entry, State::idle(transcript), None, Arc::new(config), abort)
    }

    pub(crate) fn with_state(
        entry: Entry<M>,
        state: State<M>,
        memory: Option<Memory<M>>,
        config: Arc<LoopConfig<M>>,
        abort: AbortSignal,
    ) -> Self {
        let desk = Desk::new(config.head());
        let clock = config.clock.clone();
        let source = config.messages.clone();
        match &entry {
            Entry::Prompt(messages) => desk.take_in_hand(messages.iter().cloned(), 0),
            Entry::Queued(messages) => desk.take_in_hand(messages.iter().cloned(), messages.len()),
            Entry::Continue => {}
        }
        let recall = match memory {
            Some(memory) => Recall::Memory(Box::new(memory)),
            None => Recall::Transcript(state.transcript().clone()),
        };
        let running = run(desk.clone(), config, recall, abort.clone(), entry);
        Self {
            state,
            upcoming: VecDeque::new(),
            answering: None,
            stage: Stage::Loop(Mutex::new(Box::pin(running))),
            _hand_back: HandBack { desk: desk.clone(), source: source.clone() },
            desk,
            delivered: Some(abort.delivered()),
            abort,
            clock,
            source,
            memory: None,
            failing: None,
        }
    }

    /// The next event; `None` when the run is over.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: the next call goes on where this one was.
    #[inline]
    pub async fn next(&mut self) -> Option<AgentEvent<M>> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    /// What the run knows now: exact at every event.
    #[must_use]
    pub fn state(&self) -> &State<M> {
        &self.state
    }

    /// The run's abort signal.
    #[must_use]
    pub fn abort_signal(&self) -> &AbortSignal {
        &self.abort
    }

    /// Stops the loop here and now: everything in flight is dropped, and the events that are missing are told at once.
    ///
    /// The state's transcript is closed by them: every call has its result, and it ends with an aborted answer. A loop
    /// that was never polled has nothing to close. Returns the events that nobody has seen.
    pub fn cancel(&mut self) -> Vec<AgentEvent<M>> {
        let mut missed = Vec::new();
        // Events that only wait to be handed out have happened already.
        while let Some(event) = self.upcoming.pop_front() {
            missed.push(self.tell(event));
        }
        if matches!(self.stage, Stage::Loop(_)) {
            self.break_off(Failure::aborted(ABORTED_ANSWER));
        }
        while let Some(event) = self.tell_next() {
            missed.push(event);
        }
        if let (false, Some(outcome)) = (missed.is_empty(), self.state.outcome_mut()) {
            outcome.unseen.clone_from(&missed);
        }
        missed
    }

    /// Ends the run as failed, for a reason outside of the loop: everything in flight is dropped, and the next events
    /// are those that close the run; as aborted, if its abort was delivered before. Of a run that is over only the outcome
    /// becomes a failure. One that has failed or was aborted keeps its own reason, and so does the first of several.
    pub(crate) fn fail(&mut self, message: String) {
        match self.state.outcome_mut() {
            Some(Outcome { ending: Ending::Aborted | Ending::Failed { .. }, .. }) => {}
            Some(outcome) => outcome.ending = Ending::Failed { message },
            None if self.failing.is_some() => {}
            None => self.failing = Some(Box::new(self.failure(message))),
        }
    }

    /// Stops the loop as [`cancel`](Self::cancel) does, and takes it apart: the state, the memory for the next run, and the
    /// events that nobody has seen.
    pub(crate) fn into_parts(mut self) -> (State<M>, Option<Memory<M>>, Vec<AgentEvent<M>>) {
        let missed = self.cancel();
        (self.state, self.memory, missed)
    }

    #[inline]
    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<AgentEvent<M>>> {
        let mut told = Poll::Ready(None);
        self.poll_update(cx, &mut told);
        if let Poll::Ready(None) = told { self.poll_on(cx) } else { told }
    }

    /// The next update of the answer that streams, in the place of `told`. It stays `Ready(None)` where
    /// [`poll_on`](Self::poll_on) knows what comes.
    ///
    /// A delta takes this way up to a million times in one answer, so it is moved as seldom as can be: once, to where the
    /// consumer reads it.
    #[inline(never)]
    pub(crate) fn poll_update(&mut self, cx: &mut Context<'_>, told: &mut Poll<Option<AgentEvent<M>>>) {
        let is_free = self.answering.is_some() && self.upcoming.is_empty() && self.failing.is_none();
        if !is_free || self.abort.is_delivered() {
            return;
        }
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.take_deltas(cx, told))) {
            self.fail_answer(&self.failure(panic_text(panic)));
        }
    }

    /// Takes deltas from the model's stream, and grows the answer, up to the first one that tells something. Only an
    /// update is `told` here; anything else is upcoming.
    #[inline]
    fn take_deltas(&mut self, cx: &mut Context<'_>, told: &mut Poll<Option<AgentEvent<M>>>) {
        // A stream that never pauses, and tells nothing, cannot keep the thread.
        let mut breath = Breath::default();
        while breath.poll(cx).is_ready() {
            let Some(answering) = &mut self.answering else { return };
            let started = answering.started;
            let stream = answering.stream.get_mut().unwrap_or_else(PoisonError::into_inner);
            let polled = stream.poll_next_unpin(cx);
            let grown = match &polled {
                Poll::Ready(Some(delta)) => self.state.grow(delta),
                Poll::Ready(None) => Ok(false),
                Poll::Pending => {
                    // An abort that was delivered in the meantime is acted upon at once.
                    if !self.is_newly_delivered(cx) {
                        *told = Poll::Pending;
                    }
                    return;
                }
            };
            match (grown, polled) {
                (Ok(true), Poll::Ready(Some(delta))) if started => {
                    *told = Poll::Ready(Some(AgentEvent::MessageUpdate { delta }));
                    return;
                }
                (Ok(true), _) => {}
                (Ok(false), Poll::Ready(Some(delta))) => self.take_other(delta),
                (Ok(false), _) => self.fail_answer(&Failure::new(ENDED_EARLY)),
                (Err(malformed), _) => self.fail_answer(&Failure::new(malformed.to_string())),
            }
            if !self.upcoming.is_empty() {
                return;
            }
        }
        *told = Poll::Pending;
    }

    /// Takes a delta that begins or ends the answer.
    #[cold]
    fn take_other(&mut self, delta: Delta) {
        match delta {
            Delta::Start => self.start_message(),
            Delta::Done(done) => self.finish_answer(&done),
            Delta::Error(failure) => self.fail_answer(&failure),
            Delta::Whole { message } => {
                self.state.take_partial();
                self.end_answer(finished_whole(message));
            }
            _ => {}
        }
    }

    /// The next event that is no piece of an answer, or the next one after all if there is none before it.
    pub(crate) fn poll_on(&mut self, cx: &mut Context<'_>) -> Poll<Option<AgentEvent<M>>> {
        loop {
            if let Some(event) = self.tell_next() {
                return Poll::Ready(Some(event));
            }
            if let (Some(failure), Stage::Loop(_)) = (self.failing.take(), &self.stage) {
                self.break_off(*failure);
                continue;
            }
            if self.answering.is_some() {
                if self.abort.is_delivered() {
                    self.fail_answer(&Failure::aborted(ABORTED_ANSWER));
                    continue;
                }
                let mut told = Poll::Ready(None);
                self.poll_update(cx, &mut told);
                match told {
                    Poll::Ready(None) => continue,
                    told_or_pending => return told_or_pending,
                }
            }
            let polled = match &self.stage {
                Stage::Loop(_) => self.poll_loop(cx),
                _ => return Poll::Ready(None),
            };
            match polled {
                Poll::Ready(None) => {}
                // An abort that was delivered in the meantime is acted upon at once.
                Poll::Pending if self.is_newly_delivered(cx) => {}
                told_or_pending => return told_or_pending,
            }
        }
    }

    /// An event that needs no polling: one that waits, or the end of a closed run.
    fn tell_next(&mut self) -> Option<AgentEvent<M>> {
        if let Some(event) = self.upcoming.pop_front() {
            return Some(self.tell(event));
        }
        if let Stage::Closing(ending) = &self.stage {
            self.desk.set_ending(ending.clone());
            self.stage = Stage::Over;
            let messages = self.state.added().clone();
            return Some(self.tell(AgentEvent::AgentEnd { messages }));
        }
        None
    }

    /// Reduces an event into the state, at the very moment it is handed out. A delta does not come by here: the state
    /// has grown by it already.
    fn tell(&mut self, event: AgentEvent<M>) -> AgentEvent<M> {
        if let AgentEvent::AgentEnd { .. } = event {
            let ending = self.desk.take_ending().unwrap_or(Ending::Aborted);
            self.state.end(if self.abort.is_delivered() { Ending::Aborted } else { ending });
        }
        self.state.reduce(&event);
        event
    }

    fn is_newly_delivered(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(delivered) = &mut self.delivered else { return false };
        let is = delivered.poll_unpin(cx).is_ready();
        if is {
            self.delivered = None;
        }
        is
    }

    /// Polls the loop's future, and does what it lays down. `Ready(None)`: look again.
    fn poll_loop(&mut self, cx: &mut Context<'_>) -> Poll<Option<AgentEvent<M>>> {
        let Stage::Loop(future) = &mut self.stage else { return Poll::Ready(None) };
        let future = future.get_mut().unwrap_or_else(PoisonError::into_inner);
        match catch_unwind(AssertUnwindSafe(|| future.poll_unpin(cx))) {
            Err(panic) => self.break_off(self.failure(panic_text(panic))),
            Ok(Poll::Ready(memory)) => {
                self.memory = memory;
                self.stage = Stage::Over;
            }
            // Nothing is upcoming while the loop is polled.
            Ok(Poll::Pending) => match self.desk.take_order(&mut self.upcoming) {
                Some(Order::Ask(asking)) => self.begin_answer(asking),
                Some(Order::AnswerAlone(answer)) => self.answer_alone(answer),
                Some(Order::Answer(answer)) => self.desk.lay_down(answer),
                None if self.upcoming.is_empty() => return Poll::Pending,
                None => {}
            },
        }
        Poll::Ready(None)
    }

    fn answer_alone(&mut self, answer: Arc<AssistantMessage>) {
        self.state.expect_answer();
        self.end_answer(answer);
    }

    fn begin_answer(&mut self, asking: Asking) {
        self.state.expect_answer();
        let Asking { stream, head, asked_at } = asking;
        self.state.open_answer(PartialMessage::of(head));
        self.answering = Some(Answering { stream: Mutex::new(stream), asked_at, started: false });
    }

    fn start_message(&mut self) {
        let (Some(answering), Some(partial)) = (&mut self.answering, self.state.partial()) else { return };
        if !std::mem::replace(&mut answering.started, true) {
            self.upcoming.push_back(AgentEvent::MessageStart { message: partial.shared_head().into() });
        }
    }

    fn finish_answer(&mut self, done: &Done) {
        let Some(partial) = self.state.take_partial() else { return };
        let message = match done.reason {
            StopReason::Pending => partial.failed(&Failure::new(ENDED_PENDING)),
            StopReason::Error | StopReason::Aborted => {
                let mut failure = Failure::new(format!("the model's stream ended with `{}`", done.reason));
                failure.reason = done.reason;
                failure.metadata = done.metadata.clone();
                partial.failed(&failure)
            }
            _ => partial.finished(done),
        };
        self.complete_answer(message);
    }

    fn fail_answer(&mut self, failure: &Failure) {
        if let Some(partial) = self.state.take_partial() {
            self.complete_answer(partial.failed(failure));
        }
    }

    fn complete_answer(&mut self, mut message: Arc<AssistantMessage>) {
        if let Some(answering) = &self.answering {
            let duration = self.clock.since(answering.asked_at);
            Arc::make_mut(&mut message).duration_ms = Some(milliseconds(duration));
        }
        self.end_answer(message);
    }

    /// Drops the stream, tells the end of the answer, and lays the answer down for the loop.
    fn end_answer(&mut self, message: Arc<AssistantMessage>) {
        if !self.drop_stream() {
            self.upcoming.push_back(AgentEvent::MessageStart { message: message.clone().into() });
        }
        self.upcoming.push_back(AgentEvent::MessageEnd { message: message.clone().into() });
        self.desk.lay_down(message);
    }

    /// Drops the stream, and says whether the answer's start was told.
    fn drop_stream(&mut self) -> bool {
        let Some(Answering { stream, started, .. }) = self.answering.take() else { return false };
        drop_foreign(stream);
        started
    }

    /// A panic counts as an abort if the run was aborted.
    fn failure(&self, message: String) -> Failure {
        if self.abort.is_delivered() { Failure::aborted(message) } else { Failure::new(message) }
    }

    /// Ends the run out of order: drops everything in flight, and makes ready the events that are missing.
    fn break_off(&mut self, failure: Failure) {
        // A run that was ending with a failed answer ends with it. Only a signal that was delivered makes an abort of it.
        let ending = match (failed_answer(&self.state), failure.reason) {
            (None, StopReason::Aborted) => Ending::Aborted,
            (answer, _) => {
                let said = answer.and_then(|answer| answer.error_message.as_ref());
                Ending::Failed { message: said.unwrap_or(&failure.message).clone() }
            }
        };
        let stage = std::mem::replace(&mut self.stage, Stage::Over);
        drop_foreign(stage);
        let started = self.drop_stream();
        let partial = self.state.take_partial();
        if self.state.is_running() {
            self.close(failure, partial, started);
            self.stage = Stage::Closing(ending);
        }
    }

    fn close(&mut self, failure: Failure, partial: Option<PartialMessage>, started: bool) {
        let (mut unwritten, mut queued) = self.desk.give_up_hand();
        if let Some(OpenMessage::Message(_)) = self.state.open() {
            // The message whose start was told is written by its end.
            if unwritten.is_empty() { queued = queued.saturating_sub(1) } else { drop(unwritten.remove(0)) }
        }
        give_back(&*self.source, queued);
        let now = self.clock.timestamp();
        let closing = Closing { head: self.desk.head().at(now), failure, now };
        let partial = partial.map(|partial| partial.failed(&closing.failure));
        if let (Some(failed), false) = (&partial, started) {
            self.upcoming.push_back(AgentEvent::MessageStart { message: failed.clone().into() });
        }
        let events = closing.events(&self.state, partial, unwritten);
        self.upcoming.extend(events);
    }
}

/// A whole answer, taken as it is, unless it says of itself that it is none.
fn finished_whole(mut message: Arc<AssistantMessage>) -> Arc<AssistantMessage> {
    if has_call_twice(&message) {
        separate_calls(Arc::make_mut(&mut message));
    }
    if message.stop_reason == StopReason::Pending {
        let answer = Arc::make_mut(&mut message);
        answer.stop_reason = StopReason::Error;
        answer.error_message = Some(ENDED_PENDING.to_owned());
    }
    message
}

/// Whether a call is in the answer twice, not as an equal, but as the very same one.
fn has_call_twice(message: &AssistantMessage) -> bool {
    let mut known = HashSet::new();
    message.tool_calls().any(|call| !known.insert(Arc::as_ptr(call)))
}

/// Calls are known by their place in memory, since their ids may repeat: each gets a place of its own.
fn separate_calls(message: &mut AssistantMessage) {
    for content in &mut message.content {
        if let AssistantContent::ToolCall(call) = content {
            *call = Arc::new(ToolCall::clone(call));
        }
    }
}

const ENDED_EARLY: &str = "the model's stream ended without a terminal delta";
const ENDED_PENDING: &str = "the model's stream ended with the stop reason `pending`";

impl<M: CustomMessage> Stream for AgentLoop<M> {
    type Item = AgentEvent<M>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AgentEvent<M>>> {
        self.get_mut().poll_event(cx)
    }
}

impl<M: CustomMessage> fmt::Debug for AgentLoop<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentLoop")
            .field("is_running", &self.state.is_running())
            .field("messages", &self.state.transcript().len())
            .field("abort", &self.abort)
            .finish_non_exhaustive()
    }
}
