//! The proxy's two sides over loopback: the example server, our client, and requests written by hand.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::{StreamExt, stream};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use turnstate::message::{
    AssistantContent, AssistantMessage, StopReason, Thinking, ToolCall, Usage, UserMessage,
};
use turnstate::model::{Delta, Done, Metadata, Request, StreamFn, stream_fn};
use turnstate::provider::ReqwestTransport;
use turnstate::proxy::{ProxyStream, respond};
use turnstate::transcript::Messages;

use crate::support::{checked, collect, message_of, model};

#[allow(dead_code, reason = "an example has a main function")]
#[path = "../../examples/proxy_server.rs"]
mod example;

pub(crate) const TOKEN: &str = "a-token-of-length";

fn request(text: &str) -> Request {
    Request::new(model(), Messages::from_iter([turnstate::message::Message::from(UserMessage::new(text))]))
}

/// Runs a test against a server of this model, which ends with the test.
pub(crate) fn against<S: StreamFn, Fut: Future<Output = ()>>(model: S, test: impl FnOnce(String) -> Fut) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let proxy = example::Proxy { model, token: TOKEN.into(), limit: 4_096 };
        let server = tokio::spawn(async move { axum::serve(listener, example::service(proxy)).await });
        tokio::time::timeout(Duration::from_secs(60), test(url)).await.expect("the test ends");
        server.abort();
    });
}

fn client(url: &str, token: &str) -> ProxyStream {
    ProxyStream::new(ReqwestTransport::new(), url, token)
}

/// Counts how often a model is asked.
fn counted(count: Arc<AtomicUsize>) -> impl StreamFn {
    let parrot = Arc::new(example::parrot());
    move |request: Request| {
        count.fetch_add(1, Ordering::SeqCst);
        parrot.stream(request)
    }
}

#[test]
fn headers_and_fields_of_a_client_do_not_reach_the_model() {
    let seen = stream_fn(async |request| {
        let options = serde_json::to_string(&*request.options)?;
        let begin = [Delta::Start, Delta::TextStart { index: 0 }, Delta::text(0, options)];
        let end = [Delta::TextEnd { index: 0, signature: None }, Delta::done(StopReason::Stop)];
        Ok(stream::iter(begin.into_iter().chain(end)))
    });
    against(seen, |url| async move {
        let mut request = request("hi");
        let options =
            json!({"maxTokens": 9, "headers": {"Authorization": "mine"}, "samplingParams": {"store": true}});
        request.options = Arc::new(serde_json::from_value(options).unwrap());
        let deltas = checked(client(&url, TOKEN).stream(request).collect().await);
        assert_eq!(message_of(&deltas).texts().collect::<String>(), r#"{"maxTokens":9}"#);
    });
}

#[test]
fn several_clients_get_their_own_answers() {
    against(example::parrot(), |url| async move {
        let client = client(&url, TOKEN);
        let answers = (0..20).map(|number| {
            let client = client.clone();
            async move {
                let said = format!("grüße 🙂 number {number}");
                let deltas = checked(client.stream(request(&said)).collect().await);
                assert_eq!(message_of(&deltas).texts().collect::<String>(), said);
            }
        });
        futures::future::join_all(answers).await;
    });
}

#[test]
fn without_the_token_nothing_happens_but_a_refusal() {
    let asked = Arc::new(AtomicUsize::new(0));
    against(counted(asked.clone()), |url| async move {
        let deltas = checked(client(&url, "another-token").stream(request("hi")).collect().await);
        let message = message_of(&deltas);
        assert_eq!(deltas.len(), 1);
        assert_eq!(
            message.error_message.as_deref(),
            Some("the proxy answered 401 Unauthorized: wrong or missing token")
        );
        // The body is not even waited for.
        let response =
            by_hand(&url, "POST /api/stream HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n").await;
        assert!(response.starts_with("HTTP/1.1 401 Unauthorized\r\n"), "{response}");
    });
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

/// Sends text as it is; gives what comes back until the response is over or the server closes.
async fn by_hand(url: &str, text: &str) -> String {
    let mut stream = TcpStream::connect(url.trim_start_matches("http://")).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut read = vec![0; 4_096];
    let length = stream.read(&mut read).await.unwrap();
    String::from_utf8_lossy(&read[..length]).into_owned()
}

#[test]
fn too_long_and_unreadable_requests_are_refused_with_the_reason() {
    let asked = Arc::new(AtomicUsize::new(0));
    against(counted(asked.clone()), |url| async move {
        let deltas = checked(client(&url, TOKEN).stream(request(&"x".repeat(5_000))).collect().await);
        let text = "the proxy answered 413 Content Too Large: the request is longer than 4096 bytes";
        assert_eq!(message_of(&deltas).error_message.as_deref(), Some(text));
        let head = format!("POST /api/stream HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n");
        let response = by_hand(&url, &format!("{head}content-length: 2\r\n\r\n{{}}")).await;
        assert!(response.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{response}");
        assert!(response.ends_with(
            r#"{"error":"the body is not a request to a proxy: missing field `model` at line 1 column 2"}"#
        ));
    });
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

#[test]
fn a_client_that_goes_away_cancels_the_model() {
    struct Cancelled(Option<tokio::sync::oneshot::Sender<()>>);
    impl Drop for Cancelled {
        fn drop(&mut self) {
            let _ = self.0.take().map(|told| told.send(()));
        }
    }
    let (told, cancelled) = tokio::sync::oneshot::channel();
    let guard = std::sync::Mutex::new(Some(Cancelled(Some(told))));
    // Says one word, and then nothing for ever.
    let model = move |_: Request| {
        let guard = guard.lock().unwrap().take();
        let begin = [Delta::Start, Delta::TextStart { index: 0 }, Delta::text(0, "one")];
        stream::iter(begin).chain(stream::once(async move {
            let _guard = guard;
            futures::future::pending().await
        }))
    };
    against(model, |url| async move {
        let mut answer = client(&url, TOKEN).stream(request("hi"));
        for _ in 0..3 {
            answer.next().await.unwrap();
        }
        drop(answer);
        cancelled.await.unwrap();
    });
}

#[test]
fn an_abort_ends_the_answer_and_keeps_what_was_there() {
    let model = |_: Request| {
        stream::iter([Delta::Start, Delta::TextStart { index: 0 }, Delta::text(0, "one")])
            .chain(stream::pending())
    };
    against(model, |url| async move {
        let request = request("hi");
        let abort = request.abort.clone();
        let mut answer = client(&url, TOKEN).stream(request);
        let mut deltas = Vec::new();
        while let Some(delta) = answer.next().await {
            deltas.push(delta);
            if deltas.len() == 3 {
                abort.abort();
            }
        }
        let message = message_of(&checked(deltas));
        assert_eq!(message.stop_reason, StopReason::Aborted);
        assert_eq!(message.texts().collect::<Vec<_>>(), ["one"]);
        assert_eq!(abort.waiters(), 0);
    });
}

#[test]
fn a_refused_connection_tells_its_cause() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        let url = format!("http://user:password-long@{free}");
        let deltas = checked(client(&url, TOKEN).stream(request("hi")).collect().await);
        let text = message_of(&deltas).error_message.unwrap();
        assert!(text.starts_with("the proxy cannot be reached: "), "{text}");
        assert!(text.contains("Connection refused"), "{text}");
        assert!(!text.contains("password-long"), "{text}");
    });
}

/// The answer as a client gets it, without a network.
fn through_the_wire(model: impl StreamFn) -> Vec<Delta> {
    let body = respond(&model, request("hi"));
    let body: Vec<u8> = futures::executor::block_on(body.collect::<Vec<_>>()).concat();
    let fake = crate::support::Fake::ok(body);
    collect(ProxyStream::new(fake, "http://proxy", "token").stream(request("hi")))
}

#[test]
fn everything_in_an_answer_reaches_the_client() {
    let mut thinking = Thinking::new("hm");
    thinking.thinking_signature = Some("sig".to_owned());
    let arguments = Map::from_iter([("city".to_owned(), json!("Zürich"))]);
    let mut message = AssistantMessage::new(vec![
        thinking.into(),
        AssistantContent::text("🙂"),
        ToolCall::new("c1", "weather", arguments.clone()).into(),
        ToolCall::new("c2", "weather", arguments).into(),
    ])
    .with_stop_reason(StopReason::ToolUse);
    message.usage = Usage::new(3, 5);
    message.response_model = Some("m1-2026".to_owned());
    message.provider_thinking_level = Some("much".to_owned());
    let whole = message.clone();
    let deltas = through_the_wire(move |_: Request| stream::iter([Delta::whole(whole.clone())]));
    assert_eq!(message_of(&deltas), message);
}

#[test]
fn the_ends_tell_other_clients_what_they_need() {
    let model = |_: Request| {
        let mut usage = Metadata::default();
        usage.usage = Some(Usage::new(3, 5));
        stream::iter([
            // No start: the wire has one all the same.
            Delta::tool_call_start(0, "c1", "weather"),
            Delta::Start,
            Delta::tool_call(0, r#"{"city":"#),
            Delta::tool_call(0, r#""Zürich"}"#),
            Delta::ToolCallEnd { index: 0, call: None },
            Delta::Metadata(Box::new(usage)),
            Done::new(StopReason::ToolUse).into(),
            Delta::text(0, "after the end"),
        ])
    };
    let body = futures::executor::block_on(respond(&model, request("hi")).collect::<Vec<_>>());
    let events: Vec<Value> = body
        .iter()
        .map(|event| {
            let event = std::str::from_utf8(event).unwrap();
            let data = event.strip_prefix("data: ").and_then(|event| event.strip_suffix("\n\n")).unwrap();
            serde_json::from_str(data).unwrap()
        })
        .collect();
    assert_eq!(events[0], json!({"type": "start"}));
    assert_eq!(
        events[1],
        json!({"type": "toolcall_start", "contentIndex": 0, "id": "c1", "toolName": "weather"})
    );
    assert_eq!(
        events[4],
        json!({"type": "toolcall_end", "contentIndex": 0, "toolCall":
            {"type": "toolCall", "id": "c1", "name": "weather", "arguments": {"city": "Zürich"}}})
    );
    assert_eq!(events[6]["type"], "done");
    assert_eq!(events[6]["usage"]["totalTokens"], 8);
    assert_eq!(events.len(), 7);
}

#[test]
fn whatever_the_model_does_the_client_gets_an_end() {
    let early = |_: Request| stream::iter([Delta::Start]);
    let malformed = |_: Request| stream::iter([Delta::text(3, "x"), Delta::done(StopReason::Stop)]);
    let panics = |_: Request| stream::iter([0]).map(|_| -> Delta { panic!("boom") });
    let panics_at_once = |_: Request| -> stream::Empty<Delta> { panic!("boom") };
    let fails = stream_fn(async |_| Err::<stream::Empty<Delta>, _>("no such model".into()));
    for (deltas, text) in [
        (through_the_wire(early), "the model's stream ended before its answer was complete"),
        (through_the_wire(malformed), "the model's stream sent a text for block 3, which it never started"),
        (through_the_wire(panics), "the model's stream panicked: boom"),
        (through_the_wire(panics_at_once), "the model's stream panicked: boom"),
        (through_the_wire(fails), "no such model"),
    ] {
        let message = message_of(&deltas);
        assert_eq!(message.stop_reason, StopReason::Error);
        assert_eq!(message.error_message.as_deref(), Some(text));
    }
}
