//! One turn, as far as events have told it.

use std::sync::Arc;

use super::{Misfit, Rule, misfit, same_message};
use crate::event::AgentEvent;
use crate::message::{
    AgentMessage, AssistantMessage, CustomMessage, StopReason, ToolCall, ToolResultMessage,
};
use crate::model::Delta;
use crate::testing::trace::{describe_message, short_call};
use crate::tool::ToolResult;

#[derive(Debug)]
pub(super) struct Turn<M> {
    pub(super) open: Option<Open<M>>,
    answer: Option<Answer>,
}

impl<M> Turn<M> {
    pub(super) fn new() -> Self {
        Self { open: None, answer: None }
    }
}

#[derive(Debug)]
pub(super) enum Open<M> {
    Whole(AgentMessage<M>),
    Streaming,
}

#[derive(Debug)]
struct Answer {
    message: Arc<AssistantMessage>,
    /// Whether it was told as it streamed. One that came whole may still prove to be a message that was put in.
    streamed: bool,
    calls: Vec<Call>,
}

#[derive(Debug)]
struct Call {
    call: Arc<ToolCall>,
    stage: Stage,
}

#[derive(Debug)]
enum Stage {
    Waiting,
    Running,
    Ended(Arc<ToolResult>),
    Written(Arc<ToolResultMessage>),
}

impl<M: CustomMessage> Turn<M> {
    /// Takes an event inside the turn; gives the message that it wrote.
    pub(super) fn take(&mut self, event: &AgentEvent<M>) -> Result<Option<AgentMessage<M>>, Misfit> {
        match (&self.open, event) {
            (None, AgentEvent::MessageStart { message }) => self.start_message(message).map(|()| None),
            (Some(_), AgentEvent::MessageEnd { message }) => {
                self.end_message(message)?;
                Ok(Some(message.clone()))
            }
            (Some(Open::Streaming), AgentEvent::MessageUpdate { delta }) => {
                let tells = !delta.is_terminal() && !matches!(delta, Delta::Start);
                if tells { Ok(None) } else { misfit(Rule::Grammar, "a delta that adds to the answer") }
            }
            (None, AgentEvent::ToolExecutionStart { call }) => self.start_call(call).map(|()| None),
            (None, AgentEvent::ToolExecutionUpdate { call, .. }) => self.update_call(call).map(|()| None),
            (None, AgentEvent::ToolExecutionEnd { call, result }) => {
                self.end_call(call, result).map(|()| None)
            }
            _ => misfit(Rule::Grammar, self.expected_now()),
        }
    }

    fn start_message(&mut self, message: &AgentMessage<M>) -> Result<(), Misfit> {
        if let Some(answer) = &self.answer {
            if answer.is_untouched() && !answer.streamed {
                // It was no answer: it was put in, like this one.
                self.answer = None;
            }
        }
        if let Some(answer) = &self.answer {
            answer.may_write(message)?;
        }
        self.open = Some(match message {
            AgentMessage::Assistant(answer) if answer.stop_reason == StopReason::Pending => Open::Streaming,
            message => Open::Whole(message.clone()),
        });
        Ok(())
    }

    fn end_message(&mut self, message: &AgentMessage<M>) -> Result<(), Misfit> {
        let streamed = match self.open.take() {
            Some(Open::Whole(started)) if !same_message(&started, message) => {
                return misfit(Rule::Grammar, format!("the end of {}", describe_message(&started)));
            }
            Some(Open::Streaming) => match message {
                AgentMessage::Assistant(answer) if answer.stop_reason != StopReason::Pending => true,
                _ => return misfit(Rule::Grammar, "the end of the answer that streams"),
            },
            _ => false,
        };
        match (message, &mut self.answer) {
            (AgentMessage::ToolResult(result), Some(answer)) => answer.written(result),
            (AgentMessage::Assistant(message), None) => {
                let call = |call: &Arc<ToolCall>| Call { call: call.clone(), stage: Stage::Waiting };
                let calls = message.tool_calls().map(call).collect();
                self.answer = Some(Answer { message: message.clone(), streamed, calls });
            }
            _ => {}
        }
        Ok(())
    }

    fn start_call(&mut self, call: &Arc<ToolCall>) -> Result<(), Misfit> {
        let Some(answer) = &mut self.answer else {
            return misfit(Rule::Grammar, "an answer before its calls");
        };
        if !answer.message.is_usable() {
            return misfit(Rule::FailureEndsTheRun, "turn_end, since the answer failed");
        }
        match answer.calls.iter_mut().find(|known| matches!(known.stage, Stage::Waiting)) {
            Some(next) if next.call == *call => {
                next.stage = Stage::Running;
                Ok(())
            }
            Some(next) => {
                misfit(Rule::Grammar, format!("the start of {}, the next call", short_call(&next.call)))
            }
            None => misfit(Rule::Grammar, "no start: every call has started"),
        }
    }

    fn update_call(&mut self, call: &Arc<ToolCall>) -> Result<(), Misfit> {
        let Some(answer) = &self.answer else {
            return misfit(Rule::Grammar, "an answer before its calls");
        };
        if answer.message.stop_reason == StopReason::Length {
            return misfit(Rule::TruncatedCallsNeverRun, "no progress of a call that does not run");
        }
        let runs =
            answer.calls.iter().any(|known| known.call == *call && matches!(known.stage, Stage::Running));
        if runs { Ok(()) } else { misfit(Rule::Grammar, "an update of a running call") }
    }

    fn end_call(&mut self, call: &Arc<ToolCall>, result: &Arc<ToolResult>) -> Result<(), Misfit> {
        let Some(answer) = &mut self.answer else {
            return misfit(Rule::Grammar, "an answer before its calls");
        };
        if answer.message.stop_reason == StopReason::Length && !result.message.made_up {
            return misfit(Rule::TruncatedCallsNeverRun, "a made-up result");
        }
        if result.message.tool_call_id != call.id || result.message.tool_name != call.name {
            return misfit(Rule::OneResultPerCall, format!("a result for {}", short_call(call)));
        }
        let runs = |known: &&mut Call| matches!(known.stage, Stage::Running);
        // Ids may repeat, and so may whole calls: the very same one first.
        let mut running: Vec<_> = answer.calls.iter_mut().filter(runs).collect();
        let at = running
            .iter()
            .position(|known| Arc::ptr_eq(&known.call, call))
            .or_else(|| running.iter().position(|known| known.call == *call));
        match at.and_then(|at| running.get_mut(at)) {
            Some(known) => {
                known.stage = Stage::Ended(result.clone());
                Ok(())
            }
            None => misfit(Rule::Grammar, "the end of a running call"),
        }
    }

    pub(super) fn end(
        &self,
        message: &Arc<AssistantMessage>,
        results: &[Arc<ToolResultMessage>],
    ) -> Result<(), Misfit> {
        let answer = match (&self.open, &self.answer) {
            (None, Some(answer)) => answer,
            _ => return misfit(Rule::Grammar, self.expected_now()),
        };
        if answer.message != *message {
            return misfit(Rule::Grammar, "the answer of this turn in turn_end");
        }
        if answer.message.is_usable() && answer.next_unwritten().is_some() {
            return misfit(Rule::OneResultPerCall, self.expected_now());
        }
        let written: Vec<_> = answer.calls.iter().filter_map(Call::written).collect();
        if written.len() == results.len() && written.iter().zip(results).all(|(a, b)| *a == b) {
            Ok(())
        } else {
            misfit(Rule::OneResultPerCall, "the results of this turn in turn_end, in the order of the calls")
        }
    }

    pub(super) fn running(&self) -> usize {
        let calls = self.answer.iter().flat_map(|answer| &answer.calls);
        calls.filter(|call| matches!(call.stage, Stage::Running)).count()
    }

    pub(super) fn expected_now(&self) -> String {
        match (&self.open, &self.answer) {
            (Some(Open::Streaming), _) => "an update or the end of the answer".to_owned(),
            (Some(Open::Whole(message)), _) => format!("the end of {}", describe_message(message)),
            (None, None) => "a message or the answer".to_owned(),
            (None, Some(answer)) if !answer.message.is_usable() => "turn_end".to_owned(),
            (None, Some(answer)) => match answer.next_unwritten() {
                None => "turn_end".to_owned(),
                Some(Call { call, stage: Stage::Waiting }) => format!("the start of {}", short_call(call)),
                Some(Call { call, stage: Stage::Running }) => format!("the end of {}", short_call(call)),
                Some(Call { call, .. }) => format!("the result of {}", short_call(call)),
            },
        }
    }
}

impl Call {
    fn written(&self) -> Option<&Arc<ToolResultMessage>> {
        match &self.stage {
            Stage::Written(result) => Some(result),
            _ => None,
        }
    }
}

impl Answer {
    fn is_untouched(&self) -> bool {
        self.calls.iter().all(|call| matches!(call.stage, Stage::Waiting))
    }

    fn next_unwritten(&self) -> Option<&Call> {
        self.calls.iter().find(|call| call.written().is_none())
    }

    /// A message after the answer is the result of the first call without one, and no call runs meanwhile.
    fn may_write<M: CustomMessage>(&self, message: &AgentMessage<M>) -> Result<(), Misfit> {
        let next = match self.next_unwritten() {
            Some(next) if self.message.is_usable() => next,
            _ => return misfit(Rule::Grammar, "turn_end"),
        };
        let expected = format!("the result of {}", short_call(&next.call));
        match (&next.stage, message) {
            (Stage::Ended(result), AgentMessage::ToolResult(written)) if result.message == *written => {}
            _ => return misfit(Rule::OneResultPerCall, expected),
        }
        match self.calls.iter().find(|call| matches!(call.stage, Stage::Running)) {
            Some(running) => misfit(Rule::Grammar, format!("the end of {} first", short_call(&running.call))),
            None => Ok(()),
        }
    }

    fn written(&mut self, result: &Arc<ToolResultMessage>) {
        if let Some(call) = self.calls.iter_mut().find(|call| call.written().is_none()) {
            call.stage = Stage::Written(result.clone());
        }
    }
}
