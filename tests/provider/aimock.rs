//! Tool-using runs of several turns against aimock, a mock of providers that nobody here wrote.
//!
//! `TURNSTATE_AIMOCK` names its program where it is not where `.ci/services install` puts it.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use turnstate::message::{AgentMessage, AssistantContent, AssistantMessage, StopReason, ThinkingLevel};
use turnstate::model::Model;
use turnstate::provider::{OpenAiCompatible, ReqwestTransport};
use turnstate::tool::{AgentTool, tool_fn};
use turnstate::{AgentEvent, Idle, Run, Transcript};

use crate::services;

/// A server of its own for each test; it ends with it.
struct Aimock {
    server: Child,
    address: String,
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
    fn start(test: &str, fixtures: Value) -> Option<Self> {
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

    fn run(&self) -> Run<Idle> {
        self.run_at(&self.address)
    }

    fn run_at(&self, address: &str) -> Run<Idle> {
        let model = OpenAiCompatible::new(ReqwestTransport::new(), format!("http://{address}/v1"));
        Run::builder(model)
            .model(Model::new("aimock", "gpt-4o").with_api("openai-completions"))
            .system_prompt("You are terse.")
            .tool(weather())
            .build()
    }
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Place {
    city: String,
    days: u32,
}

fn weather() -> AgentTool {
    tool_fn("get_weather", "Tells the weather.", async |place: Place, _| {
        Ok(format!("{} days of rain in {}", place.days, place.city))
    })
}

fn block_on<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test ends") })
}

fn roles(transcript: &Transcript) -> Vec<&str> {
    transcript.iter().map(AgentMessage::role).collect()
}

fn answers(transcript: &Transcript) -> Vec<&AssistantMessage> {
    transcript.iter().filter_map(|message| message.as_assistant()).map(|answer| &**answer).collect()
}

fn result_texts(transcript: &Transcript) -> Vec<String> {
    let results = transcript.iter().filter_map(|message| match message {
        AgentMessage::ToolResult(result) => Some(result.texts().collect()),
        _ => None,
    });
    results.collect()
}

#[test]
fn two_parallel_calls_with_arguments_split_anywhere_run_and_are_answered() {
    // One character in each fragment: every escape is split.
    let fixtures = json!([
        {"match": {"userMessage": "weather", "hasToolResult": false}, "chunkSize": 1, "response": {
            "content": "Looking 🙂.",
            "toolCalls": [
                {"id": "call_1", "name": "get_weather", "arguments": "{\"city\":\"Z\\u00fcrich \\\"\\\\ \\ud83d\\ude42\",\"days\":3}"},
                {"id": "call_2", "name": "get_weather", "arguments": "{\"days\":1,\"city\":\"東京\"}"}]}},
        {"match": {"userMessage": "weather", "hasToolResult": true}, "chunkSize": 2, "response": {"content": "It rains."}},
    ]);
    let Some(aimock) = Aimock::start("two_parallel_calls", fixtures) else { return };
    block_on(async {
        let run = aimock.run().prompt("What is the weather?").finish().await;
        let transcript = run.transcript();
        assert_eq!(
            roles(transcript),
            ["system", "user", "assistant", "toolResult", "toolResult", "assistant"]
        );
        assert_eq!(result_texts(transcript), ["3 days of rain in Zürich \"\\ 🙂", "1 days of rain in 東京"]);
        let answers = answers(transcript);
        assert_eq!(answers[0].texts().collect::<String>(), "Looking 🙂.");
        assert_eq!(answers[0].stop_reason, StopReason::ToolUse);
        assert_eq!(answers[1].texts().collect::<String>(), "It rains.");
        assert_eq!(answers[1].stop_reason, StopReason::Stop);
        assert!(answers.iter().all(|answer| answer.usage.total_tokens > 0 && answer.response_id.is_some()));
        // The conversation goes on from there.
        let run = run.prompt("And the weather tomorrow?").finish().await;
        assert_eq!(run.transcript().len(), 11);
    });
}

#[test]
fn reasoning_becomes_thinking() {
    let fixtures = json!([{"match": {"userMessage": "think"}, "chunkSize": 3,
        "response": {"reasoning": "Let me think.", "content": "42"}}]);
    let Some(aimock) = Aimock::start("reasoning", fixtures) else { return };
    block_on(async {
        let mut run = aimock.run();
        run.set_thinking_level(ThinkingLevel::High);
        let run = run.prompt("think").finish().await;
        let answer = answers(run.transcript())[0].clone();
        let [AssistantContent::Thinking(thinking), AssistantContent::Text(text)] = &answer.content[..] else {
            panic!("{answer:?}")
        };
        assert_eq!((thinking.thinking.as_str(), text.text.as_str()), ("Let me think.", "42"));
        assert_eq!(answer.provider_thinking_level.as_deref(), Some("high"));
    });
}

#[test]
fn the_calls_of_an_answer_that_was_cut_do_not_run() {
    let fixtures = json!([
        {"match": {"userMessage": "long", "hasToolResult": false}, "response": {"finishReason": "length",
            "toolCalls": [{"id": "call_1", "name": "get_weather", "arguments": "{\"city\":\"Bern\",\"days\":3}"}]}},
        {"match": {"userMessage": "long", "hasToolResult": true}, "response": {"content": "Shorter."}},
    ]);
    let Some(aimock) = Aimock::start("length", fixtures) else { return };
    block_on(async {
        let run = aimock.run().prompt("long").finish().await;
        let transcript = run.transcript();
        assert_eq!(answers(transcript)[0].stop_reason, StopReason::Length);
        let results = result_texts(transcript);
        assert!(results.len() == 1 && !results[0].contains("rain"), "{results:?}");
        assert_eq!(answers(transcript)[1].texts().collect::<String>(), "Shorter.");
    });
}

#[test]
fn an_error_status_and_an_unmatched_request_end_the_run_with_the_servers_words() {
    let fixtures = json!([
        {"match": {"userMessage": "fast"}, "response": {"status": 429, "retryAfter": 7,
            "error": {"message": "Rate limit reached", "type": "rate_limit_error"}}},
        {"match": {"userMessage": "broken"}, "response": {"status": 500, "error": {"message": "boom"}}},
    ]);
    let Some(aimock) = Aimock::start("errors", fixtures) else { return };
    block_on(async {
        for (prompt, text) in [
            (
                "fast",
                "the provider answered 429 Too Many Requests: Rate limit reached (it asks to wait 7 s before the next request)",
            ),
            ("broken", "the provider answered 500 Internal Server Error: boom"),
            ("unmatched", "the provider answered 404 Not Found: No fixture matched"),
        ] {
            let run = aimock.run().prompt(prompt).finish().await;
            assert_eq!(run.state().error(), Some(text));
            assert_eq!(roles(run.transcript()), ["system", "user", "assistant"]);
        }
    });
}

#[test]
fn a_server_that_breaks_off_leaves_what_was_there_and_a_run_that_can_be_resumed() {
    let text = "word ".repeat(100);
    let fixtures = json!([{"match": {"userMessage": "break"}, "truncateAfterChunks": 5, "latency": 20, "response": {"content": text}}]);
    let Some(aimock) = Aimock::start("break", fixtures) else { return };
    block_on(async {
        let run = aimock.run().prompt("break").finish().await;
        let answer = answers(run.transcript())[0].clone();
        assert_eq!(answer.stop_reason, StopReason::Error);
        assert!(text.starts_with(&answer.texts().collect::<String>()), "{answer:?}");
        assert!(answer.texts().collect::<String>().starts_with("word"), "{answer:?}");
        assert!(answer.error_message.is_some());
        let run = run.resume().map_err(|_| "refused").unwrap().finish().await;
        assert_eq!(roles(run.transcript()), ["system", "user", "assistant", "assistant"]);
    });
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
    block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let relayed = tokio::spawn(relay(listener, aimock.address.clone()));
        let mut run = aimock.run_at(&address).prompt("slow");
        let mut updates = 0;
        while let Some(event) = run.next().await {
            if matches!(event, AgentEvent::MessageUpdate { .. }) {
                updates += 1;
                if updates == 6 {
                    run.abort();
                }
            }
        }
        assert!(relayed.await.unwrap(), "the client closed the connection, not the server");
        let run = run.finish().await;
        let answer = answers(run.transcript())[0].clone();
        assert_eq!(answer.stop_reason, StopReason::Aborted);
        assert!(answer.texts().collect::<String>().starts_with("word "));
    });
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
