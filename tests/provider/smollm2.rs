//! A real language model, the smallest that speaks in sentences. Never about the quality of its answers.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use turnstate::message::{AgentMessage, NoCustom, StopReason};
use turnstate::model::{Delta, Model, RequestOptions, StreamFn};
use turnstate::provider::genai_crate::adapter::AdapterKind;
use turnstate::provider::{Genai, OpenAiCompatible, ReqwestTransport};
use turnstate::tool::tool_fn;
use turnstate::{AgentEvent, Idle, Run, Transcript};

use crate::aimock::abort_in_mid_text;
use crate::services;

struct Server {
    process: Child,
    url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    fn start() -> Option<Self> {
        let python = services::find("the real model", "python/bin/python")?;
        let weights = services::find("the real model", "smollm2.gguf")?;
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/provider");
        let mut process = Command::new(python)
            .arg(here.join("smollm2.py"))
            .arg(weights)
            .arg(here.join("smollm2.jinja"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let url = lines.find_map(|line| line.unwrap().strip_prefix("listening ").map(str::to_owned));
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { process, url: url.expect("the server tells its address") })
    }

    /// The server by each adapter that speaks its protocol.
    fn adapters(&self) -> [Arc<dyn StreamFn>; 2] {
        let url = format!("{}/v1", self.url);
        let genai = Genai::new().with_base_url(&url).with_adapter(AdapterKind::OpenAI);
        [Arc::new(OpenAiCompatible::new(ReqwestTransport::new(), url)), Arc::new(genai)]
    }

    fn run(&self, adapter: Arc<dyn StreamFn>) -> Run<Idle> {
        let options: RequestOptions =
            serde_json::from_value(json!({"temperature": 0.0, "maxTokens": 200})).unwrap();
        Run::builder(adapter)
            .model(Model::new("local", "smollm2"))
            .system_prompt("You are a helpful assistant.")
            .options(options)
            .tool(tool_fn("get_weather", "Get the weather of a city.", async |place: Place, _| {
                Ok(format!("rainy, 12 degrees {} in {}", place.unit, place.city))
            }))
            .build()
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    city: String,
    unit: String,
}

/// Three turns that show a model of this size how a tool is called.
fn examples(system: &AgentMessage<NoCustom>) -> Transcript {
    let mut messages: Vec<Value> = vec![serde_json::to_value(system).unwrap()];
    for (number, (city, unit, weather)) in
        [("Rome", "c", "sunny 25C"), ("London", "f", "cloudy 60F"), ("Oslo", "c", "snow 1C")]
            .into_iter()
            .enumerate()
    {
        let id = format!("call{number}");
        messages.extend([
            json!({"role": "user", "content": format!("What is the weather in {city} in {unit}?")}),
            json!({"role": "assistant", "stopReason": "toolUse", "content": [
                {"type": "toolCall", "id": id, "name": "get_weather", "arguments": {"city": city, "unit": unit}}]}),
            json!({"role": "toolResult", "toolCallId": id, "toolName": "get_weather",
                "content": [{"type": "text", "text": weather}]}),
            json!({"role": "assistant", "content": [{"type": "text", "text": format!("It is {weather} in {city}.")}]}),
        ]);
    }
    messages.into_iter().map(|message| serde_json::from_value::<AgentMessage>(message).unwrap()).collect()
}

#[test]
fn a_real_model_calls_a_tool_answers_and_is_aborted() {
    let Some(server) = Server::start() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        for adapter in server.adapters() {
            let run = server.run(adapter);
            let run = tokio::time::timeout(Duration::from_secs(240), use_a_tool(run)).await.unwrap();
            tokio::time::timeout(Duration::from_secs(240), abort(run)).await.unwrap();
        }
    });
}

/// A streamed tool call, its result, and an answer.
async fn use_a_tool(mut run: Run<Idle>) -> Run<Idle> {
    *run.transcript_mut() = examples(&run.transcript()[0].clone());
    let before = run.transcript().len();
    let mut run = run.prompt("What is the weather in Paris in c?");
    let mut fragments = 0;
    while let Some(event) = run.next().await {
        fragments +=
            usize::from(matches!(event, AgentEvent::MessageUpdate { delta: Delta::ToolCall { .. } }));
    }
    let run = run.finish().await;
    let added = &run.transcript()[before..];
    let roles: Vec<_> = added.iter().map(AgentMessage::role).collect();
    assert!(fragments > 1, "the arguments came in {fragments} fragments: {added:#?}");
    assert_eq!(roles[..3], ["user", "assistant", "toolResult"], "{added:#?}");
    let call = added[1].as_assistant().unwrap().tool_calls().next().unwrap().clone();
    assert_eq!((call.name.as_str(), &call.arguments_error), ("get_weather", &None));
    let answer = added.last().unwrap().as_assistant().unwrap();
    assert!(answer.texts().any(|text| !text.trim().is_empty()), "{answer:?}");
    assert!(answer.usage.input > 0 && answer.usage.output > 0, "{:?}", answer.usage);
    run
}

/// An abort in mid generation: the server, which serves one request at a time, is free again at once.
async fn abort(run: Run<Idle>) {
    let mut run = run;
    run.set_tools([]);
    let options: RequestOptions =
        serde_json::from_value(json!({"temperature": 0.0, "maxTokens": 3_000})).unwrap();
    run.set_options(Arc::new(options));
    let run = run.prompt("Count from one to one thousand in words, one number in each line.");
    let mut run = abort_in_mid_text(run).await;
    let answer = run.transcript().last().unwrap().as_assistant().unwrap().clone();
    assert_eq!(answer.stop_reason, StopReason::Aborted);
    assert!(answer.texts().any(|text| !text.is_empty()));
    let options: RequestOptions =
        serde_json::from_value(json!({"temperature": 0.0, "maxTokens": 3})).unwrap();
    run.set_options(Arc::new(options));
    let run = run.prompt("Hello.").finish().await;
    let answer = run.transcript().last().unwrap().as_assistant().unwrap();
    assert!(answer.is_usable(), "{answer:?}");
    assert!(answer.usage.output <= 3);
}
