//! The projection as a fold: what a model sees of a transcript, kept and extended.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::Messages;
use super::repair::{made_up_result, repaired};
use crate::message::{
    AgentMessage, AssistantMessage, CustomMessage, Message, Timestamp, ToolCall, ToolResultMessage,
};

/// Whether the messages of a request are repaired. The transcript never is.
///
/// Providers refuse requests that a conversation can end up with: after an interruption, with a call that has no
/// result; after an empty answer, with empty text. Repair gives them what they accept:
///
/// * Directly after an answer stand the results of its calls, one for each call, in the order of the calls. A call
///   without a result gets an error result that is made up; results without a call are left out. Messages that were
///   written between a call and its result follow the results. Ids may repeat: results count for the calls of their
///   id in order, and only for those of the answer before them.
/// * Answers that failed or were aborted are left out, so a retry asks the question again.
/// * Blank text blocks are left out, and messages without any content. A tool result without content stays, since
///   it answers its call, and so does a system message that sets sections or changes tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repair {
    /// Requests are repaired.
    #[default]
    On,
    /// Requests are what the messages project, as it is.
    Off,
}

/// The messages a model is sent, as a fold over the transcript.
///
/// Kept from request to request: push each new message of the transcript, and ask for the
/// [`request`](Self::request). Nothing is built again, and what a request held is a prefix of what the next one
/// holds, with repair too, so that a provider's cache of the conversation stays warm.
///
/// A message that a hook has changed or taken away cannot be taken back out of the fold: [`rebuild`](Self::rebuild).
#[derive(Debug, Clone, Default)]
pub struct Projector {
    repair: Repair,
    messages: Messages,
    batch: Batch,
}

impl Projector {
    /// An empty projection.
    #[must_use]
    pub fn new(repair: Repair) -> Self {
        Self { repair, ..Self::default() }
    }

    /// The projection of a whole transcript.
    #[must_use]
    pub fn of<M: CustomMessage>(repair: Repair, transcript: &[AgentMessage<M>]) -> Self {
        let mut projector = Self::new(repair);
        projector.extend(transcript);
        projector
    }

    /// Goes on with the next message of the transcript.
    pub fn push<M: CustomMessage>(&mut self, message: &AgentMessage<M>) {
        for message in message.project() {
            match self.repair {
                Repair::On => self.push_repaired(message),
                Repair::Off => self.messages.push(message),
            }
        }
    }

    /// Goes on with the next messages of the transcript.
    pub fn extend<M: CustomMessage>(&mut self, messages: &[AgentMessage<M>]) {
        for message in messages {
            self.push(message);
        }
    }

    /// The messages of a request that is made now. They are shared: going on copies pointers only if the request is
    /// still held.
    ///
    /// Calls that are open now count as answered by their made-up results from here on, because the model has been
    /// told so; a result that comes later is left out. To look without asking, use [`messages`](Self::messages).
    #[must_use = "a request counts open calls as answered"]
    pub fn request(&mut self) -> Messages {
        self.batch.settle(&mut self.messages);
        self.messages.clone()
    }

    /// The messages that a request made now would hold, without making it: open calls stay open.
    #[must_use]
    pub fn messages(&self) -> Messages {
        let mut messages = self.messages.clone();
        if self.batch.is_open() {
            self.batch.clone().settle(&mut messages);
        }
        messages
    }

    /// Starts anew with other messages, for a transcript that was changed other than at its end.
    pub fn rebuild<M: CustomMessage>(&mut self, transcript: &[AgentMessage<M>]) {
        self.clear();
        self.extend(transcript);
    }

    /// Starts anew without messages.
    pub fn clear(&mut self) {
        self.messages.clear();
        self.batch.clear();
    }

    fn push_repaired(&mut self, message: Message) {
        match repaired(message) {
            None => {}
            Some(Message::ToolResult(result)) => self.batch.answer(result, &mut self.messages),
            Some(Message::Assistant(answer)) => {
                // An answer is the reply to a request, and that request counted open calls as answered.
                self.batch.settle(&mut self.messages);
                self.batch.open(&answer);
                self.messages.push(answer);
            }
            Some(message) if self.batch.is_open() => self.batch.held.push(message),
            Some(message) => self.messages.push(message),
        }
    }
}

/// The calls of the latest answer, while some of them have no result.
#[derive(Debug, Clone, Default)]
struct Batch {
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
    fn open(&mut self, answer: &AssistantMessage) {
        self.calls.extend(answer.tool_calls().cloned());
        self.timestamp = answer.timestamp;
    }

    fn is_open(&self) -> bool {
        !self.calls.is_empty()
    }

    /// Takes the result of a call. Results go into the list in the order of the calls.
    fn answer(&mut self, result: Arc<ToolResultMessage>, messages: &mut Messages) {
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
    fn settle(&mut self, messages: &mut Messages) {
        if !self.is_open() {
            return;
        }
        for call in self.calls.drain(..) {
            match take_early(&mut self.early, &call) {
                Some(result) => messages.push(result),
                None => messages.push(made_up_result(&call, self.timestamp)),
            }
        }
        self.close(messages);
    }

    fn close(&mut self, messages: &mut Messages) {
        if !self.held.is_empty() {
            messages.make_mut().append(&mut self.held);
        }
        self.early.clear();
    }

    fn clear(&mut self) {
        self.calls.clear();
        self.early.clear();
        self.held.clear();
    }
}

fn take_early(
    early: &mut HashMap<String, VecDeque<Arc<ToolResultMessage>>>,
    call: &ToolCall,
) -> Option<Arc<ToolResultMessage>> {
    early.get_mut(&call.id)?.pop_front()
}
