//! The abort signal, with its two phases.
//!
//! An abort is first *raised*: tools see it, and every future that waits for it is woken. Only when all of them are
//! woken is it *delivered*: the run acts on it, and gives pending tools and hooks one last poll. Were the two one, a
//! run on another thread could poll a tool before the tool's own waiters had been woken, find it pending, and drop
//! it although it was about to answer.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};

use crate::waiters::Waiters;

const RAISED: u8 = 1;
const DELIVERED: u8 = 2;

/// Tells everyone who holds it that a run is to stop. Cheap to clone; all clones are one signal.
///
/// A signal is raised once and stays so. Each run has its own, so an abort never reaches into the next run.
#[derive(Clone, Default)]
pub struct AbortSignal(Arc<Inner>);

#[derive(Default)]
struct Inner {
    phase: AtomicU8,
    /// Tools and whoever else waits for the abort; woken first.
    waiting: Waiters,
    /// Runs and the calls they drive; woken when everyone else has been.
    driving: Waiters,
}

impl AbortSignal {
    /// A signal that is not raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises the signal. A second time does nothing.
    ///
    /// Calls no listener and polls nothing itself: it wakes those who wait.
    pub fn abort(&self) {
        if self.0.phase.compare_exchange(0, RAISED, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.0.waiting.wake_all();
            self.0.phase.store(DELIVERED, Ordering::Release);
            self.0.driving.wake_all();
        }
    }

    /// Whether the signal is raised.
    #[inline]
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.0.phase.load(Ordering::Acquire) >= RAISED
    }

    /// Waits until the signal is raised.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind in the signal.
    pub fn aborted(&self) -> Aborted {
        Aborted(Wait::new(self.clone(), Phase::Raised))
    }

    /// Whether everyone who waits for the signal has been woken, and the run is to act on it.
    #[inline]
    pub(crate) fn is_delivered(&self) -> bool {
        self.0.phase.load(Ordering::Acquire) >= DELIVERED
    }

    /// Waits until the signal is delivered.
    pub(crate) fn delivered(&self) -> Wait {
        Wait::new(self.clone(), Phase::Delivered)
    }

    /// Whether both are clones of one signal.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// How many futures wait for the signal now: to see that none is left behind.
    #[must_use]
    pub fn waiters(&self) -> usize {
        self.0.waiting.count() + self.0.driving.count()
    }
}

impl fmt::Debug for AbortSignal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AbortSignal").field("aborted", &self.is_aborted()).finish_non_exhaustive()
    }
}

/// Waits until an [`AbortSignal`] is raised.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Aborted(Wait);

impl Future for Aborted {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Raised,
    Delivered,
}

/// Waits for one of the two phases.
#[derive(Debug)]
pub(crate) struct Wait {
    signal: AbortSignal,
    phase: Phase,
    slot: Option<usize>,
}

impl Wait {
    fn new(signal: AbortSignal, phase: Phase) -> Self {
        Self { signal, phase, slot: None }
    }

    fn is_over(&self) -> bool {
        match self.phase {
            Phase::Raised => self.signal.is_aborted(),
            Phase::Delivered => self.signal.is_delivered(),
        }
    }

    fn waiters(&self) -> &Waiters {
        match self.phase {
            Phase::Raised => &self.signal.0.waiting,
            Phase::Delivered => &self.signal.0.driving,
        }
    }
}

impl Future for Wait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_over() {
            return Poll::Ready(());
        }
        let slot = self.waiters().register(self.slot, cx.waker());
        self.slot = Some(slot);
        // The signal may have come between the first look and the registration.
        if self.is_over() { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            self.waiters().free(slot);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::Mutex;
    use std::task::Waker;

    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_raised_signal_stays_raised_and_wakes_who_waits() {
        let signal = AbortSignal::new();
        let mut waiting = signal.aborted();
        assert!((&mut waiting).now_or_never().is_none());
        assert_eq!(signal.waiters(), 1);
        signal.abort();
        signal.abort();
        assert!(signal.is_aborted() && signal.is_delivered());
        assert!(waiting.now_or_never().is_some());
    }

    #[test]
    fn ten_thousand_waiters_leave_nothing_behind() {
        let signal = AbortSignal::new();
        let mut all: Vec<_> = (0..10_000).map(|_| signal.aborted()).collect();
        for waiting in &mut all {
            assert!(waiting.now_or_never().is_none());
        }
        assert_eq!(signal.waiters(), 10_000);
        drop(all);
        assert_eq!(signal.waiters(), 0);
    }

    #[test]
    fn every_waiter_is_woken_before_the_run_acts() {
        struct SeesPhase(AbortSignal, Mutex<Vec<bool>>);
        impl std::task::Wake for SeesPhase {
            fn wake(self: Arc<Self>) {
                self.1.lock().unwrap().push(self.0.is_delivered());
            }
        }
        let signal = AbortSignal::new();
        let seen = Arc::new(SeesPhase(signal.clone(), Mutex::default()));
        let waker = Waker::from(seen.clone());
        let mut cx = Context::from_waker(&waker);
        let mut run = signal.delivered();
        let mut tool = signal.aborted();
        assert!(Pin::new(&mut run).poll(&mut cx).is_pending());
        assert!(Pin::new(&mut tool).poll(&mut cx).is_pending());
        signal.abort();
        assert_eq!(*seen.1.lock().unwrap(), [false, true]);
    }
}
