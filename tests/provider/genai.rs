//! The adapter over genai: what it sends over each wire protocol, and what it makes of what comes back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use turnstate::AbortSignal;
use turnstate::message::{AssistantMessage, StopReason, ThinkingLevel};
use turnstate::model::{Delta, Model, Request, RequestOptions, StreamFn};
use turnstate::provider::genai_crate::adapter::AdapterKind;
use turnstate::provider::genai_crate::chat::ChatOptions;
use turnstate::provider::genai_crate::resolver::AuthData;
use turnstate::provider::genai_crate::{Client, ModelIden};
use turnstate::provider::transport::HttpHeaders;
use turnstate::provider::{Genai, Observer, SystemMessages};

use crate::support::{checked, collect, message_of};

/// What a server got.
struct Got {
    path: String,
    headers: HttpHeaders,
    body: Value,
}

/// A server for one request, on a loopback address.
struct Server {
    listener: TcpListener,
    /// The head but for what is added here, and the body.
    response: (String, String),
    /// Whether the connection stays open when all is sent.
    hangs: bool,
}

impl Server {
    async fn new(head: &str, body: impl Into<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self { listener, response: (head.to_owned(), body.into()), hangs: false }
    }

    /// Answers with a stream of these events.
    async fn streaming(events: &[Value]) -> Self {
        let events: String = events
            .iter()
            .map(|event| match event {
                Value::String(data) => format!("data: {data}\n\n"),
                event => match event["type"].as_str() {
                    Some(name) => format!("event: {name}\ndata: {event}\n\n"),
                    None => format!("data: {event}\n\n"),
                },
            })
            .collect();
        Self::new("200 OK\r\nContent-Type: text/event-stream", events).await
    }

    fn url(&self) -> String {
        format!("http://{}/v1", self.listener.local_addr().unwrap())
    }

    /// Serves the request; ends with the connection.
    async fn serve(self) -> Got {
        let (mut client, _) = self.listener.accept().await.unwrap();
        let got = read_request(&mut client).await;
        let (head, body) = &self.response;
        let head = format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n");
        client.write_all(head.as_bytes()).await.unwrap();
        client.write_all(body.as_bytes()).await.unwrap();
        if self.hangs {
            // Until the client goes away.
            let _ = client.read(&mut [0; 64]).await;
        }
        got
    }
}

async fn read_request(client: &mut TcpStream) -> Got {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 65_536]);
    loop {
        let read = client.read(&mut buffer).await.unwrap();
        assert!(read > 0, "the request is whole");
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let headers: HttpHeaders = head.lines().skip(1).filter_map(|line| line.split_once(": ")).collect();
        if body.len() < headers.get("content-length").unwrap().parse().unwrap() {
            continue;
        }
        let path = head.split_whitespace().nth(1).unwrap().to_owned();
        return Got { path, headers, body: serde_json::from_str(body).unwrap() };
    }
}

fn block_on<F: Future>(test: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime
        .block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("the test ends") })
}

/// Asks a server for one answer.
async fn ask(server: Server, model: Genai, request: Request) -> (AssistantMessage, Got) {
    let served = tokio::spawn(server.serve());
    let deltas = checked(model.stream(request).collect().await);
    (message_of(&deltas), served.await.unwrap())
}

fn request(json: Value) -> Request {
    serde_json::from_value(json).unwrap()
}

fn simple_request() -> Request {
    request(
        json!({"model": {"id": "m", "provider": "p"}, "messages": [{"role": "user", "content": "Hello."}]}),
    )
}

/// A conversation with everything that protocols treat in different ways.
fn conversation(signature: Value) -> Request {
    let call = |id: &str, signature: &Value| json!({"type": "toolCall", "id": id, "name": "look", "arguments": {"at": id}, "thoughtSignature": signature});
    let thinking = json!({"type": "thinking", "thinking": "hm", "thinkingSignature": signature});
    request(json!({
        "model": {"id": "m", "provider": "p", "api": "a"},
        "messages": [
            {"role": "system", "content": "Be terse.", "toolsAdded": [
                {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}]},
            {"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]},
            {"role": "assistant", "model": "m", "provider": "p", "api": "a", "content": [
                thinking, {"type": "text", "text": "I "}, {"type": "text", "text": "look."}, call("c1", &signature), call("c2", &Value::Null)]},
            {"role": "toolResult", "toolCallId": "c1", "toolName": "look", "content": [
                {"type": "text", "text": "seen"}, {"type": "image", "data": "BB==", "mimeType": "image/png"}]},
            {"role": "toolResult", "toolCallId": "c2", "toolName": "look", "isError": true, "content": [{"type": "text", "text": "dark"}]},
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Go on."},
        ],
        "options": {"cacheRetention": "none"},
    }))
}

async fn sent(kind: AdapterKind, request: Request) -> Value {
    let server = Server::new("500 No", "").await;
    let model = Genai::new().with_base_url(server.url()).with_adapter(kind);
    ask(server, model, request).await.1.body
}

#[test]
fn a_conversation_is_sent_to_chat_completions_in_its_order() {
    block_on(async {
        let call = |id: &str| json!({"type": "function", "id": id, "function": {"name": "look", "arguments": format!("{{\"at\":\"{id}\"}}")}});
        let image = |data: &str| json!({"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{data}")}});
        let body = sent(AdapterKind::OpenAI, conversation(json!("reasoning_content"))).await;
        assert_eq!(
            body["messages"],
            json!([
                {"role": "system", "content": "Be terse."},
                {"role": "user", "content": [{"type": "text", "text": "Look."}, image("AA==")]},
                {"role": "assistant", "content": "I look.", "reasoning_content": "hm", "tool_calls": [call("c1"), call("c2")]},
                {"role": "tool", "tool_call_id": "c1", "content": "seen"},
                {"role": "tool", "tool_call_id": "c2", "content": "dark"},
                {"role": "user", "content": [{"type": "text", "text": "(The images of the tool results above, in order:)"}, image("BB==")]},
                {"role": "system", "content": "Be kind."},
                {"role": "user", "content": "Go on."},
            ])
        );
        assert_eq!(body["tools"][0]["function"]["name"], "look");
        assert_eq!(body["stream_options"], json!({"include_usage": true}));
    });
}

#[test]
fn a_conversation_is_sent_to_responses_with_each_reasoning_before_what_followed_it() {
    block_on(async {
        let mut conversation = serde_json::to_value(conversation(json!("enc1"))).unwrap();
        let content = conversation["messages"][2]["content"].as_array_mut().unwrap();
        content.insert(4, json!({"type": "thinking", "thinking": "", "thinkingSignature": "enc2"}));
        let body = sent(AdapterKind::OpenAIResp, request(conversation)).await;
        let reasoning =
            |encrypted: &str| json!({"type": "reasoning", "encrypted_content": encrypted, "summary": []});
        let call = |id: &str| json!({"type": "function_call", "call_id": id, "name": "look", "arguments": format!("{{\"at\":\"{id}\"}}")});
        assert_eq!(body["instructions"], "Be terse.");
        assert_eq!(
            body["input"].as_array().unwrap()[1..6],
            [
                reasoning("enc1"),
                json!({"type": "message", "role": "assistant", "content": [
                    {"type": "output_text", "text": "I "}, {"type": "output_text", "text": "look."}]}),
                call("c1"),
                reasoning("enc2"),
                call("c2"),
            ]
        );
        assert_eq!(body["input"][8]["role"], "user", "the images of the results");
        assert_eq!(body["input"][9], json!({"role": "system", "content": "Be kind."}));
    });
}

#[test]
fn a_conversation_is_sent_to_anthropic_with_its_signatures_and_failed_results() {
    block_on(async {
        let image = |data: &str| json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}});
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "look", "input": {"at": id}});
        let body = sent(AdapterKind::Anthropic, conversation(json!("sig"))).await;
        assert_eq!(body["system"], "Be terse.");
        assert_eq!(
            body["messages"],
            json!([
                {"role": "user", "content": [{"type": "text", "text": "Look."}, image("AA==")]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig"},
                    {"type": "text", "text": "I "}, {"type": "text", "text": "look."}, call("c1"), call("c2")]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": "seen"}, image("BB==")]},
                    {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "dark"}], "is_error": true}]},
                {"role": "user", "content": "<system>\nBe kind.\n</system>"},
                {"role": "user", "content": "Go on."},
            ])
        );
        let mut request = conversation(json!("sig"));
        request.options = Arc::default();
        let body = sent(AdapterKind::Anthropic, request).await;
        let mark = json!({"type": "ephemeral"});
        assert_eq!(body["system"], json!([{"type": "text", "text": "Be terse.", "cache_control": mark}]));
        assert_eq!(body["messages"][4]["content"][0]["cache_control"], mark);
    });
}

#[test]
fn a_conversation_is_sent_to_gemini_with_the_signatures_of_its_parts() {
    block_on(async {
        let body = sent(AdapterKind::Gemini, conversation(json!("sig"))).await;
        assert_eq!(body["systemInstruction"], json!({"parts": [{"text": "Be terse."}]}));
        let contents = body["contents"].as_array().unwrap();
        assert_eq!(
            contents[1],
            json!({"role": "model", "parts": [
                {"text": "I "}, {"text": "look."},
                {"functionCall": {"id": "c1", "name": "look", "args": {"at": "c1"}}, "thoughtSignature": "sig"},
                {"functionCall": {"id": "c2", "name": "look", "args": {"at": "c2"}}},
            ]})
        );
        let result = |id: &str, text: &str| json!({"functionResponse": {"name": "look", "id": id, "response": {"name": "look", "content": text}}});
        assert_eq!(
            contents[2],
            json!({"role": "user", "parts": [result("c1", "seen"), result("c2", "dark")]})
        );
        assert_eq!(contents[4]["parts"][0]["text"], "<system>\nBe kind.\n</system>");
    });
}

#[test]
fn a_conversation_is_sent_to_ollama_with_one_message_for_each_result() {
    block_on(async {
        let body = sent(AdapterKind::Ollama, conversation(Value::Null)).await;
        let messages = body["messages"].as_array().unwrap();
        let texts: Vec<_> = messages.iter().map(|message| (&message["role"], &message["content"])).collect();
        let expected = [
            ("system", "Be terse."),
            ("user", "Look."),
            ("assistant", "I look."),
            ("tool", "seen"),
            ("tool", "dark"),
            ("user", "(The images of the tool results above, in order:)"),
            ("system", "Be kind."),
            ("user", "Go on."),
        ];
        assert_eq!(texts.len(), expected.len());
        for ((role, content), expected) in texts.iter().zip(expected) {
            assert_eq!((role.as_str(), content.as_str()), (Some(expected.0), Some(expected.1)));
        }
        assert_eq!(messages[5]["images"], json!(["BB=="]));
    });
}

#[test]
fn options_become_each_protocols_own() {
    let options = json!({
        "temperature": 0.5, "maxTokens": 99, "toolChoice": {"type": "tool", "name": "look"},
        "samplingParams": {"top_p": 0.9, "seed": 7, "stop": "END", "top_k": 3, "model": "x", "messages": [], "input": "x",
            "contents": [], "tools": [1]}, "metadata": {"user_id": "u"},
        "thinkingBudgets": {"high": 5000},
    });
    block_on(async {
        for (kind, expected) in [
            (
                AdapterKind::OpenAI,
                json!({"temperature": 0.5, "max_tokens": 99, "top_p": 0.9, "seed": 7, "stop": ["END"], "top_k": 3,
                    "metadata": {"user_id": "u"}, "reasoning_effort": "high",
                    "tool_choice": {"type": "function", "function": {"name": "look"}}}),
            ),
            (
                AdapterKind::OpenAIResp,
                json!({"temperature": 0.5, "max_output_tokens": 99, "top_p": 0.9,
                    "reasoning": {"effort": "high", "summary": "detailed"}, "include": ["reasoning.encrypted_content"],
                    "tool_choice": {"type": "function", "name": "look"}, "store": false}),
            ),
            (
                AdapterKind::Anthropic,
                json!({"temperature": 0.5, "max_tokens": 99, "top_p": 0.9, "stop_sequences": ["END"], "top_k": 3,
                    "metadata": {"user_id": "u"}, "thinking": {"type": "enabled", "budget_tokens": 5000},
                    "tool_choice": {"type": "tool", "name": "look"}}),
            ),
            (
                AdapterKind::Gemini,
                json!({"generationConfig": {"temperature": 0.5, "maxOutputTokens": 99, "topP": 0.9, "seed": 7,
                    "stopSequences": ["END"], "thinkingConfig": {"thinkingBudget": 5000, "includeThoughts": true}},
                    "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["look"]}}}),
            ),
            (
                AdapterKind::Ollama,
                json!({"options": {"temperature": 0.5, "top_p": 0.9, "num_predict": 99, "seed": 7, "stop": ["END"]},
                    "think": "high"}),
            ),
        ] {
            let mut request = simple_request();
            request.options = Arc::new(serde_json::from_value(options.clone()).unwrap());
            request.thinking_level = Some(ThinkingLevel::High);
            let body = sent(kind, request).await;
            for (name, value) in expected.as_object().unwrap() {
                assert_eq!(&body[name], value, "{kind:?} {name}: {body}");
            }
            // What would be another request is no sampling parameter.
            assert!(body["tools"] != json!([1]) && body["contents"] != json!([]), "{body}");
            assert!(body["model"] != "x" && body["messages"] != json!([]) && body["input"] != "x", "{body}");
        }
    });
}

#[test]
fn the_models_name_is_sent_as_it_is() {
    block_on(async {
        for (kind, name) in [
            (AdapterKind::Mistral, "mistral-medium"),
            (AdapterKind::OpenAI, "qwen-max"),
            (AdapterKind::OpenAIResp, "gpt-high"),
            (AdapterKind::Ollama, "a-low"),
        ] {
            let mut request = simple_request();
            request.model = Arc::new(Model::new("p", name));
            let body = sent(kind, request).await;
            assert_eq!(body["model"], name);
            assert!(body.get("reasoning_effort").is_none() && body.get("think").is_none(), "{body}");
            assert!(body["reasoning"].get("effort").is_none(), "{body}");
        }
    });
}

#[test]
fn the_key_headers_and_fields_of_the_request_go_over_those_of_the_adapter() {
    block_on(async {
        let server = Server::new("500 No", "").await;
        let model = Genai::new()
            .with_base_url(format!("{}?api-version=1", server.url()))
            .with_adapter(AdapterKind::OpenAI)
            .with_api_key("sk-of-adapter")
            .with_header("X-One", "adapter")
            .with_header("x-two", "adapter")
            .with_body_field("store", true)
            .with_system_messages(SystemMessages::Folded)
            .with_chat_options(ChatOptions::default().with_seed(3).with_temperature(0.1));
        let mut request = conversation(Value::Null);
        request.api_key = Some("sk-of-request".into());
        let mut options: RequestOptions =
            serde_json::from_value(json!({"temperature": 0.5, "headers": {"x-one": "request"}})).unwrap();
        options.identity = Some(turnstate::message::ClientIdentity::this_crate());
        request.options = Arc::new(options);
        let (_, got) = ask(server, model, request).await;
        assert_eq!(got.path, "/v1/chat/completions?api-version=1");
        assert_eq!(got.headers.get("authorization"), Some("Bearer sk-of-request"));
        assert_eq!((got.headers.get("x-one"), got.headers.get("x-two")), (Some("request"), Some("adapter")));
        assert!(got.headers.get("user-agent").unwrap().starts_with("turnstate/"));
        assert_eq!(
            (&got.body["seed"], &got.body["temperature"], &got.body["store"]),
            (&json!(3), &json!(0.5), &json!(true))
        );
        assert_eq!(got.body["messages"][0]["content"], "Be terse.\n\nBe kind.");
    });
}

#[test]
fn a_key_comes_from_the_clients_resolver_or_is_a_placeholder() {
    block_on(async {
        let resolver =
            |_: ModelIden| -> Result<Option<AuthData>, turnstate::provider::genai_crate::resolver::Error> {
                Ok(Some(AuthData::from_single("sk-of-resolver")))
            };
        let client = Client::builder().with_auth_resolver_fn(resolver).build().unwrap();
        for (model, key) in [(Genai::with_client(client), "sk-of-resolver"), (Genai::new(), "no-key")] {
            let server = Server::new("500 No", "").await;
            let model = model.with_base_url(server.url()).with_adapter(AdapterKind::Anthropic);
            let (_, got) = ask(server, model, simple_request()).await;
            assert_eq!((got.path.as_str(), got.headers.get("x-api-key")), ("/v1/messages", Some(key)));
        }
    });
}

#[test]
fn without_a_runtime_the_answer_says_so() {
    let deltas = collect(Genai::new().stream(simple_request()));
    assert_eq!(deltas, [Delta::error("genai needs a running Tokio runtime, and there is none here")]);
}

#[test]
fn a_server_that_is_not_there_is_an_error_without_its_address() {
    block_on(async {
        let model = Genai::new().with_base_url("http://user:pass-word@127.0.0.1:1/?key=secret-key");
        let model = model.with_adapter(AdapterKind::OpenAI);
        let deltas = checked(model.stream(simple_request()).collect().await);
        let error = message_of(&deltas).error_message.unwrap();
        assert!(error.starts_with("the provider cannot be reached: error sending request"), "{error}");
        assert!(error.contains("refused"), "{error}");
        assert!(!error.contains("pass-word") && !error.contains("secret-key"), "{error}");
    });
}

#[test]
fn an_address_that_nothing_can_be_sent_to_is_refused_without_its_password() {
    block_on(async {
        for (url, kind, text) in [
            ("https://me:pw@:1/v1", AdapterKind::OpenAI, "https://:1/v1/"),
            ("me:pw/nowhere?key=k", AdapterKind::OpenAI, "me:pw/nowhere/"),
            ("http://127.0.0.1:1/?a=b", AdapterKind::Anthropic, "query of a base URL"),
            ("http://127.0.0.1:1/", AdapterKind::Baidu, "takes no base URL"),
        ] {
            let model = Genai::new().with_base_url(url).with_adapter(kind);
            let deltas = checked(model.stream(simple_request()).collect().await);
            let error = message_of(&deltas).error_message.unwrap();
            assert!(error.contains(text) && !error.contains("pw@") && !error.contains("key=k"), "{error}");
        }
    });
}

#[test]
fn an_error_status_is_told_in_the_servers_words_without_a_key_that_it_repeats() {
    block_on(async {
        let body = json!({"error": {"message": "bad key sk-12345678, header tok-12345678"}}).to_string();
        let server = Server::new("401 Unauthorized\r\nretry-after-ms: 1500", body).await;
        let seen = Seen::default();
        let model = Genai::new().with_base_url(server.url()).with_adapter(AdapterKind::OpenAI);
        let model = model.with_header("x-token", "tok-12345678").with_observer(seen.clone());
        let mut request = simple_request();
        request.api_key = Some("sk-12345678".into());
        let (answer, _) = ask(server, model, request).await;
        assert_eq!(
            answer.error_message.as_deref(),
            Some(
                "the provider answered 401 Unauthorized: bad key …, header … (it asks to wait 1.5 s before the next request)"
            )
        );
        assert!(answer.diagnostics.is_some());
        assert_eq!(*seen.0.lock().unwrap(), ["401"]);
    });
}

/// Notes what it sees.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Observer for Seen {
    fn response(&self, _: &Model, status: u16, _: &HttpHeaders) {
        self.0.lock().unwrap().push(status.to_string());
    }

    fn event(&self, _: &Model, data: &str) {
        self.0.lock().unwrap().push(data.to_owned());
    }
}

#[test]
fn an_observer_sees_every_event_as_it_was_sent() {
    block_on(async {
        let chunk = json!({"id": "r", "model": "m-1", "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]});
        let server = Server::streaming(&[chunk.clone(), json!("[DONE]")]).await;
        let seen = Seen::default();
        let model = Genai::new().with_base_url(server.url()).with_adapter(AdapterKind::OpenAI);
        let (answer, _) = ask(server, model.with_observer(seen.clone()), simple_request()).await;
        assert_eq!(*seen.0.lock().unwrap(), [chunk.to_string(), "[DONE]".to_owned()]);
        assert_eq!(answer.stop_reason, StopReason::Stop);
        assert_eq!(
            (answer.response_id.as_deref(), answer.response_model.as_deref()),
            (Some("r"), Some("m-1"))
        );
    });
}

#[test]
fn what_breaks_off_or_fails_in_mid_answer_keeps_what_was_there() {
    let early = "the provider ended its answer before it was complete";
    let chat = |text: &str| json!({"id": "r", "choices": [{"index": 0, "delta": {"content": text}}]});
    let gemini = |text: &str| json!({"candidates": [{"content": {"parts": [{"text": text}]}}]});
    let responses = |text: &str| json!({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": text});
    let anthropic = |text: &str| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    block_on(async {
        for (kind, events, error) in [
            (AdapterKind::OpenAI, vec![chat("x")], early),
            (AdapterKind::Gemini, vec![gemini("x")], early),
            (AdapterKind::OpenAIResp, vec![responses("x")], early),
            (AdapterKind::Anthropic, vec![anthropic("x")], early),
            (
                AdapterKind::OpenAI,
                vec![chat("x"), json!({"error": {"message": "boom"}}), json!("[DONE]")],
                "the provider's answer failed: boom",
            ),
            (
                AdapterKind::Anthropic,
                vec![
                    anthropic("x"),
                    json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                ],
                "the provider's answer failed: Overloaded",
            ),
            (
                AdapterKind::OpenAIResp,
                vec![
                    responses("x"),
                    json!({"type": "response.failed", "response": {"id": "r", "status": "failed",
                    "model": "m", "output": [], "error": {"message": "boom"}}}),
                ],
                "the provider's answer failed: boom",
            ),
        ] {
            let server = Server::streaming(&events).await;
            let model = Genai::new().with_base_url(server.url()).with_adapter(kind);
            let (answer, _) = ask(server, model, simple_request()).await;
            assert_eq!(answer.error_message.as_deref(), Some(error), "{kind:?}");
            assert_eq!(answer.texts().collect::<String>(), "x", "{kind:?}");
        }
        let refused = json!({"promptFeedback": {"blockReason": "SAFETY"}});
        let server = Server::streaming(&[refused]).await;
        let model = Genai::new().with_base_url(server.url()).with_adapter(AdapterKind::Gemini);
        let (answer, _) = ask(server, model, simple_request()).await;
        assert_eq!(answer.error_message.as_deref(), Some("the provider refused the prompt: SAFETY"));
    });
}

#[test]
fn anthropics_blocks_keep_their_borders_signatures_and_hidden_thinking() {
    let start = |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let stop = || json!({"type": "content_block_stop", "index": 0});
    let events = [
        json!({"type": "message_start", "message": {"id": "r", "model": "m-1", "usage": {"input_tokens": 10,
            "cache_read_input_tokens": 5, "cache_creation_input_tokens": 3, "output_tokens": 1}}}),
        start(json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(json!({"type": "thinking_delta", "thinking": "a"})),
        delta(json!({"type": "signature_delta", "signature": "s1"})),
        stop(),
        start(json!({"type": "redacted_thinking", "data": "xyz"})),
        stop(),
        start(json!({"type": "thinking", "thinking": "", "signature": ""})),
        delta(json!({"type": "signature_delta", "signature": "s2"})),
        stop(),
        start(json!({"type": "text", "text": ""})),
        delta(json!({"type": "text_delta", "text": "x"})),
        stop(),
        start(json!({"type": "text", "text": ""})),
        delta(json!({"type": "text_delta", "text": "y"})),
        stop(),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}),
        json!({"type": "message_stop"}),
    ];
    block_on(async {
        let server = Server::streaming(&events).await;
        let model = Genai::new().with_base_url(server.url()).with_adapter(AdapterKind::Anthropic);
        let (answer, _) = ask(server, model, simple_request()).await;
        assert_eq!(
            serde_json::to_value(&answer.content).unwrap(),
            json!([
                {"type": "thinking", "thinking": "a", "thinkingSignature": "s1"},
                {"type": "thinking", "thinking": "", "thinkingSignature": "xyz", "redacted": true},
                {"type": "thinking", "thinking": "", "thinkingSignature": "s2"},
                {"type": "text", "text": "x"},
                {"type": "text", "text": "y"},
            ])
        );
        let usage = answer.usage;
        assert_eq!((usage.input, usage.cache_read, usage.cache_write, usage.output), (10, 5, 3, 7));
        assert_eq!(
            (answer.response_id.as_deref(), answer.response_model.as_deref()),
            (Some("r"), Some("m-1"))
        );
    });
}

#[test]
fn an_abort_ends_the_answer_and_closes_the_connection() {
    block_on(async {
        let chunk = json!({"id": "r", "choices": [{"index": 0, "delta": {"content": "x"}}]});
        let mut server = Server::streaming(&[chunk]).await;
        server.hangs = true;
        let model = Genai::new().with_base_url(server.url()).with_adapter(AdapterKind::OpenAI);
        let served = tokio::spawn(server.serve());
        let mut request = simple_request();
        let abort = AbortSignal::new();
        request.abort = abort.clone();
        let mut answer = model.stream(request);
        let mut deltas = Vec::new();
        while let Some(delta) = answer.next().await {
            if matches!(delta, Delta::Text { .. }) {
                abort.abort();
            }
            deltas.push(delta);
        }
        let message = message_of(&checked(deltas));
        assert_eq!(
            (message.stop_reason, message.texts().collect::<String>().as_str()),
            (StopReason::Aborted, "x")
        );
        served.await.unwrap();
    });
}
