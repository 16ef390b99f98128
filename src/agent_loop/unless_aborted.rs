//! Waiting that ends with the run's abort.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::pin_project;

use crate::abort::{AbortSignal, Wait};

/// A future that is given up when the run's abort is delivered: it is polled once more then, so that it can still
/// answer, and if it does not, the output is `None`.
#[pin_project]
#[must_use = "futures do nothing unless polled"]
pub(crate) struct UnlessAborted<'a, F> {
    #[pin]
    future: F,
    signal: &'a AbortSignal,
    /// Registered only once the future has been pending: what is ready at once costs nothing.
    delivered: Option<Wait>,
}

pub(crate) fn unless_aborted<F: Future>(signal: &AbortSignal, future: F) -> UnlessAborted<'_, F> {
    UnlessAborted { future, signal, delivered: None }
}

impl<F: Future> Future for UnlessAborted<'_, F> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            let last_poll = this.signal.is_delivered();
            if let Poll::Ready(output) = this.future.as_mut().poll(cx) {
                return Poll::Ready(Some(output));
            }
            if last_poll {
                return Poll::Ready(None);
            }
            let delivered = this.delivered.get_or_insert_with(|| this.signal.delivered());
            if Pin::new(delivered).poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}
