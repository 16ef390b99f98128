//! What a run knows at each moment: the fold of its events.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use smallvec::SmallVec;

use crate::event::{AgentEvent, Ending, Outcome};
use crate::message::{AgentMessage, AssistantMessage, NoCustom, ToolCall, ToolResultMessage, Usage};
use crate::model::{Delta, MalformedDelta, PartialMessage};
use crate::tool::ToolResult;
use crate::transcript::{Replay, Transcript};

/// What a run knows at each moment. It is the fold of the run's events, and exact at every one of them; see the guide
/// [events](crate::guide::events#the-state).
///
/// A clone is a snapshot: it shares the messages, and copies the answer that streams. While it is held, the next
/// message that the run adds costs one copy of the transcript's pointers (16 bytes a message), once for each snapshot.
#[derive(Debug)]
pub struct State<M = NoCustom> {
    transcript: Transcript<M>,
    added: Transcript<M>,
    usage: Usage,
    open: Option<OpenMessage<M>>,
    running: Running,
    turn: Option<Turn>,
    /// Whether a run is under way.
    is_running: bool,
    error: Option<String>,
    outcome: Option<Outcome<M>>,
}

/// The message that has started and not ended.
#[derive(Debug)]
pub(crate) enum OpenMessage<M> {
    /// An answer that streams.
    Answer(PartialMessage),
    /// Any other message, already whole.
    Message(AgentMessage<M>),
}

/// What the last run added, and how it ended.
pub(crate) type LastRun<M> = (Option<Transcript<M>>, Option<Outcome<M>>);

/// What the open turn has so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Turn {
    /// Whether the model was asked: the next assistant message is the turn's answer. One that a host writes comes
    /// before, and is a message like any other.
    asked: bool,
    /// Its finished answer.
    pub(crate) answer: Option<Arc<AssistantMessage>>,
    /// The calls that have ended, in the order they did.
    pub(crate) settled: SmallVec<[(Arc<ToolCall>, Arc<ToolResult>); 2]>,
    /// The results that are in the transcript, in the order of the calls.
    pub(crate) results: SmallVec<[Arc<ToolResultMessage>; 2]>,
}

/// By hand, since messages are shared: `M` itself need not be `Clone`.
impl<M> Clone for OpenMessage<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Answer(partial) => Self::Answer(partial.clone()),
            Self::Message(message) => Self::Message(message.clone()),
        }
    }
}

/// The calls that are taken up and not ended. Ids repeat in the wild, so a call is known by its place in memory.
#[derive(Debug, Clone, Default)]
struct Running(HashMap<usize, Arc<ToolCall>, BuildHasherDefault<AddressHasher>>);

/// Spreads addresses, which the program itself has made: there is nobody to be defended against.
#[derive(Debug, Clone, Copy, Default)]
struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, address: usize) {
        // The golden ratio as a fraction of 2^64: near addresses land far from each other, also in their high bits.
        self.0 = (self.0 ^ address as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

impl Running {
    fn insert(&mut self, call: &Arc<ToolCall>) {
        self.0.insert(Arc::as_ptr(call) as usize, call.clone());
    }

    fn remove(&mut self, call: &Arc<ToolCall>) {
        self.0.remove(&(Arc::as_ptr(call) as usize));
    }

    fn contains(&self, call: &Arc<ToolCall>) -> bool {
        self.0.contains_key(&(Arc::as_ptr(call) as usize))
    }
}

impl<M> State<M> {
    /// A state between runs.
    pub(crate) fn idle(transcript: Transcript<M>) -> Self {
        Self {
            transcript,
            added: Transcript::new(),
            usage: Usage::default(),
            open: None,
            running: Running::default(),
            turn: None,
            is_running: false,
            error: None,
            outcome: None,
        }
    }

    /// Every finished message, in order.
    #[must_use]
    pub fn transcript(&self) -> &Transcript<M> {
        &self.transcript
    }

    /// The messages that this run, or the last one, added.
    #[must_use]
    pub fn added(&self) -> &Transcript<M> {
        &self.added
    }

    /// The answer that streams now, as far as it came.
    #[must_use]
    pub fn partial(&self) -> Option<&PartialMessage> {
        match &self.open {
            Some(OpenMessage::Answer(partial)) => Some(partial),
            _ => None,
        }
    }

    /// Whether a run is under way: from its `agent_start` to its `agent_end`.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.is_running
    }

    /// The calls that are taken up and not ended, in no particular order.
    #[must_use]
    pub fn running_calls(&self) -> impl ExactSizeIterator<Item = &Arc<ToolCall>> {
        self.running.0.values()
    }

    /// Why the last answer failed or was aborted; cleared when the next run starts.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// What this run's answers used and cost so far, added up. Assistant messages that the host wrote count for nothing.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// How the last run ended; `None` before the first has, and while one is under way.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome<M>> {
        self.outcome.as_ref()
    }

    /// The prompt that the transcript's system messages give when they are taken together.
    #[must_use]
    pub fn system_prompt(&self) -> String {
        Replay::of(&self.transcript).prompt()
    }

    pub(crate) fn transcript_mut(&mut self) -> &mut Transcript<M> {
        &mut self.transcript
    }

    pub(crate) fn open(&self) -> Option<&OpenMessage<M>> {
        self.open.as_ref()
    }

    pub(crate) fn turn(&self) -> Option<&Turn> {
        self.turn.as_ref()
    }

    /// The finished answer of the open turn, also when it is just about to be written.
    pub(crate) fn answer(&self) -> Option<&Arc<AssistantMessage>> {
        let turn = self.turn.as_ref().filter(|turn| turn.asked)?;
        match &self.open {
            Some(OpenMessage::Message(AgentMessage::Assistant(answer))) => Some(answer),
            _ => turn.answer.as_ref(),
        }
    }

    pub(crate) fn is_call_running(&self, call: &Arc<ToolCall>) -> bool {
        self.running.contains(call)
    }

    /// The model is asked, or the loop answers in its place: the next assistant message is the turn's answer.
    pub(crate) fn expect_answer(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.asked = true;
        }
    }

    /// Opens the answer that the driver grows from here on.
    pub(crate) fn open_answer(&mut self, partial: PartialMessage) {
        self.open = Some(OpenMessage::Answer(partial));
    }

    /// Grows the open answer by a piece; false when the delta is none.
    #[inline]
    pub(crate) fn grow(&mut self, delta: &Delta) -> Result<bool, MalformedDelta> {
        match &mut self.open {
            Some(OpenMessage::Answer(partial)) => partial.grow(delta),
            _ => Ok(false),
        }
    }

    pub(crate) fn partial_mut(&mut self) -> Option<&mut PartialMessage> {
        match &mut self.open {
            Some(OpenMessage::Answer(partial)) => Some(partial),
            _ => None,
        }
    }

    /// Takes the answer that streamed, to make the finished message of it.
    pub(crate) fn take_partial(&mut self) -> Option<PartialMessage> {
        match self.open.take() {
            Some(OpenMessage::Answer(partial)) => Some(partial),
            other => {
                self.open = other;
                None
            }
        }
    }

    /// Notes how the run ends, just before `agent_end` is reduced.
    pub(crate) fn end(&mut self, ending: Ending) {
        self.outcome =
            Some(Outcome { ending, added: self.added.clone(), usage: self.usage, unseen: Vec::new() });
    }

    /// How the last run ended, to be completed by those who know more.
    pub(crate) fn outcome_mut(&mut self) -> Option<&mut Outcome<M>> {
        self.outcome.as_mut()
    }

    /// Takes over how another state's run ended; gives what was known of an earlier one.
    pub(crate) fn follow_outcome(&mut self, told: &Self) -> Option<Outcome<M>> {
        std::mem::replace(&mut self.outcome, told.outcome.clone())
    }

    /// A copy whose transcript is a list of its own: neither copies the other's list when it goes on.
    pub(crate) fn detached(&self) -> Self {
        let mut copy = self.clone();
        copy.transcript = self.transcript.iter().cloned().collect();
        copy
    }

    /// Whether following this event changes what is known.
    pub(crate) fn is_changed_by(event: &AgentEvent<M>) -> bool {
        match event {
            AgentEvent::TurnStart | AgentEvent::ToolExecutionUpdate { .. } => false,
            AgentEvent::TurnEnd { message, .. } => !message.is_usable(),
            _ => true,
        }
    }

    /// Takes over an event that `told` has just taken over: a second fold, for those who cannot borrow the first.
    ///
    /// Gives what it lets go of the last run. This may hold the last of a message, whose drop is foreign code.
    pub(crate) fn follow(&mut self, event: &AgentEvent<M>, told: &Self) -> Option<Box<LastRun<M>>> {
        let mut last_run = None;
        match (event, told.partial()) {
            (AgentEvent::AgentStart, _) => {
                last_run = Some(Box::new((Some(std::mem::take(&mut self.added)), self.outcome.take())));
            }
            (AgentEvent::AgentEnd { .. }, _) => {
                last_run = Some(Box::new((None, self.follow_outcome(told))));
            }
            (AgentEvent::MessageStart { .. }, Some(partial)) => self.open_answer(partial.clone()),
            (AgentEvent::MessageUpdate { delta }, Some(partial)) => match self.partial_mut() {
                Some(followed) => followed.follow(delta, partial),
                None => self.open_answer(partial.clone()),
            },
            (AgentEvent::MessageEnd { .. }, _) => self.usage = told.usage,
            _ => {}
        }
        self.fold(event);
        last_run
    }

    /// Takes over one event. A growing answer is grown by the driver itself, before its update is told.
    pub(crate) fn reduce(&mut self, event: &AgentEvent<M>) {
        self.fold(event);
        self.note_turn(event);
    }

    /// What everybody can see of the state.
    fn fold(&mut self, event: &AgentEvent<M>) {
        match event {
            AgentEvent::AgentStart => {
                self.is_running = true;
                self.added = Transcript::new();
                self.usage = Usage::default();
                self.error = None;
                self.outcome = None;
            }
            AgentEvent::AgentEnd { .. } => self.is_running = false,
            AgentEvent::TurnEnd { message, .. } if !message.is_usable() => {
                self.error = Some(message.error_message.clone().unwrap_or_default());
            }
            AgentEvent::MessageStart { message } => {
                // An answer that streams is open already: the driver grows it.
                if !matches!(self.open, Some(OpenMessage::Answer(_))) {
                    self.open = Some(OpenMessage::Message(message.clone()));
                }
            }
            AgentEvent::MessageEnd { message } => {
                self.open = None;
                self.transcript.push(message.clone());
                self.added.push(message.clone());
            }
            AgentEvent::ToolExecutionStart { call } => self.running.insert(call),
            AgentEvent::ToolExecutionEnd { call, .. } => self.running.remove(call),
            AgentEvent::TurnStart
            | AgentEvent::TurnEnd { .. }
            | AgentEvent::MessageUpdate { .. }
            | AgentEvent::ToolExecutionUpdate { .. } => {}
        }
    }

    /// What of the open turn is needed to close it out of order.
    fn note_turn(&mut self, event: &AgentEvent<M>) {
        match (event, &mut self.turn) {
            (AgentEvent::TurnStart, turn) => *turn = Some(Turn::default()),
            (AgentEvent::TurnEnd { .. }, turn) => *turn = None,
            (AgentEvent::ToolExecutionEnd { call, result }, Some(turn)) => {
                turn.settled.push((call.clone(), result.clone()));
            }
            // What a host writes stands before the turn's answer: it answers nothing.
            (AgentEvent::MessageEnd { message }, Some(turn)) if turn.asked => match message {
                AgentMessage::Assistant(answer) => {
                    self.usage += answer.usage;
                    turn.answer = Some(answer.clone());
                }
                AgentMessage::ToolResult(result) => turn.results.push(result.clone()),
                _ => {}
            },
            _ => {}
        }
    }
}

/// By hand, since messages are shared: `M` itself need not be `Clone`.
impl<M> Clone for State<M> {
    fn clone(&self) -> Self {
        Self {
            transcript: self.transcript.clone(),
            added: self.added.clone(),
            usage: self.usage,
            open: self.open.clone(),
            running: self.running.clone(),
            turn: self.turn.clone(),
            is_running: self.is_running,
            error: self.error.clone(),
            outcome: self.outcome.clone(),
        }
    }
}
