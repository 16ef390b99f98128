//! The checker on a live stream.

use std::fmt;
use std::future::poll_fn;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;

use super::{Checker, Trace, Violation};
use crate::agent_loop::AgentLoop;
use crate::event::AgentEvent;
use crate::message::CustomMessage;
use crate::run::{Idle, Run, Streaming};
use crate::state::State;
use crate::transcript::Transcript;

/// A stream of events with a state: a run, or the stateless loop.
pub trait Checkable: Stream<Item = AgentEvent<Self::M>> + Unpin + Sized {
    /// The message type.
    type M: CustomMessage;

    #[doc(hidden)]
    fn state_of(&self) -> &State<Self::M>;

    /// Checks every event, and the state after it, against the rules that every run keeps; panics at the first that
    /// breaks one, with the trace so far. Wrap the run before its first event.
    ///
    /// ```
    /// use turnstate::Run;
    /// use turnstate::testing::{Checkable, Response, ScriptedModel, block_on};
    ///
    /// let mut run = Run::builder(ScriptedModel::new([Response::text("Hi")])).build().prompt("Hello").checked();
    /// block_on(async {
    ///     while let Some(event) = run.next().await {
    ///         println!("{event:?}, {} messages", run.state().transcript().len());
    ///     }
    /// });
    /// println!("{}", run.trace());
    /// ```
    fn checked(self) -> Checked<Self> {
        let before = self.state_of().transcript().clone();
        Checked { stream: self, checker: Checker::new(), trace: Trace::new(), before }
    }
}

impl<M: CustomMessage> Checkable for Run<Streaming, M> {
    type M = M;

    fn state_of(&self) -> &State<M> {
        self.state()
    }
}

impl<M: CustomMessage> Checkable for AgentLoop<M> {
    type M = M;

    fn state_of(&self) -> &State<M> {
        self.state()
    }
}

/// A stream of events that is checked as it is read. It is the stream otherwise: `state()`, `handle()` and `abort()`
/// are there by deref.
///
/// # Panics
/// Reading panics at the first event that breaks a rule, and at an end that comes too early.
#[must_use = "nothing is checked until the events are read"]
pub struct Checked<S: Checkable> {
    stream: S,
    checker: Checker<S::M>,
    trace: Trace<S::M>,
    before: Transcript<S::M>,
}

impl<S: Checkable> Checked<S> {
    /// The next event; `None` when the run is over.
    ///
    /// # Cancel safety
    /// As that of the stream.
    pub async fn next(&mut self) -> Option<AgentEvent<S::M>> {
        poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// What happened so far.
    #[must_use]
    pub fn trace(&self) -> &Trace<S::M> {
        &self.trace
    }

    /// Notes in the trace what was done to the run at this moment.
    pub fn note(&mut self, note: impl Into<String>) {
        self.trace.note(note);
    }

    /// The stream, checked no further, and what happened so far.
    pub fn into_parts(self) -> (S, Trace<S::M>) {
        (self.stream, self.trace)
    }
}

impl<M: CustomMessage> Checked<Run<Streaming, M>> {
    /// Drives the run to its end, and makes the idle run of it.
    ///
    /// # Cancel safety
    /// As [`Run::finish`].
    pub async fn finish(mut self) -> Run<Idle, M> {
        while self.next().await.is_some() {}
        self.stream.finish().await
    }

    /// Stops the run here and now, as [`Run::cancel_with_events`] does, and checks the events that nobody has seen.
    /// Gives what happened as well.
    #[track_caller]
    pub fn cancel(self) -> (Run<Idle, M>, Trace<M>) {
        let Self { stream, mut checker, mut trace, before } = self;
        let (run, missed) = stream.cancel_with_events();
        let begun = !trace.is_empty() || !missed.is_empty();
        trace.note("cancel");
        let mut checked = Ok(());
        for event in missed {
            checked = checked.and_then(|()| checker.event(&event));
            trace.push(event);
        }
        if begun {
            checked = checked.and_then(|()| checker.end()).and_then(|()| checker.state(run.state(), &before));
        }
        assert_kept(checked, &trace);
        (run, trace)
    }
}

impl<S: Checkable> Stream for Checked<S> {
    type Item = AgentEvent<S::M>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        let event = ready!(Pin::new(&mut this.stream).poll_next(cx));
        let checked = match &event {
            None => this.checker.end(),
            Some(event) => {
                this.trace.push(event.clone());
                let fits = this.checker.event(event);
                match event {
                    // A delta changes nothing of what is compared: a long answer stays cheap to check.
                    AgentEvent::MessageUpdate { .. } => fits,
                    _ => fits.and_then(|()| this.checker.state(this.stream.state_of(), &this.before)),
                }
            }
        };
        assert_kept(checked, &this.trace);
        Poll::Ready(event)
    }
}

/// Fails with the rule that was broken, the event, and all that led to it.
#[track_caller]
fn assert_kept<M: CustomMessage>(checked: Result<(), Violation>, trace: &Trace<M>) {
    if let Err(violation) = checked {
        panic!("{violation}\n{trace}");
    }
}

impl<S: Checkable> Deref for Checked<S> {
    type Target = S;

    fn deref(&self) -> &S {
        &self.stream
    }
}

impl<S: Checkable> DerefMut for Checked<S> {
    fn deref_mut(&mut self) -> &mut S {
        &mut self.stream
    }
}

impl<S: Checkable> fmt::Debug for Checked<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Checked").field("trace", &self.trace).finish_non_exhaustive()
    }
}
