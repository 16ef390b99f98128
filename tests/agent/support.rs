//! Answers and tools in one word, and ways to poll by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures::{FutureExt, task::noop_waker_ref};
use turnstate::agent::Subscription;
use turnstate::message::{AgentMessage, CustomMessage, StopReason};
use turnstate::model::Delta;
use turnstate::testing::{Gate, Response, ScriptedModel};
use turnstate::tool::{AgentTool, NoArgs, tool_fn};
use turnstate::transcript::Transcript;
use turnstate::{Agent, Idle, Run};

/// A model that gives its answers in order, and then says `(no more answers)`.
pub(crate) fn model(answers: impl IntoIterator<Item = Response>) -> ScriptedModel {
    ScriptedModel::new(answers).then_always("(no more answers)")
}

/// A closed gate.
pub(crate) fn gate() -> Gate {
    Gate::new("gate")
}

pub(crate) fn text(text: &str) -> Response {
    Response::text(text)
}

/// A text that stops half-way at a gate.
pub(crate) fn text_until(before: &str, gate: &Gate, after: &str) -> Response {
    Response::new()
        .and_delta(Delta::TextStart { index: 0 })
        .and_delta(Delta::text(0, before))
        .and_wait(gate)
        .and_delta(Delta::text(0, after))
        .and_delta(Delta::TextEnd { index: 0, signature: None })
}

/// An answer of tool calls: id, tool, arguments.
pub(crate) fn calls(calls: &[(&str, &str, &str)]) -> Response {
    calls.iter().fold(Response::new(), |answer, (id, name, arguments)| {
        answer.and_raw_tool_call(*id, *name, *arguments)
    })
}

/// An answer of one call without arguments.
pub(crate) fn call(id: &str, name: &str) -> Response {
    calls(&[(id, name, "{}")])
}

/// A tool that answers at once.
pub(crate) fn quick(name: &'static str) -> AgentTool {
    tool_fn(name, "Answers at once.", async move |_: NoArgs, _| Ok(format!("{name} done")))
}

/// A tool that waits at a gate.
pub(crate) fn gated(name: &'static str, gate: &Gate) -> AgentTool {
    let gate = gate.clone();
    tool_fn(name, "Waits.", async move |_: NoArgs, _| {
        gate.wait().await;
        Ok(format!("{name} done"))
    })
}

pub(crate) fn agent(answers: impl IntoIterator<Item = Response>) -> Agent {
    Agent::new(run(answers))
}

pub(crate) fn run(answers: impl IntoIterator<Item = Response>) -> Run<Idle> {
    Run::builder(model(answers)).build()
}

/// What happened, in short: kinds of events, and whatever else a test notes.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }

    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    /// Notes the kinds of an agent's events.
    pub(crate) fn listen<M: CustomMessage>(&self, agent: &Agent<M>) -> Subscription<M> {
        let log = self.clone();
        agent.subscribe(async move |event, _| log.note(event.kind()))
    }
}

/// Starts and ends pair up, and the run is one.
#[track_caller]
pub(crate) fn assert_balanced(events: &[String]) {
    let count = |kind: &str| events.iter().filter(|event| *event == kind).count();
    for kind in ["agent", "turn", "message", "tool_execution"] {
        let (starts, ends) = (count(&format!("{kind}_start")), count(&format!("{kind}_end")));
        assert_eq!(starts, ends, "{kind}: {events:?}");
    }
    assert_eq!(count("agent_end"), 1);
    assert_eq!(events.last().map(String::as_str), Some("agent_end"));
}

/// Everything a state shows, as text.
pub(crate) fn picture(state: &turnstate::State) -> String {
    let mut running: Vec<_> = state.running_calls().map(|call| call.id.clone()).collect();
    running.sort();
    let partial = state.partial().map(|partial| format!("{:?}", partial.snapshot()));
    format!(
        "{:?}\n{:?}\n{partial:?}\n{running:?}\n{:?}\n{:?}\n{:?}\n{:?}",
        state.transcript(),
        state.added(),
        state.is_running(),
        state.error(),
        state.usage(),
        state.outcome()
    )
}

/// Polls a future until it is ready, or nothing wakes it any more.
pub(crate) fn settle<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    struct Flag(std::sync::atomic::AtomicBool);
    impl std::task::Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let flag = Arc::new(Flag(true.into()));
    let waker = flag.clone().into();
    let mut cx = Context::from_waker(&waker);
    while flag.0.swap(false, std::sync::atomic::Ordering::SeqCst) {
        if let Poll::Ready(output) = Pin::new(&mut *future).poll(&mut cx) {
            return Some(output);
        }
    }
    None
}

/// The roles of a transcript, with the text of each message.
pub(crate) fn texts<M: CustomMessage>(transcript: &Transcript<M>) -> Vec<String> {
    transcript.iter().map(line).collect()
}

fn line<M: CustomMessage>(message: &AgentMessage<M>) -> String {
    let (name, texts) = match message {
        AgentMessage::System(_) => ("system", vec![]),
        AgentMessage::User(user) => ("user", user.content.texts().collect()),
        AgentMessage::Assistant(answer) => {
            let name = match answer.stop_reason {
                StopReason::Error => "failed",
                StopReason::Aborted => "aborted",
                _ => "assistant",
            };
            let mut texts: Vec<&str> = answer.texts().collect();
            texts.extend(answer.error_message.as_deref());
            texts.extend(answer.tool_calls().map(|call| call.id.as_str()));
            (name, texts)
        }
        AgentMessage::ToolResult(result) => ("result", result.texts().collect()),
        AgentMessage::Custom(_) => ("custom", vec![]),
    };
    format!("{name}: {}", texts.join(" | "))
}

/// Polls once, with a waker that does nothing.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    future.poll_unpin(&mut Context::from_waker(noop_waker_ref()))
}

/// Drives a future on this thread, and fails when it has not ended after a long time: a lost wake-up is a failure, not
/// a test that hangs.
pub(crate) fn within<F: Future>(future: F) -> F::Output {
    let late = async {
        smol::Timer::after(std::time::Duration::from_secs(20)).await;
        panic!("the future hangs");
    };
    smol::block_on(smol::future::or(future, late))
}
