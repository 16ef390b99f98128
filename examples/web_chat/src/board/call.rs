//! A tool call of the open turn.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use turnstate::message::ToolCall;
use turnstate::tool::{ToolOutput, ToolResult};

use super::shortened;
use super::timeline::Flaw;

/// A tool call of the open turn.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Call {
    /// Its number, which is no other call's.
    call: u64,
    id: String,
    name: String,
    arguments: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<Ended>,
    /// The library's own call: ids repeat, places in memory do not.
    #[serde(skip)]
    key: Arc<ToolCall>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
struct Ended {
    text: String,
    is_error: bool,
    /// Whether the call did not run to its end, and the loop made the result up.
    made_up: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<u64>,
}

impl Call {
    pub(crate) fn new(call: u64, key: &Arc<ToolCall>) -> Self {
        Self {
            call,
            id: key.id.clone(),
            name: key.name.clone(),
            arguments: key.arguments.clone(),
            progress: None,
            ended: None,
            key: key.clone(),
        }
    }

    pub(crate) fn is(&self, call: &Arc<ToolCall>) -> bool {
        Arc::ptr_eq(&self.key, call)
    }

    /// Whether a question about a call of this id may be about this one.
    pub(crate) fn may_be(&self, id: &str) -> bool {
        self.id == id && self.ended.is_none()
    }

    pub(crate) fn number(&self) -> u64 {
        self.call
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn flaw(&self) -> Option<Flaw> {
        match &self.ended {
            // Refused, unknown, with arguments that do not fit, or stopped before its turn came.
            Some(Ended { is_error: true, duration_ms: None, .. }) => Some(Flaw::DidNotRun),
            Some(Ended { is_error: true, made_up: true, .. }) => Some(Flaw::Stopped),
            Some(Ended { is_error: true, .. }) => Some(Flaw::Failed),
            _ => None,
        }
    }

    /// Notes what the tool has so far, and gives it as text.
    pub(crate) fn progress(&mut self, partial: &ToolOutput) -> String {
        let text = shortened(partial.texts().collect());
        self.progress = Some(text.clone());
        text
    }

    pub(crate) fn end(&mut self, result: &ToolResult) {
        let message = &result.message;
        self.ended = Some(Ended {
            text: shortened(message.texts().collect()),
            is_error: message.is_error,
            made_up: message.made_up,
            duration_ms: message.duration_ms,
        });
    }
}
