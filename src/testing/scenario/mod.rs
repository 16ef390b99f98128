//! Scenarios: a whole run as data, with everything that is scripted and everything that is done to it, played
//! deterministically.

mod describe;
mod hooks;
mod play;
mod stage;

use serde_json::Value;

pub use play::{Done, Ended, Played};
pub use stage::{Director, Queued, Stage};

use crate::message::{AgentMessage, NoCustom, StopReason};
use crate::model::Delta;
use crate::run::{QueueKind, QueueMode};
use crate::tool::{ExecutionMode, OnAbort};

/// A run as data: what is prompted, what the model answers, what tools and hooks do, what the host does meanwhile, and
/// in which order everything that waits goes on.
///
/// Plain data, so that it can be generated, shrunk, printed and played again: the same scenario always gives the same
/// events. `Debug` writes it in few lines. The strategies of the feature `proptest` make random ones.
///
/// ```
/// use turnstate::testing::scenario::{AnswerPlan, CallPlan, Scenario, ToolPlan};
///
/// let scenario: Scenario = Scenario::prompting("Hi")
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

/// A tool of a scenario.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolPlan {
    /// Its name.
    pub name: String,
    /// The JSON Schema of its arguments.
    pub schema: Value,
    /// Arguments that fit.
    pub fitting: Value,
    /// Arguments that do not fit.
    pub unfitting: Value,
    /// Whether other calls may run beside a call.
    pub mode: ExecutionMode,
    /// What an abort does to a running call.
    pub on_abort: OnAbort,
}

/// An answer of a scenario's model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AnswerPlan {
    /// What it is made of.
    pub blocks: Vec<BlockPlan>,
    /// How it ends.
    pub ending: EndingPlan,
    /// In pieces of how many characters it streams; `None` for one piece a block.
    pub chunk: Option<usize>,
    /// Whether it begins with a `start` delta.
    pub started: bool,
}

/// A piece of an answer.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum BlockPlan {
    /// A text block.
    Text(String),
    /// A thinking block.
    Thinking(String),
    /// A tool call.
    Call(CallPlan),
    /// Any delta, fitting or not.
    Delta(Delta),
    /// A wait on a gate.
    Wait,
    /// Pending once, and woken at once.
    Yield,
}

/// How an answer ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EndingPlan {
    /// With `toolUse` if there is a call, with `stop` otherwise.
    #[default]
    Natural,
    /// For this reason.
    Done(StopReason),
    /// With an error.
    Failed,
    /// Aborted by the provider.
    Aborted,
    /// With a panic of the stream.
    Panicked,
    /// Without a terminal delta.
    Unterminated,
}

/// A tool call of an answer, and what the tool does. Calls are named `c0`, `c1` and so on, in the order of the scenario.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallPlan {
    /// Which tool, by its place modulo the number of tools; `None` for one that does not exist.
    pub tool: Option<usize>,
    /// What arguments it is called with.
    pub arguments: ArgumentsPlan,
    /// Whether it has the id of the call before it.
    pub repeats_id: bool,
    /// What the tool does before its end.
    pub steps: Vec<StepPlan>,
    /// How the call ends.
    pub end: CallEndPlan,
}

/// The arguments of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ArgumentsPlan {
    /// They fit the tool's schema.
    #[default]
    Fitting,
    /// They do not.
    Unfitting,
    /// They are no JSON.
    Unreadable,
}

/// What a tool does on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepPlan {
    /// It tells of its progress.
    Update,
    /// It waits on a gate.
    Wait,
    /// It waits on a gate or the abort signal; aborted, it returns at once.
    WaitOrAnswerAbort,
    /// It is pending once, and woken at once.
    Yield,
    /// It calls another tool, by its place modulo the number of tools.
    Call(usize),
}

/// How a call ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CallEndPlan {
    /// With a result.
    #[default]
    Returns,
    /// With a result that asks the run to end.
    Terminates,
    /// With a failure.
    Fails,
    /// With a panic.
    Panics,
}

/// What hooks answer: the nth entry of each list is for the nth time that hook is called; without one it changes
/// nothing.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct HookPlan {
    /// `before_tool_call`.
    pub before: Vec<Planned<BeforePlan>>,
    /// `after_tool_call`.
    pub after: Vec<Planned<AfterPlan>>,
    /// `finish_turn`.
    pub finish: Vec<Planned<FinishPlan>>,
    /// `prepare_next_turn`.
    pub next_turn: Vec<Planned<NextTurnPlan>>,
    /// `prepare_request`.
    pub request: Vec<Planned<RequestPlan>>,
}

/// One answer of a hook, and what comes before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Planned<A> {
    /// Whether it waits on a gate first.
    pub waits: bool,
    /// The answer.
    pub answer: A,
}

impl<A> Planned<A> {
    /// This answer, at once.
    #[must_use]
    pub fn now(answer: A) -> Self {
        Self { waits: false, answer }
    }

    /// This answer, after waiting on a gate.
    #[must_use]
    pub fn waiting(answer: A) -> Self {
        Self { waits: true, answer }
    }
}

/// What `before_tool_call` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BeforePlan {
    /// The call runs.
    #[default]
    Allow,
    /// It runs with other arguments.
    Change,
    /// It does not run.
    Block,
    /// It does not run, and asks the run to end.
    BlockAndTerminate,
    /// The hook answers in the tool's place.
    Answer,
    /// The hook fails.
    Fail,
    /// The hook panics.
    Panic,
}

/// What `after_tool_call` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum AfterPlan {
    /// Nothing is replaced.
    #[default]
    Keep,
    /// The content is.
    Replace,
    /// The result asks the run to end.
    Terminate,
    /// The hook fails.
    Fail,
    /// The hook panics.
    Panic,
}

/// What `finish_turn` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum FinishPlan {
    /// Nothing.
    #[default]
    Default,
    /// One more turn.
    Continue,
    /// The end.
    End,
    /// The hook panics.
    Panic,
}

/// What `prepare_next_turn` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NextTurnPlan {
    /// Nothing changes.
    #[default]
    Keep,
    /// A user message is put in.
    PutIn,
    /// Only this many of the scenario's tools are left, modulo one more than their number.
    Tools(usize),
    /// The hook panics.
    Panic,
}

/// What `prepare_request` answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RequestPlan {
    /// Nothing changes.
    #[default]
    Keep,
    /// The hook panics.
    Panic,
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

impl<M> Scenario<M> {
    /// A run with this prompt and defaults: no tools, no answers, no hooks, a host that does nothing.
    #[must_use]
    pub fn prompting(prompt: impl Into<String>) -> Self {
        Self {
            history: Vec::new(),
            prompt: vec![AgentMessage::user(prompt)],
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
}

impl ToolPlan {
    /// A tool that takes any object, runs beside others, and is dropped on abort.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            schema: serde_json::json!({ "type": "object" }),
            fitting: serde_json::json!({}),
            unfitting: serde_json::json!([]),
            mode: ExecutionMode::Parallel,
            on_abort: OnAbort::Drop,
        }
    }
}

impl AnswerPlan {
    /// An answer without content that begins and ends as usual.
    #[must_use]
    pub fn new() -> Self {
        Self { blocks: Vec::new(), ending: EndingPlan::Natural, chunk: None, started: true }
    }

    /// Adds a text block.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.block(BlockPlan::Text(text.into()))
    }

    /// Adds a tool call.
    #[must_use]
    pub fn call(self, call: CallPlan) -> Self {
        self.block(BlockPlan::Call(call))
    }

    /// Adds a piece.
    #[must_use]
    pub fn block(mut self, block: BlockPlan) -> Self {
        self.blocks.push(block);
        self
    }

    /// Sets how it ends.
    #[must_use]
    pub fn ending(mut self, ending: EndingPlan) -> Self {
        self.ending = ending;
        self
    }
}

impl Default for AnswerPlan {
    fn default() -> Self {
        Self::new()
    }
}

impl CallPlan {
    /// A call of this tool, with arguments that fit, that returns at once.
    #[must_use]
    pub fn of_tool(tool: usize) -> Self {
        Self {
            tool: Some(tool),
            arguments: ArgumentsPlan::Fitting,
            repeats_id: false,
            steps: Vec::new(),
            end: CallEndPlan::Returns,
        }
    }

    /// Adds something that the tool does before its end.
    #[must_use]
    pub fn step(mut self, step: StepPlan) -> Self {
        self.steps.push(step);
        self
    }

    /// Sets how the call ends.
    #[must_use]
    pub fn ending(mut self, end: CallEndPlan) -> Self {
        self.end = end;
        self
    }
}
