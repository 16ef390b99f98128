//! The adapter for chat completions: what it sends, and what it makes of the odd things that servers send.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use turnstate::message::{AssistantContent, AssistantMessage, StopReason, ThinkingLevel, ToolCall, Usage};
use turnstate::model::{ApiKey, Delta, Headers, Model, Request, RequestOptions, StreamFn};
use turnstate::provider::transport::HttpHeaders;
use turnstate::provider::{CallIds, Observer, OpenAiCompatible, SystemMessages};
use turnstate::transcript::Messages;

use crate::support::{Fake, collect, message_of, model};

/// A stream of these chunks and its end.
fn events(chunks: &[Value]) -> String {
    let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
    format!("{events}data: [DONE]\n\n")
}

/// A stream of these pieces of one choice, which ends for `reason`.
fn completion(pieces: &[Value], reason: &str) -> String {
    let mut chunks: Vec<Value> =
        pieces.iter().map(|piece| json!({"id": "r1", "choices": [{"index": 0, "delta": piece}]})).collect();
    chunks.push(json!({"id": "r1", "choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    events(&chunks)
}

fn answer(body: impl Into<Vec<u8>>) -> AssistantMessage {
    let server = OpenAiCompatible::new(Fake::ok(body), "http://server/v1");
    message_of(&collect(server.stream(Request::new(model(), Messages::new()))))
}

fn call_piece(fields: Value) -> Value {
    json!({ "tool_calls": [fields] })
}

fn call(id: &str, name: &str, arguments: Value) -> AssistantContent {
    let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
    ToolCall::new(id, name, arguments).into()
}

#[test]
fn blocks_come_in_the_order_in_which_they_begin() {
    let body = completion(
        &[
            json!({"role": "assistant", "content": ""}),
            json!({"reasoning_content": "Let me "}),
            json!({"reasoning_content": "think."}),
            json!({"content": "Grüße "}),
            json!({"content": "🙂"}),
            call_piece(json!({"index": 0, "id": "c1", "function": {"name": "read", "arguments": ""}})),
            call_piece(json!({"index": 1, "id": "c2", "function": {"name": "read", "arguments": "{\"p\":"}})),
            call_piece(json!({"index": 0, "function": {"arguments": "{\"p\":\"\\u"}})),
            call_piece(json!({"index": 1, "function": {"arguments": "2}"}})),
            call_piece(json!({"index": 0, "function": {"arguments": "20ac\"}"}})),
        ],
        "tool_calls",
    );
    let message = answer(body);
    let [AssistantContent::Thinking(thinking), rest @ ..] = &message.content[..] else {
        panic!("{message:?}")
    };
    assert_eq!(thinking.thinking, "Let me think.");
    assert_eq!(thinking.thinking_signature.as_deref(), Some("reasoning_content"));
    assert_eq!(
        rest,
        [
            AssistantContent::text("Grüße 🙂"),
            call("c1", "read", json!({"p": "€"})),
            call("c2", "read", json!({"p": 2})),
        ]
    );
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert_eq!(message.raw_stop_reason.as_deref(), Some("tool_calls"));
    assert_eq!(message.response_id.as_deref(), Some("r1"));
}

#[test]
fn reasoning_details_are_blocks_and_go_back_as_they_came() {
    let detail = |fields: Value| json!({ "reasoning": "a", "reasoning_details": [fields] });
    let body = completion(
        &[
            detail(
                json!({"type": "reasoning.text", "text": "a", "index": 0, "format": "f", "signature": null}),
            ),
            detail(json!({"type": "reasoning.text", "text": "b", "index": 0, "format": "f"})),
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "sig"}]}),
            json!({"reasoning_details": [{"type": "reasoning.summary", "summary": "s", "index": 1}]}),
            json!({"content": "x"}),
            json!({"reasoning_details": [{"type": "reasoning.encrypted", "data": "xyz", "id": "c", "index": 2}]}),
            json!({"reasoning_details": "odd"}),
            json!({"reasoning_details": [7, {"no": "type"}]}),
        ],
        "stop",
    );
    let message = answer(body);
    let texts: Vec<_> = message
        .content
        .iter()
        .map(|block| match block {
            AssistantContent::Thinking(thinking) => thinking.thinking.as_str(),
            AssistantContent::Text(text) => text.text.as_str(),
            _ => panic!("{message:?}"),
        })
        .collect();
    assert_eq!(texts, ["ab", "s", "x", ""]);
    let mut message = serde_json::to_value(message).unwrap();
    for (name, value) in [("model", "m1"), ("provider", "p-m1"), ("api", "a")] {
        message[name] = value.into();
    }
    let messages: Messages = serde_json::from_value(json!([message])).unwrap();
    let fake = Fake::ok(completion(&[], "stop"));
    let server = OpenAiCompatible::new(fake.clone(), "http://server/v1");
    drop(collect(server.stream(Request::new(model(), messages))));
    let sent: Value = serde_json::from_slice(&fake.request().body).unwrap();
    assert_eq!(
        sent["messages"],
        json!([{"role": "assistant", "content": "x", "reasoning_details": [
            {"type": "reasoning.text", "text": "ab", "index": 0, "format": "f", "signature": "sig"},
            {"type": "reasoning.summary", "summary": "s", "index": 1},
            {"type": "reasoning.encrypted", "data": "xyz", "id": "c", "index": 2},
        ]}])
    );
}

#[test]
fn why_an_answer_ended_is_decided_by_its_calls_and_its_length() {
    let text = json!({"content": "x"});
    let one_call = call_piece(json!({"index": 0, "id": "c", "function": {"name": "t", "arguments": "{}"}}));
    for (piece, reason, expected, error) in [
        (&text, "stop", StopReason::Stop, None),
        (&one_call, "stop", StopReason::ToolUse, None),
        (&one_call, "tool_calls", StopReason::ToolUse, None),
        (&text, "length", StopReason::Length, None),
        (&one_call, "length", StopReason::Length, None),
        (&text, "tool_calls", StopReason::ToolUse, None),
        (
            &text,
            "content_filter",
            StopReason::Error,
            Some("the provider's content filter stopped the answer"),
        ),
        (&text, "foo", StopReason::Error, Some("the provider ended its answer for an unknown reason: `foo`")),
    ] {
        let message = answer(completion(std::slice::from_ref(piece), reason));
        assert_eq!(message.stop_reason, expected, "{reason}");
        assert_eq!(message.error_message.as_deref(), error, "{reason}");
        assert_eq!(message.raw_stop_reason.as_deref(), Some(reason));
        assert_eq!(message.content.len(), 1, "what was streamed stays");
    }
}

#[test]
fn odd_ways_to_number_calls_are_understood() {
    let both = vec![call("c1", "a", json!({"x": 1})), call("c2", "b", json!({"x": 2}))];
    let named = |index: Value, id: &str, name: &str, arguments: &str| {
        call_piece(json!({"index": index, "id": id, "function": {"name": name, "arguments": arguments}}))
    };
    for (pieces, case) in [
        (vec![named(json!(0), "c1", "a", "{\"x\":1}"), named(json!(0), "c2", "b", "{\"x\":2}")], "all are 0"),
        (
            vec![named(Value::Null, "c1", "a", "{\"x\":1}"), named(Value::Null, "c2", "b", "{\"x\":2}")],
            "no number",
        ),
        (
            vec![
                named(json!(0), "c1", "a", "{\"x\""),
                named(json!(0), "c1", "a", ":1}"),
                named(json!(1), "c2", "b", "{\"x\":2}"),
            ],
            "id and name are repeated",
        ),
        (
            vec![
                call_piece(json!({"index": 0, "id": "c1"})),
                call_piece(json!({"index": 0, "function": {"arguments": "{\"x\":1}"}})),
                call_piece(json!({"index": 0, "function": {"name": "a"}})),
                named(json!(1), "c2", "b", "{\"x\":2}"),
            ],
            "the name comes late",
        ),
        (
            vec![json!({"tool_calls": [
                {"id": "c1", "function": {"name": "a", "arguments": {"x": 1}}},
                {"id": "c2", "function": {"name": "b", "arguments": {"x": 2}}},
            ]})],
            "arguments are objects",
        ),
    ] {
        assert_eq!(answer(completion(&pieces, "tool_calls")).content, both, "{case}");
    }
    let nameless = [
        call_piece(json!({"function": {"name": "a", "arguments": "{\"x\":1}"}})),
        call_piece(json!({"function": {"name": "b", "arguments": "{\"x\":"}})),
        call_piece(json!({"function": {"arguments": "2}"}})),
    ];
    assert_eq!(
        answer(completion(&nameless, "stop")).content,
        [call("r1-0", "a", json!({"x": 1})), call("r1-1", "b", json!({"x": 2}))]
    );
    let without_a_name = [call_piece(json!({"index": 0, "id": "c1", "function": {"arguments": "{}"}}))];
    assert_eq!(answer(completion(&without_a_name, "tool_calls")).content, [call("c1", "", json!({}))]);
}

#[test]
fn a_call_that_was_cut_keeps_what_came_and_is_no_error() {
    let pieces =
        [call_piece(json!({"index": 0, "id": "c", "function": {"name": "t", "arguments": "{\"p\":\"a.t"}}))];
    let message = answer(completion(&pieces, "length"));
    assert_eq!(message.content, [call("c", "t", json!({"p": "a.t"}))]);
    let message = answer(completion(&pieces, "tool_calls"));
    assert!(message.tool_calls().next().unwrap().arguments_error.is_some());
}

#[test]
fn tokens_from_the_cache_are_counted_apart() {
    for (usage, expected) in [
        (json!({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}), (10, 5, 0, None, 15)),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 8},
                   "completion_tokens_details": {"reasoning_tokens": 3}}),
            (2, 5, 8, Some(3), 15),
        ),
        (
            json!({"prompt_tokens": 10, "completion_tokens": 5, "prompt_cache_hit_tokens": 4}),
            (6, 5, 4, None, 15),
        ),
        (
            json!({"prompt_tokens": 10, "completion_tokens": null, "prompt_tokens_details": null, "total_tokens": -1}),
            (10, 0, 0, None, 10),
        ),
    ] {
        let text = json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]});
        let message = answer(events(&[text, json!({"choices": [], "usage": usage})]));
        let Usage { input, output, cache_read, reasoning, total_tokens, .. } = message.usage;
        assert_eq!((input, output, cache_read, reasoning, total_tokens), expected, "{usage}");
    }
}

#[test]
fn an_answer_that_breaks_keeps_its_text_and_its_usage() {
    let chunk = json!({"choices": [{"delta": {"content": "half"}}], "usage": {"prompt_tokens": 7, "completion_tokens": 1}});
    let message = answer(format!(
        "data: {chunk}\n\ndata: {{\"error\":{{\"message\":\"overloaded\",\"code\":529}}}}\n\n"
    ));
    assert_eq!(message.error_message.as_deref(), Some("the provider's answer failed: overloaded"));
    assert_eq!(message.texts().collect::<Vec<_>>(), ["half"]);
    assert_eq!(message.usage.total_tokens, 8);
    let message = answer(format!("data: {chunk}\n\n"));
    let early = "the provider ended its answer before it was complete";
    assert_eq!(message.error_message.as_deref(), Some(early));
    assert_eq!(message.usage.total_tokens, 8);
    assert_eq!(
        answer("event: error\ndata: {\"message\":\"boom\"}\n\n").error_message.unwrap(),
        "the provider's answer failed: boom"
    );
}

#[test]
fn forms_of_text_that_servers_use_are_read() {
    let thinking_parts = json!([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]);
    let text_parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "other"}]);
    let body = completion(
        &[
            json!({"content": null, "reasoning": "r", "reasoning_content": "r", "tool_calls": null}),
            json!({"content": thinking_parts}),
            json!({"content": text_parts}),
            json!({"content": 7, "refusal": "No."}),
        ],
        "stop",
    );
    let message = answer(body);
    assert_eq!(message.texts().collect::<Vec<_>>(), ["abNo."]);
    assert_eq!(message.content.len(), 3);
    assert_eq!(
        answer(completion(&[json!({"content": "a\u{2028}b"})], "stop")).texts().collect::<String>(),
        "a\u{2028}b"
    );
    let lone = r#"data: {"choices":[{"delta":{"content":"a\ud800b"},"finish_reason":"stop"}]}"#;
    assert_eq!(answer(lone).texts().collect::<String>(), "a\u{FFFD}b");
}

#[test]
fn thinking_between_the_parts_of_a_text_goes_back_so() {
    let part = |text: &str| json!({"type": "text", "text": text});
    let thinking = |text: &str| json!([{"type": "thinking", "thinking": [part(text)]}]);
    let plain = json!([{"type": "thinking", "thinking": "more"}, part("a")]);
    let body = completion(
        &[json!({"content": thinking("hm")}), json!({"content": plain}), json!({"content": "b"})],
        "stop",
    );
    let mut message = serde_json::to_value(answer(body)).unwrap();
    for (name, value) in [("model", "m1"), ("provider", "p-m1"), ("api", "a")] {
        message[name] = value.into();
    }
    let parts = json!([{"type": "thinking", "thinking": [part("hmmore")]}, part("ab")]);
    assert_eq!(sent_messages(json!([message]), |server| server)[0]["content"], parts);
    let without = sent_messages(json!([message]), |server| server.with_thinking_returned(false));
    assert_eq!(without[0]["content"], "ab");
}

#[test]
fn a_server_that_does_not_stream_is_read_too() {
    let whole = json!({
        "id": "r1", "model": "m1-2026", "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "ok",
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}]}}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2},
    });
    let message = answer(format!("\n{whole:#}\n"));
    assert_eq!(message.content, [AssistantContent::text("ok"), call("c1", "t", json!({}))]);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
    assert_eq!(message.response_model.as_deref(), Some("m1-2026"));
    assert_eq!(message.usage.total_tokens, 3);
    assert_eq!(
        answer(r#"{"error":{"message":"no such model"}}"#).error_message.as_deref(),
        Some("the provider's answer failed: no such model")
    );
}

#[test]
fn an_answer_is_complete_without_a_last_word() {
    let chunk = json!({"choices": [{"delta": {"content": "x"}, "finish_reason": "stop"}]});
    assert_eq!(answer(format!("data: {chunk}")).stop_reason, StopReason::Stop);
    let chunk = json!({"choices": [{"delta": {"content": "x"}}]});
    assert_eq!(answer(events(&[chunk])).stop_reason, StopReason::Stop, "[DONE] alone is an end");
    // What is not meant for us: further choices, unknown fields.
    let chunk = json!({"choices": [{"index": 1, "delta": {"content": "y"}}, {"index": 0, "delta": {"content": "x"}}], "x": 1});
    assert_eq!(answer(events(&[chunk])).texts().collect::<String>(), "x");
}

/// What is sent for these messages: the body, and the headers.
fn sent(
    messages: Value,
    change: impl FnOnce(&mut Request),
    server: impl FnOnce(OpenAiCompatible) -> OpenAiCompatible,
) -> (Value, HttpHeaders) {
    let fake = Fake::ok("");
    let mut request = Request::new(model(), serde_json::from_value::<Messages>(messages).unwrap());
    change(&mut request);
    let server = server(OpenAiCompatible::new(fake.clone(), "http://server/v1/"));
    collect(server.stream(request));
    let sent = fake.request();
    assert_eq!((sent.method, sent.url.as_str()), ("POST", "http://server/v1/chat/completions"));
    (serde_json::from_slice(&sent.body).unwrap(), sent.headers)
}

#[test]
fn the_query_of_a_base_url_goes_behind_the_path() {
    let fake = Fake::ok("");
    let server = OpenAiCompatible::new(fake.clone(), "https://me:pw@server/v1/?api-version=2026-01");
    assert_eq!(format!("{server:?}"), "OpenAiCompatible { url: \"https://server/v1/chat/completions\", .. }");
    collect(server.stream(Request::new(model(), Messages::new())));
    assert_eq!(fake.request().url, "https://me:pw@server/v1/chat/completions?api-version=2026-01");
}

fn sent_messages(messages: Value, server: impl FnOnce(OpenAiCompatible) -> OpenAiCompatible) -> Value {
    sent(messages, |_| (), server).0["messages"].clone()
}

#[test]
fn a_whole_conversation_is_sent_in_its_form() {
    let tool = json!({"name": "look", "description": "Looks.", "parameters": {"type": "object"}});
    let messages = json!([
        {"role": "system", "content": "Be terse.", "sections": {"style": "No lists."}, "toolsAdded": [tool]},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "provider": "p-m1", "api": "a", "model": "m1", "stopReason": "toolUse", "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "reasoning_content"},
            {"type": "text", "text": "Looking."},
            {"type": "toolCall", "id": "c1", "name": "look", "arguments": {"at": "東"}},
            {"type": "toolCall", "id": "c2", "name": "look", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "c1", "toolName": "look", "isError": false, "content": [
            {"type": "text", "text": "seen"}, {"type": "image", "data": "AA==", "mimeType": "image/png"}]},
        {"role": "toolResult", "toolCallId": "c2", "toolName": "look", "isError": true, "content": []},
        {"role": "system", "content": "Now be verbose."},
        {"role": "user", "content": [{"type": "text", "text": "and this?"}, {"type": "image", "data": "BB==", "mimeType": "image/gif"}]},
    ]);
    let (body, headers) = sent(messages, |_| (), |server| server);
    assert_eq!(
        body,
        json!({
            "model": "m1", "stream": true, "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": tool}],
            "messages": [
                {"role": "system", "content": "Be terse.\n\nNo lists."},
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "Looking.", "reasoning_content": "hm", "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{\"at\":\"東\"}"}},
                    {"id": "c2", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c1", "content": "seen"},
                {"role": "tool", "tool_call_id": "c2", "content": "(The tool gave no output.)"},
                {"role": "user", "content": [
                    {"type": "text", "text": "(The images of the tool results above, in order:)"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
                {"role": "system", "content": "Now be verbose."},
                {"role": "user", "content": [
                    {"type": "text", "text": "and this?"},
                    {"type": "image_url", "image_url": {"url": "data:image/gif;base64,BB=="}}]},
            ],
        })
    );
    assert_eq!(headers.get("content-type"), Some("application/json"));
    assert_eq!(headers.get("authorization"), None);
}

#[test]
fn options_become_fields_and_headers() {
    let change = |request: &mut Request| {
        request.thinking_level = Some(ThinkingLevel::High);
        request.api_key = Some(ApiKey::new("key-of-the-request"));
        let mut options: RequestOptions = serde_json::from_value(json!({
            "temperature": 0.5, "maxTokens": 9, "toolChoice": "required", "metadata": {"user": "u"}, "sessionId": "s1",
            "cacheRetention": "long",
            "samplingParams": {"top_p": 0.1, "model": "x", "models": ["x"], "messages": [1], "tools": [1], "stream": false},
            "identity": {"userAgent": {"custom": "me/1"}, "attribution": {"name": "Me", "url": "https://me.test"}},
        }))
        .unwrap();
        options.headers = Some(Headers::from_iter([("X-A", "of the request")]));
        request.options = Arc::new(options);
    };
    let (body, headers) = sent(json!([]), change, |server| {
        server
            .with_api_key("key-of-the-server")
            .with_header("X-A", "of the server")
            .with_header("X-B", "b")
            .with_body_field("provider", json!({"only": ["x"]}))
            .with_body_field("stream_options", Value::Null)
            .with_max_completion_tokens()
            .with_prompt_cache()
    });
    assert_eq!(
        body,
        json!({
            "model": "m1", "messages": [], "stream": true, "temperature": 0.5, "max_completion_tokens": 9,
            "tool_choice": "required", "metadata": {"user": "u"}, "top_p": 0.1, "reasoning_effort": "high",
            "prompt_cache_key": "s1", "prompt_cache_retention": "24h", "provider": {"only": ["x"]},
        })
    );
    for (name, value) in [
        ("authorization", "Bearer key-of-the-request"),
        ("x-a", "of the request"),
        ("x-b", "b"),
        ("user-agent", "me/1"),
        ("http-referer", "https://me.test"),
        ("x-title", "Me"),
    ] {
        assert_eq!(headers.get(name), Some(value), "{name}");
    }
    let (body, headers) = sent(json!([]), change, |server| server.with_effort(|_| None));
    assert_eq!(body["max_tokens"], 9);
    assert_eq!(body.get("reasoning_effort").or(body.get("prompt_cache_key")), None);
    assert_eq!(headers.get("authorization"), Some("Bearer key-of-the-request"));
}

#[test]
fn what_the_provider_does_not_take_is_put_right() {
    let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
    let messages = json!([
        {"role": "system", "content": "first"},
        {"role": "user", "content": [image, image]},
        {"role": "assistant", "provider": "other", "model": "m0", "content": [
            {"type": "thinking", "thinking": "hm", "thinkingSignature": "reasoning_content"},
            {"type": "toolCall", "id": "fc|1", "name": "t", "arguments": {}},
            {"type": "toolCall", "id": "fc|1", "name": "t", "arguments": {}}]},
        {"role": "toolResult", "toolCallId": "fc|1", "toolName": "t", "content": [image]},
        {"role": "system", "content": "later"},
        {"role": "toolResult", "toolCallId": "fc|1", "toolName": "t", "content": [{"type": "text", "text": "b"}]},
    ]);
    let sent = sent_messages(messages, |server| {
        server
            .with_images(false)
            .with_call_ids(CallIds::Nine)
            .with_system_messages(SystemMessages::LaterAsUser)
            .with_developer_role()
    });
    let no_image = "(An image was left out: this model takes text only.)";
    let ids: Vec<_> = [0, 1].map(|at| sent[2]["tool_calls"][at]["id"].as_str().unwrap().to_owned()).into();
    assert!(
        ids.iter().all(|id| id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())),
        "{ids:?}"
    );
    assert_ne!(ids[0], ids[1]);
    assert_eq!(sent[0], json!({"role": "developer", "content": "first"}));
    assert_eq!(sent[1], json!({"role": "user", "content": no_image}));
    assert_eq!(sent[2]["content"], Value::Null);
    assert_eq!(sent[2].get("reasoning_content"), None);
    assert_eq!(sent[3], json!({"role": "tool", "tool_call_id": ids[0], "content": no_image}));
    assert_eq!(sent[4], json!({"role": "tool", "tool_call_id": ids[1], "content": "b"}));
    assert_eq!(sent[5], json!({"role": "user", "content": "<system>\nlater\n</system>"}));
    assert_eq!(sent.as_array().unwrap().len(), 6);
}

#[test]
fn a_model_says_whether_it_takes_images() {
    let messages =
        json!([{"role": "user", "content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]}]);
    let content = |extra: Value| {
        let Value::Object(extra) = extra else { panic!("extra fields are an object") };
        let change = |request: &mut Request| {
            let mut model = Model::new("p", "m");
            model.extra = extra;
            request.model = Arc::new(model);
        };
        sent(messages.clone(), change, |server| server).0["messages"][0]["content"].clone()
    };
    assert!(content(json!({})).is_array());
    assert!(content(json!({"input": ["text", "image"]})).is_array());
    assert!(content(json!({"input": ["text"]})).is_string());
}

#[test]
fn an_observer_sees_what_goes_over_the_wire_and_no_key() {
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<String>>>);
    impl Observer for Log {
        fn payload(&self, model: &Model, body: &[u8]) {
            let body: Map<String, Value> = serde_json::from_slice(body).unwrap();
            self.0.lock().unwrap().push(format!("{} {}", model.id, body["model"]));
        }
        fn response(&self, _: &Model, status: u16, headers: &HttpHeaders) {
            self.0.lock().unwrap().push(format!("{status} {:?}", headers.get("x-request-id")));
        }
        fn event(&self, _: &Model, data: &str) {
            self.0.lock().unwrap().push(data.to_owned());
        }
    }
    let mut fake = Fake::ok("data: {\"choices\":[]}\n\ndata: [DONE]\n\n");
    fake.headers.set("X-Request-Id", "7");
    let log = Log::default();
    let server = OpenAiCompatible::new(fake, "http://me:password@server")
        .with_api_key("a-secret-key")
        .with_observer(log.clone());
    assert_eq!(format!("{server:?}"), "OpenAiCompatible { url: \"http://server/chat/completions\", .. }");
    let deltas = collect(server.stream(Request::new(model(), Messages::new())));
    assert_eq!(deltas.first(), Some(&Delta::Start));
    assert_eq!(*log.0.lock().unwrap(), ["m1 \"m1\"", "200 Some(\"7\")", "{\"choices\":[]}", "[DONE]"]);
}

#[test]
fn required_properties_are_sent_in_the_order_of_their_declaration() {
    let parameters = json!({
        "type": "object",
        "properties": { "verdict": {}, "reason": {}, "alpha": {} },
        "required": ["verdict", "reason"],
    });
    let declared = json!([{ "name": "judge", "description": "", "parameters": parameters }]);
    let messages = json!([{ "role": "system", "content": "", "toolsAdded": declared }]);
    let fake = Fake::ok(completion(&[], "stop"));
    let server = OpenAiCompatible::new(fake.clone(), "http://server/v1");
    let messages: Messages = serde_json::from_value(messages).unwrap();
    drop(collect(server.stream(Request::new(model(), messages))));
    let body = String::from_utf8(fake.request().body).unwrap();
    assert!(body.contains(r#""properties":{"verdict":{},"reason":{},"alpha":{}}"#), "{body}");
}
