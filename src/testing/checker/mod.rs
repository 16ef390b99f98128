//! The protocol checker: what every run keeps to, checked event by event.

mod turn;

use std::fmt;
use std::sync::Arc;

use thiserror::Error;

use self::turn::{Open, Turn};
use super::trace::describe;
use crate::event::AgentEvent;
use crate::message::{AgentMessage, CustomMessage, NoCustom, same};
use crate::model::Request;
use crate::state::State;

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
                self.place = Place::Turn(Turn::new());
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

/// Whether two lists hold the same messages.
fn same_messages<M>(a: &[AgentMessage<M>], b: &[AgentMessage<M>]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_message(a, b))
}

/// Whether two messages are the same: standard ones by value, custom ones, which may not be comparable, by identity.
pub(super) fn same_message<M>(a: &AgentMessage<M>, b: &AgentMessage<M>) -> bool {
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
pub fn check_requests_grow<'a>(requests: impl IntoIterator<Item = &'a Request>) -> Result<(), Violation> {
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
