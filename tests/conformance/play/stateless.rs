//! Replays through `agent_loop` and `agent_loop_resume`, with queues of the host's own.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use turnstate::hook::Hooks;
use turnstate::message::{AgentMessage, CustomMessage, ThinkingLevel};
use turnstate::run::{IntoPrompt, QueueMode};
use turnstate::transcript::Repair;
use turnstate::{
    AbortSignal, AgentLoop, LoopConfig, MessageSource, Transcript, agent_loop, agent_loop_resume,
};

use super::run::{queue_mode, refusal};
use super::{Host, Left, prompt_of};
use crate::executor::Executor;
use crate::record::Action;
use crate::script::{self, ScriptedHooks, execution_mode, scripted_model};
use crate::shape;
use crate::stage::Stage;

pub(super) struct LoopHost<M: CustomMessage> {
    stage: Arc<Stage>,
    executor: Rc<Executor>,
    queues: Arc<Queues<M>>,
    abort: AbortSignal,
    config: RefCell<Option<LoopConfig<M>>>,
}

impl<M: CustomMessage> LoopHost<M> {
    pub(super) fn boxed(stage: &Arc<Stage>, executor: &Rc<Executor>) -> Box<dyn Host> {
        let scenario = &stage.scenario;
        let queues = Arc::new(Queues {
            steering: Queue::new(queue_mode(scenario.steering_mode.as_deref())),
            follow_ups: Queue::new(queue_mode(scenario.follow_up_mode.as_deref())),
            last: Mutex::default(),
        });
        let mut config = LoopConfig::new(scripted_model(stage.clone()));
        config.model = Arc::new(script::model(scenario.model.as_deref().unwrap_or("m1")));
        config.thinking_level = scenario.thinking_level.unwrap_or(ThinkingLevel::Off);
        config.api_key = scenario.api_key.as_deref().map(Into::into);
        config.tools = script::tools(stage, &scenario.tools).into();
        config.tool_execution = execution_mode(scenario.tool_execution.as_deref());
        config.repair = Repair::Off;
        config.messages = queues.clone();
        if !scenario.hooks.is_empty() {
            config.hooks = Hooks::new().with(ScriptedHooks(stage.clone()));
        }
        let abort = AbortSignal::new();
        if scenario.aborted_at_start {
            abort.abort();
        }
        Box::new(Self {
            stage: stage.clone(),
            executor: executor.clone(),
            queues,
            abort,
            config: RefCell::new(Some(config)),
        })
    }

    fn start(&self, action: &Action) {
        let call = self.stage.called(action, None);
        let config = self.config.take().expect("a loop is started once");
        let context: Transcript<M> = shape::read_messages(&self.stage.scenario.messages).into();
        let base = shape::messages(&context);
        let started = match action.name.as_str() {
            "prompt" => {
                let prompt = prompt_of(&self.stage, action).into_prompt(0);
                Ok(agent_loop(prompt, context, config, self.abort.clone()))
            }
            _ => agent_loop_resume(context, config, self.abort.clone()),
        };
        match started {
            Err(reason) => self.stage.answered(call, "result", refusal(reason)),
            Ok(agent_loop) => {
                self.executor.spawn(listen(self.stage.clone(), agent_loop, base, call));
            }
        }
    }

    fn queue(&self, queue: &Queue<M>, action: &Action) {
        let message = shape::read_message(action.message.as_ref().unwrap());
        self.stage.log().ledger.queued.push(shape::message(&message));
        queue.messages.lock().unwrap().push_back(message);
    }
}

async fn listen<M: CustomMessage>(stage: Arc<Stage>, mut agent_loop: AgentLoop<M>, base: Value, call: usize) {
    while let Some(event) = agent_loop.next().await {
        stage.hear(&event, agent_loop.state());
    }
    stage.check_fold(0, &base, &shape::messages(agent_loop.state().transcript()));
    stage.answered(call, "result", "ok");
}

impl<M: CustomMessage> Host for LoopHost<M> {
    fn perform(&self, action: &Action, _: Option<&str>) {
        match action.name.as_str() {
            "prompt" | "continue" => self.start(action),
            "steer" => self.queue(&self.queues.steering, action),
            "followUp" => self.queue(&self.queues.follow_ups, action),
            "abort" => self.abort.abort(),
            "release" => self.stage.gates.release(action.gate.as_deref().unwrap()),
            "lateUpdate" => self.stage.late_update(action),
            other => panic!("no action of a loop: {other}"),
        }
    }

    fn end(&self) -> Left {
        let waiting = [&self.queues.steering, &self.queues.follow_ups]
            .into_iter()
            .flat_map(|queue| queue.messages.lock().unwrap().iter().map(shape::message).collect::<Vec<_>>())
            .collect();
        Left { end: None, waiting }
    }
}

/// Two queues that are drained by their modes.
struct Queues<M> {
    steering: Queue<M>,
    follow_ups: Queue<M>,
    last: Mutex<Last<M>>,
}

/// What was last taken, and from where: it may come back.
struct Last<M> {
    from_steering: bool,
    messages: Vec<AgentMessage<M>>,
}

impl<M> Default for Last<M> {
    fn default() -> Self {
        Self { from_steering: true, messages: Vec::new() }
    }
}

struct Queue<M> {
    mode: QueueMode,
    messages: Mutex<VecDeque<AgentMessage<M>>>,
}

impl<M> Queue<M> {
    fn new(mode: QueueMode) -> Self {
        Self { mode, messages: Mutex::default() }
    }

    fn drain(&self) -> Vec<AgentMessage<M>> {
        let mut messages = self.messages.lock().unwrap();
        let count = if self.mode == QueueMode::All { messages.len() } else { messages.len().min(1) };
        messages.drain(..count).collect()
    }
}

impl<M: CustomMessage> MessageSource<M> for Queues<M> {
    fn take_steering(&self) -> Vec<AgentMessage<M>> {
        let messages = self.steering.drain();
        *self.last.lock().unwrap() = Last { from_steering: true, messages: messages.clone() };
        messages
    }

    fn take_follow_ups(&self) -> Vec<AgentMessage<M>> {
        let messages = self.follow_ups.drain();
        *self.last.lock().unwrap() = Last { from_steering: false, messages: messages.clone() };
        messages
    }

    fn give_back(&self, count: usize) {
        let Last { from_steering, mut messages } = std::mem::take(&mut *self.last.lock().unwrap());
        let queue = if from_steering { &self.steering } else { &self.follow_ups };
        let mut queue = queue.messages.lock().unwrap();
        for message in messages.split_off(messages.len() - count).into_iter().rev() {
            queue.push_front(message);
        }
    }
}
