//! Testing without a network: scripted models and tools, a deterministic executor, a checker, whole scenarios.
//!
//! Everything that drives a run can be scripted: the model ([`ScriptedModel`]), the tools ([`ScriptedTool`]), what
//! completes when ([`Gates`]), the time ([`VirtualClock`]). A [`Driven`] run is stepped on an executor that polls only what
//! was woken: it says what is waited for, and finds lost wake-ups and busy loops. [`Checkable::checked`] holds every event
//! against the rules that all runs keep, and a [`Trace`] shows them in few lines.
//!
//! A [`Scenario`](scenario::Scenario) is all of that as data. With the feature `proptest`, `strategy` makes random ones:
//! hosts test their own hooks, tools and roles against every interleaving, as this crate tests its scheduler. The guide
//! `turnstate::guide::testing` shows how.
//!
//! ```
//! use turnstate::Run;
//! use turnstate::testing::{Response, ScriptedModel, block_on};
//!
//! let model = ScriptedModel::new([Response::text("Hi")]);
//! let run = block_on(Run::builder(model).build().prompt("Hello").finish());
//! assert_eq!(run.transcript().len(), 2);
//! ```

mod call;
mod checked;
mod checker;
mod clock;
mod executor;
mod gate;
mod model;
mod response;
pub mod scenario;
#[cfg(feature = "proptest")]
pub mod strategy;
mod tool;
mod trace;

pub use call::{Called, ToolCaller, call_tool};
pub use checked::{Checkable, Checked};
pub use checker::{Checker, Rule, Violation, check_requests_grow};
pub use clock::{Sleep, VirtualClock};
pub use executor::{Driven, Progress, Stall, Workers, block_on};
pub use gate::{Gate, GateWait, Gates};
pub use model::ScriptedModel;
pub use response::Response;
pub use tool::{Execution, ExecutionEnd, ScriptedTool, ToolScript};
pub use trace::Trace;
