//! Every way a run is stopped, at every moment, with every queue: it ends whole, loses nothing, and goes on.

use std::task::{Context, Waker};

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::json;
use turnstate::hook::{AfterToolCall, BeforeToolCall, FinishTurn, PrepareNextTurn};
use turnstate::run::QueueKind;
use turnstate::testing::{
    Checkable, Driven, ExecutionEnd, Gate, Gates, Progress, Response, ScriptedModel, ScriptedTool,
    ToolScript, Workers, block_on,
};
use turnstate::tool::ExecutionMode;
use turnstate::transcript::{Tail, open_calls};
use turnstate::{Agent, Ending, Handle, Idle, Run};

use crate::support::*;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Stop {
    Abort,
    Cancel,
    Drop,
    Panic,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    Idle,
    Preflight,
    BeforeHook,
    Model,
    Tool(ExecutionMode),
    AfterHook,
    BetweenTurns,
    EndOfTurn,
}

#[derive(Debug, Clone, Copy)]
struct Case {
    stop: Stop,
    moment: Moment,
    queued: Option<QueueKind>,
}

const MOMENTS: [Moment; 9] = [
    Moment::Idle,
    Moment::Preflight,
    Moment::BeforeHook,
    Moment::Model,
    Moment::Tool(ExecutionMode::Parallel),
    Moment::Tool(ExecutionMode::Sequential),
    Moment::AfterHook,
    Moment::BetweenTurns,
    Moment::EndOfTurn,
];

fn cases() -> impl Iterator<Item = Case> {
    let queued = [None, Some(QueueKind::Steering), Some(QueueKind::FollowUp)];
    [Stop::Abort, Stop::Cancel, Stop::Drop, Stop::Panic].into_iter().flat_map(move |stop| {
        MOMENTS.into_iter().flat_map(move |moment| queued.map(|queued| Case { stop, moment, queued }))
    })
}

/// One run of a batch of two and a text, which waits at the moment of its case, and panics there if that is the case.
struct Stage {
    case: Case,
    gates: Gates,
    model: ScriptedModel,
    tool: ScriptedTool,
}

impl Stage {
    fn new(case: Case) -> Self {
        let gates = Gates::new();
        let gate = gates.gate("here");
        let mut answer = calls_of(&[("a", "work"), ("b", "work")]);
        if case.moment == Moment::Model {
            answer = answer.and_wait(&gate);
            if case.stop == Stop::Panic {
                answer = answer.panicking("boom");
            }
        }
        let mut tool = ScriptedTool::new("work");
        if let Moment::Tool(mode) = case.moment {
            let waits = ToolScript::new().waits(&gate);
            let does = if case.stop == Stop::Panic { waits.panics("boom") } else { waits };
            tool = tool.does(does).with_execution_mode(mode);
        }
        let model = ScriptedModel::new([answer]).then_always(Response::text("text"));
        Self { case, gates, model, tool }
    }

    /// What a hook of this moment does: waits, and panics where that is the case; once only.
    fn at(
        &self,
        moment: Moment,
    ) -> impl Fn() -> BoxFuture<'static, ()> + Clone + Send + Sync + 'static + use<> {
        let here: Option<Gate> = (self.case.moment == moment).then(|| self.gates.gate("here"));
        let panics = self.case.stop == Stop::Panic;
        move || {
            let gate = here.clone().filter(|gate| !gate.is_released());
            Box::pin(async move {
                let Some(gate) = gate else { return };
                gate.wait().await;
                if panics {
                    std::panic::resume_unwind(Box::new("boom"));
                }
            })
        }
    }

    fn run(&self) -> Run<Idle> {
        let [preflight, before, after, between, end] = [
            Moment::Preflight,
            Moment::BeforeHook,
            Moment::AfterHook,
            Moment::BetweenTurns,
            Moment::EndOfTurn,
        ]
        .map(|moment| self.at(moment));
        Run::builder(self.model.clone())
            .tool(self.tool.clone())
            .transform_context(async move |_, _| preflight().await)
            .before_tool_call(async move |_, _| {
                before().await;
                BeforeToolCall::Allow
            })
            .after_tool_call(async move |_, _, _| {
                after().await;
                AfterToolCall::unchanged()
            })
            .prepare_next_turn(async move |_, _| {
                between().await;
                PrepareNextTurn::unchanged()
            })
            .finish_turn(async move |_, _| {
                end().await;
                FinishTurn::Default
            })
            .build()
    }
}

impl Stage {
    fn queue(&self, handle: &Handle) {
        let _ = match self.case.queued {
            None => return,
            Some(QueueKind::Steering) => handle.steer("queued"),
            Some(_) => handle.follow_up("queued"),
        };
    }

    /// Stops the run at its moment, and gives the agent that it leaves.
    fn stopped(&self) -> Agent {
        let Case { stop, moment, .. } = self.case;
        let run = self.run();
        let handle = run.handle();
        match (stop, moment) {
            (Stop::Drop, _) => self.dropped(Agent::new(run)),
            (_, Moment::Idle) => {
                self.queue(&handle);
                handle.abort();
                Agent::new(if stop == Stop::Cancel { run.prompt("go").cancel() } else { run })
            }
            _ => {
                let mut run = drive(run.prompt("go"), &self.gates);
                assert_eq!(run.run_until_stalled().waiting, ["here"], "{:?}", self.case);
                self.queue(&handle);
                match stop {
                    Stop::Cancel => return Agent::new(run.into_inner().cancel().0),
                    Stop::Abort => handle.abort(),
                    _ => self.gates.release("here"),
                }
                // A turn's last hook is waited for, whatever happens.
                let is_over = run.run_until_stalled().is_over;
                assert_eq!(is_over, stop != Stop::Abort || moment != Moment::EndOfTurn, "{:?}", self.case);
                self.gates.release("here");
                Agent::new(idle(run))
            }
        }
    }

    fn dropped(&self, agent: Agent) -> Agent {
        let mut running = agent.prompt("go").unwrap();
        if self.case.moment != Moment::Idle {
            while self.gates.waiting().is_empty() {
                assert!(running.poll_unpin(&mut Context::from_waker(Waker::noop())).is_pending());
            }
        }
        self.queue(&agent.handle());
        drop(running);
        agent
    }

    /// How the run ended; `None` where there was none.
    fn ending(&self) -> Option<Ending> {
        match (self.case.stop, self.case.moment) {
            (_, Moment::Idle) => None,
            // In a call it is the call that fails.
            (Stop::Panic, Moment::Tool(_) | Moment::BeforeHook | Moment::AfterHook) => {
                Some(Ending::Stopped { reason: turnstate::message::StopReason::Stop })
            }
            (Stop::Panic, _) => Some(Ending::Failed { message: "boom".to_owned() }),
            _ => Some(Ending::Aborted),
        }
    }

    fn queued_messages(&self, agent: &Agent) -> (usize, usize) {
        let count = |lines: Vec<String>| lines.iter().filter(|line| *line == "user: queued").count();
        let waiting =
            [QueueKind::Steering, QueueKind::FollowUp].map(|kind| count(story(&agent.queued(kind))));
        (count(story(agent.state().transcript())), waiting.iter().sum())
    }

    #[track_caller]
    fn assert_whole(&self, agent: &Agent) {
        let (case, state) = (self.case, agent.state());
        assert!(agent.is_idle() && !state.is_running(), "{case:?}");
        assert!(state.partial().is_none() && state.running_calls().len() == 0, "{case:?}");
        assert!(open_calls(state.transcript()).is_empty(), "{case:?}");
        assert!(self.gates.waiting().is_empty(), "{case:?}: something runs on");
        assert!(
            self.tool.executions().iter().all(|execution| execution.end != ExecutionEnd::Running),
            "{case:?}"
        );
        assert_eq!(state.outcome().map(|outcome| outcome.ending.clone()), self.ending(), "{case:?}");
        let (written, waiting) = self.queued_messages(agent);
        assert_eq!(written + waiting, usize::from(case.queued.is_some()), "{case:?}");
        if !matches!(self.ending(), Some(Ending::Stopped { .. })) {
            assert_eq!(written, 0, "{case:?}: put in after the stop");
        }
    }

    /// A resume where there is something to resume, and a prompt: then everything queued has been delivered once.
    #[track_caller]
    fn assert_goes_on(&self, agent: &Agent) {
        self.gates.release("here");
        if !matches!(Tail::of(agent.state().transcript()), Tail::Nothing | Tail::Answered) {
            assert!(block_on(agent.resume().unwrap()).is_success(), "{:?}", self.case);
        }
        assert!(block_on(agent.prompt("on").unwrap()).is_success(), "{:?}", self.case);
        let delivered = usize::from(self.case.queued.is_some());
        assert_eq!(self.queued_messages(agent), (delivered, 0), "{:?}", self.case);
    }
}

#[test]
fn stopped_in_any_way_at_any_moment_with_any_queue_a_run_is_whole_and_goes_on() {
    let mut count = 0;
    for case in cases().filter(|case| (case.stop, case.moment) != (Stop::Panic, Moment::Idle)) {
        let stage = Stage::new(case);
        let agent = stage.stopped();
        let asked = stage.model.requests().len();
        assert!(case.stop == Stop::Panic || asked <= 1, "{case:?}: a request after the stop");
        stage.assert_whole(&agent);
        stage.assert_goes_on(&agent);
        count += 1;
    }
    assert_eq!(count, (4 * 9 - 1) * 3);
}

#[test]
fn stopped_while_a_listener_hears_an_agent_is_whole_and_goes_on() {
    for case in cases().filter(|case| case.moment == Moment::Idle && case.stop != Stop::Cancel) {
        let stage = Stage::new(case);
        let agent = Agent::new(stage.run());
        let (gate, panics) = (stage.gates.gate("listener"), case.stop == Stop::Panic);
        let hears = agent.subscribe(async move |event, _| {
            if event.kind() == "turn_end" {
                gate.wait().await;
                if panics {
                    std::panic::resume_unwind(Box::new("boom"));
                }
            }
        });
        let mut running = agent.prompt("go").unwrap();
        while stage.gates.waiting().is_empty() {
            assert!(running.poll_unpin(&mut Context::from_waker(Waker::noop())).is_pending());
        }
        stage.queue(&agent.handle());
        match case.stop {
            Stop::Drop => drop(running),
            stop => {
                if stop == Stop::Abort {
                    agent.abort();
                }
                stage.gates.release("listener");
                block_on(running);
            }
        }
        drop(hears);
        let message = "a listener panicked: boom".to_owned();
        let ending = if panics { Ending::Failed { message } } else { Ending::Aborted };
        assert_eq!(agent.state().outcome().unwrap().ending, ending, "{case:?}");
        assert!(agent.is_idle() && open_calls(agent.state().transcript()).is_empty());
        assert_eq!(stage.queued_messages(&agent), (0, usize::from(case.queued.is_some())), "{case:?}");
        stage.assert_goes_on(&agent);
    }
}

/// Where the calls of a batch run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    /// Where the run is polled.
    Here,
    /// On workers beside it.
    Workers,
    /// Nowhere: the spawner drops them.
    Dropped,
}

/// A run of one batch with a call of each kind: some run, some have their results before anything runs.
fn every_kind_of_call(mode: ExecutionMode, place: Place, workers: &Workers) -> Run<Idle> {
    let answer =
        calls_of(&[("told", "work"), ("unknown", "ghost"), ("blocked", "work"), ("answered", "work")])
            .and_raw_tool_call("unread", "work", "{\"half\": ")
            .and_tool_call("panics", "work", json!({}))
            .and_tool_call("fails", "work", json!({}));
    let work = ScriptedTool::new("work")
        .on_call("told", ToolScript::new().update("one").yields().update("two").returns("told"))
        .on_call("panics", ToolScript::new().yields().panics("boom"))
        .on_call("fails", ToolScript::new().fails("no"));
    let builder =
        Run::builder(ScriptedModel::new([answer]).then_always("done")).tool(work).tool_execution(mode);
    let builder = match place {
        Place::Here => builder,
        Place::Workers => builder.spawner(workers.clone()),
        Place::Dropped => builder.spawner(drop::<BoxFuture<'static, ()>>),
    };
    builder
        .before_tool_call(async |call, _| match call.id.as_str() {
            "blocked" => BeforeToolCall::block("blocked"),
            "answered" => BeforeToolCall::Answer("answered".into()),
            _ => BeforeToolCall::Allow,
        })
        .build()
}

#[test]
fn a_batch_of_every_kind_of_call_is_whole_at_every_event_wherever_its_calls_run() {
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        for place in [Place::Here, Place::Workers, Place::Dropped] {
            let start = || {
                let workers = Workers::new();
                let run = every_kind_of_call(mode, place, &workers).prompt("go").checked();
                Driven::new(run).with_workers(&workers)
            };
            let mut whole = start();
            let events = whole.run_until_stalled();
            assert!(events.is_over, "{mode:?} {place:?}");
            let ran = |id: &str, result: &str| match place {
                Place::Dropped => format!("error {id}: The call was given up before its end"),
                _ => result.to_owned(),
            };
            let expected = [
                ran("told", "result told: told"),
                "error unknown: There is no tool `ghost`.".to_owned(),
                "error blocked: blocked".to_owned(),
                ran("answered", "result answered: answered"),
                "error unread: The arguments for tool `work` could not be read".to_owned(),
                ran("panics", "error panics: The tool panicked: boom"),
                ran("fails", "error fails: no"),
                "assistant: done".to_owned(),
            ];
            let lines = story(idle(whole).transcript()).split_off(2);
            assert_eq!(lines.len(), expected.len());
            for (line, start) in lines.iter().zip(&expected) {
                assert!(line.starts_with(start), "{mode:?} {place:?}: {line}");
            }
            // Cancelled after any event, what was seen and what was not are the whole sequence: it is checked.
            for seen in 0..events.items.len() {
                let mut run = start();
                for _ in 0..seen {
                    assert!(matches!(run.step(), Progress::Item(_)));
                }
                let (run, trace) = run.into_inner().cancel();
                assert!(open_calls(run.transcript()).is_empty(), "{trace}");
            }
        }
    }
}
