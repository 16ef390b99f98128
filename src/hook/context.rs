//! What a hook sees of its run.

use std::fmt;
use std::sync::Arc;

use crate::abort::AbortSignal;
use crate::message::{AgentMessage, AssistantMessage, NoCustom, ThinkingLevel};
use crate::model::Model;
use crate::tool::AgentTool;
use crate::transcript::Transcript;

/// What a hook sees of its run at this moment. Cheap to copy.
#[non_exhaustive]
pub struct HookContext<'a, M = NoCustom> {
    /// The loop's context: the transcript so far, or what a hook replaced it by. In a batch it ends with the answer
    /// that made the calls.
    pub transcript: &'a Transcript<M>,
    /// The messages this run has added so far; in a batch, up to the answer that made the calls.
    pub added: &'a [AgentMessage<M>],
    /// The answers that the model has given in this run so far, one for each turn, in order; in a batch, up to the one that
    /// made the calls. They are among those in `added`, where answers may also stand that the host has put in.
    pub answers: &'a [Arc<AssistantMessage>],
    /// The model that is, or was last, asked.
    pub model: &'a Arc<Model>,
    /// How much it is asked to think.
    pub thinking_level: ThinkingLevel,
    /// The tools that can be called.
    pub tools: &'a [AgentTool],
    /// The run's abort signal.
    pub abort: &'a AbortSignal,
}

impl<M> Clone for HookContext<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for HookContext<'_, M> {}

impl<M> fmt::Debug for HookContext<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookContext")
            .field("messages", &self.transcript.len())
            .field("added", &self.added.len())
            .field("answers", &self.answers.len())
            .field("model", &self.model.id)
            .field("thinking_level", &self.thinking_level)
            .field("tools", &self.tools.iter().map(AgentTool::name).collect::<Vec<_>>())
            .field("abort", self.abort)
            .finish()
    }
}
