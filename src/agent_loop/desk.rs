//! Where the loop lays down what the driver is to do next.
//!
//! The loop's future never yields by itself: it puts an order on the desk and returns pending, and the driver, which
//! polled it, takes the order at once. The lock is touched a few times for each message, never for a delta.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

use crate::agent_loop::config::MessageSource;
use crate::error_text::call_foreign;
use crate::event::{AgentEvent, Ending};
use crate::message::{AgentMessage, AssistantMessage};
use crate::model::BoxDeltaStream;

/// The desk, shared by the loop and its driver.
pub(crate) struct Desk<M>(Arc<Mutex<Papers<M>>>);

struct Papers<M> {
    /// What is to be told, in order.
    events: VecDeque<AgentEvent<M>>,
    order: Option<Order>,
    in_hand: InHand<M>,
    ending: Option<Ending>,
    head: AssistantMessage,
}

/// What the loop wants done. It gives an order only when everything is told.
pub(crate) enum Order {
    /// Drive this stream, and lay down the finished answer.
    Ask(Asking),
    /// Tell this answer, that no model gave, and lay it down.
    AnswerAlone(Arc<AssistantMessage>),
    /// The finished answer, for the loop.
    Answer(Arc<AssistantMessage>),
}

/// An answer that is to be driven.
pub(crate) struct Asking {
    pub(crate) stream: BoxDeltaStream,
    /// Everything of the answer but its content.
    pub(crate) head: Arc<AssistantMessage>,
    /// When the request was made, on the monotonic clock.
    pub(crate) asked_at: Duration,
}

/// Messages that are about to be written. The last `queued` of them came from a queue: those that are not written when
/// the run ends out of order go back to its head.
pub(crate) struct InHand<M> {
    messages: VecDeque<AgentMessage<M>>,
    queued: usize,
}

impl<M> InHand<M> {
    fn unwritten_queued(&self) -> usize {
        self.queued.min(self.messages.len())
    }
}

impl<M> Default for InHand<M> {
    fn default() -> Self {
        Self { messages: VecDeque::new(), queued: 0 }
    }
}

impl<M> Clone for Desk<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M> Desk<M> {
    pub(crate) fn new(head: AssistantMessage) -> Self {
        let (events, in_hand) = (VecDeque::new(), InHand::default());
        Self(Arc::new(Mutex::new(Papers { events, order: None, in_hand, ending: None, head })))
    }

    fn papers(&self) -> MutexGuard<'_, Papers<M>> {
        // No foreign code runs under the lock, so a panic elsewhere cannot leave it half-written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has the driver tell an event, and goes on when the consumer asks for the next one.
    ///
    /// Not an async function: the event goes straight onto the desk, and is in no future on its way.
    pub(crate) fn emit(&mut self, event: AgentEvent<M>) -> impl Future<Output = ()> {
        self.note(event);
        self.told()
    }

    /// Notes an event that is told with the next ones: nothing happens in between, so the loop need not wait for it.
    pub(crate) fn note(&mut self, event: AgentEvent<M>) {
        self.papers().events.push_back(event);
    }

    /// Notes events that are told one after the other. The iterator runs no foreign code.
    pub(crate) fn note_all(&mut self, events: impl IntoIterator<Item = AgentEvent<M>>) {
        self.papers().events.extend(events);
    }

    /// Has the driver tell what was noted, and goes on when the consumer asks for more.
    ///
    /// It parks without a waker, since the driver acts at once, and before it polls again: only the loop's own future
    /// may call it, never one that runs inside a set of futures (`&mut self` sees to that), and only with something noted.
    pub(crate) fn told(&mut self) -> impl Future<Output = ()> {
        let mut parked = false;
        poll_fn(move |_| if std::mem::replace(&mut parked, true) { Poll::Ready(()) } else { Poll::Pending })
    }

    /// Hands a stream to the driver, and gets the finished answer, once it has been told.
    pub(crate) async fn answer(&mut self, asking: Asking) -> Arc<AssistantMessage> {
        self.answered(Order::Ask(asking)).await
    }

    /// Has the driver tell an answer that no model gave.
    pub(crate) async fn answer_alone(&mut self, answer: Arc<AssistantMessage>) -> Arc<AssistantMessage> {
        self.answered(Order::AnswerAlone(answer)).await
    }

    async fn answered(&mut self, order: Order) -> Arc<AssistantMessage> {
        let mut order = Some(order);
        poll_fn(|_| {
            let mut papers = self.papers();
            if let Some(order) = order.take() {
                papers.order = Some(order);
                return Poll::Pending;
            }
            match papers.order.take() {
                Some(Order::Answer(message)) => Poll::Ready(message),
                other => {
                    papers.order = other;
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// The driver's side: what the loop wants done; and what it wants told, in place of `upcoming`, which is empty.
    pub(crate) fn take_order(&self, upcoming: &mut VecDeque<AgentEvent<M>>) -> Option<Order> {
        let mut papers = self.papers();
        std::mem::swap(&mut papers.events, upcoming);
        papers.order.take()
    }

    /// The driver's side: the finished answer.
    pub(crate) fn lay_down(&self, answer: Arc<AssistantMessage>) {
        self.papers().order = Some(Order::Answer(answer));
    }

    /// Takes messages in hand that are about to be written, the last `queued` of which came from a queue.
    pub(crate) fn take_in_hand(&self, messages: impl IntoIterator<Item = AgentMessage<M>>, queued: usize) {
        self.papers().in_hand = InHand { messages: messages.into_iter().collect(), queued };
    }

    /// The message to write next.
    pub(crate) fn next_in_hand(&self) -> Option<AgentMessage<M>> {
        self.papers().in_hand.messages.front().cloned()
    }

    /// The first message in hand is written: its end is about to be told.
    pub(crate) fn written(&self) {
        self.papers().in_hand.messages.pop_front();
    }

    /// Gives up what is in hand: the messages that came with the prompt or a hook, and how many from a queue.
    pub(crate) fn give_up_hand(&self) -> (Vec<AgentMessage<M>>, usize) {
        let mut hand = std::mem::take(&mut self.papers().in_hand);
        let queued = hand.unwritten_queued();
        hand.messages.truncate(hand.messages.len() - queued);
        (hand.messages.into(), queued)
    }

    /// Notes how the run ends, just before its end is told.
    pub(crate) fn set_ending(&self, ending: Ending) {
        self.papers().ending = Some(ending);
    }

    pub(crate) fn take_ending(&self) -> Option<Ending> {
        self.papers().ending.take()
    }

    /// Notes what an answer of the moment says of its model, for answers that the driver has to make up.
    pub(crate) fn set_head(&self, head: AssistantMessage) {
        self.papers().head = head;
    }

    pub(crate) fn head(&self) -> AssistantMessage {
        self.papers().head.clone()
    }
}

/// Gives messages back to their queue when a run ends, in whatever way, before they were written.
pub(crate) struct HandBack<M: 'static> {
    pub(crate) desk: Desk<M>,
    pub(crate) source: Arc<dyn MessageSource<M>>,
}

/// Gives messages back. The source is foreign code: it is on its own if it panics, and the run is closed all the same.
pub(crate) fn give_back<M: 'static>(source: &dyn MessageSource<M>, count: usize) {
    if count == 0 {
        return;
    }
    call_foreign(|| source.give_back(count));
}

impl<M: 'static> Drop for HandBack<M> {
    fn drop(&mut self) {
        let (_, queued) = self.desk.give_up_hand();
        give_back(&*self.source, queued);
    }
}
