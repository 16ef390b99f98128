//! What a host gave: its drop is foreign code too.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;

use crate::error_text::drop_foreign;

/// A host's value, or one whose drop wakes a host's task. A panic of its drop ends nothing but itself: siblings are
/// dropped as well, and two that panic do not end the process.
pub(crate) struct Foreign<T>(Option<T>);

impl<T> Foreign<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// The value, which is there until the drop.
    pub(crate) fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    pub(crate) fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    /// Takes the value out: whoever has it drops it with care.
    pub(crate) fn take(mut self) -> Option<T> {
        self.0.take()
    }
}

impl<T: Future + Unpin> Future for Foreign<T> {
    type Output = T::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T::Output> {
        self.0.as_mut().map_or(Poll::Pending, |future| future.poll_unpin(cx))
    }
}

impl<T> Drop for Foreign<T> {
    fn drop(&mut self) {
        drop_foreign(self.0.take());
    }
}
