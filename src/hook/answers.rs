//! What hooks answer.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::error_text::foreign_text;
use crate::message::{
    AgentMessage, AssistantMessage, Content, NoCustom, ThinkingLevel, ToolResultMessage, Usage,
};
use crate::model::Model;
use crate::tool::{AgentTool, ToolError, ToolOutput};
use crate::transcript::Transcript;

/// A turn that has its answer and all its results.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct FinishedTurn {
    /// The turn's answer.
    pub message: Arc<AssistantMessage>,
    /// The results of its calls, in the order of the calls.
    pub tool_results: Arc<[Arc<ToolResultMessage>]>,
    /// Whether the run goes on after this turn if no hook decides otherwise: there are results that the model is to
    /// see, or messages waited in a queue when the turn ended.
    pub goes_on: bool,
}

/// Whether a tool call runs.
#[derive(Debug, Default)]
#[non_exhaustive]
#[allow(
    clippy::large_enum_variant,
    reason = "it is moved once for each call, and hosts write it without a box"
)]
pub enum BeforeToolCall {
    /// It runs.
    #[default]
    Allow,
    /// It runs with these arguments. They are not validated again.
    AllowWith(Map<String, Value>),
    /// It does not run; the model reads the reason as an error result. [`block`](BeforeToolCall::block) makes one.
    Block {
        /// Why; an empty one is replaced by a stock text.
        reason: String,
        /// Whether the call asks the run to end after its batch.
        terminate: bool,
    },
    /// It does not run; this is its result. `after_tool_call` sees it as if the tool had given it.
    Answer(ToolOutput),
    /// The hook failed: the call does not run, and the error's text is its error result.
    Fail(ToolError),
}

impl BeforeToolCall {
    /// Blocks the call; the model reads the reason.
    #[must_use]
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block { reason: reason.into(), terminate: false }
    }

    /// Fails the call; the model reads the error's text.
    #[must_use]
    pub fn fail(error: impl Into<ToolError>) -> Self {
        Self::Fail(error.into())
    }
}

/// What of a call's result is replaced. What is not set stays.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct AfterToolCall {
    /// The content. Replacing it without the structured content drops the latter.
    pub content: Option<Vec<Content>>,
    /// The details; there is no deep merge.
    pub details: Option<Value>,
    /// The result as data.
    pub structured_content: Option<Value>,
    /// What the tool itself used.
    pub usage: Option<Usage>,
    /// Whether it tells of a failure.
    pub is_error: Option<bool>,
    /// Whether the call asks the run to end after its batch.
    pub terminate: Option<bool>,
    /// The hook failed: the result is replaced by the error's text.
    pub failed: Option<ToolError>,
}

impl AfterToolCall {
    /// Nothing is replaced.
    #[must_use]
    pub fn unchanged() -> Self {
        Self::default()
    }

    /// Replaces the content.
    #[must_use]
    pub fn content(content: Vec<Content>) -> Self {
        Self { content: Some(content), ..Self::default() }
    }

    /// Replaces the result by an error with this text.
    #[must_use]
    pub fn fail(error: impl Into<ToolError>) -> Self {
        Self { failed: Some(error.into()), ..Self::default() }
    }

    /// Sets the details.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<Value>) -> Self {
        self.details = Some(details.into());
        self
    }

    /// Sets the result as data.
    #[must_use]
    pub fn with_structured_content(mut self, value: impl Into<Value>) -> Self {
        self.structured_content = Some(value.into());
        self
    }

    /// Sets what the tool itself used.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }

    /// Sets whether the result tells of a failure.
    #[must_use]
    pub fn with_is_error(mut self, is_error: bool) -> Self {
        self.is_error = Some(is_error);
        self
    }

    /// Sets whether the call asks the run to end after its batch.
    #[must_use]
    pub fn with_terminate(mut self, terminate: bool) -> Self {
        self.terminate = Some(terminate);
        self
    }

    /// The output with the replacements made.
    pub(crate) fn apply(self, output: ToolOutput) -> ToolOutput {
        if let Some(error) = self.failed {
            return ToolOutput::error(foreign_text(error));
        }
        let structured_content = match (&self.content, self.structured_content) {
            (_, Some(replaced)) => Some(replaced),
            (Some(_), None) => None,
            (None, None) => output.structured_content,
        };
        ToolOutput {
            content: self.content.unwrap_or(output.content),
            details: self.details.or(output.details),
            structured_content,
            usage: self.usage.or(output.usage),
            is_error: self.is_error.unwrap_or(output.is_error),
            terminate: self.terminate.unwrap_or(output.terminate),
        }
    }
}

/// What a run does after a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FinishTurn {
    /// Goes on if there is something to do, ends otherwise.
    #[default]
    Default,
    /// Makes one more turn, even if there is nothing to do. Tool results, a steer or a follow-up satisfy it.
    ///
    /// A hook that answers so without a condition never lets a run end that the model would end: each turn is one more
    /// request. Answer so for a reason that goes away, and stack a [`TurnLimit`](crate::hook::TurnLimit) for the day it
    /// does not.
    Continue,
    /// Ends after `turn_end`. The queues are not asked; what is in them stays.
    End {
        /// Why, for the outcome of the run.
        reason: Option<String>,
    },
}

impl FinishTurn {
    /// Ends the run; the outcome shows the reason.
    #[must_use]
    pub fn end(reason: impl Into<String>) -> Self {
        Self::End { reason: Some(reason.into()) }
    }
}

/// What changes from this request on. What is not set stays.
#[derive(Debug)]
#[non_exhaustive]
pub struct PrepareRequest<M = NoCustom> {
    /// The model to ask.
    pub model: Option<Arc<Model>>,
    /// How much it is asked to think.
    pub thinking_level: Option<ThinkingLevel>,
    /// The loop's context: what the model is sent from. The run's transcript does not change.
    pub context: Option<Transcript<M>>,
    /// The tools.
    pub tools: Option<Vec<AgentTool>>,
}

impl<M> Default for PrepareRequest<M> {
    fn default() -> Self {
        Self { model: None, thinking_level: None, context: None, tools: None }
    }
}

/// What is put in and what changes from the next turn on. What is not set stays.
#[derive(Debug)]
#[non_exhaustive]
pub struct PrepareNextTurn<M = NoCustom> {
    /// Messages to put in at the start of the turn, before what was queued.
    pub messages: Vec<AgentMessage<M>>,
    /// The model to ask.
    pub model: Option<Arc<Model>>,
    /// How much it is asked to think.
    pub thinking_level: Option<ThinkingLevel>,
    /// The loop's context: what the model is sent from. The run's transcript does not change.
    pub context: Option<Transcript<M>>,
    /// The tools. The change is declared to the model at the start of the turn.
    pub tools: Option<Vec<AgentTool>>,
}

impl<M> Default for PrepareNextTurn<M> {
    fn default() -> Self {
        Self { messages: Vec::new(), model: None, thinking_level: None, context: None, tools: None }
    }
}

/// The setters that both preparations share.
macro_rules! setters {
    ($($preparation:ident)*) => {$(
        impl<M> $preparation<M> {
            /// Nothing changes.
            #[must_use]
            pub fn unchanged() -> Self {
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

            /// Replaces the loop's context.
            #[must_use]
            pub fn with_context(mut self, context: impl Into<Transcript<M>>) -> Self {
                self.context = Some(context.into());
                self
            }

            /// Replaces the tools.
            #[must_use]
            pub fn with_tools(mut self, tools: Vec<AgentTool>) -> Self {
                self.tools = Some(tools);
                self
            }
        }
    )*};
}

setters!(PrepareRequest PrepareNextTurn);

impl<M> PrepareNextTurn<M> {
    /// Adds a message to put in.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<AgentMessage<M>>) -> Self {
        self.messages.push(message.into());
        self
    }
}
