//! A shared agent's run under way: driven to its end, with every event told to the listeners.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::ListenerContext;
use super::slot::Shared;
use crate::agent_loop::inside;
use crate::error_text::drop_foreign;
use crate::event::{AgentEvent, Outcome};
use crate::message::{CustomMessage, NoCustom};
use crate::run::{Idle, Run, Streaming};

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
        let lease = Lease { agent, run: Some(run), telling: None };
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

/// After so many events a run lets others have the thread, so that a model that never pauses cannot keep it.
const EVENTS_AT_A_TIME: u32 = 64;

async fn drive<M: CustomMessage>(mut lease: Lease<M>) -> Outcome<M> {
    let mut told: u32 = 0;
    while let Some(event) = lease.next().await {
        lease.tell(event).await;
        told = told.wrapping_add(1);
        if told % EVENTS_AT_A_TIME == 0 {
            yield_now().await;
        }
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
}

impl<M: CustomMessage> Lease<M> {
    async fn next(&mut self) -> Option<AgentEvent<M>> {
        match &mut self.run {
            Some(run) => run.next().await,
            None => None,
        }
    }

    /// Tells an event to the agent's state, and then to one listener after the other.
    async fn tell(&mut self, event: AgentEvent<M>) {
        let Some(run) = &mut self.run else { return };
        let last_run = self.agent.slot().state.follow(&event, run.state());
        if let (Some(_), _) | (_, Some(_)) = &last_run {
            drop_foreign(last_run);
        }
        let Some(listening) = self.agent.listeners.listening() else { return };
        let event = self.telling.insert(event);
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

/// Gives up the thread once.
async fn yield_now() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
