//! Replays through `Run`.
//!
//! A run cannot be prompted while it streams, and its settings cannot be changed: whoever holds it knows that. So the
//! host answers "busy" by itself, and keeps new settings until it holds the idle run again.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use futures::Stream;
use serde_json::{Value, json};
use turnstate::message::CustomMessage;
use turnstate::run::{QueueKind, QueueMode};
use turnstate::transcript::Repair;
use turnstate::{Handle, Idle, NothingToResume, Run, State, Streaming};

use super::{Host, Left, prompt_of};
use crate::executor::Executor;
use crate::record::{Action, Scenario};
use crate::script::{self, ScriptedHooks, execution_mode, scripted_model};
use crate::shape;
use crate::stage::Stage;

pub(super) struct RunHost<M: CustomMessage>(Rc<Inner<M>>);

struct Inner<M: CustomMessage> {
    stage: Arc<Stage>,
    executor: Rc<Executor>,
    handle: Handle<M>,
    slot: RefCell<Slot<M>>,
    /// Settings for the next run.
    later: RefCell<Vec<Action>>,
}

enum Slot<M: CustomMessage> {
    Idle(Box<Run<Idle, M>>),
    Streaming(Box<Run<Streaming, M>>),
    /// Between the two.
    Moving,
}

pub(super) fn queue_mode(mode: Option<&str>) -> QueueMode {
    match mode {
        Some("all") => QueueMode::All,
        Some("one-at-a-time") | None => QueueMode::OneAtATime,
        Some(other) => panic!("no queue mode: {other}"),
    }
}

pub(super) fn refusal(reason: NothingToResume) -> &'static str {
    match reason {
        NothingToResume::NoMessages => "no_messages",
        NothingToResume::AlreadyAnswered => "last_is_assistant",
        other => panic!("a refusal of no recorded kind: {other}"),
    }
}

/// The idle run that a scenario starts from.
pub(super) fn build<M: CustomMessage>(stage: &Arc<Stage>) -> Run<Idle, M> {
    let scenario: &Scenario = &stage.scenario;
    let mut builder = Run::builder(scripted_model(stage.clone()))
        .custom_messages::<M>()
        .model(script::model(scenario.model.as_deref().unwrap_or("m1")))
        .tools(script::tools(stage, &scenario.tools))
        .tool_execution(execution_mode(scenario.tool_execution.as_deref()))
        .steering_mode(queue_mode(scenario.steering_mode.as_deref()))
        .follow_up_mode(queue_mode(scenario.follow_up_mode.as_deref()))
        .repair(Repair::Off)
        .transcript(shape::read_messages(&scenario.messages));
    if let Some(prompt) = &scenario.system_prompt {
        builder = builder.system_prompt(prompt.as_str());
    }
    if let Some(level) = scenario.thinking_level {
        builder = builder.thinking_level(level);
    }
    if !scenario.hooks.is_empty() {
        builder = builder.hook(ScriptedHooks(stage.clone()));
    }
    builder.build()
}

impl<M: CustomMessage> RunHost<M> {
    pub(super) fn boxed(stage: &Arc<Stage>, executor: &Rc<Executor>) -> Box<dyn Host> {
        let run = build::<M>(stage);
        Box::new(Self(Rc::new(Inner {
            stage: stage.clone(),
            executor: executor.clone(),
            handle: run.handle(),
            slot: RefCell::new(Slot::Idle(Box::new(run))),
            later: RefCell::default(),
        })))
    }
}

impl<M: CustomMessage> Host for RunHost<M> {
    fn perform(&self, action: &Action, on: Option<&str>) {
        self.0.perform(action, on);
    }

    fn end(&self) -> Left {
        let inner = &self.0;
        let end = inner.with_state(|state, streaming| {
            let messages = shape::messages(state.transcript());
            let mut end = inner.snapshot(state, streaming);
            end["messages"] = messages;
            end["queued"] = inner.handle.has_queued().into();
            end
        });
        Left { end: Some(end), waiting: queued(&inner.handle) }
    }
}

/// Everything that waits in both queues.
pub(super) fn queued<M: CustomMessage>(handle: &Handle<M>) -> Vec<Value> {
    let kinds = [QueueKind::Steering, QueueKind::FollowUp];
    kinds.into_iter().flat_map(|kind| handle.queued(kind)).map(|message| shape::message(&message)).collect()
}

/// What a handle can do at any time; whether it was one of these.
pub(super) fn perform_by_handle<M: CustomMessage>(
    stage: &Stage,
    handle: &Handle<M>,
    action: &Action,
    on: Option<&str>,
) -> bool {
    let clear = |kinds: &[QueueKind]| {
        let cleared = kinds.iter().flat_map(|kind| handle.queued(*kind)).map(|m| shape::message(&m));
        stage.log().ledger.cleared.extend(cleared);
    };
    match action.name.as_str() {
        "release" => stage.gates.release(action.gate.as_deref().unwrap()),
        "lateUpdate" => stage.late_update(action),
        "steer" | "followUp" => {
            let json = action.message.as_ref().unwrap();
            let message = shape::read_message::<M>(json);
            stage.log().ledger.queued.push(shape::message(&message));
            match action.name.as_str() {
                "steer" => drop(handle.steer(message)),
                _ => drop(handle.follow_up(message)),
            }
        }
        "abort" => handle.abort(),
        "clearSteering" => {
            clear(&[QueueKind::Steering]);
            handle.clear_steering();
        }
        "clearFollowUp" => {
            clear(&[QueueKind::FollowUp]);
            handle.clear_follow_ups();
        }
        "clearAll" => {
            clear(&[QueueKind::Steering, QueueKind::FollowUp]);
            handle.clear_queues();
        }
        "setSteeringMode" => handle.set_queue_mode(QueueKind::Steering, queue_mode(action.mode.as_deref())),
        "setFollowUpMode" => handle.set_queue_mode(QueueKind::FollowUp, queue_mode(action.mode.as_deref())),
        "peek" => {
            let call = stage.called(action, on);
            stage.answered(call, "messages", shape::messages(&handle.peek()));
            stage.answered(call, "queued", handle.has_queued());
        }
        _ => return false,
    }
    true
}

impl<M: CustomMessage> Inner<M> {
    fn perform(self: &Rc<Self>, action: &Action, on: Option<&str>) {
        if perform_by_handle(&self.stage, &self.handle, action, on) {
            return;
        }
        match action.name.as_str() {
            "prompt" => self.prompt(action, on),
            "continue" => self.resume(action, on),
            "reset" => self.reset(action, on),
            "snapshot" => {
                let told = self.with_state(|state, streaming| self.snapshot(state, streaming));
                let call = self.stage.called(action, on);
                for key in ["state", "systemPrompt"] {
                    self.stage.answered(call, key, told[key].clone());
                }
            }
            _ => match &mut *self.slot.borrow_mut() {
                Slot::Idle(run) => set(&self.stage, run, action),
                _ => self.later.borrow_mut().push(action.clone()),
            },
        }
    }

    /// The idle run, if the host holds it.
    fn take_idle(&self) -> Option<Run<Idle, M>> {
        let slot = &mut *self.slot.borrow_mut();
        match std::mem::replace(slot, Slot::Moving) {
            Slot::Idle(run) => Some(*run),
            other => {
                *slot = other;
                None
            }
        }
    }

    fn prompt(self: &Rc<Self>, action: &Action, on: Option<&str>) {
        let call = self.stage.called(action, on);
        match self.take_idle() {
            None => self.stage.answered(call, "result", "busy"),
            Some(run) => {
                let streaming = run.prompt(prompt_of(&self.stage, action));
                self.start(streaming, call);
            }
        }
    }

    fn resume(self: &Rc<Self>, action: &Action, on: Option<&str>) {
        let call = self.stage.called(action, on);
        match self.take_idle().map(Run::resume) {
            None => self.stage.answered(call, "result", "busy"),
            Some(Ok(streaming)) => self.start(streaming, call),
            Some(Err(refused)) => {
                *self.slot.borrow_mut() = Slot::Idle(Box::new(refused.run));
                self.stage.answered(call, "result", refusal(refused.reason));
            }
        }
    }

    fn reset(&self, action: &Action, on: Option<&str>) {
        let call = self.stage.called(action, on);
        let result = match &mut *self.slot.borrow_mut() {
            Slot::Idle(run) => {
                self.stage.log().ledger.cleared.extend(queued(&self.handle));
                run.reset();
                "ok"
            }
            _ => "busy",
        };
        self.stage.answered(call, "result", result);
    }

    fn start(self: &Rc<Self>, run: Run<Streaming, M>, call: usize) {
        let base = shape::messages(run.state().transcript());
        let from = self.stage.log().trace.events.len();
        *self.slot.borrow_mut() = Slot::Streaming(Box::new(run));
        let host = self.clone();
        self.executor.spawn(async move {
            host.listen().await;
            host.finish().await;
            host.with_state(|state, _| {
                host.stage.check_fold(from, &base, &shape::messages(state.transcript()));
            });
            host.stage.answered(call, "result", "ok");
        });
    }

    /// The listener: the loop body of whoever pulls the events.
    async fn listen(self: &Rc<Self>) {
        while let Some(heard) = poll_fn(|cx| self.poll_heard(cx)).await {
            for action in &heard.actions {
                self.perform(action, Some(&heard.on));
            }
            for gate in &heard.gates {
                self.stage.gates.gate(gate).wait().await;
            }
        }
    }

    fn poll_heard(&self, cx: &mut std::task::Context<'_>) -> Poll<Option<crate::stage::Heard>> {
        let Slot::Streaming(run) = &mut *self.slot.borrow_mut() else { return Poll::Ready(None) };
        Pin::new(&mut **run)
            .poll_next(cx)
            .map(|event| event.map(|event| self.stage.hear(&event, run.state())))
    }

    async fn finish(&self) {
        let slot = std::mem::replace(&mut *self.slot.borrow_mut(), Slot::Moving);
        let Slot::Streaming(run) = slot else { panic!("the host holds the streaming run") };
        let mut run = run.finish().await;
        for action in self.later.take() {
            set(&self.stage, &mut run, &action);
        }
        *self.slot.borrow_mut() = Slot::Idle(Box::new(run));
    }

    fn with_state<T>(&self, look: impl FnOnce(&State<M>, bool) -> T) -> T {
        match &*self.slot.borrow() {
            Slot::Idle(run) => look(run.state(), false),
            Slot::Streaming(run) => look(run.state(), true),
            Slot::Moving => panic!("the host holds the run"),
        }
    }

    fn snapshot(&self, state: &State<M>, streaming: bool) -> Value {
        let open = self.stage.log().open;
        json!({
            "state": shape::state(state, streaming, open),
            "systemPrompt": state.system_prompt(),
        })
    }
}

/// Changes a setting of an idle run.
fn set<M: CustomMessage>(stage: &Arc<Stage>, run: &mut Run<Idle, M>, action: &Action) {
    match action.name.as_str() {
        "setTools" => run.set_tools(script::tools(stage, action.tools.as_deref().unwrap())),
        "setModel" => run.set_model(script::model(action.model.as_deref().unwrap())),
        "setThinkingLevel" => run.set_thinking_level(action.thinking_level.unwrap()),
        "setToolExecution" => run.set_tool_execution(execution_mode(action.mode.as_deref())),
        "setMessages" => {
            *run.transcript_mut() = shape::read_messages(action.messages.as_deref().unwrap()).into();
        }
        "appendMessage" => {
            run.transcript_mut().push(shape::read_message(action.message.as_ref().unwrap()));
        }
        other => panic!("no action: {other}"),
    }
}
