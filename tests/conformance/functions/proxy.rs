//! The proxy: what its client makes of a server's bytes, and what it sends.

use std::sync::Arc;

use futures::StreamExt;
use futures::executor::block_on;
use serde_json::{Map, Value, json};
use turnstate::AbortSignal;
use turnstate::message::{AssistantContent, AssistantMessage, Usage};
use turnstate::model::{Delta, Model, PartialBlock, PartialMessage, Request, RequestOptions, StreamFn};
use turnstate::proxy::ProxyStream;
use turnstate::transcript::Messages;

use super::{Verdict, compared};
use crate::shape::to_json;
use crate::support::{Chunk, Fake, model};

/// Feeds the bytes to the client, and its deltas to a partial message, as the loop's driver does.
pub(super) fn stream(vector: &Value) -> Verdict {
    let abort = AbortSignal::new();
    if vector["abortedAtStart"] == true {
        abort.abort();
    }
    let mut request = Request::new(model(), Messages::new());
    request.abort = abort.clone();
    let proxy = ProxyStream::new(transport(vector, abort), "https://proxy.test", "token");
    let mut deltas = proxy.stream(request);
    let mut answer = PartialMessage::new(AssistantMessage::default());
    let mut events = Vec::new();
    while let Some(delta) = block_on(deltas.next()) {
        let malformed = answer.apply(&delta).err().map(|error| Delta::error(error.to_string()));
        let delta = malformed.unwrap_or(delta);
        events.push(event(&delta, &answer));
        let message = match &delta {
            Delta::Done(done) => answer.finish(done),
            Delta::Error(failure) => answer.fail(failure),
            _ => continue,
        };
        return verdict(&json!({"events": events, "final": final_message(&message)}), vector);
    }
    Verdict::Differs("the answer ended without a terminal delta".to_owned())
}

/// A call whose arguments are no JSON is marked here, so that it never runs with `{}` in their place. The reference
/// shows no mark.
fn verdict(ours: &Value, vector: &Value) -> Verdict {
    let mut unmarked = ours.clone();
    let blocks = unmarked["final"]["content"].as_array_mut().into_iter().flatten();
    let marks = blocks.filter_map(|block| block.as_object_mut()?.remove("argumentsError")).count();
    match compared(&unmarked, vector) {
        Verdict::Agrees if marks > 0 => Verdict::Excused("a call whose arguments cannot be read is marked"),
        verdict => verdict,
    }
}

fn transport(vector: &Value, abort: AbortSignal) -> Fake {
    let chunks = vector["chunks"].as_array().into_iter().flatten().map(|chunk| {
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
    let digits = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    hex.as_bytes().chunks(2).map(digits).collect()
}

fn event(delta: &Delta, answer: &PartialMessage) -> Value {
    let wire = to_json(delta);
    let mut event = json!({"type": wire["type"]});
    for key in ["contentIndex", "delta", "reason"] {
        if let Some(value) = wire.get(key) {
            event[key] = value.clone();
        }
    }
    if let Some(told) = delta.index().and_then(|index| answer.block(index)) {
        event["block"] = block(told);
    }
    event
}

fn block(block: &PartialBlock) -> Value {
    match block {
        PartialBlock::Text(text) => to_json(&AssistantContent::Text(text.clone())),
        PartialBlock::Thinking(thinking) => to_json(&AssistantContent::Thinking(thinking.clone())),
        PartialBlock::ToolCall(call) => json!({
            "type": "toolCall", "id": call.id(), "name": call.name(),
            "arguments": call.arguments().cloned().unwrap_or_default(),
        }),
        other => panic!("a block of no recorded kind: {other:?}"),
    }
}

fn final_message(message: &AssistantMessage) -> Value {
    let mut told = Map::new();
    told.insert("content".into(), to_json(&message.content));
    told.insert("stopReason".into(), to_json(&message.stop_reason));
    if message.usage != Usage::default() {
        told.insert("usage".into(), to_json(&message.usage));
    }
    if let Some(level) = &message.provider_thinking_level {
        told.insert("providerThinkingLevel".into(), level.as_str().into());
    }
    if let Some(text) = message.error_message.as_deref().filter(|text| !text.is_empty()) {
        told.insert("errorMessage".into(), error_token(text));
    }
    told.into()
}

fn error_token(text: &str) -> Value {
    if let Some(answered) = text.strip_prefix("the proxy answered ") {
        return match answered.split_once(": ") {
            Some((_, words)) if !words.starts_with('{') => json!({"error": "proxy_http", "message": words}),
            _ => json!({"error": "proxy_http", "status": answered[..3].parse::<u16>().unwrap()}),
        };
    }
    let token = match text {
        "the request was aborted" => "aborted",
        "the proxy ended its answer before it was complete" => "proxy_closed",
        "the proxy cannot be reached: no route to host" => "proxy_network",
        text if text.starts_with("the proxy sent an event that cannot be read") => "proxy_malformed",
        text if text.starts_with("the model's stream sent a ") => "proxy_protocol",
        said => return said.into(),
    };
    json!({"error": token})
}

/// Sends a request, and shows what arrived. Of the headers those that the reference sends are compared.
pub(super) fn request(vector: &Value) -> Verdict {
    let options = &vector["options"];
    let mut request = Request::new(
        serde_json::from_value::<Model>(vector["model"].clone()).unwrap(),
        serde_json::from_value::<Messages>(vector["context"]["messages"].clone()).unwrap(),
    );
    request.options = Arc::new(serde_json::from_value::<RequestOptions>(options.clone()).unwrap());
    request.thinking_level = serde_json::from_value(options["reasoning"].clone()).unwrap();
    request.api_key = options["apiKey"].as_str().map(Into::into);
    let fake = Fake::ok("");
    let url = options["proxyUrl"].as_str().unwrap();
    let proxy = ProxyStream::new(fake.clone(), url, options["authToken"].as_str().unwrap());
    drop(block_on(proxy.stream(request).next()));
    let sent = fake.request();
    let names = vector["expect"]["headers"].as_object().into_iter().flat_map(Map::keys);
    let headers: Value = names.map(|name| (name.clone(), to_json(&sent.headers.get(name)))).collect();
    let body: Value = serde_json::from_slice(&sent.body).unwrap();
    let ours = json!({"url": sent.url, "method": sent.method, "headers": headers, "body": body});
    compared(&ours, vector)
}
