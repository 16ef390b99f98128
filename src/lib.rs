//! An agent loop: *let the model speak, run the tools it asked for, feed the results back, until it asks for no more*,
//! while the host may steer, queue follow-ups, abort, and watch every step as an event.
//!
//! It knows no provider, reads no file, asks for no permission, spawns no task and depends on no runtime: the host
//! supplies these through one function (the model) and a few hooks.
//!
//! # The first hour
//!
//! A model is a function from a request to a stream of deltas. This page uses a scripted one from the feature
//! `testing`, so that everything here runs as it stands; [`model::stream_fn`] is how a real one is written.
//!
//! ```
//! use turnstate::Run;
//! use turnstate::testing::{Response, ScriptedModel};
//!
//! # futures::executor::block_on(async {
//! let model = ScriptedModel::new([Response::text("Hello! What can I do for you?")]);
//! let idle = Run::builder(model).system_prompt("You are terse.").build();
//!
//! let idle = idle.prompt("Hello").finish().await;
//! assert_eq!(idle.transcript().len(), 3); // the system message, the prompt, the answer
//! # });
//! ```
//!
//! [`Run::prompt`] takes the idle run and gives a streaming one: a stream of [`AgentEvent`]s. `idle` is gone, so a second
//! prompt does not compile; [`finish`](Run::finish) gives it back. The stream is *pulled*: the run advances only when the
//! next event is asked for. So every event is a barrier, [`state`](Run::state) is exact at each of them, and dropping the
//! run stops everything.
//!
//! Tools are typed: the argument type gives the schema that the model is shown, and what does not fit never reaches the
//! tool. The model reads an error it can act on instead.
//!
//! ```
//! use serde_json::json;
//! use turnstate::tool::tool_fn;
//! use turnstate::testing::{Response, ScriptedModel};
//! use turnstate::{AgentEvent, Run};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Forecast {
//!     /// The city, in English.
//!     city: String,
//! }
//!
//! # futures::executor::block_on(async {
//! let forecast = tool_fn("forecast", "Tells tomorrow's weather.", async |args: Forecast, _| {
//!     Ok(format!("Sunny in {}.", args.city))
//! });
//! let model = ScriptedModel::new([
//!     Response::tool_call("call_1", "forecast", json!({ "city": "Zurich" })),
//!     Response::text("Take sunglasses."),
//! ]);
//! let mut run = Run::builder(model).tool(forecast).build().prompt("What shall I pack for Zurich?");
//!
//! let mut steps = Vec::new();
//! while let Some(event) = run.next().await {
//!     match event {
//!         AgentEvent::ToolExecutionEnd { call, result } => {
//!             steps.push(format!("{}: {}", call.name, result.message.texts().collect::<String>()));
//!         }
//!         AgentEvent::MessageUpdate { .. } => {
//!             let so_far = run.state().partial(); // the answer so far, by reference
//!             assert!(so_far.is_some());
//!         }
//!         _ => {}
//!     }
//! }
//! assert_eq!(steps, ["forecast: Sunny in Zurich."]);
//! # });
//! ```
//!
//! While it works, a [`Handle`] steers it from any task, queues follow-ups, and aborts:
//!
//! ```
//! # use turnstate::Run;
//! # use turnstate::testing::{Response, ScriptedModel};
//! # futures::executor::block_on(async {
//! # let model = ScriptedModel::new([Response::text("One."), Response::text("Two.")]);
//! # let idle = Run::builder(model).build();
//! let mut run = idle.prompt("Count.");
//! let handle = run.handle(); // Clone + Send
//! let ticket = handle.steer("Go on.");
//! assert!(ticket.is_waiting());
//! let idle = run.finish().await;
//! assert!(!ticket.is_waiting());
//! assert!(idle.outcome().is_some_and(|outcome| outcome.is_success()));
//! # });
//! ```
//!
//! An application's own message roles are a type, and each role must say what the model sees of it. What it sees of a role
//! without a field `timestamp` has the time 0:
//!
//! ```
//! use turnstate::{CustomMessage, Run};
//! # use turnstate::testing::{Response, ScriptedModel};
//!
//! #[derive(Debug, CustomMessage)]
//! enum AppMessage {
//!     /// Shown to the person only.
//!     #[message(skip)]
//!     Notification { text: String },
//!     /// Reaches the model as a user message.
//!     #[message(user = "Ran `{command}`:\n{output}")]
//!     BashExecution { command: String, output: String },
//! }
//!
//! # futures::executor::block_on(async {
//! # let model = ScriptedModel::new([Response::text("It is late.")]);
//! let idle = Run::builder(model).custom_messages::<AppMessage>().build();
//! let idle = idle
//!     .prompt([
//!         AppMessage::Notification { text: "The clock was read.".into() },
//!         AppMessage::BashExecution { command: "date".into(), output: "23:59".into() },
//!     ])
//!     .finish()
//!     .await;
//! assert_eq!(idle.transcript()[0].role(), "notification");
//! # });
//! ```
//!
//! [Hooks](hook) watch, change and end what a run does: they block a call, answer in a tool's place, change what the
//! model sees, end a run by a budget.
//!
//! # Where to read on
//!
//! The [guides](guide), one page each, with examples that run:
//! [tools](guide::tools),
//! [hooks](guide::hooks),
//! [steering, follow-ups and aborts](guide::steering),
//! [events and state](guide::events),
//! [runs and the shared agent](guide::runs),
//! [runtimes and threads](guide::runtimes),
//! [real models and the proxy](guide::models),
//! [roles of your own](guide::custom_roles),
#![cfg_attr(feature = "testing", doc = "[testing](guide::testing), and")]
#![cfg_attr(not(feature = "testing"), doc = "`guide::testing` (with the feature `testing`), and")]
//! [coming from TypeScript](guide::coming_from_typescript). The programs in `examples/` answer one question each.
//!
//! # Features
//!
//! | feature | default | what it adds |
//! |---|---|---|
//! | `schema` | yes | the schemas of typed tools' arguments, by `schemars` |
//! | `validate` | yes | arguments are validated against the schema, by `jsonschema`; without it typed tools are still checked as they are read |
//! | `testing` | | scripted models and tools, gates, a deterministic executor, a protocol checker |
//! | `proptest` | | strategies for property tests; brings `testing` |
//! | `proxy` | | models behind a proxy server, and the server's side of it |
//! | `openai-compatible` | | a model adapter for servers that speak the OpenAI chat protocol |
//! | `transport-reqwest` | | HTTP by `reqwest` for the two above |
//! | `genai` | | a model adapter for every provider that the `genai` crate speaks to; needs a Tokio runtime |
//! | `rustls` | | TLS for the two above |
//!
//! # What it never does
//!
//! Files, permissions, compaction, building of system prompts, catalogues of providers, storage of sessions. Hosts do
//! these through hooks and with the transcript, which is plain JSON.

mod abort;
pub mod agent;
mod agent_loop;
mod async_fn;
mod breath;
mod clock;
mod error_text;
mod event;
pub mod guide;
pub mod hook;
pub mod message;
pub mod model;
#[cfg(any(
    feature = "genai",
    feature = "openai-compatible",
    feature = "proxy",
    feature = "transport-reqwest"
))]
pub mod provider;
#[cfg(feature = "proxy")]
pub mod proxy;
pub mod run;
mod state;
#[cfg(feature = "testing")]
pub mod testing;
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

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
