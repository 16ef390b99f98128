//! Whole scenarios.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

use super::message::own;
use super::script::{hook_plan, tool};
use super::{
    answer, any_transcript, any_transcript_or, broken_answer, failing_answer, sound_transcript, text,
};
use crate::message::{AgentMessage, CustomMessage, NoCustom};
use crate::run::{QueueKind, QueueMode};
use crate::testing::scenario::{Action, AnswerPlan, HookPlan, Move, Scenario, ToolPlan};
use crate::tool::ExecutionMode;

/// Any scenario: everything that [`Scenarios`] can make.
pub fn scenario() -> BoxedStrategy<Scenario> {
    Scenarios::new().strategy()
}

/// What scenarios are made of. It starts with everything; each method leaves something out or adds to it.
#[derive(Debug, Clone)]
#[must_use = "it is no strategy yet: call `strategy`"]
pub struct Scenarios<M: CustomMessage = NoCustom> {
    custom: Option<BoxedStrategy<M>>,
    tools: Option<Vec<ToolPlan>>,
    hooks: bool,
    failures: bool,
    broken: bool,
    broken_history: bool,
    queues: bool,
    queue_changes: bool,
    aborts: bool,
    ends: bool,
}

impl Scenarios {
    /// Everything.
    pub fn new() -> Self {
        Self {
            custom: None,
            tools: None,
            hooks: true,
            failures: true,
            broken: true,
            broken_history: true,
            queues: true,
            queue_changes: true,
            aborts: true,
            ends: true,
        }
    }

    /// Puts the application's own messages into prompts, queues and histories. It comes where a run builder has its
    /// `custom_messages`: the scenarios are for runs with these messages from here on.
    pub fn with_custom_messages<M: CustomMessage>(
        self,
        custom: impl Strategy<Value = M> + 'static,
    ) -> Scenarios<M> {
        Scenarios {
            custom: Some(custom.boxed()),
            tools: self.tools,
            hooks: self.hooks,
            failures: self.failures,
            broken: self.broken,
            broken_history: self.broken_history,
            queues: self.queues,
            queue_changes: self.queue_changes,
            aborts: self.aborts,
            ends: self.ends,
        }
    }
}

impl<M: CustomMessage> Scenarios<M> {
    /// These tools instead of random ones. A test that puts its own tools into the run names them here, so that they
    /// are called: of two tools with one name that of the test counts.
    pub fn with_tools(mut self, tools: impl IntoIterator<Item = ToolPlan>) -> Self {
        self.tools = Some(tools.into_iter().collect());
        self
    }

    /// No hooks of the scenario's own: those of the test have the run for themselves.
    pub fn without_hooks(mut self) -> Self {
        self.hooks = false;
        self
    }

    /// No answer fails.
    pub fn without_failures(mut self) -> Self {
        self.failures = false;
        self.without_broken_answers()
    }

    /// No answer has arbitrary deltas in it.
    pub fn without_broken_answers(mut self) -> Self {
        self.broken = false;
        self
    }

    /// The transcript before the run is as a run leaves it.
    pub fn with_sound_history(mut self) -> Self {
        self.broken_history = false;
        self
    }

    /// The host queues nothing.
    pub fn without_queues(mut self) -> Self {
        self.queues = false;
        self
    }

    /// What the host queues stays where it is, and so do the modes of the queues.
    pub fn without_queue_changes(mut self) -> Self {
        self.queue_changes = false;
        self
    }

    /// The host does not abort.
    pub fn without_aborts(mut self) -> Self {
        self.aborts = false;
        self
    }

    /// The host neither cancels nor drops the run.
    pub fn without_ends(mut self) -> Self {
        self.ends = false;
        self
    }

    /// The strategy.
    pub fn strategy(&self) -> BoxedStrategy<Scenario<M>> {
        let tools = match &self.tools {
            Some(tools) => Just(tools.clone()).boxed(),
            None => vec(tool("t"), 0..4).prop_map(numbered).boxed(),
        };
        let hooks = if self.hooks {
            option::weighted(0.6, hook_plan()).prop_map(Option::unwrap_or_default).boxed()
        } else {
            Just(HookPlan::default()).boxed()
        };
        let settings = (prop::bool::weighted(0.2), queue_mode(), queue_mode(), prop::bool::weighted(0.2));
        let script = (tools, vec(self.answers(), 0..5), hooks);
        let host = (self.host(), vec(0..6_u8, 0..6));
        let said = (self.history(), vec(self.said(), 1..3));
        (said, script, settings, host)
            .prop_map(|((history, prompt), (tools, answers, hooks), settings, (host, order))| {
                let (sequential, steering, follow_ups, spawned) = settings;
                let tool_execution =
                    if sequential { ExecutionMode::Sequential } else { ExecutionMode::Parallel };
                Scenario {
                    history,
                    prompt,
                    tools,
                    answers,
                    hooks,
                    tool_execution,
                    steering,
                    follow_ups,
                    spawned,
                    host,
                    order,
                }
            })
            .boxed()
    }

    fn answers(&self) -> BoxedStrategy<AnswerPlan> {
        let answers = choice([
            (12, answer()),
            (u32::from(self.failures), failing_answer()),
            (u32::from(self.broken), broken_answer()),
        ]);
        answers.unwrap_or_else(answer)
    }

    fn history(&self) -> BoxedStrategy<Vec<AgentMessage<M>>> {
        let broken = match &self.custom {
            None => any_transcript(),
            Some(custom) => any_transcript_or(custom.clone()),
        };
        let none = Just(Vec::new()).boxed();
        let histories =
            choice([(6, none.clone()), (1, sound_transcript()), (u32::from(self.broken_history), broken)]);
        histories.unwrap_or(none)
    }

    /// What a host says: a user message, or one of the application's own.
    fn said(&self) -> BoxedStrategy<AgentMessage<M>> {
        let user = text().prop_map(AgentMessage::user);
        match &self.custom {
            None => user.boxed(),
            Some(custom) => prop_oneof![user, custom.clone().prop_map(own)].boxed(),
        }
    }

    fn host(&self) -> BoxedStrategy<Vec<Move<M>>> {
        let queues = u32::from(self.queues);
        let changes = queues * u32::from(self.queue_changes);
        let ends = u32::from(self.ends);
        let kind = select(vec![QueueKind::Steering, QueueKind::FollowUp]);
        let actions = choice([
            (6 * queues, self.said().prop_map(Action::Steer).boxed()),
            (4 * queues, self.said().prop_map(Action::FollowUp).boxed()),
            (changes, (0..4_usize).prop_map(Action::TakeBack).boxed()),
            (changes, (0..4_usize).prop_map(Action::Promote).boxed()),
            (changes, (kind, queue_mode()).prop_map(|(kind, mode)| Action::SetMode(kind, mode)).boxed()),
            (2 * u32::from(self.aborts), Just(Action::Abort).boxed()),
            (ends, Just(Action::Cancel).boxed()),
            (ends, Just(Action::Drop).boxed()),
        ]);
        match actions {
            None => Just(Vec::new()).boxed(),
            Some(action) => {
                vec((0..12_usize, action).prop_map(|(after, action)| Move::new(after, action)), 0..5).boxed()
            }
        }
    }
}

impl Default for Scenarios {
    fn default() -> Self {
        Self::new()
    }
}

fn queue_mode() -> impl Strategy<Value = QueueMode> + Clone {
    select(vec![QueueMode::OneAtATime, QueueMode::All])
}

/// Gives each tool a name of its own.
fn numbered(mut tools: Vec<ToolPlan>) -> Vec<ToolPlan> {
    for (number, tool) in tools.iter_mut().enumerate() {
        tool.name = format!("{}{number}", tool.name);
    }
    tools
}

/// One of those that have a weight; `None` if none has. What has no weight is not shrunk to either.
fn choice<T: std::fmt::Debug + 'static>(
    options: impl IntoIterator<Item = (u32, BoxedStrategy<T>)>,
) -> Option<BoxedStrategy<T>> {
    let options: Vec<_> = options.into_iter().filter(|(weight, _)| *weight > 0).collect();
    (!options.is_empty()).then(|| Union::new_weighted(options).boxed())
}
