//! Messages that wait: in the agent's queues, or for its next turn.

use std::mem;
use std::sync::Arc;

use serde::Serialize;
use turnstate::message::AgentMessage;
use turnstate::run::{QueueKind, Ticket};

use super::{Board, Step};
use crate::roles::ChatMessage;

/// A message that was sent while the agent worked, until it is in the transcript.
pub(crate) struct Waiting {
    number: u64,
    place: Place,
    message: AgentMessage<ChatMessage>,
}

/// Where a message waits.
enum Place {
    /// In one of the agent's queues, which bring about a turn.
    Queue(Ticket<ChatMessage>),
    /// Here, for the next turn if there is one, and for the end of the run otherwise.
    Here {
        /// Whether the run has it, and may write it at any moment.
        given: bool,
    },
}

/// A waiting message as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct WaitingView {
    waiting: u64,
    queue: &'static str,
    role: String,
    text: String,
}

impl Waiting {
    pub(crate) fn is(&self, message: &AgentMessage<ChatMessage>) -> bool {
        match (&self.message, message) {
            (AgentMessage::User(a), AgentMessage::User(b)) => Arc::ptr_eq(a, b),
            (AgentMessage::Custom(a), AgentMessage::Custom(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// How it is shown; `None` while it is in no queue. One that was taken out to be delivered may come back, if the
    /// run is stopped before it is written.
    fn view(&self) -> Option<WaitingView> {
        let queue = match &self.place {
            Place::Here { .. } => "note",
            Place::Queue(ticket) => match ticket.queue()? {
                QueueKind::Steering => "steer",
                _ => "followUp",
            },
        };
        let role = self.message.role().to_owned();
        Some(WaitingView { waiting: self.number, queue, role, text: text_of(&self.message) })
    }
}

fn text_of(message: &AgentMessage<ChatMessage>) -> String {
    match message {
        AgentMessage::User(user) => user.content.texts().collect(),
        AgentMessage::Custom(custom) => match &**custom {
            ChatMessage::Notification { text } | ChatMessage::Note { text } => text.clone(),
        },
        _ => String::new(),
    }
}

impl Board {
    /// How many messages wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Notes a message that was queued just now.
    pub(crate) fn wait(
        &mut self,
        ticket: Ticket<ChatMessage>,
        message: AgentMessage<ChatMessage>,
        steps: &mut Vec<Step>,
    ) {
        self.keep(Place::Queue(ticket), message, steps);
    }

    /// Keeps a message that the model is to read with the next turn, and that is no reason for one.
    pub(crate) fn wait_here(&mut self, message: AgentMessage<ChatMessage>, steps: &mut Vec<Step>) {
        self.keep(Place::Here { given: false }, message, steps);
    }

    fn keep(&mut self, place: Place, message: AgentMessage<ChatMessage>, steps: &mut Vec<Step>) {
        let number = self.number();
        self.waiting.push(Waiting { number, place, message });
        self.tell_waiting(steps);
    }

    /// What waits here, for the turn that begins. It stays until it is written: the run may be stopped before that.
    pub(crate) fn give(&mut self) -> Vec<AgentMessage<ChatMessage>> {
        let here = self.waiting.iter_mut().filter_map(|waiting| match &mut waiting.place {
            Place::Here { given } => {
                *given = true;
                Some(waiting.message.clone())
            }
            Place::Queue(_) => None,
        });
        here.collect()
    }

    /// The run is over: what still waits here is put into the transcript by `write`, which says whether it could.
    pub(crate) fn settle(
        &mut self,
        mut write: impl FnMut(&AgentMessage<ChatMessage>) -> bool,
        steps: &mut Vec<Step>,
    ) {
        let is_written =
            |waiting: &Waiting| matches!(waiting.place, Place::Here { .. }) && write(&waiting.message);
        let (written, waiting): (Vec<_>, _) = mem::take(&mut self.waiting).into_iter().partition(is_written);
        self.waiting = waiting;
        written.iter().for_each(|waiting| self.add(&waiting.message, steps));
        self.tell_waiting(steps);
    }

    /// Takes a waiting message back, and gives its text; `None` if it does not wait any more.
    pub(crate) fn take_back(&mut self, number: u64, steps: &mut Vec<Step>) -> Option<String> {
        let at = self.waiting.iter().position(|waiting| waiting.number == number)?;
        let waiting = self.waiting.get(at)?;
        let is_taken = match &waiting.place {
            Place::Queue(ticket) => !ticket.take_back().is_empty(),
            Place::Here { given } => !given,
        };
        if !is_taken {
            return None;
        }
        let text = text_of(&waiting.message);
        self.waiting.remove(at);
        self.tell_waiting(steps);
        Some(text)
    }

    /// Makes a steer of a follow-up; `false` if it does not wait any more.
    pub(crate) fn promote(&mut self, number: u64, steps: &mut Vec<Step>) -> bool {
        let Some(at) = self.waiting.iter().position(|waiting| waiting.number == number) else { return false };
        let waiting = self.waiting.remove(at);
        let (is_steer, promoted) = match &waiting.place {
            Place::Queue(ticket) => (ticket.queue() == Some(QueueKind::Steering), ticket.promote()),
            Place::Here { .. } => (false, false),
        };
        // Behind the steers that were there, as in the queue. One that is a steer already stays where it is.
        self.waiting.insert(if is_steer { at } else { self.waiting.len() }, waiting);
        self.tell_waiting(steps);
        promoted
    }

    /// Tells what waits, if that has changed.
    pub(crate) fn tell_waiting(&mut self, steps: &mut Vec<Step>) {
        let mut views: Vec<_> = self.waiting.iter().filter_map(Waiting::view).collect();
        // In the order of delivery: a promoted follow-up comes after the steers that were there.
        views.sort_by_key(|view| view.queue == "followUp");
        if views != self.told_waiting {
            self.told_waiting.clone_from(&views);
            steps.push(Step::Waiting { waiting: views });
        }
    }
}
