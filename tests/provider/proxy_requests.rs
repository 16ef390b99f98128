//! What the proxy's client sends, and what its server reads of it. The reference's own answers are replayed with its other
//! traces.

use std::sync::Arc;

use serde_json::json;
use turnstate::message::{StopReason, ThinkingLevel};
use turnstate::model::{Delta, Failure, Request, StreamFn};
use turnstate::proxy::{ProxyStream, parse_request, request_body};
use turnstate::transcript::Messages;

use crate::support::{Fake, model};

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
