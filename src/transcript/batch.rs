//! One batch on its way into a request: results brought into the order of their calls, gaps filled.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Messages;
use super::repair::missing_result;
use crate::message::{AssistantMessage, Message, Timestamp, ToolCall, ToolResultMessage};

/// The calls of the latest answer, while some of them have no result.
#[derive(Debug, Clone, Default)]
pub(super) struct Batch {
    /// The calls that have no result in the list yet, in order.
    calls: VecDeque<Arc<ToolCall>>,
    /// When the answer was made.
    timestamp: Timestamp,
    /// Results that came before that of an earlier call, by call id. Those without a call are here too, until the
    /// batch closes: only then it is sure that they have none.
    early: HashMap<String, VecDeque<Arc<ToolResultMessage>>>,
    /// What came while calls were open, and follows their results.
    held: Vec<Message>,
}

impl Batch {
    /// Takes the calls of an answer; those before must be settled.
    pub(super) fn open(&mut self, answer: &AssistantMessage) {
        self.calls.extend(answer.tool_calls().cloned());
        self.timestamp = answer.timestamp;
    }

    /// Whether a call has no result yet.
    pub(super) fn is_open(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Takes the result of a call. Results go into the list in the order of the calls.
    pub(super) fn answer(&mut self, result: Arc<ToolResultMessage>, messages: &mut Messages) {
        match self.calls.front() {
            None => {}
            Some(call) if call.id == result.tool_call_id => {
                self.calls.pop_front();
                messages.push(result);
                self.answer_early(messages);
            }
            Some(_) => self.early.entry(result.tool_call_id.clone()).or_default().push_back(result),
        }
    }

    /// Moves the results that were waiting for this moment.
    fn answer_early(&mut self, messages: &mut Messages) {
        while let Some(result) = self.calls.front().and_then(|call| take_early(&mut self.early, call)) {
            self.calls.pop_front();
            messages.push(result);
        }
        if self.calls.is_empty() {
            self.close(messages);
        }
    }

    /// Answers all that is open: with the results that came, or made-up ones.
    pub(super) fn settle(&mut self, messages: &mut Messages) {
        if !self.is_open() {
            return;
        }
        for call in self.calls.drain(..) {
            match take_early(&mut self.early, &call) {
                Some(result) => messages.push(result),
                None => messages.push(missing_result(&call, self.timestamp)),
            }
        }
        self.close(messages);
    }

    /// Puts what was held behind the results.
    fn close(&mut self, messages: &mut Messages) {
        if !self.held.is_empty() {
            messages.make_mut().append(&mut self.held);
        }
        self.early.clear();
    }

    /// Keeps a message back until the calls are answered.
    pub(super) fn hold(&mut self, message: Message) {
        self.held.push(message);
    }
}

fn take_early(
    early: &mut HashMap<String, VecDeque<Arc<ToolResultMessage>>>,
    call: &ToolCall,
) -> Option<Arc<ToolResultMessage>> {
    early.get_mut(&call.id)?.pop_front()
}
