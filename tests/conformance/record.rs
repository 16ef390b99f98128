//! The recorded data: scenarios and the traces the reference gave for them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use turnstate::message::ThinkingLevel;

/// Where the data is: beside this file, or where `TURNSTATE_CONFORMANCE_DIR` says.
pub(crate) fn data_dir() -> PathBuf {
    std::env::var_os("TURNSTATE_CONFORMANCE_DIR")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance"), PathBuf::from)
}

/// The hand-written records, by name.
pub(crate) fn cases(dir: &Path) -> Vec<Record> {
    files(&dir.join("cases")).iter().map(|path| Record::parse(&read(path))).collect()
}

/// The generated records. None if there is no such file.
pub(crate) fn random(dir: &Path) -> Vec<Record> {
    let path = dir.join("random.jsonl");
    if !path.exists() {
        return Vec::new();
    }
    read(&path).lines().filter(|line| !line.trim().is_empty()).map(Record::parse).collect()
}

/// The files of vectors, each a kind.
pub(crate) fn vector_files(dir: &Path) -> Vec<VectorFile> {
    files(&dir.join("vectors")).iter().map(|path| parse(&read(path))).collect()
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn parse<T: DeserializeOwned>(text: &str) -> T {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {:.200}", text))
}

/// Inputs and answers of one function.
#[derive(Deserialize)]
pub(crate) struct VectorFile {
    pub(crate) kind: String,
    pub(crate) vectors: Vec<Value>,
}

/// A scenario and its trace.
#[derive(Deserialize)]
pub(crate) struct Record {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) tags: Vec<String>,
    #[serde(deserialize_with = "shared")]
    pub(crate) scenario: Arc<Scenario>,
    pub(crate) trace: Trace,
}

fn shared<'de, D: Deserializer<'de>>(scenario: D) -> Result<Arc<Scenario>, D::Error> {
    Scenario::deserialize(scenario).map(Arc::new)
}

impl Record {
    fn parse(text: &str) -> Self {
        let mut record: Self = parse(text);
        record.trace.unpack(record.scenario.api);
        if record.has_tag("run_failure") {
            record.trace.list_what_failed_runs_added();
        }
        record
    }

    pub(crate) fn has_tag(&self, tag: &str) -> bool {
        self.tags.iter().any(|known| known == tag)
    }
}

/// What is compared.
#[derive(Deserialize, Default)]
pub(crate) struct Trace {
    #[serde(default)]
    pool: Vec<Value>,
    pub(crate) events: Vec<Value>,
    /// As recorded: `keep` and `add`. Unpacked: `messages`.
    pub(crate) requests: Vec<Value>,
    #[serde(default)]
    pub(crate) hooks: Vec<Value>,
    #[serde(default)]
    pub(crate) executions: Map<String, Value>,
    #[serde(default)]
    pub(crate) calls: Vec<Value>,
    #[serde(default)]
    pub(crate) marks: Vec<usize>,
    #[serde(default, rename = "final")]
    pub(crate) end: Option<Value>,
}

impl Trace {
    fn unpack(&mut self, api: Api) {
        let pool = std::mem::take(&mut self.pool);
        let mut state = None;
        for event in &mut self.events {
            for key in ["message", "messages", "toolResults"] {
                event.get_mut(key).into_iter().for_each(|value| unpool(value, &pool));
            }
            if api == Api::Agent {
                match event.get("state") {
                    Some(told) => state = Some(told.clone()),
                    None => event["state"] = state.clone().unwrap_or_default(),
                }
            }
        }
        let mut messages: Vec<Value> = Vec::new();
        for request in &mut self.requests {
            let Some(fields) = request.as_object_mut() else { continue };
            let keep = fields.remove("keep").and_then(|keep| keep.as_u64()).unwrap_or_default();
            messages.truncate(usize::try_from(keep).unwrap());
            let mut add = fields.remove("add").unwrap_or_default();
            unpool(&mut add, &pool);
            messages.extend(add.as_array().cloned().unwrap_or_default());
            fields.insert("messages".to_owned(), messages.clone().into());
        }
        for holder in self.calls.iter_mut().chain(&mut self.end) {
            holder.get_mut("messages").into_iter().for_each(|value| unpool(value, &pool));
        }
    }
}

impl Trace {
    /// When a run failed, the reference's `agent_end` lists the substitute answer alone: a known fault. It is to list
    /// what the run added.
    fn list_what_failed_runs_added(&mut self) {
        let mut added = Vec::new();
        for event in &mut self.events {
            match event["type"].as_str() {
                Some("agent_start") => added.clear(),
                Some("message_end") => added.push(event["message"].clone()),
                Some("agent_end") => event["messages"] = added.clone().into(),
                _ => {}
            }
        }
    }
}

/// Puts messages in the place of their numbers.
fn unpool(value: &mut Value, pool: &[Value]) {
    match value {
        Value::Number(number) => {
            let at = number.as_u64().and_then(|at| usize::try_from(at).ok()).unwrap();
            *value = pool[at].clone();
        }
        Value::Array(items) => items.iter_mut().for_each(|item| unpool(item, pool)),
        _ => {}
    }
}

#[derive(Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Api {
    #[default]
    Agent,
    Loop,
    LoopContinue,
}

/// What happens, and how the scripted parts behave.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Scenario {
    pub(crate) api: Api,
    pub(crate) system_prompt: Option<String>,
    pub(crate) messages: Vec<Value>,
    pub(crate) tool_defs: BTreeMap<String, ToolDef>,
    pub(crate) tools: Vec<String>,
    pub(crate) model: Option<String>,
    pub(crate) thinking_level: Option<ThinkingLevel>,
    pub(crate) tool_execution: Option<String>,
    pub(crate) steering_mode: Option<String>,
    pub(crate) follow_up_mode: Option<String>,
    pub(crate) api_key: Option<String>,
    pub(crate) aborted_at_start: bool,
    pub(crate) convert: Option<String>,
    pub(crate) responses: Vec<Response>,
    pub(crate) calls: HashMap<String, Vec<ToolStep>>,
    pub(crate) hooks: HashMap<String, HashMap<String, Value>>,
    pub(crate) on_event: Vec<OnEvent>,
    pub(crate) schedule: Vec<Action>,
}

#[derive(Deserialize, Debug, Clone)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ToolDef {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) parameters: Value,
    pub(crate) execution_mode: Option<String>,
    pub(crate) prepare: Option<Prepare>,
}

/// How a tool changes its raw arguments.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Prepare {
    pub(crate) throw: Option<String>,
    pub(crate) rename: BTreeMap<String, String>,
    pub(crate) default: Map<String, Value>,
}

#[derive(Deserialize, Debug, Clone, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Response {
    pub(crate) steps: Vec<Step>,
    pub(crate) ignore_abort: bool,
}

/// One step of an answer; exactly one of the fields but `open` is set.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Step {
    pub(crate) start: Option<bool>,
    pub(crate) text: Option<Vec<Chunk>>,
    pub(crate) thinking: Option<Vec<Chunk>>,
    pub(crate) tool_call: Option<CallStep>,
    pub(crate) wait: Option<String>,
    pub(crate) done: Option<turnstate::message::StopReason>,
    pub(crate) error: Option<String>,
    pub(crate) aborted: Option<String>,
    pub(crate) end: Option<String>,
    pub(crate) throw: Option<String>,
    pub(crate) open: bool,
}

#[derive(Deserialize, Debug, Clone)]
#[serde(untagged)]
pub(crate) enum Chunk {
    Text(String),
    Wait { wait: String },
}

#[derive(Deserialize, Debug, Clone)]
#[serde(deny_unknown_fields)]
pub(crate) struct CallStep {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) args: Option<Map<String, Value>>,
}

/// One step of a tool; exactly one of the fields but `on_abort` is set.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct ToolStep {
    pub(crate) update: Option<Value>,
    pub(crate) wait: Option<String>,
    pub(crate) on_abort: Option<Vec<ToolStep>>,
    #[serde(rename = "return")]
    pub(crate) returns: Option<Value>,
    pub(crate) throw: Option<String>,
}

/// What a listener does at one event.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct OnEvent {
    pub(crate) event: String,
    pub(crate) n: usize,
    #[serde(rename = "do")]
    pub(crate) actions: Vec<Action>,
    pub(crate) wait: Option<String>,
}

/// One action of the schedule or of a listener.
#[derive(Deserialize, Debug, Clone, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Action {
    #[serde(rename = "do")]
    pub(crate) name: String,
    pub(crate) text: Option<String>,
    pub(crate) messages: Option<Vec<Value>>,
    pub(crate) message: Option<Value>,
    pub(crate) gate: Option<String>,
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) model: Option<String>,
    pub(crate) thinking_level: Option<ThinkingLevel>,
    pub(crate) mode: Option<String>,
    pub(crate) call: Option<String>,
    pub(crate) update: Option<Value>,
}
