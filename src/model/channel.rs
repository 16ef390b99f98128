//! The push side: deltas from callbacks.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use thiserror::Error;

use super::Delta;
use crate::abort::{AbortSignal, Aborted};
use crate::waiters::wake;

/// A stream of deltas, and the sender that feeds it: for transports that call back instead of being polled.
///
/// The channel has no bound, on purpose. A callback can neither wait nor refuse what has come in, so a bound could only
/// block a foreign thread or lose deltas; and the sum of all deltas is one answer of a model, which is kept in memory
/// anyway. A transport that can slow its server down looks at [`DeltaSender::waiting`].
///
/// The stream ends with the terminal delta, or when all senders are dropped; the loop makes an early end a failed
/// answer.
///
/// ```
/// use turnstate::message::StopReason;
/// use turnstate::model::{Delta, Request, delta_channel};
///
/// let model = |_: Request| {
///     let (sender, deltas) = delta_channel();
///     std::thread::spawn(move || {
///         for delta in [Delta::Start, Delta::TextStart { index: 0 }, Delta::text(0, "Hi."), Delta::done(StopReason::Stop)] {
///             if sender.send(delta).is_err() {
///                 return; // Nobody listens any more: the run was aborted.
///             }
///         }
///     });
///     deltas
/// };
/// # let _ = turnstate::Run::builder(model).build();
/// ```
pub fn delta_channel() -> (DeltaSender, DeltaReceiver) {
    let shared = Arc::new(Shared::default());
    let alive = Arc::new(Alive(shared.clone()));
    (DeltaSender { shared: shared.clone(), alive }, DeltaReceiver(shared))
}

/// Feeds a [`DeltaReceiver`]. Cheap to clone; a delta may be sent from any thread, and never waits.
#[derive(Clone)]
pub struct DeltaSender {
    shared: Arc<Shared>,
    #[allow(dead_code, reason = "its drop tells that the last sender is gone")]
    alive: Arc<Alive>,
}

/// The stream of what a [`DeltaSender`] sends.
///
/// # Cancel safety
/// Dropped, it tells its senders that nobody listens.
#[must_use = "streams do nothing unless polled"]
pub struct DeltaReceiver(Arc<Shared>);

/// Nobody takes deltas any more: the stream was dropped, as in an abort, or the answer has ended. Stop the transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("nobody takes deltas any more")]
#[non_exhaustive]
pub struct Closed;

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    /// Raised when nobody takes deltas any more.
    closed: AbortSignal,
}

#[derive(Default)]
struct Queue {
    deltas: VecDeque<Delta>,
    /// Whether the terminal delta was sent, or the last sender is gone.
    ended: bool,
    waker: Option<Waker>,
}

/// Held by all senders together.
struct Alive(Arc<Shared>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        // Nothing that can panic runs under the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self) {
        // Wakers run foreign code: not under the lock.
        let waker = self.lock().waker.take();
        if let Some(waker) = waker {
            wake(waker);
        }
    }
}

impl DeltaSender {
    /// Sends a delta. It does not wait.
    ///
    /// # Errors
    /// When nobody takes deltas any more.
    pub fn send(&self, delta: Delta) -> Result<(), Closed> {
        let is_terminal = delta.is_terminal();
        {
            let mut queue = self.shared.lock();
            if queue.ended || self.is_closed() {
                return Err(Closed);
            }
            queue.ended = is_terminal;
            queue.deltas.push_back(delta);
        }
        self.shared.wake();
        Ok(())
    }

    /// Whether nobody takes deltas any more.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.shared.closed.is_aborted()
    }

    /// Waits until nobody takes deltas any more: then a transport closes its connection.
    pub fn closed(&self) -> Aborted {
        self.shared.closed.aborted()
    }

    /// How many deltas wait to be taken.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.shared.lock().deltas.len()
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.lock().ended = true;
        self.0.wake();
    }
}

impl Stream for DeltaReceiver {
    type Item = Delta;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delta>> {
        // Wakers are foreign code: cloned before the lock is taken, and dropped after it is given up.
        let waker = cx.waker().clone();
        let mut queue = self.0.lock();
        let delta = queue.deltas.pop_front();
        if delta.is_none() && !queue.ended {
            let replaced = queue.waker.replace(waker);
            drop(queue);
            drop(replaced);
            return Poll::Pending;
        }
        drop(queue);
        if delta.as_ref().is_none_or(Delta::is_terminal) {
            self.0.closed.abort();
        }
        Poll::Ready(delta)
    }
}

impl Drop for DeltaReceiver {
    fn drop(&mut self) {
        self.0.closed.abort();
        // What nobody will take is not kept until the last sender goes.
        let (deltas, waker) = {
            let mut queue = self.0.lock();
            (std::mem::take(&mut queue.deltas), queue.waker.take())
        };
        drop((deltas, waker));
    }
}

impl fmt::Debug for DeltaSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaSender").field("closed", &self.is_closed()).finish_non_exhaustive()
    }
}

impl fmt::Debug for DeltaReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeltaReceiver").field("waiting", &self.0.lock().deltas.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use futures::{FutureExt, StreamExt};

    use super::*;
    use crate::message::StopReason;

    #[test]
    fn deltas_come_in_the_order_they_were_sent_from_any_thread() {
        let (sender, deltas) = delta_channel();
        let sending = std::thread::spawn(move || {
            for number in 0..1_000 {
                sender.send(Delta::text(0, number.to_string())).unwrap();
            }
            sender.send(Delta::done(StopReason::Stop)).unwrap();
            sender.send(Delta::Start)
        });
        let taken: Vec<_> = futures::executor::block_on(deltas.collect());
        assert_eq!(taken.len(), 1_001);
        assert!((0..1_000).zip(&taken).all(|(number, delta)| *delta == Delta::text(0, number.to_string())));
        assert_eq!(sending.join().unwrap(), Err(Closed), "nothing follows the terminal delta");
    }

    #[test]
    fn the_stream_ends_when_the_last_sender_is_dropped() {
        let (sender, mut deltas) = delta_channel();
        let other = sender.clone();
        sender.send(Delta::Start).unwrap();
        assert_eq!(other.waiting(), 1);
        drop(sender);
        assert_eq!(deltas.next().now_or_never(), Some(Some(Delta::Start)));
        assert_eq!(deltas.next().now_or_never(), None);
        drop(other);
        assert_eq!(deltas.next().now_or_never(), Some(None));
    }

    #[test]
    fn a_sender_is_not_hurt_by_the_waker_of_a_run_whose_executor_is_gone() {
        struct Gone;
        impl std::task::Wake for Gone {
            fn wake(self: Arc<Self>) {
                panic!("the executor is gone");
            }
        }
        let (sender, mut deltas) = delta_channel();
        let gone = Waker::from(Arc::new(Gone));
        assert!(deltas.poll_next_unpin(&mut Context::from_waker(&gone)).is_pending());
        assert_eq!(sender.send(Delta::Start), Ok(()));
        assert_eq!(deltas.next().now_or_never(), Some(Some(Delta::Start)));
        assert!(deltas.poll_next_unpin(&mut Context::from_waker(&gone)).is_pending());
        drop(sender);
        assert_eq!(deltas.next().now_or_never(), Some(None));
    }

    #[test]
    fn a_sender_learns_that_nobody_listens() {
        let (sender, deltas) = delta_channel();
        sender.send(Delta::Start).unwrap();
        let mut closed = sender.closed();
        assert!((&mut closed).now_or_never().is_none() && !sender.is_closed());
        drop(deltas);
        assert!(closed.now_or_never().is_some() && sender.is_closed());
        assert_eq!(sender.send(Delta::Start), Err(Closed));
        assert_eq!(sender.waiting(), 0);
    }
}
