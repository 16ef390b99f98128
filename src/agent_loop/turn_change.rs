//! A change that is asked for from outside, for the turns to come.

use std::sync::Arc;

use crate::message::ThinkingLevel;
use crate::model::Model;
use crate::tool::AgentTool;

/// What changes in a run from its next turn on, to the end of the run. What is not set stays.
///
/// Given to [`Handle::change_next_turn`](crate::Handle::change_next_turn). The hooks that prepare the turn see it, and
/// may change the same again.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct TurnChange {
    /// The model to ask.
    pub model: Option<Arc<Model>>,
    /// How much it is asked to think.
    pub thinking_level: Option<ThinkingLevel>,
    /// The tools. The change is declared to the model at the start of the turn.
    pub tools: Option<Vec<AgentTool>>,
}

impl TurnChange {
    /// Nothing changes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the model to ask.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<Arc<Model>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets how much the model is asked to think.
    #[must_use]
    pub fn with_thinking_level(mut self, level: ThinkingLevel) -> Self {
        self.thinking_level = Some(level);
        self
    }

    /// Replaces the tools.
    #[must_use]
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = AgentTool>) -> Self {
        self.tools = Some(tools.into_iter().collect());
        self
    }

    /// Both changes: of what both set, the later counts.
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            model: later.model.or(self.model),
            thinking_level: later.thinking_level.or(self.thinking_level),
            tools: later.tools.or(self.tools),
        }
    }
}
