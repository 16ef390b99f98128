//! A shared agent's run under way: driven to its end, with every event told to the listeners.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::StreamExt;

use super::ListenerContext;
use super::listener::Listening;
use super::slot::Shared;
use crate::agent_loop::inside;
use crate::breath::Breath;
use crate::error_text::drop_foreign;
use crate::event::{AgentEvent, Outcome};
use crate::message::{CustomMessage, NoCustom};
use crate::run::{Idle, Run, Streaming};
use crate::state::State;

/// A run of a shared [`Agent`](super::Agent): a future that drives the run, awaits the listeners, and gives the
/// outcome. `Send + Sync + Unpin + 'static`, so it can be spawned.
///
/// The agent is busy from the call that made this future until the future is ready or dropped; when it is ready, the
/// agent is idle already.
///
/// # Cancel safety
/// Dropping it stops the run at once, as [`Run::cancel`] does: the model's stream, tools, hooks and the listener that is
/// hearing an event are dropped, and nothing runs on. The agent is idle again, its transcript takes a prompt and can be
/// resumed, and messages that were taken from a queue and not written are back in it. A future that was never polled
/// has done nothing, and its prompt is gone.
///
/// The events that close a dropped run are told to no listener, since there is nobody to await them. They are in the
/// outcome, [`Outcome::unseen`], which is in the agent's [`state`](super::Agent::state); everything the run added is in
/// [`Outcome::added`].
///
/// # Panics
/// None of its own, unless it is polled after it was ready. A panic of a tool is an error result; a panic of a hook, a
/// projection, the model's stream or a listener ends the run as [`Failed`](crate::Ending::Failed), with a complete
/// event sequence.
#[must_use = "an agent's run does nothing unless its future is polled: await or spawn it; dropping it cancels the run"]
pub struct Prompting<M = NoCustom> {
    /// The lock is never taken, since the future is only reached by `&mut`: it makes this `Sync`.
    running: Mutex<BoxFuture<'static, Outcome<M>>>,
}

impl<M: CustomMessage> Prompting<M> {
    pub(super) fn new(agent: Arc<Shared<M>>, run: Run<Streaming, M>) -> Self {
        let signal = run.abort_signal().clone();
        agent.note_run(&signal);
        let lease = Lease { agent, run: Some(run), telling: None, listening: None };
        Self { running: Mutex::new(Box::pin(inside(signal, drive(lease)))) }
    }
}

impl<M> Future for Prompting<M> {
    type Output = Outcome<M>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome<M>> {
        self.running.get_mut().unwrap_or_else(PoisonError::into_inner).poll_unpin(cx)
    }
}

impl<M> fmt::Debug for Prompting<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Prompting").finish_non_exhaustive()
    }
}

async fn drive<M: CustomMessage>(mut lease: Lease<M>) -> Outcome<M> {
    // A model that never pauses cannot keep the thread.
    let mut breath = Breath::default();
    while lease.advance().await {
        lease.tell().await;
        breath.take().await;
    }
    lease.end()
}

/// The run that someone drives. Whatever happens, it goes back to the agent.
struct Lease<M: CustomMessage> {
    agent: Arc<Shared<M>>,
    /// `None` once it went back.
    run: Option<Run<Streaming, M>>,
    /// The event that the listeners are hearing.
    telling: Option<AgentEvent<M>>,
    /// Those who heard the event before, as long as events come one after the other: while the run waits, nothing keeps
    /// an unsubscribed listener.
    listening: Option<Listening<M>>,
}

impl<M: CustomMessage> Lease<M> {
    /// Drives the run to its next event, which is then `telling`; `false` when it is over.
    async fn advance(&mut self) -> bool {
        let Some(run) = &mut self.run else { return false };
        poll_fn(|cx| match run.poll_next_unpin(cx) {
            Poll::Ready(event) => {
                self.telling = event;
                Poll::Ready(self.telling.is_some())
            }
            Poll::Pending => {
                self.listening = None;
                Poll::Pending
            }
        })
        .await
    }

    /// Tells the event to the agent's state, and then to one listener after the other.
    async fn tell(&mut self) {
        let (Some(run), Some(event)) = (&mut self.run, &self.telling) else { return };
        if State::is_changed_by(event) {
            let last_run = self.agent.slot().state.follow(event, run.state());
            if let Some(last_run) = last_run {
                drop_foreign(last_run);
            }
        }
        let listening = self.agent.listeners.listening(self.listening.take());
        let listening = self.listening.insert(listening);
        let cx = ListenerContext { state: run.state(), abort: run.abort_signal() };
        if let Some(panic) = listening.tell(event, cx).await {
            run.fail(format!("a listener panicked: {panic}"));
            if let AgentEvent::AgentEnd { .. } = event {
                // The run is over, and only its outcome has changed.
                let replaced = self.agent.slot().state.follow_outcome(run.state());
                drop_foreign(replaced);
            }
        }
        self.telling = None;
    }

    /// Puts the run back, and gives its outcome.
    fn end(&mut self) -> Outcome<M> {
        let Some(run) = self.run.take() else { return Outcome::none() };
        let (mut run, missed) = run.cancel_with_events();
        self.note_missed(&mut run, &missed);
        let outcome = run.outcome().cloned().unwrap_or_else(Outcome::none);
        self.agent.put_back(run);
        outcome
    }

    /// Takes over the events that closed a dropped run.
    fn note_missed(&mut self, run: &mut Run<Idle, M>, missed: &[AgentEvent<M>]) {
        let interrupted = self.telling.take();
        if missed.is_empty() && interrupted.is_none() {
            return;
        }
        if let Some(outcome) = run.outcome_mut() {
            outcome.unseen = interrupted.into_iter().chain(missed.iter().cloned()).collect();
        }
        let mut slot = self.agent.slot();
        let let_go: Vec<_> = missed.iter().map(|event| slot.state.follow(event, run.state())).collect();
        let replaced = slot.state.follow_outcome(run.state());
        drop(slot);
        drop_foreign((let_go, replaced));
    }
}

impl<M: CustomMessage> Drop for Lease<M> {
    fn drop(&mut self) {
        self.end();
    }
}
