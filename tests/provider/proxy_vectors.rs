//! The reference traces of the proxy: what its client makes of a server's bytes, and what it sends.

use std::sync::Arc;

use futures::StreamExt;
use serde_json::{Value, json};
use turnstate::AbortSignal;
use turnstate::message::{AssistantContent, AssistantMessage, StopReason, ThinkingLevel};
use turnstate::model::{Delta, Failure, PartialBlock, PartialMessage, Request, RequestOptions, StreamFn};
use turnstate::proxy::{ProxyStream, parse_request, request_body};
use turnstate::transcript::Messages;

use crate::support::{Chunk, Fake, model};

fn vectors(text: &str) -> Vec<Value> {
    let file: Value = serde_json::from_str(text).unwrap();
    file["vectors"].as_array().unwrap().clone()
}

#[test]
fn the_clients_reading_of_an_answer_is_that_of_the_reference() {
    let vectors = vectors(include_str!("../conformance/vectors/proxy_stream.json"));
    assert_eq!(vectors.len(), 38);
    let mut unreadable_arguments = 0;
    for (number, vector) in vectors.iter().enumerate() {
        let (events, mut last) = replay(vector);
        let mut expected = vector["expect"].clone();
        // One answer differs by decision: a call whose arguments are no JSON is marked, so that it never runs with `{}`
        // in their place.
        for block in last["content"].as_array_mut().unwrap() {
            let mark = block.as_object_mut().unwrap().remove("argumentsError");
            unreadable_arguments += usize::from(mark.is_some());
        }
        let expected_events = expected["events"].take();
        assert_eq!(json!(events), expected_events, "the events of vector {number}: {vector}");
        assert_eq!(last, expected["final"], "the message of vector {number}: {vector}");
    }
    assert_eq!(unreadable_arguments, 1);
}

/// Feeds the bytes of a vector to the client, and its deltas to a partial message, as the loop's driver does.
fn replay(vector: &Value) -> (Vec<Value>, Value) {
    let abort = AbortSignal::new();
    if vector["abortedAtStart"] == true {
        abort.abort();
    }
    let mut request = Request::new(model(), Messages::new());
    request.abort = abort.clone();
    let proxy = ProxyStream::new(transport(vector, abort), "https://proxy.test", "token");
    let mut answer = PartialMessage::new(AssistantMessage::default());
    let mut events = Vec::new();
    let mut deltas = proxy.stream(request);
    while let Some(delta) = futures::executor::block_on(deltas.next()) {
        let malformed = answer.apply(&delta).err().map(|error| Delta::error(error.to_string()));
        let delta = malformed.unwrap_or(delta);
        events.push(event(&delta, &answer));
        match &delta {
            Delta::Done(done) => return (events, message(answer.finish(done))),
            Delta::Error(failure) => return (events, message(answer.fail(failure))),
            _ => {}
        }
    }
    panic!("the answer ended without a terminal delta")
}

fn transport(vector: &Value, abort: AbortSignal) -> Fake {
    let chunks = vector["chunks"].as_array().unwrap().iter().map(|chunk| {
        let text = chunk["text"].as_str().map(|text| text.as_bytes().to_vec());
        Chunk::Bytes(text.unwrap_or_else(|| from_hex(chunk["hex"].as_str().unwrap())))
    });
    let status = vector["status"].as_u64().map_or(200, |status| status.try_into().unwrap());
    let mut fake = Fake::new(status, chunks);
    if let Some(body) = vector["body"].as_str() {
        fake.chunks = vec![Chunk::Bytes(body.into())];
    }
    if vector["networkError"] == true {
        fake.unreachable = Some("no route to host".to_owned());
    }
    if let Some(chunk) = vector["abortBeforeChunk"].as_u64() {
        fake.on_read = Some(Arc::new(move |read| {
            if read as u64 == chunk {
                abort.abort();
            }
        }));
    }
    fake
}

fn from_hex(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// An event in the form of the traces.
fn event(delta: &Delta, answer: &PartialMessage) -> Value {
    let wire = serde_json::to_value(delta).unwrap();
    let mut event = json!({ "type": wire["type"] });
    for key in ["contentIndex", "delta", "reason"] {
        if let Some(value) = wire.get(key) {
            event[key] = value.clone();
        }
    }
    if let Some(block) = delta.index().and_then(|index| answer.block(index)) {
        event["block"] = match block {
            PartialBlock::Text(text) => json!(AssistantContent::Text(text.clone())),
            PartialBlock::Thinking(thinking) => json!(AssistantContent::Thinking(thinking.clone())),
            PartialBlock::ToolCall(call) => json!({
                "type": "toolCall", "id": call.id(), "name": call.name(),
                "arguments": call.arguments().cloned().unwrap_or_default(),
            }),
            _ => unreachable!("the kinds of blocks are known"),
        };
    }
    event
}

/// A message in the form of the traces: texts of this crate's own become tokens.
fn message(message: AssistantMessage) -> Value {
    let mut value = json!({ "content": message.content, "stopReason": message.stop_reason });
    if message.usage != Default::default() {
        value["usage"] = json!(message.usage);
    }
    if let Some(level) = message.provider_thinking_level {
        value["providerThinkingLevel"] = json!(level);
    }
    match message.error_message.as_deref() {
        None | Some("") => {}
        Some(text) => value["errorMessage"] = error_token(text),
    }
    value
}

fn error_token(text: &str) -> Value {
    if let Some(answered) = text.strip_prefix("the proxy answered ") {
        return match answered.split_once(": ") {
            Some((_, words)) if !words.starts_with('{') => json!({ "error": "proxy_http", "message": words }),
            _ => json!({ "error": "proxy_http", "status": answered[..3].parse::<u16>().unwrap() }),
        };
    }
    let token = match text {
        "the request was aborted" => "aborted",
        "the proxy ended its answer before it was complete" => "proxy_closed",
        "the proxy cannot be reached: no route to host" => "proxy_network",
        text if text.starts_with("the proxy sent an event that cannot be read") => "proxy_malformed",
        text if text.starts_with("the model's stream sent a ") => "proxy_protocol",
        said => return json!(said),
    };
    json!({ "error": token })
}

#[test]
fn the_clients_request_is_that_of_the_reference() {
    let vectors = vectors(include_str!("../conformance/vectors/proxy_request.json"));
    assert_eq!(vectors.len(), 4);
    for vector in vectors {
        let options = &vector["options"];
        let mut request = Request::new(
            serde_json::from_value::<turnstate::model::Model>(vector["model"].clone()).unwrap(),
            serde_json::from_value::<Messages>(vector["context"]["messages"].clone()).unwrap(),
        );
        request.options = Arc::new(serde_json::from_value::<RequestOptions>(options.clone()).unwrap());
        request.thinking_level = serde_json::from_value(options["reasoning"].clone()).unwrap();
        request.api_key = options["apiKey"].as_str().map(Into::into);
        let fake = Fake::ok("");
        let url = options["proxyUrl"].as_str().unwrap();
        let proxy = ProxyStream::new(fake.clone(), url, options["authToken"].as_str().unwrap());
        drop(futures::executor::block_on(proxy.stream(request).next()));
        let (sent, expected) = (fake.request(), &vector["expect"]);
        assert_eq!(sent.method, expected["method"]);
        assert_eq!(sent.url, expected["url"].as_str().unwrap());
        for (name, value) in expected["headers"].as_object().unwrap() {
            assert_eq!(sent.headers.get(name), value.as_str(), "{name}");
        }
        let body: Value = serde_json::from_slice(&sent.body).unwrap();
        let mut expected = expected["body"].clone();
        // Numbers are compared by value: the temperature is a floating-point number here.
        if expected["options"]["temperature"] == 0 {
            expected["options"]["temperature"] = json!(0.0);
        }
        assert_eq!(body, expected);
    }
}

#[test]
fn the_server_reads_what_the_client_wrote() {
    let messages = json!([
        {"role": "system", "content": "s", "timestamp": 0,
         "toolsAdded": [{"name": "t", "description": "d", "parameters": {"type": "object"}}]},
        {"role": "user", "content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}], "timestamp": 1},
    ]);
    let mut request = Request::new(model(), serde_json::from_value::<Messages>(messages).unwrap());
    request.thinking_level = Some(ThinkingLevel::Xhigh);
    request.options = Arc::new(
        serde_json::from_value(json!({
            "temperature": 0.5, "toolChoice": "auto", "headers": {"X-A": "1"}, "disableContinuation": true,
            "thinkingBudgets": {"low": 100}, "samplingParams": {"topP": 0.5}, "transport": "sse",
        }))
        .unwrap(),
    );
    request.api_key = Some("provider-key".into());
    let body = request_body(&request).unwrap();
    assert!(!String::from_utf8_lossy(&body).contains("provider-key"));
    let read = parse_request(&body).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(&request).unwrap());
}

#[test]
fn a_body_that_is_no_request_is_refused_with_the_place() {
    for (body, text) in [
        ("", "EOF while parsing a value at line 1 column 0"),
        ("{}", "missing field `model` at line 1 column 2"),
        (
            r#"{"model":{"id":"m"},"context":{"messages":[{"role":"nope"}]}}"#,
            "context.messages[0]: unknown role `nope`",
        ),
        (
            r#"{"model":{"id":"m"},"context":{},"options":{"maxTokens":"x"}}"#,
            "options: invalid type: string \"x\"",
        ),
    ] {
        let error = parse_request(body.as_bytes()).unwrap_err().to_string();
        assert!(error.starts_with("the body is not a request to a proxy: "), "{error}");
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn an_error_without_a_text_stays_one() {
    let proxy =
        ProxyStream::new(Fake::ok(r#"data: {"type":"error","reason":"aborted"}"#), "http://p", "token");
    let deltas = crate::support::collect(proxy.stream(Request::new(model(), Messages::new())));
    assert_eq!(deltas, [Delta::from(Failure::aborted(""))]);
    assert_eq!(crate::support::message_of(&deltas).stop_reason, StopReason::Aborted);
}
