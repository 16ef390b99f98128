//! Work that is always ready, and must let others have the thread all the same.

use std::future::poll_fn;
use std::task::{Context, Poll};

/// So much is done at a time by what may never have to wait: a stream that is always ready.
const AT_A_TIME: u32 = 128;

/// Counts what is done. After so much of it, whoever does it is to wait once: its task is woken at once, and
/// everything beside it (an abort, a sibling, another task) has its turn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Breath {
    done: u32,
}

impl Breath {
    /// One more piece of work is to be done: pending when it is time to wait.
    #[inline]
    pub(crate) fn poll(&mut self, cx: &Context<'_>) -> Poll<()> {
        self.done += 1;
        if self.done < AT_A_TIME {
            return Poll::Ready(());
        }
        self.done = 0;
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// The same in an async function.
    pub(crate) async fn take(&mut self) {
        poll_fn(|cx| self.poll(cx)).await;
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn what_never_waits_is_made_to_wait_once_in_a_while() {
        let mut breath = Breath::default();
        let waited = (0..1000).filter(|_| breath.take().now_or_never().is_none()).count();
        assert_eq!(waited, 1000 / 128);
    }
}
