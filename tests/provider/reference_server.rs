//! Our proxy client against a proxy server made of the reference's own model library, live and recorded.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use turnstate::message::{AssistantContent, AssistantMessage, StopReason, ThinkingLevel, Usage};
use turnstate::model::{Delta, Model};
use turnstate::provider::ReqwestTransport;
use turnstate::proxy::{ProxyDecoder, ProxyStream};
use turnstate::{Idle, Run};

use crate::aimock::{Aimock, abort_in_mid_text, answers, block_on, result_texts, roles, weather};
use crate::services;
use crate::support::{checked, message_of};

/// What the library speaks to the provider: its events differ in order and in what they carry.
const APIS: [&str; 3] = ["anthropic-messages", "openai-completions", "openai-responses"];
const TOKEN: &str = "a-token-of-length";

/// A server of its own for each test; it ends with it.
struct Server {
    process: Child,
    script: PathBuf,
    url: String,
    told: Receiver<Value>,
    _upstream: Aimock,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = std::fs::remove_file(&self.script);
    }
}

impl Server {
    /// Starts it; `None` where its parts are not installed.
    fn start(test: &str) -> Option<Self> {
        services::find(test, "node_modules/@earendil-works/pi-agent-core/package.json")?;
        let fixtures: Value = serde_json::from_str(include_str!("recordings/proxy.fixtures.json")).unwrap();
        let upstream = Aimock::start(test, fixtures["fixtures"].clone())?;
        // Beside the packages, where the script's imports are looked for.
        let script = services::folder().join(format!("reference_server-{}-{test}.mjs", std::process::id()));
        std::fs::write(&script, include_str!("reference_server.mjs")).unwrap();
        let mut process = Command::new("node")
            .arg(&script)
            .args(["serve", &format!("http://{}", upstream.address), TOKEN])
            // It ends when this end of its input does, even if nobody is left to kill it.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let (tell, told) = channel();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let _ = tell.send(serde_json::from_str(&line).unwrap());
            }
        });
        let mut server = Self { process, script, url: String::new(), told, _upstream: upstream };
        server.url = server.tells()["url"].as_str().unwrap().to_owned();
        Some(server)
    }

    /// What it tells next.
    fn tells(&self) -> Value {
        self.told.recv_timeout(Duration::from_secs(30)).expect("the server tells something")
    }

    fn run(&self, api: &str, token: &str) -> Run<Idle> {
        Run::builder(ProxyStream::new(ReqwestTransport::new(), &self.url, token))
            .model(Model::new("aimock", "m1").with_api(api))
            .system_prompt("You are terse.")
            .thinking_level(ThinkingLevel::High)
            .tool(weather())
            .build()
    }
}

#[test]
fn a_run_gets_thinking_text_and_two_calls_and_sends_all_of_it_back_with_the_results() {
    let Some(server) = Server::start("reference_server_calls") else { return };
    for api in APIS {
        block_on(async {
            let run = server.run(api, TOKEN).prompt("What is the weather?").finish().await;
            assert_eq!(run.state().error(), None, "{api}");
            let transcript = run.transcript();
            let expected = ["system", "user", "assistant", "toolResult", "toolResult", "assistant"];
            assert_eq!(roles(transcript), expected, "{api}");
            let results = ["3 days of rain in Zürich \"\\ 🙂🙂", "1 days of rain in 東京"];
            assert_eq!(result_texts(transcript), results, "{api}");
            let [calls, last] = answers(transcript)[..] else { panic!("{api}: two answers") };
            // The ids and marks are new in every answer, but for these the message is the recorded one.
            let mut recorded: AssistantMessage = serde_json::from_value(read_by_the_reference(api)).unwrap();
            recorded.content = with_marks_of(recorded.content, calls);
            assert_eq!(calls.content, recorded.content, "{api}");
            assert_eq!(calls.usage, recorded.usage, "{api}");
            assert_eq!(calls.stop_reason, StopReason::ToolUse, "{api}");
            assert_eq!(last.texts().collect::<String>(), "It rains 🙂.", "{api}");
            assert_eq!(last.stop_reason, StopReason::Stop, "{api}");
            assert_eq!((last.usage.input, last.usage.output), (30, 5), "{api}");

            let (first, second) = (server.tells(), server.tells());
            assert_eq!((&first["reason"], &second["reason"]), (&json!("toolUse"), &json!("stop")), "{api}");
            assert_eq!(first["body"]["options"], json!({"reasoning": "high"}), "{api}");
            let system = &first["body"]["context"]["messages"][0];
            assert_eq!(system["toolsAdded"][0]["name"], "get_weather", "{api}");
            let sent = second["body"]["context"]["messages"].as_array().unwrap();
            assert_eq!(sent.len(), 5, "{api}");
            assert_eq!(sent[2]["content"], serde_json::to_value(&calls.content).unwrap(), "{api}");
            let texts = [&sent[3]["content"][0]["text"], &sent[4]["content"][0]["text"]];
            assert_eq!(texts, results, "{api}");
        });
    }
}

/// The content with the marks and ids of this answer, which must have them exactly where the content has them.
fn with_marks_of(content: Vec<AssistantContent>, answer: &AssistantMessage) -> Vec<AssistantContent> {
    assert_eq!(content.len(), answer.content.len());
    let mut content = content;
    for (block, answered) in content.iter_mut().zip(&answer.content) {
        match (block, answered) {
            (AssistantContent::Thinking(block), AssistantContent::Thinking(answered)) => {
                assert!(answered.thinking_signature.as_ref().is_some_and(|mark| !mark.is_empty()));
                block.thinking_signature.clone_from(&answered.thinking_signature);
            }
            (AssistantContent::Text(block), AssistantContent::Text(answered)) => {
                assert_eq!(block.text_signature.is_some(), answered.text_signature.is_some());
                block.text_signature.clone_from(&answered.text_signature);
            }
            (AssistantContent::ToolCall(block), AssistantContent::ToolCall(answered)) => {
                assert_eq!(block.id[..6], answered.id[..6]);
                Arc::make_mut(block).id.clone_from(&answered.id);
            }
            (block, answered) => panic!("{block:?} is not of the kind of {answered:?}"),
        }
    }
    content
}

#[test]
fn a_failed_answer_keeps_the_servers_words_and_what_was_there() {
    let Some(server) = Server::start("reference_server_errors") else { return };
    for api in APIS {
        block_on(async {
            for (prompt, words, said) in [
                ("fail", "no credits left", ""),
                ("unmatched", "No fixture matched", ""),
                ("break", "terminated: other side closed", "one two"),
            ] {
                let run = server.run(api, TOKEN).prompt(prompt).finish().await;
                let error = run.state().error().unwrap_or_default();
                assert!(error.contains(words), "{api} {prompt}: {error}");
                assert_eq!(roles(run.transcript()), ["system", "user", "assistant"], "{api} {prompt}");
                let answer = answers(run.transcript())[0];
                assert_eq!(answer.stop_reason, StopReason::Error, "{api} {prompt}");
                let text = answer.texts().collect::<String>();
                assert!(
                    text.starts_with(said) && text.is_empty() == said.is_empty(),
                    "{api} {prompt}: {text}"
                );
                let told = server.tells();
                assert_eq!(told["reason"], "error", "{api} {prompt}");
                assert_eq!(told["clientWentAway"], false, "{api} {prompt}");
            }
            let run = server.run(api, "another-token").prompt("weather").finish().await;
            let error = "the proxy answered 401 Unauthorized: who are you?";
            assert_eq!(run.state().error(), Some(error), "{api}");
        });
    }
}

#[test]
fn an_abort_in_mid_stream_closes_the_connection_and_the_server_sees_it() {
    let Some(server) = Server::start("reference_server_abort") else { return };
    for api in APIS {
        block_on(async {
            let run = abort_in_mid_text(server.run(api, TOKEN).prompt("slow")).await;
            let answer = answers(run.transcript())[0];
            assert_eq!(answer.stop_reason, StopReason::Aborted, "{api}");
            assert_eq!(answer.texts().collect::<String>(), "one tw", "{api}");
            let told = server.tells();
            assert_eq!(
                (&told["reason"], &told["clientWentAway"]),
                (&json!("aborted"), &json!(true)),
                "{api}"
            );
        });
    }
}

fn recording(api: &str) -> &'static [u8] {
    match api {
        "anthropic-messages" => include_bytes!("recordings/proxy-anthropic-messages.sse"),
        "openai-completions" => include_bytes!("recordings/proxy-openai-completions.sse"),
        _ => include_bytes!("recordings/proxy-openai-responses.sse"),
    }
}

/// The recorded answer as the reference's own client read it.
fn read_by_the_reference(api: &str) -> Value {
    let read = match api {
        "anthropic-messages" => include_str!("recordings/proxy-anthropic-messages.json"),
        "openai-completions" => include_str!("recordings/proxy-openai-completions.json"),
        _ => include_str!("recordings/proxy-openai-responses.json"),
    };
    without_what_a_client_knows(serde_json::from_str(read).unwrap())
}

fn without_what_a_client_knows(mut message: Value) -> Value {
    for own in ["role", "api", "provider", "model", "timestamp", "durationMs"] {
        message.as_object_mut().unwrap().remove(own);
    }
    message
}

/// The deltas of an answer that comes in these chunks; what is ready is taken after each.
fn deltas<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<Delta> {
    let mut decoder = ProxyDecoder::new();
    let mut deltas = Vec::new();
    for chunk in chunks {
        decoder.push(chunk);
        deltas.extend(std::iter::from_fn(|| decoder.next_delta()));
    }
    decoder.finish();
    deltas.extend(std::iter::from_fn(|| decoder.next_delta()));
    checked(deltas)
}

#[test]
fn the_recorded_answers_of_the_references_server_read_the_same_at_every_border_of_chunks() {
    for api in APIS {
        let recording = recording(api);
        let whole = deltas([recording]);
        // As it is saved: nothing is lost that the server told.
        let saved = serde_json::to_value(message_of(&whole)).unwrap();
        assert_eq!(without_what_a_client_knows(saved), read_by_the_reference(api), "{api}");
        assert_eq!(deltas(recording.chunks(1)), whole, "{api}, byte by byte");
        for at in 0..=recording.len() {
            let (before, after) = recording.split_at(at);
            assert_eq!(deltas([before, after]), whole, "{api}, split at {at}");
        }
    }
}

/// Also written down here, so that nothing depends on how a stored message is read.
#[test]
fn the_recorded_answer_holds_what_the_provider_said() {
    let message = message_of(&deltas([recording("anthropic-messages")]));
    let content = json!([
        {"type": "thinking", "thinking": "Two cities: Zürich, 東京. 🙂🙂",
         "thinkingSignature": "aimock-placeholder-signature"},
        {"type": "text", "text": "Grüße 🙂🙂 東京:\r\n\u{2028}let me \"look\"."},
        {"type": "toolCall", "id": "call_1", "name": "get_weather",
         "arguments": {"city": "Zürich \"\\ 🙂🙂", "days": 3}},
        {"type": "toolCall", "id": "call_2", "name": "get_weather", "arguments": {"days": 1, "city": "東京"}},
    ]);
    assert_eq!(serde_json::to_value(&message.content).unwrap(), content);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    let mut usage = Usage::new(11, 7);
    usage.cache_write_1h = Some(0);
    usage.cost = message.usage.cost;
    assert_eq!(message.usage, usage);
    assert_eq!((usage.cost.input, usage.cost.output), (0.000_011, 0.000_014));
}
