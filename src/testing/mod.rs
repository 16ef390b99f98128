//! Testing without a network: scripted models and tools, gates, a deterministic executor.

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
