//! Several hooks as one: in order of registration.

use std::fmt;
use std::sync::Arc;

use super::erased::{DynHook, KeyAnswer};
use super::{Hook, HookContext};
use crate::message::{CustomMessage, NoCustom};

/// The hooks of a run, in order of registration. Cheap to clone.
pub struct Hooks<M = NoCustom>(Arc<Vec<Arc<dyn DynHook<M>>>>);

impl<M: CustomMessage> Hooks<M> {
    /// No hooks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a hook after those that are there.
    #[must_use]
    pub fn with(mut self, hook: impl Hook<M>) -> Self {
        self.push(hook);
        self
    }

    /// Adds a hook after those that are there.
    pub fn push(&mut self, hook: impl Hook<M>) {
        Arc::make_mut(&mut self.0).push(Arc::new(hook));
    }
}

impl<M> Hooks<M> {
    /// How many hooks there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no hook.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<dyn DynHook<M>>> {
        self.0.iter()
    }
}

impl<M: CustomMessage> Hooks<M> {
    /// The first key that a hook gives.
    pub(crate) async fn api_key(&self, provider: &str, cx: HookContext<'_, M>) -> KeyAnswer {
        for hook in self.iter() {
            if let Some(key) = hook.api_key(provider, cx).await? {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }
}

impl<M> Default for Hooks<M> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<M> Clone for Hooks<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M> fmt::Debug for Hooks<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks").field("len", &self.len()).finish()
    }
}
