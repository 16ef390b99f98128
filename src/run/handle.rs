//! The handle: what other tasks may do to a run.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::prompt::IntoPrompt;
use super::queue::{QueueKind, QueueMode, Queued, Queues, Ticket};
use crate::abort::AbortSignal;
use crate::agent_loop::TurnChange;
use crate::clock::Clock;
use crate::error_text::drop_foreign;
use crate::message::{AgentMessage, CustomMessage, NoCustom};

/// Steers, aborts and looks into the queues of a run, from anywhere. Cheap to clone.
///
/// It belongs to its run through all of the run's states: what is queued while the run is idle is delivered by the next
/// prompt or resume. No method blocks, and none polls or awaits foreign code. The guide [steering](crate::guide::steering) has
/// examples.
pub struct Handle<M = NoCustom>(pub(super) Arc<Hub<M>>);

/// What a run shares with its handles.
pub(super) struct Hub<M> {
    pub(super) queues: Arc<Queues<M>>,
    /// The signal of the run of the moment; `None` while idle.
    signal: Mutex<Option<AbortSignal>>,
    pub(super) clock: Arc<dyn Clock>,
}

impl<M> Hub<M> {
    pub(super) fn new(queues: Arc<Queues<M>>, clock: Arc<dyn Clock>) -> Self {
        Self { queues, signal: Mutex::default(), clock }
    }

    fn lock(&self) -> MutexGuard<'_, Option<AbortSignal>> {
        // No foreign code runs under the lock, so it cannot be left half-changed.
        self.signal.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run is under way.
    pub(super) fn begin(&self, signal: AbortSignal) {
        *self.lock() = Some(signal);
    }

    /// The run is over. What it was to change and has not, is changed in no other run.
    pub(super) fn end(&self) {
        let mut signal = self.lock();
        let left = (signal.take(), self.queues.end_run());
        drop(signal);
        drop_foreign(left);
    }

    /// Adds to what is to change in the run under way; `false` if none is.
    fn change(&self, change: TurnChange) -> bool {
        // The run cannot end, and the next one begin, in between.
        let signal = self.lock();
        let is_running = signal.is_some();
        let replaced = if is_running { self.queues.change(change) } else { change };
        drop(signal);
        // Tools run foreign code when they are dropped: not under the lock.
        drop_foreign(replaced);
        is_running
    }
}

impl<M: CustomMessage> Handle<M> {
    /// Queues messages that are put in after the current batch, before the next request.
    ///
    /// One at a time by default ([`QueueMode::OneAtATime`]): of several that wait, each gets a turn.
    ///
    /// They do not interrupt: calls that were asked for all run. A run that would end goes on for them. The ticket
    /// tells whether they still wait, and takes them back.
    ///
    /// A message that the model does not see (`#[message(skip)]`) makes a run go on as well: it costs a request, which
    /// may end with the model's own last answer. To only show something to the person, put it into the transcript
    /// between runs.
    pub fn steer(&self, message: impl IntoPrompt<M>) -> Ticket<M> {
        self.queue(QueueKind::Steering, message)
    }

    /// Queues messages that are put in only when the run would otherwise end: one at a time by default, like
    /// [steers](Self::steer).
    pub fn follow_up(&self, message: impl IntoPrompt<M>) -> Ticket<M> {
        self.queue(QueueKind::FollowUp, message)
    }

    fn queue(&self, kind: QueueKind, message: impl IntoPrompt<M>) -> Ticket<M> {
        self.0.queues.push(kind, message.into_prompt(self.0.clock.timestamp()))
    }
}

impl<M> Handle<M> {
    /// Aborts the run of the moment; does nothing while the run is idle.
    ///
    /// The model's stream is dropped, tools as they declare; no further request is made, every call gets its result,
    /// and queued messages stay queued. Nothing of it happens inside this call: the run acts when it is polled.
    pub fn abort(&self) {
        let signal = self.0.lock().clone();
        if let Some(signal) = signal {
            signal.abort();
        }
    }

    /// Changes the model, the thinking level or the tools of the run under way, from its next turn on to its end.
    ///
    /// It is taken between two turns, before the hooks prepare. Of several changes that wait the later counts, each
    /// field by itself. `false`, and nothing is kept, while the run is idle; what waits when the run ends without
    /// another turn is dropped. To change the runs to come, set it on the idle run, or on the
    /// [`Agent`](crate::Agent), as well.
    #[must_use = "where no run is under way nothing is kept"]
    pub fn change_next_turn(&self, change: TurnChange) -> bool {
        self.0.change(change)
    }

    /// Whether a run is under way: from `prompt` or `resume` to its end.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.0.lock().is_some()
    }

    /// The messages that the next drain point would deliver: steers first, as many as the mode says. Takes nothing.
    #[must_use]
    pub fn peek(&self) -> Vec<AgentMessage<M>> {
        self.0.queues.peek()
    }

    /// All messages that wait in a queue, oldest first. Takes nothing.
    #[must_use]
    pub fn queued(&self, kind: QueueKind) -> Vec<AgentMessage<M>> {
        self.0.queues.all(kind)
    }

    /// How many messages wait in a queue.
    #[must_use]
    pub fn queued_len(&self, kind: QueueKind) -> usize {
        self.0.queues.len(kind)
    }

    /// Whether any message waits.
    #[must_use]
    pub fn has_queued(&self) -> bool {
        !self.0.queues.is_empty()
    }

    /// Takes out everything that waits, in one step: nothing is lost or delivered twice, whatever others do meanwhile.
    #[must_use = "what is taken out is not delivered any more"]
    pub fn take(&self) -> Queued<M> {
        self.0.queues.take()
    }

    /// Empties the steering queue.
    pub fn clear_steering(&self) {
        self.0.queues.clear(QueueKind::Steering);
    }

    /// Empties the follow-up queue.
    pub fn clear_follow_ups(&self) {
        self.0.queues.clear(QueueKind::FollowUp);
    }

    /// Empties both queues.
    pub fn clear_queues(&self) {
        drop(self.take());
    }

    /// Sets how many messages a drain point delivers. It counts from the next drain point on.
    pub fn set_queue_mode(&self, kind: QueueKind, mode: QueueMode) {
        self.0.queues.set_mode(kind, mode);
    }

    /// How many messages a drain point delivers.
    #[must_use]
    pub fn queue_mode(&self, kind: QueueKind) -> QueueMode {
        self.0.queues.mode(kind)
    }
}

impl<M> Clone for Handle<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M> fmt::Debug for Handle<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle")
            .field("is_running", &self.is_running())
            .field("queues", &self.0.queues)
            .finish()
    }
}
