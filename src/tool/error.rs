//! Why a tool failed.

use std::error::Error;
use std::fmt;

/// Why a tool, or a hook around it, failed.
///
/// Made from any error, and from texts, by `?` or `into()`: `Err("no such file")?` works, and so does `anyhow`. It is
/// not an error itself, so that this works for all of them. Its text, with the texts of the errors behind it, becomes
/// the error result that the model reads: say what to do about it, and keep secrets out.
pub struct ToolError(Box<dyn Error + Send + Sync>);

impl ToolError {
    /// The error behind it.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn Error + Send + Sync> {
        self.0
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ToolError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::error_text::write_chain(&*self.0, f)
    }
}

impl fmt::Debug for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
