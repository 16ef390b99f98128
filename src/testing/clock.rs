//! Time that moves only when a test says so.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::clock::Clock;
use crate::message::Timestamp;

/// Both clocks of a run, moved by hand. Starts at zero. Cheap to clone; all clones are one clock.
#[derive(Clone, Default)]
pub struct VirtualClock(Arc<Mutex<Inner>>);

/// Cloning, waking and dropping a waker runs foreign code, which may come back here: none of it happens under the lock.
#[derive(Default)]
struct Inner {
    now: Duration,
    /// Who sleeps, by ticket, in order of their arrival: until when, and how to wake them.
    sleeping: BTreeMap<u64, (Duration, Waker)>,
    next_ticket: u64,
}

impl VirtualClock {
    /// A clock at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves both clocks, and wakes whose time has come. At the greatest [`Duration`] they stand still.
    pub fn advance(&self, by: Duration) {
        let due: BTreeMap<_, _> = {
            let mut inner = self.inner();
            inner.now = inner.now.saturating_add(by);
            let now = inner.now;
            let (due, later) =
                std::mem::take(&mut inner.sleeping).into_iter().partition(|(_, (until, _))| *until <= now);
            inner.sleeping = later;
            due
        };
        due.into_values().for_each(|(_, waker)| waker.wake());
    }

    /// Moves both clocks to the moment when the next sleep is over; `false` if nobody sleeps.
    #[must_use = "without anybody asleep no time has passed"]
    pub fn advance_to_next(&self) -> bool {
        let by = {
            let inner = self.inner();
            inner.sleeping.values().map(|(until, _)| until.saturating_sub(inner.now)).min()
        };
        by.inspect(|by| self.advance(*by)).is_some()
    }

    /// Waits until the clock has moved this far.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub fn sleep(&self, duration: Duration) -> Sleep {
        let until = self.inner().now.saturating_add(duration);
        Sleep { clock: self.clone(), until, ticket: None }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::try_from(self.inner().now.as_millis()).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.inner().now
    }
}

impl fmt::Debug for VirtualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("VirtualClock").field(&self.inner().now).finish()
    }
}

/// Waits until a [`VirtualClock`] has moved far enough.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    clock: VirtualClock,
    until: Duration,
    ticket: Option<u64>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let waker = cx.waker().clone();
        let mut inner = this.clock.inner();
        if inner.now >= this.until {
            return Poll::Ready(());
        }
        let ticket = this.ticket.unwrap_or(inner.next_ticket);
        if this.ticket.is_none() {
            inner.next_ticket += 1;
        }
        let replaced = inner.sleeping.insert(ticket, (this.until, waker));
        drop(inner);
        drop(replaced);
        this.ticket = Some(ticket);
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let gone = self.clock.inner().sleeping.remove(&ticket);
            drop(gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn time_stands_still_until_it_is_moved() {
        let clock = VirtualClock::new();
        let mut sleep = clock.sleep(Duration::from_millis(5));
        assert!((&mut sleep).now_or_never().is_none());
        clock.advance(Duration::from_millis(4));
        assert!((&mut sleep).now_or_never().is_none());
        assert!(clock.advance_to_next());
        assert!(sleep.now_or_never().is_some());
        assert_eq!((clock.now(), clock.monotonic()), (5, Duration::from_millis(5)));
        assert!(!clock.advance_to_next());
    }

    #[test]
    fn a_sleep_for_ever_is_no_overflow() {
        let clock = VirtualClock::new();
        clock.advance(Duration::from_secs(1));
        let mut sleep = clock.sleep(Duration::MAX);
        assert!((&mut sleep).now_or_never().is_none());
        clock.advance(Duration::MAX);
        clock.advance(Duration::MAX);
        assert!(sleep.now_or_never().is_some());
    }
}
