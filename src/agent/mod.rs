//! The shared agent: one run in a slot, for hosts that cannot pass it on by value.

mod control;
mod idle;
mod listener;
mod prompting;
mod slot;

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};

use thiserror::Error;

pub use self::idle::{InsideRun, WaitForIdle};
pub use self::listener::{ListenerContext, Subscription};
pub use self::prompting::Prompting;
use self::slot::{Place, Shared};
use crate::agent_loop::NothingToResume;
use crate::async_fn::SendAsyncFn2;
use crate::event::AgentEvent;
use crate::hook::SharedClosure;
use crate::message::{CustomMessage, NoCustom};
use crate::run::{Handle, Idle, IntoPrompt, Run};
use crate::state::State;
use crate::transcript::Transcript;

/// An agent that several parts of a program share: an actor, a user interface, a map of sessions on a server.
///
/// It keeps a [`Run`] in a slot, and takes it out for each prompt. All clones are one agent. Where one task owns the
/// conversation, use the run itself: there a second prompt does not even compile, and here it is [`Busy`].
///
/// ```
/// # futures::executor::block_on(async {
/// # use turnstate::{message::AssistantMessage, model::{Delta, Request}};
/// # let answer = Delta::whole(AssistantMessage::text("Hello!"));
/// # let model = move |_: Request| futures::stream::iter([answer.clone()]);
/// use turnstate::{Agent, Run};
///
/// let agent = Agent::new(Run::builder(model).build());
/// let printer = agent.subscribe(async |event, _| {
///     if let Some(text) = event.text_delta() {
///         print!("{text}");
///     }
/// });
/// let outcome = agent.prompt("Hello")?.await;
/// assert!(outcome.is_success());
/// # Ok::<(), turnstate::Busy>(()) }).unwrap();
/// ```
///
/// The guide [runs](crate::guide::runs#the-shared-agent) has more of it.
///
/// A tool, hook or listener that holds its own agent keeps it alive for ever: give it a [`WeakAgent`]
/// ([`downgrade`](Self::downgrade)), or, where it only steers or aborts, a [`Handle`].
///
/// # Cancel safety
/// A run is stopped by [`abort`](Self::abort), which lets it tell its own end, or by dropping the future that
/// [`prompt`](Self::prompt) or [`resume`](Self::resume) gave, which ends it there and then; see [`Prompting`]. After
/// either the agent takes the next prompt. Dropping the agent stops nothing: a run under way goes on as long as its
/// future is polled.
///
/// # Panics
/// None of its own. What a panic of a tool, a hook, a projection, the model's stream or a listener does is told at
/// [`Prompting`] and [`subscribe`](Self::subscribe); none of them leaves the agent busy.
pub struct Agent<M: CustomMessage = NoCustom>(Arc<Shared<M>>);

impl<M: CustomMessage> Agent<M> {
    /// Shares a run.
    #[must_use]
    pub fn new(run: Run<Idle, M>) -> Self {
        Self(Arc::new(Shared::new(run)))
    }

    /// Starts a run with a prompt. The agent is busy from here on; the run goes on as the future is polled.
    ///
    /// # Errors
    /// [`Busy`], at once, while a run is under way. Nothing has changed, and the prompt is in nobody's hands.
    #[must_use = "an agent's run does nothing unless its future is polled: `agent.prompt(..)?.await`, or spawn it"]
    pub fn prompt(&self, prompt: impl IntoPrompt<M>) -> Result<Prompting<M>, Busy> {
        let messages = prompt.into_prompt(self.0.clock.timestamp());
        let run = self.0.take()?;
        Ok(Prompting::new(self.0.clone(), run.prompt(messages)))
    }

    /// Goes on where the transcript ends; see [`Run::resume`].
    ///
    /// It also runs from a custom message at the transcript's end, whether or not the model sees it. A host that writes
    /// notes of its own behind an answer, and wants no request for them, looks at the last outcome, or at
    /// [`has_queued`](Self::has_queued), first.
    ///
    /// # Errors
    /// While a run is under way, and when there is nothing to go on from. Nothing has changed.
    #[must_use = "an agent's run does nothing unless its future is polled: `agent.resume()?.await`, or spawn it"]
    pub fn resume(&self) -> Result<Prompting<M>, ResumeRefused> {
        if let Place::Idle(run) = &self.0.slot().place {
            run.check_resume()?;
        }
        match self.0.take()?.resume() {
            Ok(run) => Ok(Prompting::new(self.0.clone(), run)),
            Err(refused) => {
                // What was queued has been taken back in between.
                self.0.put_back(refused.run);
                Err(refused.reason.into())
            }
        }
    }

    /// Has an async closure told of every event of every run, until the subscription is dropped.
    ///
    /// Listeners are awaited, one after another in the order in which they were subscribed, one event at a time: the
    /// run goes on when the last has settled, also after an abort. Each is given the event, and with it the state at
    /// that event and the abort signal. Write `async |event, cx| ..`: a closure that returns a future,
    /// `|event, cx| async move { .. }`, is refused, in the same words of the compiler as one that is a
    /// [hook](crate::hook::SharedClosure). It is cloned for each event, so what it captures is `Clone`: shared state goes
    /// into an `Arc`, and a bare `Mutex` is refused.
    ///
    /// One that is subscribed or unsubscribed while an event is told: the first hears the next one, the second hears
    /// no more. Listeners are told nothing of a run that was dropped, see [`Prompting`].
    ///
    /// # Panics
    /// A listener's panic ends the run as [`Failed`](crate::Ending::Failed), with a complete event sequence that every
    /// listener hears, the one that panicked included. One that panics at `agent_end` only makes the outcome
    /// `Failed`. The outcome of an aborted run stays `Aborted`.
    pub fn subscribe<F>(&self, listener: F) -> Subscription<M>
    where
        F: AsyncFnOnce(&AgentEvent<M>, ListenerContext<'_, M>)
            + for<'a> SendAsyncFn2<&'a AgentEvent<M>, ListenerContext<'a, M>, ()>
            + SharedClosure,
    {
        Subscription::new(&self.0, listener)
    }

    /// How many listeners are subscribed.
    #[must_use]
    pub fn listeners(&self) -> usize {
        self.0.listeners.len()
    }

    /// Waits until the run under way is over and its last listener has settled; at once if the agent is idle.
    ///
    /// It waits for that run alone, so an agent that is prompted again and again does not hold it up.
    ///
    /// # Errors
    /// [`InsideRun`] when it is awaited by a tool, hook or listener of that very run, also one on a
    /// [`Spawner`](crate::Spawner)'s threads: the run waits for these, so it would never end. That is known only where
    /// the run itself polls the wait. A tool that awaits a task of the host's runtime which in turn waits here is not
    /// seen, and waits for ever.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub fn wait_for_idle(&self) -> WaitForIdle<M> {
        WaitForIdle::new(&self.0)
    }

    /// Whether no run is under way: the next prompt is not [`Busy`], unless someone else comes first.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        matches!(self.0.slot().place, Place::Idle(_))
    }

    /// A snapshot of what the agent knows: exact at every event, also while the run is being polled.
    ///
    /// Cheap: messages are shared, and only an answer that streams is copied. While a snapshot is held, the next message
    /// that the run adds costs one copy of the transcript's pointers.
    #[must_use]
    pub fn state(&self) -> State<M> {
        self.0.slot().state.clone()
    }

    /// Changes the transcript of the idle agent. The agent is busy while the closure runs.
    ///
    /// Everything else has setters of its own ([`set_model`](Self::set_model) and its siblings), which may be called
    /// while a run is under way too: a transcript that is replaced then would lose what the run adds.
    ///
    /// ```
    /// # let run = turnstate::Run::builder(|_: turnstate::model::Request| futures::stream::empty()).build();
    /// use turnstate::message::AgentMessage;
    ///
    /// let agent = turnstate::Agent::new(run);
    /// agent.edit_transcript(|transcript| transcript.push(AgentMessage::user("Note: the build is green.")))?;
    /// assert_eq!(agent.state().transcript().len(), 1);
    /// # Ok::<(), turnstate::Busy>(())
    /// ```
    ///
    /// # Errors
    /// [`Busy`] while a run is under way.
    ///
    /// # Panics
    /// With the closure. The transcript keeps what was changed until then, and the agent is idle.
    pub fn edit_transcript<T>(&self, change: impl FnOnce(&mut Transcript<M>) -> T) -> Result<T, Busy> {
        self.with_run(|run| change(run.transcript_mut()))
    }

    /// Forgets the conversation; see [`Run::reset`].
    ///
    /// # Errors
    /// [`Busy`] while a run is under way.
    pub fn reset(&self) -> Result<(), Busy> {
        self.with_run(Run::reset)
    }

    fn with_run<T>(&self, change: impl FnOnce(&mut Run<Idle, M>) -> T) -> Result<T, Busy> {
        let mut run = self.0.take()?;
        let changed = catch_unwind(AssertUnwindSafe(|| change(&mut run)));
        self.0.put_back_edited(*run);
        changed.map_or_else(|panic| resume_unwind(panic), Ok)
    }

    /// The handle of the agent's run: for code that is part of a run, since it does not keep the agent alive.
    #[must_use]
    pub fn handle(&self) -> Handle<M> {
        self.0.handle.clone()
    }

    /// The agent for those who must not keep it alive.
    #[must_use]
    pub fn downgrade(&self) -> WeakAgent<M> {
        WeakAgent(Arc::downgrade(&self.0))
    }
}

impl<M: CustomMessage> Clone for Agent<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: CustomMessage> fmt::Debug for Agent<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("is_idle", &self.is_idle())
            .field("messages", &self.0.slot().state.transcript().len())
            .field("listeners", &self.listeners())
            .finish_non_exhaustive()
    }
}

/// An [`Agent`] that is not kept alive by this: for its own tools, hooks and listeners.
pub struct WeakAgent<M: CustomMessage = NoCustom>(Weak<Shared<M>>);

impl<M: CustomMessage> WeakAgent<M> {
    /// The agent; `None` once every clone of it is gone.
    #[must_use]
    pub fn upgrade(&self) -> Option<Agent<M>> {
        self.0.upgrade().map(Agent)
    }
}

impl<M: CustomMessage> Clone for WeakAgent<M> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<M: CustomMessage> fmt::Debug for WeakAgent<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WeakAgent").finish_non_exhaustive()
    }
}

/// The agent has a run under way. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "the agent is busy with a run: put a message into it with `steer` or `follow_up`, stop it with `abort`, or await \
     `wait_for_idle`"
)]
pub struct Busy;

/// Why an agent was not resumed. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResumeRefused {
    /// A run is under way.
    #[error(transparent)]
    Busy(#[from] Busy),
    /// There is nothing to go on from.
    #[error(transparent)]
    NothingToResume(#[from] NothingToResume),
}
