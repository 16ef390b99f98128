//! Playing a scenario on the deterministic executor.

use super::hooks::ToolLog;
use super::stage::{Queued, may_hold_an_abort};
use super::{Action, Director, Scenario, Stage};
use crate::event::Outcome;
use crate::message::{AgentMessage, CustomMessage};
use crate::model::Request;
use crate::run::{Handle, Idle, Run, RunBuilder, Streaming};
use crate::testing::{
    Checkable, Checked, Driven, Execution, Gates, Progress, ScriptedModel, ScriptedTool, Trace, Workers,
};
use crate::transcript::Transcript;

/// A scenario that was played: all there is to know of it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Played<M: CustomMessage> {
    /// What happened, with the host's moves.
    pub trace: Trace<M>,
    /// How it ended.
    pub ended: Ended,
    /// The transcript before the run.
    pub before: Transcript<M>,
    /// The transcript at the end; of a dropped run, as its state showed it last.
    pub transcript: Transcript<M>,
    /// The run, for the next prompt; `None` if it was dropped.
    pub run: Option<Run<Idle, M>>,
    /// The run's handle, and with it its queues.
    pub handle: Handle<M>,
    /// What the model was asked, in order.
    pub requests: Vec<Request>,
    /// The names of the tools that could be executed at each request; empty if the scenario has no hooks.
    pub executable: Vec<Vec<String>>,
    /// Every execution, tool by tool.
    pub executions: Vec<Execution>,
    /// What the host did, and when.
    pub host: Vec<MoveMade<M>>,
    /// Everything that was queued, in order.
    pub queued: Vec<Queued<M>>,
    /// How many polls it took from the abort to the end; `None` if there was no abort before the end.
    pub polls_after_abort: Option<usize>,
    /// How many requests had been made when the run was aborted; `None` if it was not.
    pub requests_before_abort: Option<usize>,
    /// How many of all polls there were.
    pub polls: usize,
    /// Gates that held up the run after an abort and must not have: none, if all is well.
    pub held_up: Vec<String>,
    /// The model, for the next prompt.
    pub model: ScriptedModel,
    /// The gates, some of which may still be closed.
    pub gates: Gates,
    /// Where spawned tools run.
    pub workers: Workers,
}

/// How a played scenario ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// With `agent_end`.
    Finished,
    /// The host cancelled it.
    Cancelled,
    /// The host dropped it.
    Dropped,
}

/// Something the host did.
#[derive(Debug)]
#[non_exhaustive]
pub struct MoveMade<M: CustomMessage> {
    /// What.
    pub action: Action<M>,
    /// How many events had been handed out.
    pub events: usize,
    /// Whether nothing could progress at that moment: the run has been polled since its last event.
    pub stalled: bool,
}

impl<M: CustomMessage> Played<M> {
    /// How the run ended, what it added, what it cost; `None` if it was dropped or never began.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome<M>> {
        self.run.as_ref()?.outcome()
    }

    /// Drives another run of this scenario to its end, checks its events, and lets through whoever waits on a gate.
    ///
    /// # Panics
    /// As [`Scenario::play`].
    #[track_caller]
    pub fn finish(&self, run: Run<Streaming, M>) -> Run<Idle, M> {
        let mut run = Driven::new(run.checked()).with_gates(&self.gates).with_workers(&self.workers);
        run.run_releasing(|_| 0);
        run.into_inner().into_parts().0.cancel()
    }

    /// The messages that the run added.
    #[must_use]
    pub fn added(&self) -> &[AgentMessage<M>] {
        self.transcript.get(self.before.len()..).unwrap_or_default()
    }
}

impl<M: CustomMessage> Scenario<M> {
    /// Plays the scenario on the deterministic executor, and checks every event on the way.
    ///
    /// # Panics
    /// When an event breaks a rule that every run keeps, a wake-up is lost, the run is busy, or nothing can progress:
    /// with the trace so far.
    #[must_use]
    #[track_caller]
    pub fn play(&self) -> Played<M> {
        self.play_with(|builder| builder)
    }

    /// Plays the scenario with what else the test wants of the run, usually its own hooks and tools: they are added
    /// after those of the scenario.
    ///
    /// # Panics
    /// As [`play`](Self::play).
    #[must_use]
    #[track_caller]
    pub fn play_with(&self, set_up: impl FnOnce(RunBuilder<M>) -> RunBuilder<M>) -> Played<M> {
        Playing::new(self, self.stage_with(set_up)).play()
    }
}

/// A scenario while it is played.
struct Playing<'a, M: CustomMessage> {
    scenario: &'a Scenario<M>,
    run: Driven<Checked<Run<Streaming, M>>>,
    director: Director<M>,
    host: Vec<MoveMade<M>>,
    events: usize,
    /// Whether the last moment was a stop.
    stalled: bool,
    /// The polls and the requests before the abort.
    aborted_at: Option<(usize, usize)>,
    held_up: Vec<String>,
    rest: Rest<M>,
}

/// What is needed again at the end.
struct Rest<M: CustomMessage> {
    before: Transcript<M>,
    handle: Handle<M>,
    model: ScriptedModel,
    tools: Vec<ScriptedTool>,
    tool_log: ToolLog,
    gates: Gates,
    workers: Workers,
}

impl<'a, M: CustomMessage> Playing<'a, M> {
    fn new(scenario: &'a Scenario<M>, stage: Stage<M>) -> Self {
        let Stage { run, model, tools, gates, workers, director, tool_log } = stage;
        let rest = Rest {
            before: run.transcript().clone(),
            handle: run.handle(),
            model,
            tools,
            tool_log,
            gates: gates.clone(),
            workers: workers.clone(),
        };
        let run = run.prompt(scenario.prompt.clone()).checked();
        Self {
            scenario,
            run: Driven::new(run).with_gates(&gates).with_workers(&workers),
            director,
            host: Vec::new(),
            events: 0,
            stalled: false,
            aborted_at: None,
            held_up: Vec::new(),
            rest,
        }
    }

    #[track_caller]
    fn play(mut self) -> Played<M> {
        loop {
            let due = self.director.moment();
            if let Some(end) = self.act_all(due) {
                return self.end(end);
            }
            match self.run.step() {
                Progress::Item(_) => self.heard(),
                Progress::Over => return self.end(Ended::Finished),
                Progress::Stalled => {
                    if let Some(end) = self.stop() {
                        return self.end(end);
                    }
                }
            }
        }
    }

    fn heard(&mut self) {
        self.events += 1;
        self.stalled = false;
    }

    /// Nothing can progress: a gate is released, or else the host's next move comes now.
    #[track_caller]
    fn stop(&mut self) -> Option<Ended> {
        self.stalled = true;
        let waiting = self.run.waiting();
        if self.aborted_at.is_some() {
            let held = waiting.iter().map(|gate| gate.name());
            let wrongly = held.filter(|gate| !may_hold_an_abort(self.scenario, gate)).map(str::to_owned);
            self.held_up.extend(wrongly);
        }
        match self.director.choose(&waiting).cloned() {
            Some(gate) => {
                self.run.get_mut().note(format!("release {:?}", gate.name()));
                gate.release();
                None
            }
            None => match self.director.hurry() {
                Some(action) => self.act(action),
                None => panic!(
                    "nothing can progress, no gate is waited on, and the host has no move left\n{}",
                    self.run.get_ref().trace()
                ),
            },
        }
    }

    fn act_all(&mut self, actions: Vec<Action<M>>) -> Option<Ended> {
        actions.into_iter().find_map(|action| self.act(action))
    }

    fn act(&mut self, action: Action<M>) -> Option<Ended> {
        if !matches!(action, Action::Cancel) {
            self.run.get_mut().note(action.to_string());
        }
        self.host.push(MoveMade { action: action.clone(), events: self.events, stalled: self.stalled });
        if matches!(action, Action::Abort) && self.rest.handle.is_running() && self.aborted_at.is_none() {
            self.aborted_at = Some((self.run.polls(), self.rest.model.requests().len()));
        }
        match self.director.act(action)? {
            Action::Cancel => Some(Ended::Cancelled),
            _ => Some(Ended::Dropped),
        }
    }

    #[track_caller]
    fn end(self, ended: Ended) -> Played<M> {
        let polls = self.run.polls();
        let (transcript, run, trace) = close(self.run.into_inner(), ended);
        let Rest { before, handle, model, tools, tool_log, gates, workers } = self.rest;
        Played {
            trace,
            ended,
            before,
            transcript,
            run,
            handle,
            requests: model.requests(),
            executable: tool_log.take(),
            executions: tools.iter().flat_map(ScriptedTool::executions).collect(),
            host: self.host,
            queued: self.director.queued().to_vec(),
            polls_after_abort: self.aborted_at.map(|(before, _)| polls - before),
            requests_before_abort: self.aborted_at.map(|(_, requests)| requests),
            polls,
            held_up: self.held_up,
            model,
            gates,
            workers,
        }
    }
}

/// Ends the run as the scenario does.
#[track_caller]
#[allow(clippy::type_complexity, reason = "three things, named where they are taken apart")]
fn close<M: CustomMessage>(
    run: Checked<Run<Streaming, M>>,
    ended: Ended,
) -> (Transcript<M>, Option<Run<Idle, M>>, Trace<M>) {
    match ended {
        Ended::Dropped => {
            let transcript = run.state().transcript().clone();
            let (run, trace) = run.into_parts();
            drop(run);
            (transcript, None, trace)
        }
        Ended::Cancelled => {
            let (run, trace) = run.cancel();
            (run.transcript().clone(), Some(run), trace)
        }
        Ended::Finished => {
            let (run, trace) = run.into_parts();
            let run = run.cancel();
            (run.transcript().clone(), Some(run), trace)
        }
    }
}
