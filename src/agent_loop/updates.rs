//! The updates of a batch's running calls, on their way to the loop.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_util::task::AtomicWaker;

use crate::message::ToolCall;
use crate::tool::ToolOutput;
use crate::waiters::wake;

/// One update: which call, and what it has so far.
pub(crate) type Update = (Arc<ToolCall>, Arc<ToolOutput>);

/// A queue of updates. Calls may push from any thread; the loop, which alone emits, takes them in order.
#[derive(Default)]
pub(crate) struct Updates {
    /// Whether any was ever pushed. Most calls push none, and cost no lock then.
    used: AtomicBool,
    queue: Mutex<Queue>,
    taker: AtomicWaker,
}

#[derive(Default)]
struct Queue {
    updates: VecDeque<Update>,
    /// How many were taken. The last one may still be on its way to the consumer, unless the loop has asked again.
    taken: u64,
    /// How many are told.
    told: u64,
    /// Calls that wait, by how many are to be told first; those that wait for the same, by their number.
    waiting: BTreeMap<(u64, u64), Waker>,
    /// How many have waited.
    waited: u64,
}

impl Updates {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No foreign code runs under the lock, so it cannot be left half-changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, call: &Arc<ToolCall>, partial: ToolOutput) {
        let update = (call.clone(), Arc::new(partial));
        self.queue().updates.push_back(update);
        self.used.store(true, Ordering::Release);
        // Its waker is the run's executor's, and no concern of the tool that tells.
        if let Some(waker) = self.taker.take() {
            wake(waker);
        }
    }

    /// How many updates were pushed so far.
    pub(crate) fn pushed(&self) -> u64 {
        if self.used.load(Ordering::Acquire) { self.queue().pushed() } else { 0 }
    }

    /// The next update, if it is among the first `count` that were pushed. Whoever asks has told the one before.
    pub(crate) fn pop_of(&self, count: u64) -> Option<Update> {
        if !self.used.load(Ordering::Acquire) {
            return None;
        }
        let mut queue = self.queue();
        let is_over = queue.tell_taken();
        let update = if queue.taken < count { queue.updates.pop_front() } else { None };
        queue.taken += u64::from(update.is_some());
        drop(queue);
        // Wakers run foreign code: not under the lock.
        is_over.into_values().for_each(wake);
        update
    }

    /// The next update, or a wake-up when there is one.
    pub(crate) fn poll_pop(&self, cx: &Context<'_>) -> Option<Update> {
        self.pop().or_else(|| {
            self.taker.register(cx.waker());
            // One may have come between the look and the registration.
            self.pop()
        })
    }

    fn pop(&self) -> Option<Update> {
        self.pop_of(u64::MAX)
    }

    /// Waits until every update that was pushed so far is told: who comes after it, has seen them. What others push
    /// meanwhile holds it up no longer.
    pub(crate) fn told(&self) -> Told<'_> {
        Told { updates: self, place: None }
    }
}

impl Queue {
    fn pushed(&self) -> u64 {
        self.taken + self.updates.len() as u64
    }

    /// What was taken is told; gives those who waited for it.
    fn tell_taken(&mut self) -> BTreeMap<(u64, u64), Waker> {
        self.told = self.taken;
        if self.waiting.is_empty() {
            return BTreeMap::new();
        }
        let still_waiting = self.waiting.split_off(&(self.told + 1, 0));
        std::mem::replace(&mut self.waiting, still_waiting)
    }

    /// A place among those who wait, for what is pushed so far.
    fn place(&mut self) -> (u64, u64) {
        self.waited += 1;
        (self.pushed(), self.waited)
    }
}

/// Waits until what was pushed before is told.
pub(crate) struct Told<'a> {
    updates: &'a Updates,
    place: Option<(u64, u64)>,
}

impl Future for Told<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if !self.updates.used.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        // Cloning and dropping a waker runs foreign code: not under the lock.
        let waker = cx.waker().clone();
        let mut queue = self.updates.queue();
        let place = *self.place.get_or_insert_with(|| queue.place());
        let (awaited, _) = place;
        let (over, unused) = match queue.told >= awaited {
            true => (Poll::Ready(()), Some(waker)),
            false => (Poll::Pending, queue.waiting.insert(place, waker)),
        };
        drop(queue);
        drop(unused);
        over
    }
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            let waker = self.updates.queue().waiting.remove(&place);
            drop(waker);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use futures_util::FutureExt;
    use serde_json::Map;

    use super::*;

    fn push(updates: &Updates, text: &str) {
        updates.push(&Arc::new(ToolCall::new("1", "tool", Map::new())), ToolOutput::text(text));
    }

    #[test]
    fn nothing_pushed_is_nothing_to_wait_for() {
        let updates = Updates::default();
        assert_eq!(updates.told().now_or_never(), Some(()));
        assert!(updates.pop().is_none());
    }

    #[test]
    fn who_waits_waits_for_what_was_pushed_before_and_not_for_what_comes_after() {
        let updates = Updates::default();
        push(&updates, "a");
        let mut first = updates.told();
        assert!((&mut first).now_or_never().is_none());
        push(&updates, "b");
        let mut second = updates.told();
        assert!((&mut second).now_or_never().is_none());
        // "a" is taken, but who took it may still be telling it.
        assert!(updates.pop().is_some());
        assert!((&mut first).now_or_never().is_none());
        assert!(updates.pop().is_some());
        assert_eq!((&mut first).now_or_never(), Some(()));
        assert!((&mut second).now_or_never().is_none());
        push(&updates, "c");
        assert!(updates.pop().is_some());
        assert_eq!((&mut second).now_or_never(), Some(()));
    }

    #[test]
    fn only_those_are_woken_whose_updates_are_told() {
        use std::sync::atomic::AtomicUsize;
        use std::task::Wake;

        struct Count(AtomicUsize);
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let updates = Updates::default();
        let counts = [(); 3].map(|()| Arc::new(Count(AtomicUsize::new(0))));
        let mut all = Vec::new();
        for count in &counts {
            push(&updates, "one more");
            let mut told = updates.told();
            let waker = Waker::from(count.clone());
            // Twice: who is polled again keeps its place.
            for _ in 0..2 {
                assert!(told.poll_unpin(&mut Context::from_waker(&waker)).is_pending());
            }
            all.push(told);
        }
        let woken = || counts.each_ref().map(|count| count.0.load(Ordering::Relaxed));
        updates.pop().unwrap();
        assert_eq!(woken(), [0, 0, 0]);
        updates.pop().unwrap();
        assert_eq!(woken(), [1, 0, 0]);
        // One that is given up is not woken any more.
        all.remove(1);
        updates.pop().unwrap();
        assert!(updates.pop().is_none());
        assert_eq!(woken(), [1, 0, 1]);
        drop(all);
        assert!(updates.queue().waiting.is_empty());
    }
}
