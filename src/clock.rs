//! Time, as the loop asks for it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::error_text::panic_text;
use crate::message::Timestamp;

/// Two clocks: wall time for timestamps, monotonic time for durations.
///
/// Inject one to make runs repeatable, or where the system has no clock.
///
/// # Panics
/// A clock that panics says zero: time is no reason to lose a run.
pub trait Clock: fmt::Debug + Send + Sync + 'static {
    /// Milliseconds since the Unix epoch.
    fn now(&self) -> Timestamp;

    /// Time since any fixed moment; never goes back.
    fn monotonic(&self) -> Duration;
}

/// How this crate asks a clock, which is foreign code.
impl dyn Clock {
    /// Milliseconds since the Unix epoch; zero from a clock that panics.
    pub(crate) fn timestamp(&self) -> Timestamp {
        or_zero(|| self.now())
    }

    /// How much time has passed since [`monotonic`](Clock::monotonic) said `since`; zero from a clock that panics or
    /// goes back.
    pub(crate) fn since(&self, since: Duration) -> Duration {
        self.moment().saturating_sub(since)
    }

    /// A moment, for [`since`](Self::since).
    pub(crate) fn moment(&self) -> Duration {
        or_zero(|| self.monotonic())
    }
}

fn or_zero<T: Default>(ask: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|panic| {
        // Its text tells nobody anything, but a payload has to be dropped with care.
        panic_text(panic);
        T::default()
    })
}

/// The system's clocks. Where the standard library has none (`wasm32-unknown-unknown`), both stand still at 0, and a
/// host that wants times gives clocks of its own.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct SystemClock {
    /// `None` where there is no clock: asking for it would panic there.
    start: Option<Instant>,
}

const HAS_CLOCKS: bool = !cfg!(all(target_arch = "wasm32", target_os = "unknown"));

impl SystemClock {
    /// The system's clocks; monotonic time starts now.
    #[must_use]
    pub fn new() -> Self {
        Self { start: HAS_CLOCKS.then(Instant::now) }
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        if !HAS_CLOCKS {
            return 0;
        }
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::try_from(since_epoch.as_millis()).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Duration {
        self.start.map_or(Duration::ZERO, |start| start.elapsed())
    }
}
