//! Waiting for the end of a shared agent's run.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use thiserror::Error;

use super::slot::{Place, Shared};
use crate::agent_loop::is_inside;
use crate::message::{CustomMessage, NoCustom};

/// Waits until the run that was under way is over and its last listener has settled. See
/// [`Agent::wait_for_idle`](super::Agent::wait_for_idle).
#[must_use = "futures do nothing unless polled"]
pub struct WaitForIdle<M: CustomMessage = NoCustom> {
    agent: Arc<Shared<M>>,
    /// The run that is waited for, by its number.
    run: u64,
    waiting: Option<usize>,
}

/// Why a wait for an agent's idleness can never end: it is part of the very run that it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "a tool, hook or listener cannot wait until its own agent is idle, since the agent waits for it: return first, or \
     wait in a task of its own"
)]
pub struct InsideRun;

impl<M: CustomMessage> WaitForIdle<M> {
    pub(super) fn new(agent: &Arc<Shared<M>>) -> Self {
        Self { agent: agent.clone(), run: agent.slot().run, waiting: None }
    }

    fn look(&self) -> Poll<Result<(), InsideRun>> {
        let slot = self.agent.slot();
        match &slot.place {
            Place::Idle(_) => Poll::Ready(Ok(())),
            Place::Busy(_) if slot.run != self.run => Poll::Ready(Ok(())),
            Place::Busy(run) if is_inside(run) => Poll::Ready(Err(InsideRun)),
            Place::Busy(_) => Poll::Pending,
        }
    }
}

impl<M: CustomMessage> Future for WaitForIdle<M> {
    type Output = Result<(), InsideRun>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let Poll::Ready(over) = self.look() {
            return Poll::Ready(over);
        }
        let slot = self.agent.waiting.register(self.waiting, cx.waker());
        self.waiting = Some(slot);
        // The run may have ended between the look and the registration.
        self.look()
    }
}

impl<M: CustomMessage> Drop for WaitForIdle<M> {
    fn drop(&mut self) {
        if let Some(slot) = self.waiting {
            self.agent.waiting.free(slot);
        }
    }
}

impl<M: CustomMessage> fmt::Debug for WaitForIdle<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitForIdle").field("run", &self.run).finish_non_exhaustive()
    }
}
