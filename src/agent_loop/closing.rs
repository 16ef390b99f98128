//! What is missing when a run ends out of order.
//!
//! A hook or a projection panicked, the run was cancelled, or its future was dropped: the loop cannot tell its own end
//! any more. These pure functions say from the state alone which events are missing, so that every run ends balanced:
//! the open message is ended, running calls are ended and answered, an answer that is complete gets its own `turn_end`,
//! then a turn with the failed or aborted answer, then `agent_end`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::event::AgentEvent;
use crate::message::{
    AgentMessage, AssistantMessage, Content, StopReason, Timestamp, ToolCall, ToolResultMessage,
};
use crate::model::Failure;
use crate::state::{OpenMessage, State, Turn};
use crate::tool::ToolResult;

/// The text of an aborted answer.
pub(crate) const ABORTED_ANSWER: &str = "Request was aborted";

/// The text of an aborted call's result.
pub(crate) const ABORTED_CALL: &str = "Operation aborted";

/// Why, and at what time, a run is closed.
pub(crate) struct Closing {
    /// Everything of the closing answer but its content, stop reason and error.
    pub(crate) head: AssistantMessage,
    /// The closing answer's reason and text.
    pub(crate) failure: Failure,
    /// The time of whatever is made up.
    pub(crate) now: Timestamp,
}

impl Closing {
    /// The events that are missing, in order. `unwritten` are messages of the prompt that are not in the transcript
    /// yet: nothing of a prompt is lost.
    ///
    /// `agent_end` is left to the caller, who knows what the run added once these are reduced.
    pub(crate) fn events<M>(
        &self,
        state: &State<M>,
        partial: Option<Arc<AssistantMessage>>,
        unwritten: impl IntoIterator<Item = AgentMessage<M>>,
    ) -> Vec<AgentEvent<M>> {
        let mut events = Vec::new();
        if let Some(OpenMessage::Message(message)) = state.open() {
            events.push(AgentEvent::MessageEnd { message: message.clone() });
        }
        if let Some(message) = partial {
            // The answer that streamed is itself the closing answer.
            events.push(AgentEvent::MessageEnd { message: message.clone().into() });
            events.push(AgentEvent::TurnEnd { message, tool_results: Arc::default() });
            return events;
        }
        if failed_answer(state).is_some() {
            // The run was ending with it: only its end is missing.
            return events;
        }
        let mut in_turn = state.turn().is_some();
        if let Some(answer) = state.answer() {
            self.close_answer(&mut events, state, answer);
            if !answer.is_usable() {
                return events;
            }
            in_turn = false;
        }
        if !in_turn {
            events.push(AgentEvent::TurnStart);
        }
        for message in unwritten {
            whole(&mut events, message);
        }
        let message = Arc::new(self.answer());
        whole(&mut events, message.clone().into());
        events.push(AgentEvent::TurnEnd { message, tool_results: Arc::default() });
        events
    }

    /// The closing answer.
    fn answer(&self) -> AssistantMessage {
        let mut message = self.head.clone();
        message.stop_reason = self.failure.reason;
        message.error_message = Some(self.failure.message.clone());
        message
    }

    /// Ends what runs of the answer's batch, answers every call that has no result, and ends the turn.
    fn close_answer<M>(
        &self,
        events: &mut Vec<AgentEvent<M>>,
        state: &State<M>,
        answer: &Arc<AssistantMessage>,
    ) {
        let none = Turn::default();
        let turn = state.turn().unwrap_or(&none);
        let calls: Vec<_> = if answer.is_usable() { answer.tool_calls().collect() } else { Vec::new() };
        let mut results = turn.results.to_vec();
        if let Some(OpenMessage::Message(AgentMessage::ToolResult(open))) = state.open() {
            results.push(open.clone());
        }
        let unanswered: Vec<_> = calls.into_iter().skip(results.len()).collect();
        let settled: HashMap<_, _> =
            turn.settled.iter().map(|(call, result)| (Arc::as_ptr(call), result)).collect();
        let mut made_up = Vec::new();
        for call in unanswered {
            let result = match settled.get(&Arc::as_ptr(call)) {
                Some(&result) => result.clone(),
                None => {
                    let result = Arc::new(self.made_up(call));
                    if !state.is_call_running(call) {
                        events.push(AgentEvent::ToolExecutionStart { call: call.clone() });
                    }
                    events.push(AgentEvent::ToolExecutionEnd { call: call.clone(), result: result.clone() });
                    result
                }
            };
            made_up.push(result);
        }
        for result in made_up {
            whole(events, result.message.clone().into());
            results.push(result.message.clone());
        }
        events.push(AgentEvent::TurnEnd { message: answer.clone(), tool_results: results.into() });
    }

    fn made_up(&self, call: &ToolCall) -> ToolResult {
        let text = match self.failure.reason {
            StopReason::Aborted => ABORTED_CALL.to_owned(),
            _ => format!("The call was given up since the run failed: {}", self.failure.message),
        };
        made_up_result(call, text, self.now)
    }
}

/// The failed or aborted answer that a run is ending with, once its turn is over.
pub(crate) fn failed_answer<M>(state: &State<M>) -> Option<&Arc<AssistantMessage>> {
    let is_over = state.turn().is_none() && state.error().is_some();
    let answers = state.added().iter().rev().filter_map(AgentMessage::as_assistant);
    answers.take(usize::from(is_over)).find(|answer| !answer.is_usable())
}

/// An error result that the loop makes up for a call.
pub(crate) fn made_up_result(call: &ToolCall, text: String, now: Timestamp) -> ToolResult {
    let mut message = ToolResultMessage::new(&call.id, &call.name, vec![Content::text(text)]);
    message.is_error = true;
    message.made_up = true;
    message.timestamp = now;
    ToolResult { message: Arc::new(message), structured_content: None, terminate: false }
}

/// A whole message: its start and its end.
fn whole<M>(events: &mut Vec<AgentEvent<M>>, message: AgentMessage<M>) {
    events.push(AgentEvent::MessageStart { message: message.clone() });
    events.push(AgentEvent::MessageEnd { message });
}
