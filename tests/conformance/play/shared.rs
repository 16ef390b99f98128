//! Replays through the shared `Agent`: what is refused, and what waits for the next run, is the library's to know.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Value, json};
use turnstate::agent::{Prompting, ResumeRefused, WeakAgent};
use turnstate::message::CustomMessage;
use turnstate::{Agent, AgentEvent};

use super::run::{build, perform_by_handle, queued, refusal};
use super::{Host, Left, prompt_of};
use crate::executor::Executor;
use crate::record::Action;
use crate::script::{self, execution_mode};
use crate::shape;
use crate::stage::Stage;

pub(super) struct AgentHost<M: CustomMessage> {
    stage: Arc<Stage>,
    executor: Rc<Executor>,
    agent: Agent<M>,
}

impl<M: CustomMessage> AgentHost<M> {
    pub(super) fn boxed(stage: &Arc<Stage>, executor: &Rc<Executor>) -> Box<dyn Host> {
        let agent = Agent::new(build::<M>(stage));
        let (at, weak) = (stage.clone(), agent.downgrade());
        let listener = agent.subscribe(async move |event: &AgentEvent<M>, cx| {
            let heard = at.hear(event, cx.state);
            for action in &heard.actions {
                perform(&at, &weak, action, &heard.on);
            }
            for gate in &heard.gates {
                at.gates.gate(gate).wait().await;
            }
        });
        listener.keep();
        Box::new(Self { stage: stage.clone(), executor: executor.clone(), agent })
    }
}

/// What a listener does. It never starts a run: one is under way.
fn perform<M: CustomMessage>(stage: &Arc<Stage>, agent: &WeakAgent<M>, action: &Action, on: &str) {
    let agent = agent.upgrade().expect("the agent outlives its runs");
    let started = act(stage, &agent, action, Some(on));
    assert!(started.is_none(), "a run was started in a listener");
}

impl<M: CustomMessage> Host for AgentHost<M> {
    fn perform(&self, action: &Action, on: Option<&str>) {
        let Some(Started { run, call }) = act(&self.stage, &self.agent, action, on) else { return };
        let (stage, agent) = (self.stage.clone(), self.agent.clone());
        let base = shape::messages(agent.state().transcript());
        let from = stage.log().trace.events.len();
        self.executor.spawn(async move {
            drop(run.await);
            stage.check_fold(from, &base, &shape::messages(agent.state().transcript()));
            stage.answered(call, "result", "ok");
        });
    }

    fn end(&self) -> Left {
        let mut end = snapshot(&self.stage, &self.agent);
        end["messages"] = shape::messages(self.agent.state().transcript());
        end["queued"] = self.agent.has_queued().into();
        Left { end: Some(end), waiting: queued(&self.agent.handle()) }
    }
}

struct Started<M: CustomMessage> {
    run: Prompting<M>,
    call: usize,
}

/// Does one action, and gives the run that it started.
fn act<M: CustomMessage>(
    stage: &Arc<Stage>,
    agent: &Agent<M>,
    action: &Action,
    on: Option<&str>,
) -> Option<Started<M>> {
    if perform_by_handle(stage, &agent.handle(), action, on) {
        return None;
    }
    match action.name.as_str() {
        "prompt" | "continue" => {
            let call = stage.called(action, on);
            let started = match action.name.as_str() {
                "prompt" => agent.prompt(prompt_of(stage, action)).map_err(|_| "busy"),
                _ => agent.resume().map_err(|refused| match refused {
                    ResumeRefused::Busy(_) => "busy",
                    ResumeRefused::NothingToResume(reason) => refusal(reason),
                    other => panic!("a refusal of no recorded kind: {other}"),
                }),
            };
            match started {
                Ok(run) => return Some(Started { run, call }),
                Err(refused) => stage.answered(call, "result", refused),
            }
        }
        "reset" => {
            let call = stage.called(action, on);
            let cleared = queued(&agent.handle());
            let result = agent.reset();
            if result.is_ok() {
                stage.log().ledger.cleared.extend(cleared);
            }
            stage.answered(call, "result", if result.is_ok() { "ok" } else { "busy" });
        }
        "snapshot" => {
            let told = snapshot(stage, agent);
            let call = stage.called(action, on);
            for key in ["state", "systemPrompt"] {
                stage.answered(call, key, told[key].clone());
            }
        }
        "setTools" => agent.set_tools(script::tools(stage, action.tools.as_deref().unwrap())),
        "setModel" => agent.set_model(script::model(action.model.as_deref().unwrap())),
        "setThinkingLevel" => agent.set_thinking_level(action.thinking_level.unwrap()),
        "setToolExecution" => agent.set_tool_execution(execution_mode(action.mode.as_deref())),
        "setMessages" => {
            let messages = shape::read_messages(action.messages.as_deref().unwrap());
            agent.edit_transcript(|transcript| *transcript = messages.into()).unwrap();
        }
        "appendMessage" => {
            let message = shape::read_message(action.message.as_ref().unwrap());
            agent.edit_transcript(|transcript| transcript.push(message)).unwrap();
        }
        other => panic!("no action: {other}"),
    }
    None
}

fn snapshot<M: CustomMessage>(stage: &Stage, agent: &Agent<M>) -> Value {
    let state = agent.state();
    let open = stage.log().open;
    json!({
        "state": shape::state(&state, !agent.is_idle(), open),
        "systemPrompt": state.system_prompt(),
    })
}
