//! A scenario made ready: the run, and everything that is scripted around it.

use std::collections::VecDeque;
use std::sync::Arc;

use super::cast::Cast;
use super::hooks::{PlannedHooks, ToolLog};
use super::{Action, HookPlan, Move, Scenario};
use crate::message::{AgentMessage, CustomMessage};
use crate::run::{Handle, Idle, QueueKind, Run, RunBuilder, Ticket};
use crate::testing::{Gate, Gates, ScriptedModel, ScriptedTool, VirtualClock, Workers};
use crate::tool::{AgentTool, IntoTool, OnAbort};
use crate::transcript::Transcript;

/// A scenario made ready: give the run its prompt and drive it on any executor, and do at each moment what the
/// [`Director`] says.
#[derive(Debug)]
#[non_exhaustive]
pub struct Stage<M: CustomMessage> {
    /// The run.
    pub run: Run<Idle, M>,
    /// Its model.
    pub model: ScriptedModel,
    /// Its tools.
    pub tools: Vec<ScriptedTool>,
    /// The gates that model, tools and hooks wait on.
    pub gates: Gates,
    /// Where spawned tools run; without use if the scenario spawns none.
    pub workers: Workers,
    /// What the host does.
    pub director: Director<M>,
    pub(super) tool_log: ToolLog,
}

impl<M: CustomMessage> Scenario<M> {
    /// Makes the scenario ready.
    #[must_use]
    pub fn stage(&self) -> Stage<M> {
        self.stage_with(|builder| builder)
    }

    /// Makes the scenario ready, with what else the test wants of the run: its own hooks, tools, custom settings.
    ///
    /// What is added comes after the scenario's own tools and hooks.
    #[must_use]
    pub fn stage_with(&self, set_up: impl FnOnce(RunBuilder<M>) -> RunBuilder<M>) -> Stage<M> {
        let gates = Gates::new();
        let cast = Cast::of(self, &gates);
        let workers = Workers::new();
        let agent_tools: Vec<AgentTool> = cast.tools.iter().cloned().map(IntoTool::into_tool).collect();
        let tool_log = ToolLog::default();
        let mut builder = Run::builder(cast.model.clone())
            .custom_messages::<M>()
            .tools(agent_tools.clone())
            .tool_execution(self.tool_execution)
            .steering_mode(self.steering)
            .follow_up_mode(self.follow_ups)
            .clock(VirtualClock::new())
            .transcript(self.history.iter().cloned().collect::<Transcript<M>>());
        if self.spawned {
            builder = builder.spawner(workers.clone());
        }
        if self.hooks != HookPlan::default() {
            builder = builder.hook(PlannedHooks::new(&self.hooks, &gates, agent_tools, &tool_log));
        }
        let run = set_up(builder).build();
        let director = Director::new(self, run.handle());
        Stage { run, model: cast.model, tools: cast.tools, gates, workers, director, tool_log }
    }
}

/// The host of a scenario: says what it does at each moment, and which gate it releases when nothing can progress.
#[derive(Debug)]
pub struct Director<M: CustomMessage> {
    handle: Handle<M>,
    moves: VecDeque<Move<M>>,
    order: Vec<u8>,
    stops: usize,
    /// What was queued, in order.
    queued: Vec<Queued<M>>,
}

/// A message that a host queued.
#[derive(Debug)]
#[non_exhaustive]
pub struct Queued<M: CustomMessage> {
    /// The message.
    pub message: AgentMessage<M>,
    /// The queue that it was put into.
    pub kind: QueueKind,
    /// Whether it was taken back.
    pub taken_back: bool,
    ticket: Arc<Ticket<M>>,
}

impl<M: CustomMessage> Clone for Queued<M> {
    fn clone(&self) -> Self {
        Self {
            message: self.message.clone(),
            kind: self.kind,
            taken_back: self.taken_back,
            ticket: self.ticket.clone(),
        }
    }
}

impl<M: CustomMessage> Director<M> {
    fn new(scenario: &Scenario<M>, handle: Handle<M>) -> Self {
        Self {
            handle,
            moves: scenario.host.iter().cloned().collect(),
            order: scenario.order.clone(),
            stops: 0,
            queued: Vec::new(),
        }
    }

    /// A moment has passed: what the host does now, in order.
    pub fn moment(&mut self) -> Vec<Action<M>> {
        if let Some(next) = self.moves.front_mut() {
            next.after = next.after.saturating_sub(1);
        }
        let mut due = Vec::new();
        while self.moves.front().is_some_and(|next| next.after == 0) {
            due.extend(self.moves.pop_front().map(|next| next.action));
        }
        due
    }

    /// Nothing will happen unless the host does something: its next move comes now.
    pub fn hurry(&mut self) -> Option<Action<M>> {
        self.moves.pop_front().map(|next| next.action)
    }

    /// Which of these gates is released now.
    pub fn choose<'a>(&mut self, waiting: &'a [Gate]) -> Option<&'a Gate> {
        let picked = self.stops.checked_rem(self.order.len()).and_then(|at| self.order.get(at)).copied();
        self.stops += 1;
        usize::from(picked.unwrap_or(0)).checked_rem(waiting.len()).and_then(|at| waiting.get(at))
    }

    /// Does what can be done through a handle; gives back [`Action::Cancel`] and [`Action::Drop`], which take the run.
    pub fn act(&mut self, action: Action<M>) -> Option<Action<M>> {
        match action {
            Action::Steer(message) => self.queue(QueueKind::Steering, message),
            Action::FollowUp(message) => self.queue(QueueKind::FollowUp, message),
            Action::TakeBack(at) => {
                if let Some(queued) = at.checked_rem(self.queued.len()).and_then(|at| self.queued.get_mut(at))
                {
                    queued.taken_back |= !queued.ticket.take_back().is_empty();
                }
            }
            Action::Promote(at) => {
                if let Some(queued) = at.checked_rem(self.queued.len()).and_then(|at| self.queued.get(at)) {
                    queued.ticket.promote();
                }
            }
            Action::SetMode(kind, mode) => self.handle.set_queue_mode(kind, mode),
            Action::Abort => self.handle.abort(),
            other => return Some(other),
        }
        None
    }

    /// What was queued so far, in order.
    #[must_use]
    pub fn queued(&self) -> &[Queued<M>] {
        &self.queued
    }

    fn queue(&mut self, kind: QueueKind, message: AgentMessage<M>) {
        let ticket = match kind {
            QueueKind::Steering => self.handle.steer(message.clone()),
            QueueKind::FollowUp => self.handle.follow_up(message.clone()),
        };
        self.queued.push(Queued { message, kind, taken_back: false, ticket: Arc::new(ticket) });
    }
}

/// Whether this gate may hold up a run that was aborted: a `finish_turn`, or a tool that asked to be waited for.
pub(super) fn may_hold_an_abort<M>(scenario: &Scenario<M>, gate: &str) -> bool {
    let waits = scenario.tools.iter().any(|tool| tool.on_abort == OnAbort::Wait);
    gate.starts_with("finish_turn") || (waits && gate.starts_with("tool"))
}
