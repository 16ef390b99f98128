//! Messages that wait in the agent's queues.

use std::sync::Arc;

use serde::Serialize;
use turnstate::message::AgentMessage;
use turnstate::run::{QueueKind, Ticket};

use super::{Board, Step};
use crate::roles::ChatMessage;

/// A message that was queued, until it is in the transcript.
pub(crate) struct Waiting {
    number: u64,
    ticket: Ticket<ChatMessage>,
    message: AgentMessage<ChatMessage>,
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
        let queue = match self.ticket.queue()? {
            QueueKind::Steering => "steer",
            _ => "followUp",
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
        let number = self.number();
        self.waiting.push(Waiting { number, ticket, message });
        self.tell_waiting(steps);
    }

    /// Takes a waiting message back, and gives its text; `None` if it does not wait any more.
    pub(crate) fn take_back(&mut self, number: u64, steps: &mut Vec<Step>) -> Option<String> {
        let at = self.waiting.iter().position(|waiting| waiting.number == number)?;
        let waiting = self.waiting.get(at)?;
        if waiting.ticket.take_back().is_empty() {
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
        let is_steer = waiting.ticket.queue() == Some(QueueKind::Steering);
        let promoted = waiting.ticket.promote();
        // Behind the steers that were there, as in the queue. One that is a steer already stays where it is.
        self.waiting.insert(if is_steer { at } else { self.waiting.len() }, waiting);
        self.tell_waiting(steps);
        promoted
    }

    /// Tells what waits, if that has changed.
    pub(crate) fn tell_waiting(&mut self, steps: &mut Vec<Step>) {
        let mut views: Vec<_> = self.waiting.iter().filter_map(Waiting::view).collect();
        // In the order of delivery: a promoted follow-up comes after the steers that were there.
        views.sort_by_key(|view| view.queue != "steer");
        if views != self.told_waiting {
            self.told_waiting.clone_from(&views);
            steps.push(Step::Waiting { waiting: views });
        }
    }
}
