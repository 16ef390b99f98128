//! What a run tells as it goes.

use std::fmt;
use std::sync::Arc;

use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{
    AgentMessage, AssistantMessage, Content, CustomMessage, NoCustom, ToolCall, ToolResultMessage, Usage,
};
use crate::model::Delta;
use crate::tool::{ToolOutput, ToolResult};
use crate::transcript::Transcript;

/// One step of a run.
///
/// The events of every run obey a grammar: `agent_start turn+ agent_end`, where a turn is `turn_start`, the messages put
/// in before the request, the answer, the batch's tool executions and results, `turn_end`. Messages and tool executions
/// start and end in pairs; updates lie between.
///
/// An event is a stable picture of its moment: nothing in it changes afterwards. It is 40 bytes, hardly more than a delta,
/// and cheap to clone. The message so far is not in it; read it from the run's state.
///
/// JSON: `{"type": "message_end", "message": …}`. It can be written, not read.
///
/// The guide [events](crate::guide::events) reads them one by one.
#[derive(Debug)]
#[non_exhaustive]
// A tag of its own, not one in a niche of the delta: so a delta is moved as a whole.
#[repr(u64)]
pub enum AgentEvent<M = NoCustom> {
    /// The run begins.
    AgentStart,
    /// The run is over; always the last event. Nothing is polled from the queues after it.
    AgentEnd {
        /// Every message the run added to the transcript, in order.
        messages: Transcript<M>,
    },
    /// A turn begins.
    TurnStart,
    /// A turn is over.
    TurnEnd {
        /// The turn's answer.
        message: Arc<AssistantMessage>,
        /// The results of its tool calls, in the order of the calls.
        tool_results: Arc<[Arc<ToolResultMessage>]>,
    },
    /// A message begins. An answer that streams is here without content.
    MessageStart {
        /// The message.
        message: AgentMessage<M>,
    },
    /// The answer grew by a delta. The answer so far is in the run's state.
    MessageUpdate {
        /// What it grew by.
        delta: Delta,
    },
    /// A message is complete, and in the transcript.
    MessageEnd {
        /// The message.
        message: AgentMessage<M>,
    },
    /// A tool call is taken up.
    ToolExecutionStart {
        /// The call, with its raw arguments.
        call: Arc<ToolCall>,
    },
    /// A running tool tells of its progress.
    ToolExecutionUpdate {
        /// The call, with its raw arguments.
        call: Arc<ToolCall>,
        /// What it has so far. It is no result: what is only told here is lost when the tool is dropped.
        partial: Arc<ToolOutput>,
    },
    /// A tool call has its result. The result message follows, in the order of the calls.
    ToolExecutionEnd {
        /// The call, with its raw arguments.
        call: Arc<ToolCall>,
        /// The whole result.
        result: Arc<ToolResult>,
    },
}

impl<M> AgentEvent<M> {
    /// The kind of event: the value of `type` in its JSON.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::AgentStart => "agent_start",
            Self::AgentEnd { .. } => "agent_end",
            Self::TurnStart => "turn_start",
            Self::TurnEnd { .. } => "turn_end",
            Self::MessageStart { .. } => "message_start",
            Self::MessageUpdate { .. } => "message_update",
            Self::MessageEnd { .. } => "message_end",
            Self::ToolExecutionStart { .. } => "tool_execution_start",
            Self::ToolExecutionUpdate { .. } => "tool_execution_update",
            Self::ToolExecutionEnd { .. } => "tool_execution_end",
        }
    }

    /// The text this event adds to the answer, if it adds text: what a terminal prints.
    #[must_use]
    pub fn text_delta(&self) -> Option<&str> {
        match self {
            Self::MessageUpdate { delta: Delta::Text { delta, .. } } => Some(delta),
            _ => None,
        }
    }
}

/// By hand, since everything in an event is shared: `M` itself need not be `Clone`.
impl<M> Clone for AgentEvent<M> {
    fn clone(&self) -> Self {
        match self {
            Self::AgentStart => Self::AgentStart,
            Self::AgentEnd { messages } => Self::AgentEnd { messages: messages.clone() },
            Self::TurnStart => Self::TurnStart,
            Self::TurnEnd { message, tool_results } => {
                Self::TurnEnd { message: message.clone(), tool_results: tool_results.clone() }
            }
            Self::MessageStart { message } => Self::MessageStart { message: message.clone() },
            Self::MessageUpdate { delta } => Self::MessageUpdate { delta: delta.clone() },
            Self::MessageEnd { message } => Self::MessageEnd { message: message.clone() },
            Self::ToolExecutionStart { call } => Self::ToolExecutionStart { call: call.clone() },
            Self::ToolExecutionUpdate { call, partial } => {
                Self::ToolExecutionUpdate { call: call.clone(), partial: partial.clone() }
            }
            Self::ToolExecutionEnd { call, result } => {
                Self::ToolExecutionEnd { call: call.clone(), result: result.clone() }
            }
        }
    }
}

impl<M: PartialEq> PartialEq for AgentEvent<M> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::AgentStart, Self::AgentStart) | (Self::TurnStart, Self::TurnStart) => true,
            (Self::AgentEnd { messages: a }, Self::AgentEnd { messages: b }) => a == b,
            (
                Self::TurnEnd { message: a, tool_results: a_results },
                Self::TurnEnd { message: b, tool_results: b_results },
            ) => a == b && a_results == b_results,
            (Self::MessageStart { message: a }, Self::MessageStart { message: b })
            | (Self::MessageEnd { message: a }, Self::MessageEnd { message: b }) => a == b,
            (Self::MessageUpdate { delta: a }, Self::MessageUpdate { delta: b }) => a == b,
            (Self::ToolExecutionStart { call: a }, Self::ToolExecutionStart { call: b }) => a == b,
            (
                Self::ToolExecutionUpdate { call: a, partial: a_partial },
                Self::ToolExecutionUpdate { call: b, partial: b_partial },
            ) => a == b && a_partial == b_partial,
            (
                Self::ToolExecutionEnd { call: a, result: a_result },
                Self::ToolExecutionEnd { call: b, result: b_result },
            ) => a == b && a_result == b_result,
            _ => false,
        }
    }
}

impl<M: CustomMessage> Serialize for AgentEvent<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", self.kind())?;
        match self {
            Self::AgentStart | Self::TurnStart => {}
            Self::AgentEnd { messages } => map.serialize_entry("messages", messages)?,
            Self::TurnEnd { message, tool_results } => {
                map.serialize_entry("message", &**message)?;
                map.serialize_entry(
                    "toolResults",
                    &tool_results.iter().map(|result| &**result).collect::<Vec<_>>(),
                )?;
            }
            Self::MessageStart { message } | Self::MessageEnd { message } => {
                map.serialize_entry("message", message)?;
            }
            Self::MessageUpdate { delta } => map.serialize_entry("assistantMessageEvent", delta)?,
            Self::ToolExecutionStart { call } => serialize_call(&mut map, call)?,
            Self::ToolExecutionUpdate { call, partial } => {
                serialize_call(&mut map, call)?;
                map.serialize_entry("partialResult", &**partial)?;
            }
            Self::ToolExecutionEnd { call, result } => {
                serialize_call(&mut map, call)?;
                map.serialize_entry("result", &ResultJson::of(result))?;
                map.serialize_entry("isError", &result.message.is_error)?;
                if let Some(duration) = result.message.duration_ms {
                    map.serialize_entry("durationMs", &duration)?;
                }
            }
        }
        map.end()
    }
}

fn serialize_call<S: SerializeMap>(map: &mut S, call: &ToolCall) -> Result<(), S::Error> {
    map.serialize_entry("toolCallId", &call.id)?;
    map.serialize_entry("toolName", &call.name)?;
    map.serialize_entry("args", &call.arguments)
}

/// A result in the shape that events show it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultJson<'a> {
    content: &'a [Content],
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<&'a Usage>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_error: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    terminate: bool,
}

impl<'a> ResultJson<'a> {
    fn of(result: &'a ToolResult) -> Self {
        Self {
            content: &result.message.content,
            details: result.message.details.as_ref(),
            structured_content: result.structured_content.as_ref(),
            usage: result.message.usage.as_ref(),
            is_error: result.message.is_error,
            terminate: result.terminate,
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Ending {
    /// The model asked for nothing more.
    Stopped {
        /// Why the last answer ended. [`ToolUse`](crate::message::StopReason::ToolUse) here means that the model
        /// announced calls and made none.
        reason: crate::message::StopReason,
    },
    /// Every call of the last batch asked to stop.
    Terminated,
    /// A hook ended it.
    EndedByHook {
        /// The hook's reason, if it gave one.
        reason: Option<String>,
    },
    /// It was aborted, cancelled or dropped.
    Aborted,
    /// The last answer failed, or a hook, a projection or a stream panicked.
    Failed {
        /// What went wrong.
        message: String,
    },
}

/// A sentence for a log or a person: `the run failed: the server is busy`.
impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped { reason } => write!(f, "the run ended with the model's answer ({reason})"),
            Self::Terminated => f.write_str("the run ended since every call of its last batch asked for it"),
            Self::EndedByHook { reason: None } => f.write_str("a hook ended the run"),
            Self::EndedByHook { reason: Some(reason) } => write!(f, "a hook ended the run: {reason}"),
            Self::Aborted => f.write_str("the run was aborted"),
            Self::Failed { message } => write!(f, "the run failed: {message}"),
        }
    }
}

/// What a run came to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome<M = NoCustom> {
    /// How it ended. An abort that was delivered before `agent_end` always shows here.
    pub ending: Ending,
    /// Every message it added to the transcript, in order.
    pub added: Transcript<M>,
    /// What its answers used and cost, added up. What tools used by themselves is not in it.
    pub usage: Usage,
    /// The events that nobody was given, in order: those that closed a run which was cancelled or dropped, and the one
    /// whose listeners were interrupted by it. A host that stores what it is told stores these as well.
    pub unseen: Vec<AgentEvent<M>>,
}

impl<M> Outcome<M> {
    /// The outcome of a run that did nothing.
    pub(crate) fn none() -> Self {
        Self {
            ending: Ending::Aborted,
            added: Transcript::new(),
            usage: Usage::default(),
            unseen: Vec::new(),
        }
    }

    /// Whether the run ended as it should: not aborted, not failed.
    #[must_use]
    pub fn is_success(&self) -> bool {
        !matches!(self.ending, Ending::Aborted | Ending::Failed { .. })
    }
}

/// By hand, since the messages are shared: `M` itself need not be `Clone`.
impl<M> Clone for Outcome<M> {
    fn clone(&self) -> Self {
        Self {
            ending: self.ending.clone(),
            added: self.added.clone(),
            usage: self.usage,
            unseen: self.unseen.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_takes_40_bytes() {
        assert!(size_of::<Option<AgentEvent>>() <= 40, "{}", size_of::<Option<AgentEvent>>());
    }

    #[test]
    fn an_ending_is_told_in_a_sentence() {
        let reason = crate::message::StopReason::Stop;
        let table = [
            (Ending::Stopped { reason }, "the run ended with the model's answer (stop)"),
            (Ending::Terminated, "the run ended since every call of its last batch asked for it"),
            (Ending::EndedByHook { reason: None }, "a hook ended the run"),
            (Ending::EndedByHook { reason: Some("enough".to_owned()) }, "a hook ended the run: enough"),
            (Ending::Aborted, "the run was aborted"),
            (Ending::Failed { message: "busy".to_owned() }, "the run failed: busy"),
        ];
        for (ending, sentence) in table {
            assert_eq!(ending.to_string(), sentence);
        }
    }
}
