//! One model for the whole process.

use std::sync::{Arc, OnceLock};

use thiserror::Error;

use super::StreamFn;

static DEFAULT: OnceLock<Arc<dyn StreamFn>> = OnceLock::new();

/// Installs the model that is used where none is given. For the host's `main`; libraries take a model as an argument.
///
/// # Errors
/// When one is installed already: it stays, so that no part of a program changes the model of another.
pub fn set_default_stream_fn(model: impl StreamFn) -> Result<(), DefaultAlreadySet> {
    DEFAULT.set(Arc::new(model)).map_err(|_| DefaultAlreadySet)
}

/// The model that is used where none is given.
///
/// # Errors
/// When none is installed.
pub fn default_stream_fn() -> Result<Arc<dyn StreamFn>, NoDefaultStreamFn> {
    DEFAULT.get().cloned().ok_or(NoDefaultStreamFn)
}

/// A default model is installed already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("a default model is installed already, and it stays")]
#[non_exhaustive]
pub struct DefaultAlreadySet;

/// No default model is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "no model was given, and no default model is installed: give one, or call `set_default_stream_fn` first"
)]
#[non_exhaustive]
pub struct NoDefaultStreamFn;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Delta, Request};

    /// One test for all: the default is the process's.
    #[test]
    fn the_first_default_model_stays() {
        assert_eq!(default_stream_fn().err(), Some(NoDefaultStreamFn));
        assert_eq!(crate::Run::builder_with_default_model().err(), Some(NoDefaultStreamFn));
        let model = |_: Request| futures::stream::empty::<Delta>();
        assert_eq!(set_default_stream_fn(model), Ok(()));
        assert_eq!(set_default_stream_fn(model), Err(DefaultAlreadySet));
        assert!(default_stream_fn().is_ok());
        assert!(crate::Run::builder_with_default_model().is_ok());
    }
}
