//! How much of everything one server holds.

use std::time::Duration;

/// How much of everything one server holds: what a browser can make it keep is bounded by these.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Conversations. At the limit the one that was unused for the longest time makes place, if it is idle and nobody
    /// reads it.
    pub conversations: usize,
    /// Messages of one conversation, from which on it takes no more.
    pub messages: usize,
    /// Messages that wait in one conversation's queues.
    pub waiting: usize,
    /// The longest message a person sends, in bytes.
    pub message_bytes: usize,
    /// Open event streams of the whole server.
    pub readers: usize,
    /// Steps that a feed keeps for readers which are not up to date.
    pub steps: usize,
    /// Bytes of these steps.
    pub step_bytes: usize,
    /// How often an event stream shows that it is alive while nothing happens.
    pub heartbeat: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            conversations: 64,
            messages: 2_000,
            waiting: 16,
            message_bytes: 16 * 1024,
            readers: 256,
            steps: 1024,
            step_bytes: 256 * 1024,
            heartbeat: Duration::from_secs(15),
        }
    }
}
