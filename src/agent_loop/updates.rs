//! The updates of a batch's running calls, on their way to the loop.

use std::collections::VecDeque;
use std::future::poll_fn;
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
    queue: Mutex<Queue>,
    taker: AtomicWaker,
}

#[derive(Default)]
struct Queue {
    updates: VecDeque<Update>,
    /// Whether the one that was taken last may still be on its way to the consumer.
    telling: bool,
    /// Calls that wait until all is told.
    waiting: Vec<Waker>,
}

impl Updates {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // No foreign code runs under the lock, so it cannot be left half-changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, call: &Arc<ToolCall>, partial: ToolOutput) {
        self.queue().updates.push_back((call.clone(), Arc::new(partial)));
        self.taker.wake();
    }

    /// The next update. Whoever asks has told the one before.
    pub(crate) fn pop(&self) -> Option<Update> {
        let mut queue = self.queue();
        let update = queue.updates.pop_front();
        queue.telling = update.is_some();
        let waiting = if queue.telling { Vec::new() } else { std::mem::take(&mut queue.waiting) };
        drop(queue);
        // Wakers run foreign code: not under the lock.
        waiting.into_iter().for_each(wake);
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

    /// Waits until every update that was pushed is told: who comes after it, has seen them.
    pub(crate) async fn told(&self) {
        poll_fn(|cx| {
            let mut queue = self.queue();
            if queue.updates.is_empty() && !queue.telling {
                return Poll::Ready(());
            }
            queue.waiting.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }
}
