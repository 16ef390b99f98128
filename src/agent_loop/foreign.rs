//! Futures that a host gave: their drop is foreign code too.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::error_text::drop_foreign;

/// A host's future. A panic of its drop ends nothing but itself: siblings in the same batch are dropped as well, and
/// two that panic do not end the process.
pub(super) struct Foreign<'a, T>(Option<BoxFuture<'a, T>>);

impl<'a, T> Foreign<'a, T> {
    pub(super) fn new(future: BoxFuture<'a, T>) -> Self {
        Self(Some(future))
    }
}

impl<T> Future for Foreign<'_, T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // It is there until the drop.
        self.0.as_mut().map_or(Poll::Pending, |future| future.poll_unpin(cx))
    }
}

impl<T> Drop for Foreign<'_, T> {
    fn drop(&mut self) {
        drop_foreign(self.0.take());
    }
}
