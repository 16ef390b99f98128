//! The protocol checker: what every run keeps to, checked event by event.

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use super::trace::{describe, describe_message, short_call};
use crate::event::AgentEvent;
use crate::message::{
    AgentMessage, AssistantMessage, CustomMessage, NoCustom, StopReason, ToolCall, ToolResultMessage,
};
use crate::model::Delta;
use crate::state::State;
use crate::tool::ToolResult;

/// Checks the events of one run, from its first, against the rules that every run keeps.
///
/// Feed it each event in order, and the state after it where there is one. The first event that breaks a rule is the
/// [`Violation`]; what comes after it means nothing.
#[derive(Debug)]
pub struct Checker<M: CustomMessage = NoCustom> {
    /// The number of the event that is checked now.
    at: usize,
    place: Place<M>,
    added: Vec<AgentMessage<M>>,
}

/// A rule that every run keeps, as far as events can show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Rule {
    /// The events obey the grammar.
    Grammar,
    /// Each call of a usable answer has exactly one result, in the order of the calls.
    OneResultPerCall,
    /// The state is the fold of the events, and `agent_end` holds what the run added.
    StateIsTheFold,
    /// No call of an answer that was cut at its length is executed.
    TruncatedCallsNeverRun,
    /// A failed or aborted answer is the last of its run, and its calls do not run.
    FailureEndsTheRun,
    /// Each request's messages are a prefix of the next one's.
    RequestsGrow,
    /// The request declares exactly the tools that can be executed.
    ToolsAreDeclared,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Grammar => "the events obey the grammar",
            Self::OneResultPerCall => "each call has exactly one result, in the order of the calls",
            Self::StateIsTheFold => "the state is the fold of the events",
            Self::TruncatedCallsNeverRun => "no call of a truncated answer runs",
            Self::FailureEndsTheRun => "a failed or aborted answer ends the run",
            Self::RequestsGrow => "each request is a prefix of the next",
            Self::ToolsAreDeclared => "the request declares exactly the tools that can be executed",
        })
    }
}

/// What broke a rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("event {at} breaks the rule \"{rule}\": {found}; expected {expected}")]
#[non_exhaustive]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The number of the event, from 0; for requests, the number of the request.
    pub at: usize,
    /// The event, in one line.
    pub found: String,
    /// What was expected instead.
    pub expected: String,
}

#[derive(Debug)]
enum Place<M> {
    Before,
    /// After `agent_start` or `turn_end`; whether another turn may follow, and whether the run may end.
    BetweenTurns {
        another: bool,
        end: bool,
    },
    Turn(Turn<M>),
    After,
}

#[derive(Debug)]
struct Turn<M> {
    open: Option<Open<M>>,
    answer: Option<Answer>,
}

#[derive(Debug)]
enum Open<M> {
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

/// Why an event does not fit: the rule, and what was expected.
type Misfit = (Rule, String);

fn misfit<T>(rule: Rule, expected: impl Into<String>) -> Result<T, Misfit> {
    Err((rule, expected.into()))
}

impl<M: CustomMessage> Checker<M> {
    /// A checker before the first event of a run.
    #[must_use]
    pub fn new() -> Self {
        Self { at: 0, place: Place::Before, added: Vec::new() }
    }

    /// Checks all events of a run that is over.
    ///
    /// # Errors
    /// The first violation.
    pub fn check_all<'a>(events: impl IntoIterator<Item = &'a AgentEvent<M>>) -> Result<(), Violation> {
        let mut checker = Self::new();
        for event in events {
            checker.event(event)?;
        }
        checker.end()
    }

    /// Checks the next event.
    ///
    /// # Errors
    /// When it breaks a rule.
    pub fn event(&mut self, event: &AgentEvent<M>) -> Result<(), Violation> {
        let fits = self.take(event);
        let at = self.at;
        self.at += 1;
        fits.map_err(|(rule, expected)| Violation { rule, at, found: describe(event), expected })
    }

    /// Checks that the run may be over here.
    ///
    /// # Errors
    /// When it may not.
    pub fn end(&self) -> Result<(), Violation> {
        match self.place {
            Place::After => Ok(()),
            _ => Err(Violation {
                rule: Rule::Grammar,
                at: self.at,
                found: "the end of the stream".to_owned(),
                expected: self.expected_now(),
            }),
        }
    }

    /// Whether `agent_end` was seen.
    #[must_use]
    pub fn is_over(&self) -> bool {
        matches!(self.place, Place::After)
    }

    /// The messages that were added so far.
    #[must_use]
    pub fn added(&self) -> &[AgentMessage<M>] {
        &self.added
    }

    /// Checks the state after the last event; `before` is the transcript that the run started with.
    ///
    /// # Errors
    /// When the state is not the fold of the events.
    pub fn state(&self, state: &State<M>, before: &[AgentMessage<M>]) -> Result<(), Violation> {
        self.state_fits(state, before).map_err(|(found, expected)| Violation {
            rule: Rule::StateIsTheFold,
            at: self.at.saturating_sub(1),
            found,
            expected,
        })
    }

    fn take(&mut self, event: &AgentEvent<M>) -> Result<(), Misfit> {
        match (&mut self.place, event) {
            (Place::Before, AgentEvent::AgentStart) => {
                self.place = Place::BetweenTurns { another: true, end: false };
                Ok(())
            }
            (Place::BetweenTurns { another, .. }, AgentEvent::TurnStart) => {
                if !*another {
                    return misfit(Rule::FailureEndsTheRun, "agent_end");
                }
                self.place = Place::Turn(Turn { open: None, answer: None });
                Ok(())
            }
            (Place::BetweenTurns { end: true, .. }, AgentEvent::AgentEnd { messages }) => {
                if !same_messages(messages, &self.added) {
                    let expected = format!("the {} messages that the run added", self.added.len());
                    return misfit(Rule::StateIsTheFold, expected);
                }
                self.place = Place::After;
                Ok(())
            }
            (Place::Turn(turn), AgentEvent::TurnEnd { message, tool_results }) => {
                turn.end(message, tool_results)?;
                self.place = Place::BetweenTurns { another: message.is_usable(), end: true };
                Ok(())
            }
            (Place::Turn(turn), event) => {
                let written = turn.take(event)?;
                self.added.extend(written);
                Ok(())
            }
            _ => misfit(Rule::Grammar, self.expected_now()),
        }
    }

    fn expected_now(&self) -> String {
        match &self.place {
            Place::Before => "agent_start".to_owned(),
            Place::BetweenTurns { another: true, end: false } => "turn_start".to_owned(),
            Place::BetweenTurns { another: true, end: true } => "turn_start or agent_end".to_owned(),
            Place::BetweenTurns { .. } => "agent_end".to_owned(),
            Place::Turn(turn) => turn.expected_now(),
            Place::After => "nothing after agent_end".to_owned(),
        }
    }

    fn state_fits(&self, state: &State<M>, before: &[AgentMessage<M>]) -> Result<(), (String, String)> {
        let all = before.len() + self.added.len();
        let transcript = state.transcript();
        let split = transcript.split_at_checked(before.len());
        if !split.is_some_and(|(old, new)| same_messages(old, before) && same_messages(new, &self.added)) {
            return Err((
                format!("a transcript of {} messages", transcript.len()),
                format!(
                    "the {} messages before the run, then the {} it added: {all}",
                    before.len(),
                    self.added.len()
                ),
            ));
        }
        if !same_messages(state.added(), &self.added) {
            return Err((format!("{} messages added", state.added().len()), self.added.len().to_string()));
        }
        let (streams, running) = match &self.place {
            Place::Turn(turn) => (matches!(turn.open, Some(Open::Streaming)), turn.running()),
            _ => (false, 0),
        };
        let about = |what: &str, is: bool| (format!("{what}: {is}"), (!is).to_string());
        if state.partial().is_some() != streams {
            return Err(about("an answer streams", state.partial().is_some()));
        }
        if state.running_calls().len() != running {
            return Err((format!("{} running calls", state.running_calls().len()), running.to_string()));
        }
        let is_running = !matches!(self.place, Place::Before | Place::After);
        if state.is_running() != is_running {
            return Err(about("a run is under way", state.is_running()));
        }
        let is_over = self.is_over();
        if !matches!(self.place, Place::Before) && state.outcome().is_some() != is_over {
            return Err(about("there is an outcome", state.outcome().is_some()));
        }
        Ok(())
    }
}

impl<M: CustomMessage> Default for Checker<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: CustomMessage> Turn<M> {
    /// Takes an event inside the turn; gives the message that it wrote.
    fn take(&mut self, event: &AgentEvent<M>) -> Result<Option<AgentMessage<M>>, Misfit> {
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

    fn end(&self, message: &Arc<AssistantMessage>, results: &[Arc<ToolResultMessage>]) -> Result<(), Misfit> {
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

    fn running(&self) -> usize {
        let calls = self.answer.iter().flat_map(|answer| &answer.calls);
        calls.filter(|call| matches!(call.stage, Stage::Running)).count()
    }

    fn expected_now(&self) -> String {
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

/// Whether two lists hold the same messages.
fn same_messages<M>(a: &[AgentMessage<M>], b: &[AgentMessage<M>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_message(a, b))
}

/// Whether two messages are the same: standard ones by value, custom ones, which may not be comparable, by identity.
pub(super) fn same_message<M>(a: &AgentMessage<M>, b: &AgentMessage<M>) -> bool {
    fn same<T: PartialEq>(a: &Arc<T>, b: &Arc<T>) -> bool {
        Arc::ptr_eq(a, b) || a == b
    }
    match (a, b) {
        (AgentMessage::System(a), AgentMessage::System(b)) => same(a, b),
        (AgentMessage::User(a), AgentMessage::User(b)) => same(a, b),
        (AgentMessage::Assistant(a), AgentMessage::Assistant(b)) => same(a, b),
        (AgentMessage::ToolResult(a), AgentMessage::ToolResult(b)) => same(a, b),
        (AgentMessage::Custom(a), AgentMessage::Custom(b)) => Arc::ptr_eq(a, b),
        _ => false,
    }
}

/// Checks that each request's messages are a prefix of the next one's: what keeps a provider's cache warm. It holds
/// unless a hook rewrites what the model sees, or something was made up in an earlier request.
///
/// # Errors
/// The first request that takes something back.
pub fn check_requests_grow<'a>(
    requests: impl IntoIterator<Item = &'a crate::model::Request>,
) -> Result<(), Violation> {
    let requests: Vec<_> = requests.into_iter().collect();
    for (at, pair) in requests.windows(2).enumerate() {
        let [earlier, later] = pair else { continue };
        let kept = earlier.messages.iter().zip(later.messages.iter()).take_while(|(a, b)| a == b).count();
        if kept < earlier.messages.len() {
            return Err(Violation {
                rule: Rule::RequestsGrow,
                at: at + 1,
                found: format!(
                    "a request that keeps {kept} messages of the {} before",
                    earlier.messages.len()
                ),
                expected: "all of them".to_owned(),
            });
        }
    }
    Ok(())
}
