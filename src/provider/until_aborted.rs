//! Answers that end with the abort.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::future::FutureExt;
use futures_util::stream::StreamExt;

use crate::abort::{AbortSignal, Aborted};
use crate::model::{BoxDeltaStream, Delta, Failure};

/// The deltas until the signal is raised, or up to the terminal one.
pub(crate) fn until_aborted(deltas: BoxDeltaStream, abort: AbortSignal) -> BoxDeltaStream {
    UntilAborted { answer: Some((deltas, abort.aborted())), abort }.boxed()
}

/// Deltas until the signal is raised, or up to the terminal one.
///
/// The loop drops the stream of an aborted run by itself. This serves those who read an answer without the loop.
struct UntilAborted {
    abort: AbortSignal,
    /// `None` at the end: nothing then waits for the signal any more.
    answer: Option<(BoxDeltaStream, Aborted)>,
}

impl Stream for UntilAborted {
    type Item = Delta;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delta>> {
        let this = &mut *self;
        let Some((deltas, aborted)) = &mut this.answer else { return Poll::Ready(None) };
        let polled = if this.abort.is_aborted() { Poll::Pending } else { deltas.poll_next_unpin(cx) };
        // Looked at after the poll too: what comes in together with the abort counts no more.
        let is_aborted = match polled {
            Poll::Ready(_) => this.abort.is_aborted(),
            Poll::Pending => aborted.poll_unpin(cx).is_ready(),
        };
        let polled = match is_aborted {
            true => Poll::Ready(Some(Failure::aborted("the request was aborted").into())),
            false => polled,
        };
        if matches!(&polled, Poll::Ready(delta) if delta.as_ref().is_none_or(Delta::is_terminal)) {
            this.answer = None;
        }
        polled
    }
}
