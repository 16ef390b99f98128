//! The scripted parts: the model, the tools, the hooks.

mod hooks;
mod model;
mod tools;

pub(crate) use hooks::ScriptedHooks;
pub(crate) use model::{model, scripted_model};
pub(crate) use tools::{execution_mode, prepare, tools};

/// Fails as a script says, without the noise of a panic on the screen.
fn throw(text: &str) -> ! {
    std::panic::resume_unwind(Box::new(text.to_owned()))
}
