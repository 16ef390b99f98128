//! Replaying a scenario, in one of the ways the library can be used.

mod run;
mod shared;
mod stateless;

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};
use turnstate::CustomMessage;
use turnstate::message::{AgentMessage, CustomMessage as Custom, StopReason};
use turnstate::tool::AgentTool;

use crate::executor::Executor;
use crate::grammar::Ledger;
use crate::record::{Action, Api, CallStep, Response, Scenario, Step, Trace};
use crate::shape;
use crate::stage::Stage;

/// Custom roles as the reference's projection shows them.
#[derive(Debug, Clone, PartialEq, CustomMessage)]
pub(crate) enum Projected {
    #[message(role = "note", user = "[note] {text}")]
    Note { text: String },
    #[message(role = "ui", skip)]
    Ui { text: String },
}

/// Custom roles that the model never sees: the reference's default filter.
#[derive(Debug, Clone, PartialEq, CustomMessage)]
pub(crate) enum Skipped {
    #[message(role = "note", skip)]
    Note { text: String },
    #[message(role = "ui", skip)]
    Ui { text: String },
}

/// The ways to replay the scenarios of a stateful agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// By `Run`, held by a host that knows what it holds.
    Run,
    /// By the shared `Agent`.
    Agent,
}

/// The ways to replay a scenario; a loop has but one.
pub(crate) fn ways(scenario: &Scenario) -> &'static [Way] {
    match scenario.api {
        Api::Agent => &[Way::Run, Way::Agent],
        Api::Loop | Api::LoopContinue => &[Way::Run],
    }
}

/// The fault of a replay at whose end something still waits.
pub(crate) const NOT_ENDED: &str = "a run has not ended";

/// What a replay showed.
pub(crate) struct Played {
    pub(crate) trace: Trace,
    pub(crate) ledger: Ledger,
}

/// Replays a scenario.
pub(crate) fn play(scenario: &Arc<Scenario>, way: Way) -> Played {
    match (scenario.api, scenario.convert.as_deref()) {
        (Api::Agent, None) => play_agent::<Skipped>(scenario, way),
        (Api::Agent, Some("project")) => play_agent::<Projected>(scenario, way),
        (Api::Agent, Some(other)) => panic!("no conversion: {other}"),
        (Api::Loop | Api::LoopContinue, _) => {
            direct(scenario, |stage, executor| stateless::LoopHost::<Projected>::boxed(stage, executor))
        }
    }
}

fn play_agent<M: Custom + PartialEq + Clone>(scenario: &Arc<Scenario>, way: Way) -> Played {
    direct(scenario, |stage, executor| match way {
        Way::Run => run::RunHost::<M>::boxed(stage, executor),
        Way::Agent => shared::AgentHost::<M>::boxed(stage, executor),
    })
}

/// Whoever holds the agent or the loop, and does to it what the schedule and the listener say.
trait Host {
    /// Does one action; `on` names the event at which a listener does it.
    fn perform(&self, action: &Action, on: Option<&str>);

    /// What is left at the end.
    fn end(&self) -> Left;
}

/// What is left at the end of a replay.
struct Left {
    /// As in the trace; `None` for the loop, which has no state.
    end: Option<Value>,
    /// The messages that still wait in the queues.
    waiting: Vec<Value>,
}

fn direct(
    scenario: &Arc<Scenario>,
    host: impl FnOnce(&Arc<Stage>, &Rc<Executor>) -> Box<dyn Host>,
) -> Played {
    let stage = Arc::new(Stage::new(scenario.clone()));
    let executor = Rc::new(Executor::default());
    let host = host(&stage, &executor);
    for action in &scenario.schedule {
        settle(&stage, &executor);
        let mut log = stage.log();
        let mark = log.trace.events.len();
        log.trace.marks.push(mark);
        drop(log);
        host.perform(action, None);
    }
    settle(&stage, &executor);
    let Left { end, waiting } = host.end();
    let mut log = stage.take_log();
    log.trace.end = end;
    log.ledger.waiting = waiting;
    if !executor.is_empty() {
        log.ledger.faults.push(NOT_ENDED.to_owned());
    }
    Played { trace: log.trace, ledger: log.ledger }
}

fn settle(stage: &Stage, executor: &Executor) {
    if !executor.run_until_stalled() {
        stage.log().ledger.faults.push("something wakes itself for ever".to_owned());
    }
}

/// Has a tool run that makes a nested call, which the scenario knows as `id`. Gives the arguments that the nested call
/// was executed with, if it was.
pub(crate) fn call_within(mut scenario: Scenario, outer: AgentTool, id: &str) -> Option<Value> {
    let name = outer.name().to_owned();
    let call = CallStep { id: name.clone(), name, chunks: Vec::new(), args: Some(Map::new()) };
    let asks = Step { tool_call: Some(call), ..Step::default() };
    let done = Step { done: Some(StopReason::ToolUse), ..Step::default() };
    scenario.responses = vec![Response { steps: vec![asks, done], ignore_abort: false }];
    let mut stage = Stage::new(Arc::new(scenario));
    stage.nested_id = Some(id.to_owned());
    let stage = Arc::new(stage);
    let mut run = run::build::<Skipped>(&stage);
    let mut tools = run.tools().to_vec();
    tools.push(outer);
    run.set_tools(tools);
    drop(futures::executor::block_on(run.prompt("go").finish()));
    let executions = stage.take_log().trace.executions;
    executions.get(id).cloned()
}

/// The messages that a prompt gives; the text of a scenario is left to the library.
enum Prompt<M> {
    Text(String),
    Messages(Vec<AgentMessage<M>>),
}

fn prompt_of<M: Custom>(stage: &Stage, action: &Action) -> Prompt<M> {
    let mut log = stage.log();
    match (&action.text, &action.messages) {
        (Some(text), _) => {
            let told = shape::message(&AgentMessage::<M>::user(text));
            log.ledger.given.push(told);
            Prompt::Text(text.clone())
        }
        (None, Some(messages)) => {
            log.ledger.given.extend(messages.iter().cloned());
            Prompt::Messages(shape::read_messages(messages))
        }
        (None, None) => panic!("a prompt without messages"),
    }
}

impl<M: Custom> turnstate::run::IntoPrompt<M> for Prompt<M> {
    fn into_prompt(self, now: turnstate::message::Timestamp) -> Vec<AgentMessage<M>> {
        match self {
            Self::Text(text) => text.into_prompt(now),
            Self::Messages(messages) => messages,
        }
    }
}
