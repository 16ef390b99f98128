//! What all scripted parts of one replay share: the scenario, the gates, and the trace as it grows.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;

use serde_json::{Value, json};
use turnstate::message::CustomMessage;
use turnstate::testing::Gates;
use turnstate::tool::ToolOutput;
use turnstate::{AgentEvent, State};

use crate::grammar::Ledger;
use crate::record::{Action, Api, Response, Scenario, Trace};
use crate::shape;

pub(crate) struct Stage {
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) gates: Gates,
    /// The id that nested calls have in the scenario.
    pub(crate) nested_id: Option<String>,
    log: Mutex<Log>,
    next_response: AtomicUsize,
    invocations: Mutex<HashMap<String, usize>>,
    late: Mutex<HashMap<String, Mailbox>>,
}

/// What was seen so far.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) trace: Trace,
    pub(crate) ledger: Ledger,
    /// Whether a message has started and not ended.
    pub(crate) open: bool,
    heard: HashMap<&'static str, usize>,
}

/// Updates that come from outside while an execution runs.
#[derive(Default)]
struct Mailbox {
    updates: Vec<ToolOutput>,
    waker: Option<Waker>,
}

impl Stage {
    pub(crate) fn new(scenario: Arc<Scenario>) -> Self {
        Self {
            scenario,
            gates: Gates::default(),
            nested_id: None,
            log: Mutex::default(),
            next_response: AtomicUsize::new(0),
            invocations: Mutex::default(),
            late: Mutex::default(),
        }
    }

    pub(crate) fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }

    pub(crate) fn take_log(&self) -> Log {
        std::mem::take(&mut self.log())
    }

    /// The scenario's name of a call.
    pub(crate) fn id_of<'a>(&'a self, id: &'a str) -> &'a str {
        match &self.nested_id {
            Some(nested) if id.contains('/') => nested,
            _ => id,
        }
    }

    /// Adds what a hook or the model was given, with the number of events before it.
    pub(crate) fn stamped(&self, mut entry: Value) -> Value {
        if self.scenario.api == Api::Agent {
            entry["at"] = self.log().trace.events.len().into();
        }
        entry
    }

    pub(crate) fn next_response(&self) -> Option<Response> {
        let at = self.next_response.fetch_add(1, Ordering::Relaxed);
        self.scenario.responses.get(at).cloned()
    }

    /// The number of this invocation of a hook, from 0.
    pub(crate) fn invocation(&self, hook: &str) -> usize {
        let mut invocations = self.invocations.lock().unwrap();
        let count = invocations.entry(hook.to_owned()).or_default();
        *count += 1;
        *count - 1
    }

    /// Takes an event down, and says what the listener does at it.
    pub(crate) fn hear<M: CustomMessage>(&self, event: &AgentEvent<M>, state: &State<M>) -> Heard {
        let mut log = self.log();
        match event {
            AgentEvent::MessageStart { .. } => log.open = true,
            AgentEvent::MessageEnd { .. } => log.open = false,
            _ => {}
        }
        let mut json = shape::event(event, state);
        let is_agent = self.scenario.api == Api::Agent;
        if is_agent {
            json["state"] = shape::state(state, true, log.open);
        }
        log.trace.events.push(json);
        let count = log.heard.entry(event.kind()).or_default();
        *count += 1;
        let count = *count;
        let mut heard = Heard { on: format!("{}#{count}", event.kind()), ..Heard::default() };
        for entry in &self.scenario.on_event {
            if is_agent && entry.event == event.kind() && entry.n == count {
                heard.actions.extend(entry.actions.iter().cloned());
                heard.gates.extend(entry.wait.clone());
            }
        }
        heard
    }

    /// Notes a call of the host's, and where its result belongs.
    pub(crate) fn called(&self, action: &Action, on: Option<&str>) -> usize {
        let mut call = json!({"do": action.name});
        if let Some(on) = on {
            call["on"] = on.into();
        }
        let calls = &mut self.log().trace.calls;
        calls.push(call);
        calls.len() - 1
    }

    pub(crate) fn answered(&self, call: usize, key: &str, value: impl Into<Value>) {
        self.log().trace.calls[call][key] = value.into();
    }

    // Updates from outside.

    pub(crate) fn open_mailbox(&self, call: &str) {
        self.late.lock().unwrap().insert(call.to_owned(), Mailbox::default());
    }

    pub(crate) fn close_mailbox(&self, call: &str) {
        self.late.lock().unwrap().remove(call);
    }

    /// An update for an execution; when it has settled, nobody can make one any more.
    pub(crate) fn late_update(&self, action: &Action) {
        let call = action.call.as_deref().unwrap();
        let mut late = self.late.lock().unwrap();
        if let Some(mailbox) = late.get_mut(call) {
            mailbox.updates.push(shape::read_output(action.update.as_ref().unwrap()));
            mailbox.waker.take().into_iter().for_each(Waker::wake);
        }
    }

    pub(crate) fn take_updates(&self, call: &str, waker: &Waker) -> Vec<ToolOutput> {
        let mut late = self.late.lock().unwrap();
        let Some(mailbox) = late.get_mut(call) else { return Vec::new() };
        mailbox.waker = Some(waker.clone());
        std::mem::take(&mut mailbox.updates)
    }
}

/// What the listener does at an event: the actions at once, then it waits.
#[derive(Default)]
pub(crate) struct Heard {
    pub(crate) on: String,
    pub(crate) actions: Vec<Action>,
    pub(crate) gates: Vec<String>,
}

impl Stage {
    /// A run's transcript is what it started with, and then every message it told the end of.
    pub(crate) fn check_fold(&self, from: usize, base: &Value, transcript: &Value) {
        let mut log = self.log();
        let told = log.trace.events[from..].iter().filter(|event| event["type"] == "message_end");
        let expected: Value =
            base.as_array().unwrap().iter().chain(told.map(|event| &event["message"])).cloned().collect();
        if expected != *transcript {
            log.ledger
                .faults
                .push("the transcript is not the fold of the messages that were told".to_owned());
        }
    }
}
