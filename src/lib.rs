//! A typed, runtime-agnostic agent loop.

mod abort;
pub mod agent;
mod agent_loop;
mod async_fn;
mod clock;
mod error_text;
mod event;
pub mod hook;
pub mod message;
pub mod model;
pub mod run;
mod state;
pub mod tool;
pub mod transcript;
mod waiters;

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;

pub use abort::{AbortSignal, Aborted};
pub use agent::{Agent, Busy};
pub use agent_loop::{
    AgentLoop, LoopConfig, MessageSource, NoMessages, NothingToResume, Spawner, Tools, TurnChange,
    agent_loop, agent_loop_resume,
};
pub use clock::{Clock, SystemClock};
pub use event::{AgentEvent, Ending, Outcome};
pub use hook::{Hook, HookContext};
pub use message::CustomMessage;
pub use run::{Handle, Idle, Run, RunBuilder, Streaming};
pub use state::State;
pub use transcript::Transcript;
/// Derives [`CustomMessage`](trait@CustomMessage): the application's own roles, and what the model sees of each.
pub use turnstate_macros::CustomMessage;
