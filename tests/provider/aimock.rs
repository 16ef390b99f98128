//! Tool-using runs of several turns against aimock, a mock of providers that nobody here wrote: every scenario over each
//! wire protocol that aimock offers, by each adapter that speaks it.
//!
//! `TURNSTATE_AIMOCK` names its program where it is not where `.ci/services install` puts it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use turnstate::message::{
    AgentMessage, AssistantContent, AssistantMessage, StopReason, ThinkingLevel, Usage,
};
use turnstate::model::{Delta, Model, StreamFn};
use turnstate::provider::genai_crate::adapter::AdapterKind;
use turnstate::provider::{Genai, OpenAiCompatible, ReqwestTransport};
use turnstate::tool::{AgentTool, tool_fn};
use turnstate::{AgentEvent, Idle, Run, Streaming, Transcript};

use crate::services;

/// A server of its own for each test; it ends with it.
pub(crate) struct Aimock {
    server: Child,
    pub(crate) address: String,
    fixtures: PathBuf,
}

impl Drop for Aimock {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        let _ = std::fs::remove_file(&self.fixtures);
    }
}

fn installed(test: &str) -> Option<PathBuf> {
    let given = std::env::var_os("TURNSTATE_AIMOCK").map(PathBuf::from);
    given.or_else(|| services::find(test, "node_modules/.bin/llmock"))
}

impl Aimock {
    /// Starts a server with these fixtures; `None` where it is not installed.
    pub(crate) fn start(test: &str, fixtures: Value) -> Option<Self> {
        let program = installed(test)?;
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("aimock-{}-{test}.json", std::process::id()));
        std::fs::write(&path, json!({ "fixtures": fixtures }).to_string()).unwrap();
        let mut server = Command::new("node")
            .arg(program)
            .args(["-h", "127.0.0.1", "-p", "0", "-f"])
            .arg(&path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
        let address = lines.find_map(|line| Some(line.unwrap().split_once("http://")?.1.trim().to_owned()));
        // The rest of what it says must go somewhere, or it stops at a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Self { server, address: address.expect("aimock tells its address"), fixtures: path })
    }

    fn run(&self, wire: Wire) -> Run<Idle> {
        self.run_at(&self.address, wire)
    }

    fn run_at(&self, address: &str, wire: Wire) -> Run<Idle> {
        Run::builder(wire.adapter(address))
            .model(Model::new("aimock", "gpt-4o").with_api(wire.api()))
            .system_prompt("You are terse.")
            .tool(weather())
            .build()
    }
}

/// A wire protocol, by one of the adapters that speak it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Wire {
    /// Chat completions, by this crate's own adapter.
    Own,
    Chat,
    Responses,
    Anthropic,
    Gemini,
    Interactions,
    Bedrock,
    Ollama,
}

impl Wire {
    const ALL: [Self; 8] = [
        Self::Own,
        Self::Chat,
        Self::Responses,
        Self::Anthropic,
        Self::Gemini,
        Self::Interactions,
        Self::Bedrock,
        Self::Ollama,
    ];

    fn adapter(self, address: &str) -> Arc<dyn StreamFn> {
        let genai = |path: &str, kind| -> Arc<dyn StreamFn> {
            let model = Genai::new().with_base_url(format!("http://{address}{path}")).with_adapter(kind);
            Arc::new(model.with_api_key("sk-aimock-12345"))
        };
        match self {
            Self::Own => {
                Arc::new(OpenAiCompatible::new(ReqwestTransport::new(), format!("http://{address}/v1")))
            }
            Self::Chat => genai("/v1", AdapterKind::OpenAI),
            Self::Responses => genai("/v1", AdapterKind::OpenAIResp),
            Self::Anthropic => genai("/v1", AdapterKind::Anthropic),
            Self::Gemini => genai("/v1beta", AdapterKind::Gemini),
            Self::Interactions => genai("/v1beta", AdapterKind::GeminiIx),
            Self::Bedrock => genai("", AdapterKind::BedrockApi),
            Self::Ollama => genai("", AdapterKind::Ollama),
        }
    }

    fn api(self) -> &'static str {
        match self {
            Self::Own | Self::Chat => "openai-completions",
            Self::Responses => "openai-responses",
            Self::Anthropic => "anthropic-messages",
            Self::Gemini => "google-generative-ai",
            Self::Interactions => "gemini_ix",
            Self::Bedrock => "bedrock-converse-stream",
            Self::Ollama => "ollama",
        }
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    city: String,
    days: u32,
}

pub(crate) fn weather() -> AgentTool {
    tool_fn("get_weather", "Tells the weather.", async |place: Place, _| {
        Ok(format!("{} days of rain in {}", place.days, place.city))
    })
}

pub(crate) fn block_on<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test ends") })
}

pub(crate) fn roles(transcript: &Transcript) -> Vec<&str> {
    transcript.iter().map(AgentMessage::role).collect()
}

/// Reads a run until three pieces of its answer's text have come, aborts it, and reads it to its end.
pub(crate) async fn abort_in_mid_text(mut run: Run<Streaming>) -> Run<Idle> {
    let mut pieces = 0;
    while let Some(event) = run.next().await {
        pieces += usize::from(event.text_delta().is_some());
        if pieces == 3 {
            run.abort();
        }
    }
    run.finish().await
}

pub(crate) fn answers(transcript: &Transcript) -> Vec<&AssistantMessage> {
    transcript.iter().filter_map(|message| message.as_assistant()).map(|answer| &**answer).collect()
}

pub(crate) fn result_texts(transcript: &Transcript) -> Vec<String> {
    let results = transcript.iter().filter_map(|message| match message {
        AgentMessage::ToolResult(result) => Some(result.texts().collect()),
        _ => None,
    });
    results.collect()
}

/// What aimock itself bends, so that the answer cannot be what the fixture says.
#[derive(Debug, Clone, Copy)]
enum Excuse {
    /// It tells no tokens, or 0.
    NoTokens,
    /// It, or its protocol, gives the answer no id.
    NoId,
    /// It says of no answer with calls that it was cut at its length.
    NoLength,
    /// It leaves reasoning out.
    NoReasoning,
    /// It cuts between the halves of a surrogate pair, which genai does not read.
    CutCharacters,
}

impl Wire {
    fn is_excused(self, excuse: Excuse) -> bool {
        match excuse {
            Excuse::NoTokens => self == Self::Ollama,
            Excuse::NoId => matches!(self, Self::Gemini | Self::Bedrock | Self::Ollama),
            Excuse::NoReasoning => self == Self::Interactions,
            Excuse::NoLength => matches!(self, Self::Interactions | Self::Ollama),
            Excuse::CutCharacters => self != Self::Own,
        }
    }
}

#[test]
fn two_parallel_calls_with_arguments_split_anywhere_run_and_are_answered() {
    // One character in each fragment: every escape is split.
    let calls = |prompt: &str, text: &str, escapes: &str| {
        json!({"match": {"userMessage": prompt, "hasToolResult": false}, "chunkSize": 1, "response": {
            "content": text,
            "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
            "toolCalls": [
                {"id": "call_1", "name": "get_weather", "arguments": format!("{{\"city\":\"Z{escapes}\",\"days\":3}}")},
                {"id": "call_2", "name": "get_weather", "arguments": "{\"days\":1,\"city\":\"東京\"}"}]}})
    };
    let fixtures = json!([
        calls("the weather", "Looking 🙂.", r#"\u00fcrich \"\\ \ud83d\ude42"#),
        calls("this weather", "Looking ü.", r#"\u00fcrich \"\\ \u20ac"#),
        {"match": {"userMessage": "weather", "hasToolResult": true}, "chunkSize": 2, "response": {"content": "It rains."}},
    ]);
    let Some(aimock) = Aimock::start("two_parallel_calls", fixtures) else { return };
    for wire in Wire::ALL {
        block_on(async {
            let (which, text, end) = match wire.is_excused(Excuse::CutCharacters) {
                false => ("the weather", "Looking 🙂.", '🙂'),
                true => ("this weather", "Looking ü.", '€'),
            };
            let run = aimock.run(wire).prompt(format!("What is {which}?")).finish().await;
            assert_eq!(run.state().error(), None, "{wire:?}");
            let transcript = run.transcript();
            assert_eq!(
                roles(transcript),
                ["system", "user", "assistant", "toolResult", "toolResult", "assistant"],
                "{wire:?}"
            );
            let first = format!("3 days of rain in Zürich \"\\ {end}");
            assert_eq!(result_texts(transcript), [&first, "1 days of rain in 東京"], "{wire:?}");
            let answers = answers(transcript);
            assert_eq!(answers[0].texts().collect::<String>(), text, "{wire:?}");
            assert_eq!(answers[0].stop_reason, StopReason::ToolUse, "{wire:?}");
            assert_eq!(answers[1].texts().collect::<String>(), "It rains.", "{wire:?}");
            assert_eq!(answers[1].stop_reason, StopReason::Stop, "{wire:?}");
            let tokens = match wire.is_excused(Excuse::NoTokens) {
                false => Usage::new(11, 7),
                true => Usage::default(),
            };
            assert_eq!(answers[0].usage, tokens, "{wire:?}");
            for answer in answers {
                assert_eq!(answer.response_id.is_none(), wire.is_excused(Excuse::NoId), "{wire:?}");
            }
            // The conversation goes on from there.
            let run = run.prompt(format!("And {which} tomorrow?")).finish().await;
            assert_eq!(run.transcript().len(), 11, "{wire:?} {:?}", run.state().error());
        });
    }
}

#[test]
fn reasoning_becomes_thinking() {
    let fixtures = json!([{"match": {"userMessage": "think"}, "chunkSize": 3,
        "response": {"reasoning": "Let me think.", "content": "42"}}]);
    let Some(aimock) = Aimock::start("reasoning", fixtures) else { return };
    for wire in Wire::ALL.into_iter().filter(|wire| !wire.is_excused(Excuse::NoReasoning)) {
        block_on(async {
            let mut run = aimock.run(wire);
            run.set_thinking_level(ThinkingLevel::High);
            let run = run.prompt("think").finish().await;
            let answer = answers(run.transcript())[0].clone();
            let [AssistantContent::Thinking(thinking), AssistantContent::Text(text)] = &answer.content[..]
            else {
                panic!("{wire:?} {answer:?}")
            };
            assert_eq!((thinking.thinking.as_str(), text.text.as_str()), ("Let me think.", "42"), "{wire:?}");
            assert_eq!(answer.provider_thinking_level.as_deref(), Some("high"), "{wire:?}");
            // It goes back as its protocol wants it.
            let run = run.prompt("think again").finish().await;
            assert_eq!(run.state().error(), None, "{wire:?}");
        });
    }
}

#[test]
fn the_calls_of_an_answer_that_was_cut_do_not_run() {
    let fixtures = json!([
        {"match": {"userMessage": "long", "hasToolResult": false}, "response": {"finishReason": "length",
            "toolCalls": [{"id": "call_1", "name": "get_weather", "arguments": "{\"city\":\"Bern\",\"days\":3}"}]}},
        {"match": {"userMessage": "long", "hasToolResult": true}, "response": {"content": "Shorter."}},
    ]);
    let Some(aimock) = Aimock::start("length", fixtures) else { return };
    for wire in Wire::ALL.into_iter().filter(|wire| !wire.is_excused(Excuse::NoLength)) {
        block_on(async {
            let run = aimock.run(wire).prompt("long").finish().await;
            let transcript = run.transcript();
            assert_eq!(answers(transcript)[0].stop_reason, StopReason::Length, "{wire:?}");
            let results = result_texts(transcript);
            assert!(results.len() == 1 && !results[0].contains("rain"), "{wire:?} {results:?}");
            assert_eq!(answers(transcript)[1].texts().collect::<String>(), "Shorter.", "{wire:?}");
        });
    }
}

#[test]
fn an_error_status_and_an_unmatched_request_end_the_run_with_the_servers_words() {
    let fixtures = json!([
        {"match": {"userMessage": "fast"}, "response": {"status": 429, "retryAfter": 7,
            "error": {"message": "Rate limit reached", "type": "rate_limit_error"}}},
        {"match": {"userMessage": "broken"}, "response": {"status": 500, "error": {"message": "boom"}}},
    ]);
    let Some(aimock) = Aimock::start("errors", fixtures) else { return };
    for wire in Wire::ALL {
        block_on(async {
            for (prompt, text) in [
                (
                    "fast",
                    "the provider answered 429 Too Many Requests: Rate limit reached (it asks to wait 7 s before the next request)",
                ),
                ("broken", "the provider answered 500 Internal Server Error: boom"),
                ("unmatched", "the provider answered 404 Not Found: No fixture matched"),
            ] {
                let run = aimock.run(wire).prompt(prompt).finish().await;
                assert_eq!(run.state().error(), Some(text), "{wire:?}");
                assert_eq!(roles(run.transcript()), ["system", "user", "assistant"], "{wire:?}");
            }
        });
    }
}

#[test]
fn a_server_that_breaks_off_leaves_what_was_there_and_a_run_that_can_be_resumed() {
    let text = "word ".repeat(100);
    let fixtures = json!([{"match": {"userMessage": "break"}, "truncateAfterChunks": 9, "latency": 20, "response": {"content": text}}]);
    let Some(aimock) = Aimock::start("break", fixtures) else { return };
    for wire in Wire::ALL {
        block_on(async {
            let run = aimock.run(wire).prompt("break").finish().await;
            let answer = answers(run.transcript())[0].clone();
            assert_eq!(answer.stop_reason, StopReason::Error, "{wire:?}");
            let said = answer.texts().collect::<String>();
            assert!(said.starts_with("word") && text.starts_with(&said), "{wire:?} {answer:?}");
            assert!(answer.error_message.is_some(), "{wire:?}");
            let run = run.resume().map_err(|_| "refused").unwrap().finish().await;
            assert_eq!(roles(run.transcript()), ["system", "user", "assistant", "assistant"], "{wire:?}");
        });
    }
}

/// Passes one connection on to the server; tells when the client closes it.
async fn relay(listener: TcpListener, server: String) -> bool {
    let (mut client, _) = listener.accept().await.unwrap();
    let mut server = TcpStream::connect(server).await.unwrap();
    let (mut from_client, mut from_server) = (vec![0; 65_536], vec![0; 65_536]);
    loop {
        tokio::select! {
            read = client.read(&mut from_client) => match read {
                Ok(0) | Err(_) => return true,
                Ok(length) => server.write_all(&from_client[..length]).await.unwrap(),
            },
            read = server.read(&mut from_server) => match read {
                Ok(0) | Err(_) => return false,
                Ok(length) => client.write_all(&from_server[..length]).await.unwrap(),
            },
        }
    }
}

#[test]
fn an_abort_in_mid_stream_closes_the_connection() {
    let fixtures = json!([
        {"match": {"userMessage": "slow"}, "latency": 50, "chunkSize": 5, "response": {"content": "word ".repeat(1_000)}},
        {"match": {"userMessage": "again"}, "response": {"content": "Here."}},
    ]);
    let Some(aimock) = Aimock::start("abort", fixtures) else { return };
    for wire in Wire::ALL {
        block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let relayed = tokio::spawn(relay(listener, aimock.address.clone()));
            let mut run = aimock.run_at(&address, wire).prompt("slow");
            let mut pieces = 0;
            while let Some(event) = run.next().await {
                if matches!(event, AgentEvent::MessageUpdate { delta: Delta::Text { .. } }) {
                    pieces += 1;
                    if pieces == 4 {
                        run.abort();
                    }
                }
            }
            assert!(relayed.await.unwrap(), "the client closed the connection, not the server: {wire:?}");
            let run = run.finish().await;
            let answer = answers(run.transcript())[0].clone();
            assert_eq!(answer.stop_reason, StopReason::Aborted, "{wire:?}");
            assert!(answer.texts().collect::<String>().starts_with("word "), "{wire:?}");
        });
    }
}

#[test]
fn a_run_goes_through_a_blocking_socket_without_any_runtime() {
    let fixtures = json!([
        {"match": {"userMessage": "weather", "hasToolResult": false}, "response": {
            "toolCalls": [{"id": "call_1", "name": "get_weather", "arguments": "{\"city\":\"Bern\",\"days\":3}"}]}},
        {"match": {"userMessage": "weather", "hasToolResult": true}, "response": {"content": "It rains."}},
    ]);
    let Some(aimock) = Aimock::start("blocking", fixtures) else { return };
    let url = format!("http://{}/v1", aimock.address);
    let model = OpenAiCompatible::new(crate::blocking::example::BlockingTransport, url);
    let run = Run::builder(model).model(Model::new("aimock", "gpt-4o")).tool(weather()).build();
    let run = futures::executor::block_on(run.prompt("weather").finish());
    assert_eq!(result_texts(run.transcript()), ["3 days of rain in Bern"]);
    assert_eq!(answers(run.transcript())[1].texts().collect::<String>(), "It rains.");
}
