//! Where a shared agent's run is, and what is known of it meanwhile.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::Busy;
use super::listener::Listeners;
use crate::abort::AbortSignal;
use crate::agent_loop::LoopConfig;
use crate::clock::Clock;
use crate::error_text::drop_foreign;
use crate::message::CustomMessage;
use crate::run::{Handle, Idle, Run};
use crate::state::State;
use crate::waiters::Waiters;

/// What all clones of an agent share.
pub(super) struct Shared<M: CustomMessage> {
    pub(super) handle: Handle<M>,
    pub(super) clock: Arc<dyn Clock>,
    slot: Mutex<Slot<M>>,
    pub(super) listeners: Listeners<M>,
    pub(super) waiting: Waiters,
}

/// The run, or the mark that someone has it.
pub(super) struct Slot<M: CustomMessage> {
    pub(super) place: Place<M>,
    /// The number of the run under way, or of the last one.
    pub(super) run: u64,
    /// What the next run is given. Changes made during a run wait here.
    pub(super) config: LoopConfig<M>,
    /// The fold of all events, beside the run's own: it can be read at any time, also while the run is polled.
    pub(super) state: State<M>,
}

/// Where the run is.
pub(super) enum Place<M: CustomMessage> {
    /// Here.
    Idle(Box<Run<Idle, M>>),
    /// Someone has it. A run under way is known by its abort signal.
    Busy(AbortSignal),
}

impl<M: CustomMessage> Shared<M> {
    pub(super) fn new(run: Run<Idle, M>) -> Self {
        let config = LoopConfig::clone(run.config());
        let state = run.state().detached();
        Self {
            handle: run.handle(),
            clock: config.clock.clone(),
            slot: Mutex::new(Slot { place: Place::Idle(Box::new(run)), run: 0, config, state }),
            listeners: Listeners::default(),
            waiting: Waiters::default(),
        }
    }

    pub(super) fn slot(&self) -> MutexGuard<'_, Slot<M>> {
        // No foreign code runs under the lock, so it cannot be left half-changed.
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the run out, with everything that was changed since it was put back.
    ///
    /// Whoever has it puts it back, whatever happens.
    pub(super) fn take(&self) -> Result<Box<Run<Idle, M>>, Busy> {
        let mut slot = self.slot();
        match std::mem::replace(&mut slot.place, Place::Busy(AbortSignal::new())) {
            Place::Idle(mut run) => {
                slot.run += 1;
                let replaced = run.replace_config(slot.config.clone());
                drop(slot);
                drop_foreign(replaced);
                Ok(run)
            }
            busy => {
                slot.place = busy;
                Err(Busy)
            }
        }
    }

    /// Notes the signal that the run under way is known by.
    pub(super) fn note_run(&self, signal: &AbortSignal) {
        self.slot().place = Place::Busy(signal.clone());
    }

    /// Puts the run back, and wakes those who wait for it.
    pub(super) fn put_back(&self, run: Run<Idle, M>) {
        self.slot().place = Place::Idle(Box::new(run));
        self.waiting.wake_all();
    }

    /// Puts the run back after its transcript was changed.
    pub(super) fn put_back_edited(&self, run: Run<Idle, M>) {
        let state = run.state().detached();
        let replaced = std::mem::replace(&mut self.slot().state, state);
        drop_foreign(replaced);
        self.put_back(run);
    }
}
