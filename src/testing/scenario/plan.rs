//! What model, tools and hooks of a scenario do, as data.

use serde_json::Value;

use crate::message::StopReason;
use crate::model::Delta;
use crate::tool::{ExecutionMode, OnAbort};

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
    /// Whether it has the id of the call before it. What a tool does goes by the id: of two calls of one tool with the same
    /// id both do what is planned for the second.
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

/// Numbers the calls of a scenario, answer by answer: one that repeats the id of the call before it has its number, too.
#[derive(Default)]
pub(super) struct CallNumbers(usize);

impl CallNumbers {
    /// The number of the next call.
    pub(super) fn number(&mut self, call: &CallPlan) -> usize {
        if !call.repeats_id || self.0 == 0 {
            self.0 += 1;
        }
        self.0 - 1
    }
}
