//! Wakers of those who wait for one thing, in slots.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::Waker;

use crate::error_text::call_foreign;

/// Wakers in slots, so that one that goes away is found at once.
///
/// Cloning, waking and dropping a waker runs foreign code, which may come back here: none of it happens under the lock.
#[derive(Default)]
pub(crate) struct Waiters(Mutex<Slots>);

#[derive(Default)]
struct Slots {
    wakers: Vec<Option<Waker>>,
    free: Vec<usize>,
}

impl Waiters {
    fn lock(&self) -> MutexGuard<'_, Slots> {
        // No foreign code runs under the lock, so it cannot be left half-changed.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a waker in its slot, or in a new one at first; gives the slot.
    ///
    /// What is waited for may have come before the registration: look again after it.
    pub(crate) fn register(&self, slot: Option<usize>, waker: &Waker) -> usize {
        if let Some(slot) = slot.filter(|slot| self.lock().has(*slot, waker)) {
            return slot;
        }
        let waker = waker.clone();
        let (slot, replaced) = self.lock().put(slot, waker);
        drop(replaced);
        slot
    }

    /// Gives up a slot.
    pub(crate) fn free(&self, slot: usize) {
        let freed = self.lock().free(slot);
        drop(freed);
    }

    /// Wakes everyone. Each keeps its slot until it gives it up. A waker that panics keeps nobody else asleep.
    pub(crate) fn wake_all(&self) {
        let wakers: Vec<Waker> = self.lock().wakers.iter_mut().filter_map(Option::take).collect();
        wakers.into_iter().for_each(wake);
    }

    /// How many slots are taken.
    pub(crate) fn count(&self) -> usize {
        let slots = self.lock();
        slots.wakers.len() - slots.free.len()
    }
}

/// Wakes a task. A waker is foreign code, of the executor: a panic of it, as after a shutdown, is nobody's else.
pub(crate) fn wake(waker: Waker) {
    call_foreign(|| waker.wake());
}

impl Slots {
    fn has(&self, slot: usize, waker: &Waker) -> bool {
        matches!(self.wakers.get(slot), Some(Some(known)) if known.will_wake(waker))
    }

    fn put(&mut self, slot: Option<usize>, waker: Waker) -> (usize, Option<Waker>) {
        let slot = slot.or_else(|| self.free.pop()).unwrap_or_else(|| {
            self.wakers.push(None);
            self.wakers.len() - 1
        });
        let replaced = self.wakers.get_mut(slot).and_then(|place| place.replace(waker));
        (slot, replaced)
    }

    fn free(&mut self, slot: usize) -> Option<Waker> {
        let freed = self.wakers.get_mut(slot).map(|place| {
            self.free.push(slot);
            place.take()
        });
        if self.free.len() == self.wakers.len() {
            // Nobody waits: a crowd that once waited leaves no memory behind.
            *self = Self::default();
        }
        freed.flatten()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::Arc;
    use std::task::Wake;

    use super::*;

    #[test]
    fn a_crowd_that_has_gone_leaves_no_memory() {
        let waiters = Waiters::default();
        let slots: Vec<_> = (0..10_000).map(|_| waiters.register(None, Waker::noop())).collect();
        assert_eq!(waiters.count(), 10_000);
        slots.into_iter().for_each(|slot| waiters.free(slot));
        assert_eq!(waiters.count(), 0);
        assert_eq!(waiters.lock().wakers.capacity(), 0);
    }

    /// A task that waits for the same thing once more, so that dropping its last waker comes back here.
    struct Task(Arc<Waiters>, usize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Task {
        fn drop(&mut self) {
            self.0.free(self.1);
        }
    }

    #[test]
    fn a_waker_whose_drop_comes_back_does_not_deadlock() {
        let waiters = Arc::new(Waiters::default());
        let task = || Waker::from(Arc::new(Task(waiters.clone(), waiters.register(None, Waker::noop()))));
        let slot = waiters.register(None, &task());
        assert_eq!(waiters.register(Some(slot), &task()), slot);
        assert_eq!(waiters.count(), 2);
        waiters.free(slot);
        assert_eq!(waiters.count(), 0);
        let slot = waiters.register(None, &task());
        waiters.wake_all();
        waiters.free(slot);
        assert_eq!(waiters.count(), 0);
    }
}
