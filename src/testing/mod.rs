//! Testing without a network: scripted models and tools, gates, a deterministic executor.

mod call;
mod clock;
mod executor;
mod gate;
mod model;
mod response;
mod tool;

pub use call::{Called, ToolCaller, call_tool};
pub use clock::{Sleep, VirtualClock};
pub use executor::{Driven, Progress, Stall, Workers, block_on};
pub use gate::{Gate, GateWait, Gates};
pub use model::ScriptedModel;
pub use response::Response;
pub use tool::{Execution, ExecutionEnd, ScriptedTool, ToolScript};
