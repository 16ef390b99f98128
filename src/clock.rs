//! Time, as the loop asks for it.

use std::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::message::Timestamp;

/// Two clocks: wall time for timestamps, monotonic time for durations.
///
/// Inject one to make runs repeatable, or where the system has no clock.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Milliseconds since the Unix epoch.
    fn now(&self) -> Timestamp;

    /// Time since any fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
}

/// The system's clocks.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SystemClock {
    start: Instant,
}

impl SystemClock {
    /// The system's clocks; monotonic time starts now.
    #[must_use]
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::try_from(since_epoch.as_millis()).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.start.elapsed()
    }
}
