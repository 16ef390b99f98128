//! Scenarios: a whole run as data, with everything that is scripted and everything that is done to it, played
//! deterministically.

mod cast;
mod describe;
mod hooks;
mod plan;
mod play;
mod stage;

pub use plan::{
    AfterPlan, AnswerPlan, ArgumentsPlan, BeforePlan, BlockPlan, CallEndPlan, CallPlan, EndingPlan,
    FinishPlan, HookPlan, NextTurnPlan, Planned, RequestPlan, StepPlan, ToolPlan,
};
pub use play::{Ended, MoveMade, Played};
pub use stage::{Director, Queued, Stage};

use crate::message::{AgentMessage, NoCustom};
use crate::run::{QueueKind, QueueMode};
use crate::tool::ExecutionMode;

/// A run as data: what is prompted, what the model answers, what tools and hooks do, what the host does meanwhile, and
/// in which order everything that waits goes on.
///
/// Plain data, so that it can be generated, shrunk, printed and played again: the same scenario always gives the same
/// events. `Debug` writes it in few lines. The strategies of the feature `proptest` make random ones.
///
/// ```
/// use turnstate::testing::scenario::{AnswerPlan, CallPlan, Scenario, ToolPlan};
///
/// let scenario = Scenario::prompting("Hi")
///     .tool(ToolPlan::new("read"))
///     .answer(AnswerPlan::new().text("I look.").call(CallPlan::of_tool(0)))
///     .answer(AnswerPlan::new().text("Done."));
/// let played = scenario.play();
/// assert_eq!(played.requests.len(), 2);
/// println!("{}", played.trace);
/// ```
#[non_exhaustive]
pub struct Scenario<M = NoCustom> {
    /// The transcript before the run.
    pub history: Vec<AgentMessage<M>>,
    /// The prompt.
    pub prompt: Vec<AgentMessage<M>>,
    /// The tools.
    pub tools: Vec<ToolPlan>,
    /// The model's answers, one for each request. When they are used up it answers `(nothing more)`.
    pub answers: Vec<AnswerPlan>,
    /// What hooks answer.
    pub hooks: HookPlan,
    /// Whether calls of a batch run at the same time.
    pub tool_execution: ExecutionMode,
    /// How many steers a drain point delivers.
    pub steering: QueueMode,
    /// How many follow-ups a drain point delivers.
    pub follow_ups: QueueMode,
    /// Whether tools run as tasks of their own.
    pub spawned: bool,
    /// What the host does, and when.
    pub host: Vec<Move<M>>,
    /// Which gate is released when nothing can progress: the nth entry, modulo their number, picks among those that
    /// are waited on; the list is gone through again and again. Without entries it is always the first.
    pub order: Vec<u8>,
}

/// Something the host does, and when: so many moments after its last move. A moment is an event that was handed out, or
/// a stop because nothing can progress.
#[derive(Debug)]
#[non_exhaustive]
pub struct Move<M = NoCustom> {
    /// How many moments later.
    pub after: usize,
    /// What it does.
    pub action: Action<M>,
}

impl<M> Move<M> {
    /// This action, so many moments after the last move.
    #[must_use]
    pub fn new(after: usize, action: Action<M>) -> Self {
        Self { after, action }
    }
}

/// What a host does to a run.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action<M = NoCustom> {
    /// It steers.
    Steer(AgentMessage<M>),
    /// It queues a follow-up.
    FollowUp(AgentMessage<M>),
    /// It takes back what it queued: by the place among all that it has queued, modulo their number.
    TakeBack(usize),
    /// It makes a steer of what it queued.
    Promote(usize),
    /// It changes how many messages a drain point delivers.
    SetMode(QueueKind, QueueMode),
    /// It aborts the run.
    Abort,
    /// It cancels the run, and that is the end of it.
    Cancel,
    /// It drops the run, and that is the end of it.
    Drop,
}

/// By hand, here and below, since messages are shared: `M` itself need not be `Clone`.
impl<M> Clone for Action<M> {
    fn clone(&self) -> Self {
        match self {
            Self::Steer(message) => Self::Steer(message.clone()),
            Self::FollowUp(message) => Self::FollowUp(message.clone()),
            Self::TakeBack(at) => Self::TakeBack(*at),
            Self::Promote(at) => Self::Promote(*at),
            Self::SetMode(kind, mode) => Self::SetMode(*kind, *mode),
            Self::Abort => Self::Abort,
            Self::Cancel => Self::Cancel,
            Self::Drop => Self::Drop,
        }
    }
}

impl<M> Clone for Move<M> {
    fn clone(&self) -> Self {
        Self { after: self.after, action: self.action.clone() }
    }
}

impl<M> Clone for Scenario<M> {
    fn clone(&self) -> Self {
        Self {
            history: self.history.clone(),
            prompt: self.prompt.clone(),
            tools: self.tools.clone(),
            answers: self.answers.clone(),
            hooks: self.hooks.clone(),
            tool_execution: self.tool_execution,
            steering: self.steering,
            follow_ups: self.follow_ups,
            spawned: self.spawned,
            host: self.host.clone(),
            order: self.order.clone(),
        }
    }
}

impl Scenario {
    /// A run with this prompt and defaults: no tools, no answers, no hooks, a host that does nothing.
    #[must_use]
    pub fn prompting(prompt: impl Into<String>) -> Self {
        Self::of(vec![AgentMessage::user(prompt)])
    }
}

impl<M> Scenario<M> {
    /// A run with these messages as its prompt, for applications with messages of their own; otherwise as
    /// [`prompting`](Scenario::prompting).
    #[must_use]
    pub fn of(prompt: Vec<AgentMessage<M>>) -> Self {
        Self {
            history: Vec::new(),
            prompt,
            tools: Vec::new(),
            answers: Vec::new(),
            hooks: HookPlan::default(),
            tool_execution: ExecutionMode::Parallel,
            steering: QueueMode::OneAtATime,
            follow_ups: QueueMode::OneAtATime,
            spawned: false,
            host: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Adds a tool.
    #[must_use]
    pub fn tool(mut self, tool: ToolPlan) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds an answer.
    #[must_use]
    pub fn answer(mut self, answer: AnswerPlan) -> Self {
        self.answers.push(answer);
        self
    }

    /// Sets what hooks answer.
    #[must_use]
    pub fn hooks(mut self, hooks: HookPlan) -> Self {
        self.hooks = hooks;
        self
    }

    /// Adds something the host does, so many moments after its last move.
    #[must_use]
    pub fn then_after(mut self, moments: usize, action: Action<M>) -> Self {
        self.host.push(Move::new(moments, action));
        self
    }

    /// Sets which gate is released at each stop.
    #[must_use]
    pub fn in_order(mut self, order: impl IntoIterator<Item = u8>) -> Self {
        self.order = order.into_iter().collect();
        self
    }

    /// The tool of a call, which names it by its place modulo the number of tools; with its place.
    fn tool_at(&self, place: usize) -> Option<(usize, &ToolPlan)> {
        let place = place.checked_rem(self.tools.len())?;
        self.tools.get(place).map(|tool| (place, tool))
    }
}
