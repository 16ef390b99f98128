//! The transcript: the list of messages, what it says about prompt and tools, and what a model sees of it.
//!
//! Everything here is pure: no I/O, no clock, no waiting. Two folds read a transcript front to back, each is kept
//! and extended as messages are added, and neither is ever built again unless the messages before were changed:
//!
//! * [`Replay`] folds system messages into the prompt, its sections and the tools of the moment.
//! * [`ToolChanges`] compares that with the tools a run has. A run puts the difference into the messages that are about to
//!   be written, so that the transcript alone always says what the model may call.
//! * [`Projector`] folds all messages into the list that a model is sent, and [repairs](Repair) it on the way.
//!
//! [`Tail`] and [`open_calls`] say what a transcript's end is waiting for.

mod batch;
mod convert;
mod declare;
mod list;
mod projector;
mod repair;
mod replay;
#[cfg(test)]
mod samples;
mod tail;

pub use convert::{ConvertTranscriptError, IntoTranscript};
pub use declare::ToolChanges;
pub(crate) use declare::{declare, initial_system_message};
pub use list::{Messages, Transcript};
pub use projector::{Projector, Repair};
pub use replay::Replay;
pub use tail::{Tail, open_calls};
