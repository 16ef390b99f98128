//! The two queues of a run, and the tickets of what waits in them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use smallvec::SmallVec;

use crate::agent_loop::{MessageSource, TurnChange};
use crate::message::{AgentMessage, NoCustom};

/// How many queued messages a drain point delivers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum QueueMode {
    /// The oldest one.
    #[default]
    OneAtATime,
    /// All of them.
    All,
}

/// One of the two queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum QueueKind {
    /// Messages that are put in after the current batch, before the next request.
    Steering,
    /// Messages that are put in only when the run would otherwise end.
    FollowUp,
}

/// Everything that waits in a run's queues, as [`Handle::take`](super::Handle::take) takes it out.
#[derive(Debug)]
#[non_exhaustive]
pub struct Queued<M = NoCustom> {
    /// The steers, oldest first.
    pub steering: Vec<AgentMessage<M>>,
    /// The follow-ups, oldest first.
    pub follow_ups: Vec<AgentMessage<M>>,
}

/// Both queues, shared by a run and its handles.
pub(super) struct Queues<M>(Mutex<Inner<M>>);

struct Inner<M> {
    steering: Queue<M>,
    follow_ups: Queue<M>,
    /// What the loop took last, and from where: until it takes again, messages may come back.
    taken: Vec<Waiting<M>>,
    taken_from: QueueKind,
    /// What is to change from the next turn on.
    change: TurnChange,
}

struct Queue<M> {
    mode: QueueMode,
    entries: VecDeque<Waiting<M>>,
}

struct Waiting<M> {
    message: AgentMessage<M>,
    place: Arc<Whereabouts>,
}

/// Where a queued message is; shared with its ticket.
struct Whereabouts(AtomicU8);

const IN_STEERING: u8 = 0;
const IN_FOLLOW_UPS: u8 = 1;
const GONE: u8 = 2;

impl Whereabouts {
    fn of(kind: QueueKind) -> u8 {
        match kind {
            QueueKind::Steering => IN_STEERING,
            QueueKind::FollowUp => IN_FOLLOW_UPS,
        }
    }

    fn queue(&self) -> Option<QueueKind> {
        match self.0.load(Ordering::Acquire) {
            IN_STEERING => Some(QueueKind::Steering),
            IN_FOLLOW_UPS => Some(QueueKind::FollowUp),
            _ => None,
        }
    }

    fn set(&self, place: u8) {
        self.0.store(place, Ordering::Release);
    }
}

impl<M> Default for Queue<M> {
    fn default() -> Self {
        Self { mode: QueueMode::default(), entries: VecDeque::new() }
    }
}

impl<M> Queue<M> {
    /// How many a drain point delivers now.
    fn batch(&self) -> usize {
        match self.mode {
            QueueMode::OneAtATime => self.entries.len().min(1),
            QueueMode::All => self.entries.len(),
        }
    }

    fn clear(&mut self) -> Vec<AgentMessage<M>> {
        self.entries
            .drain(..)
            .map(|entry| {
                entry.place.set(GONE);
                entry.message
            })
            .collect()
    }
}

impl<M> Inner<M> {
    fn queue(&mut self, kind: QueueKind) -> &mut Queue<M> {
        match kind {
            QueueKind::Steering => &mut self.steering,
            QueueKind::FollowUp => &mut self.follow_ups,
        }
    }

    /// What a drain point delivers; and what was taken before, which is written by now.
    fn drain(&mut self, kind: QueueKind) -> (Vec<AgentMessage<M>>, Vec<Waiting<M>>) {
        let queue = self.queue(kind);
        let batch = queue.batch();
        let taken: Vec<_> = queue.entries.drain(..batch).collect();
        let messages = taken.iter().map(|entry| entry.message.clone()).collect();
        taken.iter().for_each(|entry| entry.place.set(GONE));
        self.taken_from = kind;
        (messages, std::mem::replace(&mut self.taken, taken))
    }

    fn remove(&mut self, place: &Arc<Whereabouts>) -> Option<Waiting<M>> {
        let queue = self.queue(place.queue()?);
        let at = queue.entries.iter().position(|entry| Arc::ptr_eq(&entry.place, place))?;
        queue.entries.remove(at)
    }
}

impl<M> Queues<M> {
    pub(super) fn new(steering: QueueMode, follow_ups: QueueMode) -> Self {
        Self(Mutex::new(Inner {
            steering: Queue { mode: steering, ..Queue::default() },
            follow_ups: Queue { mode: follow_ups, ..Queue::default() },
            taken: Vec::new(),
            taken_from: QueueKind::Steering,
            change: TurnChange::default(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Inner<M>> {
        // No foreign code runs under the lock, so it cannot be left half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues messages in one step: no other message comes between them.
    pub(super) fn push(self: &Arc<Self>, kind: QueueKind, messages: Vec<AgentMessage<M>>) -> Ticket<M> {
        let mut inner = self.lock();
        let mut places = SmallVec::new();
        for message in messages {
            let place = Arc::new(Whereabouts(AtomicU8::new(Whereabouts::of(kind))));
            places.push(place.clone());
            inner.queue(kind).entries.push_back(Waiting { message, place });
        }
        Ticket { queues: Arc::downgrade(self), places }
    }

    pub(super) fn set_mode(&self, kind: QueueKind, mode: QueueMode) {
        self.lock().queue(kind).mode = mode;
    }

    pub(super) fn mode(&self, kind: QueueKind) -> QueueMode {
        self.lock().queue(kind).mode
    }

    pub(super) fn len(&self, kind: QueueKind) -> usize {
        self.lock().queue(kind).entries.len()
    }

    pub(super) fn all(&self, kind: QueueKind) -> Vec<AgentMessage<M>> {
        self.lock().queue(kind).entries.iter().map(|entry| entry.message.clone()).collect()
    }

    /// What the next drain point would deliver: steers first.
    pub(super) fn peek(&self) -> Vec<AgentMessage<M>> {
        let inner = self.lock();
        let queue = if inner.steering.entries.is_empty() { &inner.follow_ups } else { &inner.steering };
        queue.entries.iter().take(queue.batch()).map(|entry| entry.message.clone()).collect()
    }

    pub(super) fn clear(&self, kind: QueueKind) -> Vec<AgentMessage<M>> {
        self.lock().queue(kind).clear()
    }

    pub(super) fn take(&self) -> Queued<M> {
        let mut inner = self.lock();
        Queued { steering: inner.steering.clear(), follow_ups: inner.follow_ups.clear() }
    }

    /// Adds to what is to change from the next turn on; gives what is replaced by it.
    #[must_use]
    pub(super) fn change(&self, change: TurnChange) -> TurnChange {
        let mut inner = self.lock();
        let earlier = std::mem::take(&mut inner.change);
        inner.change = earlier.clone().then(change);
        earlier
    }

    /// No run is under way any more: gives what was to change in it, and what it took last.
    #[must_use]
    pub(super) fn end_run(&self) -> impl Sized + use<M> {
        let mut inner = self.lock();
        (std::mem::take(&mut inner.change), std::mem::take(&mut inner.taken))
    }

    pub(super) fn drain(&self, kind: QueueKind) -> Vec<AgentMessage<M>> {
        let (messages, written) = self.lock().drain(kind);
        // It may be the last of a message, whose drop runs foreign code: not under the lock.
        drop(written);
        messages
    }

    pub(super) fn is_empty(&self) -> bool {
        let inner = self.lock();
        inner.steering.entries.is_empty() && inner.follow_ups.entries.is_empty()
    }

    /// What of the steers waits, or else of the follow-ups: in one step, so that nothing is missed that moves from the
    /// one to the other.
    pub(super) fn drain_first(&self) -> Vec<AgentMessage<M>> {
        let mut inner = self.lock();
        let kind = if inner.steering.entries.is_empty() { QueueKind::FollowUp } else { QueueKind::Steering };
        let (messages, written) = inner.drain(kind);
        drop(inner);
        drop(written);
        messages
    }
}

impl<M: Send + Sync + 'static> MessageSource<M> for Queues<M> {
    fn take_steering(&self) -> Vec<AgentMessage<M>> {
        self.drain(QueueKind::Steering)
    }

    fn take_follow_ups(&self) -> Vec<AgentMessage<M>> {
        self.drain(QueueKind::FollowUp)
    }

    fn give_back(&self, count: usize) {
        let mut inner = self.lock();
        let written = inner.taken.len().saturating_sub(count);
        let kind = inner.taken_from;
        let back = inner.taken.split_off(written);
        for entry in back.into_iter().rev() {
            entry.place.set(Whereabouts::of(kind));
            inner.queue(kind).entries.push_front(entry);
        }
    }

    fn has_messages(&self) -> bool {
        !self.is_empty()
    }

    fn take_change(&self) -> TurnChange {
        std::mem::take(&mut self.lock().change)
    }
}

impl<M> fmt::Debug for Queues<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.lock();
        f.debug_struct("Queues")
            .field("steering", &inner.steering.entries.len())
            .field("follow_ups", &inner.follow_ups.entries.len())
            .finish()
    }
}

/// What was queued by one call: it tells whether it still waits, and takes it back.
///
/// Dropping a ticket changes nothing: the messages stay queued.
pub struct Ticket<M = NoCustom> {
    queues: Weak<Queues<M>>,
    places: SmallVec<[Arc<Whereabouts>; 1]>,
}

impl<M> Ticket<M> {
    /// The queue it waits in; `None` once it was delivered, taken back or cleared, or its run is gone. Of several
    /// messages the first that waits counts.
    #[must_use]
    pub fn queue(&self) -> Option<QueueKind> {
        if self.queues.strong_count() == 0 {
            return None;
        }
        self.places.iter().find_map(|place| place.queue())
    }

    /// Whether any of it still waits.
    #[must_use]
    pub fn is_waiting(&self) -> bool {
        self.queue().is_some()
    }

    /// Takes back what still waits; nothing if nothing does.
    #[allow(clippy::must_use_candidate, reason = "taking a message back is reason enough to call it")]
    pub fn take_back(&self) -> Vec<AgentMessage<M>> {
        let Some(queues) = self.queues.upgrade() else { return Vec::new() };
        let mut inner = queues.lock();
        let taken: Vec<_> = self.places.iter().filter_map(|place| inner.remove(place)).collect();
        taken
            .into_iter()
            .map(|entry| {
                entry.place.set(GONE);
                entry.message
            })
            .collect()
    }

    /// Makes steers of what waits as follow-ups: it goes to the end of the steering queue. `false` if nothing waits any
    /// more; a steer stays where it is.
    #[allow(clippy::must_use_candidate, reason = "it is called for what it does")]
    pub fn promote(&self) -> bool {
        let Some(queues) = self.queues.upgrade() else { return false };
        let mut inner = queues.lock();
        let mut waits = false;
        for place in &self.places {
            match place.queue() {
                None => {}
                Some(QueueKind::Steering) => waits = true,
                Some(QueueKind::FollowUp) => {
                    if let Some(entry) = inner.remove(place) {
                        entry.place.set(IN_STEERING);
                        inner.steering.entries.push_back(entry);
                        waits = true;
                    }
                }
            }
        }
        waits
    }
}

impl<M> fmt::Debug for Ticket<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("queue", &self.queue()).finish()
    }
}
