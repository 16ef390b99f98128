//! The updates of a batch's running calls, on their way to the loop.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Context;

use futures_util::task::AtomicWaker;

use crate::message::ToolCall;
use crate::tool::ToolOutput;

/// One update: which call, and what it has so far.
pub(crate) type Update = (Arc<ToolCall>, Arc<ToolOutput>);

/// A queue of updates. Calls may push from any thread; the loop, which alone emits, takes them in order.
#[derive(Default)]
pub(crate) struct Updates {
    queue: Mutex<VecDeque<Update>>,
    taker: AtomicWaker,
}

impl Updates {
    pub(crate) fn push(&self, call: &Arc<ToolCall>, partial: ToolOutput) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back((call.clone(), Arc::new(partial)));
        self.taker.wake();
    }

    pub(crate) fn pop(&self) -> Option<Update> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    /// The next update, or a wake-up when there is one.
    pub(crate) fn poll_pop(&self, cx: &Context<'_>) -> Option<Update> {
        self.pop().or_else(|| {
            self.taker.register(cx.waker());
            // One may have come between the look and the registration.
            self.pop()
        })
    }
}
