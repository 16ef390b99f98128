//! Faults injected at the transport, for each adapter: always one complete sequence of deltas, the reason kept, nothing
//! said of keys.

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, StreamExt};
use serde_json::json;
use turnstate::Run;
use turnstate::message::{AssistantMessage, StopReason};
use turnstate::model::{Delta, Request, StreamFn};
use turnstate::provider::OpenAiCompatible;
use turnstate::provider::transport::{HttpRequest, HttpResponse, Transport, TransportError};
use turnstate::proxy::{ProxyStream, respond};
use turnstate::transcript::Messages;

use crate::support::{Chunk, Fake, collect, message_of, model};

const SECRET: &str = "sk-a-secret-that-nobody-may-see";

/// One adapter: its name for the server, how it is made, and a whole answer of its server.
struct Adapter {
    who: &'static str,
    over: fn(Fake) -> Box<dyn StreamFn>,
    recording: Vec<u8>,
}

fn adapters() -> [Adapter; 4] {
    let usage = json!({"input": 3, "output": 5, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 8});
    let proxy = [
        json!({"type": "start"}),
        json!({"type": "thinking_start", "contentIndex": 0}),
        json!({"type": "thinking_delta", "contentIndex": 0, "delta": "hm"}),
        json!({"type": "thinking_end", "contentIndex": 0, "contentSignature": "sig"}),
        json!({"type": "text_start", "contentIndex": 1}),
        json!({"type": "text_delta", "contentIndex": 1, "delta": "Grüße 🙂 東京"}),
        json!({"type": "text_end", "contentIndex": 1}),
        json!({"type": "toolcall_start", "contentIndex": 2, "id": "c1", "toolName": "read"}),
        json!({"type": "toolcall_delta", "contentIndex": 2, "delta": "{\"p\":\"\\u20"}),
        json!({"type": "toolcall_delta", "contentIndex": 2, "delta": "ac\"}"}),
        json!({"type": "toolcall_end", "contentIndex": 2}),
        json!({"type": "done", "reason": "toolUse", "usage": usage}),
    ];
    let piece = |delta| json!({"id": "r", "choices": [{"index": 0, "delta": delta}]});
    let arguments = |text| piece(json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}));
    let completion = [
        piece(json!({"role": "assistant", "content": ""})),
        piece(json!({"reasoning_content": "hm"})),
        piece(json!({"content": "Grüße 🙂 東京"})),
        piece(
            json!({"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "read", "arguments": ""}}]}),
        ),
        arguments("{\"p\":\"\\u20"),
        arguments("ac\"}"),
        json!({"id": "r", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}),
        json!({"id": "r", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 5}}),
    ];
    let recording = |events: &[serde_json::Value]| -> String {
        events.iter().map(|event| format!("data: {event}\n\n")).collect()
    };
    [
        Adapter { recording: recording(&proxy).into(), ..proxy_adapter() },
        Adapter { recording: (recording(&completion) + "data: [DONE]\n\n").into(), ..completion_adapter() },
        // What servers that nobody here wrote have sent, byte for byte.
        Adapter {
            recording: include_bytes!("recordings/chat_completion.sse").to_vec(),
            ..completion_adapter()
        },
        Adapter {
            recording: include_bytes!("recordings/proxy-openai-completions.sse").to_vec(),
            ..proxy_adapter()
        },
    ]
}

fn proxy_adapter() -> Adapter {
    Adapter {
        who: "the proxy",
        over: |fake| Box::new(ProxyStream::new(fake, "http://proxy", SECRET)),
        recording: Vec::new(),
    }
}

fn completion_adapter() -> Adapter {
    Adapter {
        who: "the provider",
        over: |fake| Box::new(OpenAiCompatible::new(fake, "http://server").with_api_key(SECRET)),
        recording: Vec::new(),
    }
}

impl Adapter {
    fn deltas(&self, fake: &Fake) -> Vec<Delta> {
        let mut request = Request::new(model(), Messages::new());
        request.api_key = Some(SECRET.into());
        let deltas = collect((self.over)(fake.clone()).stream(request));
        for delta in &deltas {
            assert!(!format!("{delta:?}").contains(SECRET), "{delta:?}");
        }
        deltas
    }

    fn message(&self, fake: &Fake) -> AssistantMessage {
        message_of(&self.deltas(fake))
    }

    fn whole(&self) -> AssistantMessage {
        let message = self.message(&Fake::ok(self.recording.clone()));
        assert!(message.content.len() >= 3);
        assert_eq!(message.stop_reason, StopReason::ToolUse);
        message
    }
}

#[test]
fn a_connection_reset_at_any_byte_leaves_what_was_there_and_says_why() {
    for adapter in adapters() {
        let whole = adapter.whole();
        for at in 0..adapter.recording.len() {
            let fake = Fake::new(200, [Chunk::Bytes(adapter.recording[..at].to_vec()), Chunk::Reset]);
            let message = adapter.message(&fake);
            assert!(fake.is_closed());
            if message.stop_reason == StopReason::ToolUse {
                // The end was there: only what follows it is lost.
                assert_eq!(message.content, whole.content);
                continue;
            }
            assert_eq!(message.stop_reason, StopReason::Error, "at byte {at}");
            let text = format!("the connection to {} broke: connection reset by peer", adapter.who);
            assert_eq!(message.error_message, Some(text), "at byte {at}");
            // Half a surrogate pair whose other half is lost reads as the replacement character.
            let begins = |(whole, part): (&str, &str)| whole.starts_with(part.trim_end_matches('\u{FFFD}'));
            let begins = whole.texts().zip(message.texts()).all(begins);
            assert!(begins && message.content.len() <= whole.content.len(), "at byte {at}: {message:?}");
        }
    }
}

#[test]
fn a_clean_end_at_any_byte_is_an_early_one() {
    for adapter in adapters() {
        let whole = adapter.whole();
        let early = format!("{} ended its answer before it was complete", adapter.who);
        let mut complete = 0;
        for at in 0..adapter.recording.len() {
            let message = adapter.message(&Fake::ok(&adapter.recording[..at]));
            match message.stop_reason {
                StopReason::Error => assert_eq!(message.error_message.as_ref(), Some(&early), "at byte {at}"),
                _ => {
                    complete += 1;
                    assert_eq!(message.content, whole.content, "at byte {at}");
                }
            }
        }
        assert!(complete > 0);
    }
}

#[test]
fn chunks_of_any_size_that_come_slowly_change_nothing() {
    for adapter in adapters() {
        let whole = adapter.deltas(&Fake::ok(adapter.recording.clone()));
        for size in 1..20 {
            let chunks = adapter.recording.chunks(size);
            let chunks = chunks
                .flat_map(|chunk| [Chunk::Slow, Chunk::Bytes(chunk.to_vec()), Chunk::Bytes(Vec::new())]);
            assert_eq!(adapter.deltas(&Fake::new(200, chunks)), whole, "chunks of {size}");
        }
    }
}

#[test]
fn half_a_character_at_the_end_is_an_early_end() {
    for adapter in adapters() {
        let cut =
            adapter.recording.windows(2).position(|pair| pair == "東".as_bytes()[..2].as_ref()).unwrap() + 2;
        let early = format!("{} ended its answer before it was complete", adapter.who);
        let message = adapter.message(&Fake::ok(&adapter.recording[..cut]));
        assert_eq!(message.error_message, Some(early));
    }
}

#[test]
fn a_line_of_ten_megabytes_is_refused() {
    for adapter in adapters() {
        let chunk = vec![b'x'; 1 << 20];
        let chunks = std::iter::once(Chunk::Bytes(b"data: ".to_vec()))
            .chain((0..10).map(|_| Chunk::Bytes(chunk.clone())));
        // Were the rest waited for, this would never end.
        let fake = Fake::new(200, chunks.chain([Chunk::Stall]));
        let text = format!(
            "{}'s answer cannot be read: the server sent an event of more than 8388608 bytes",
            adapter.who
        );
        assert_eq!(adapter.message(&fake).error_message, Some(text));
        assert!(fake.is_closed());
    }
}

#[test]
fn an_error_status_keeps_its_reason_and_no_key() {
    for adapter in adapters() {
        let who = adapter.who;
        for (status, body, text) in [
            (401, "", format!("{who} answered 401 Unauthorized")),
            (
                401,
                "{\"error\":{\"message\":\"wrong key: sk-a-secret-that-nobody-may-see.\"}}",
                format!("{who} answered 401 Unauthorized: wrong key: …."),
            ),
            (
                429,
                "",
                format!("{who} answered 429 Too Many Requests (it asks to wait 7 s before the next request)"),
            ),
            (
                429,
                "{\"error\":\"slow down\"}",
                format!(
                    "{who} answered 429 Too Many Requests: slow down (it asks to wait 7 s before the next request)"
                ),
            ),
            (500, "", format!("{who} answered 500 Internal Server Error")),
            (500, "boom", format!("{who} answered 500 Internal Server Error: boom")),
            (502, "<html>…</html>", format!("{who} answered 502 Bad Gateway")),
            (302, "", format!("{who} answered 302")),
        ] {
            for broken in [false, true] {
                let mut fake = Fake::new(status, [Chunk::Bytes(body.into())]);
                if broken {
                    fake.chunks.push(Chunk::Reset);
                }
                if status == 429 {
                    fake.headers.set("retry-after", "7");
                }
                let deltas = adapter.deltas(&fake);
                assert_eq!(deltas.len(), 1);
                assert_eq!(message_of(&deltas).error_message.as_ref(), Some(&text));
            }
        }
        // An endless body is not read to its end.
        let endless = (0..1_000).map(|_| Chunk::Bytes(vec![b'x'; 1 << 10])).chain([Chunk::Stall]);
        let text = adapter.message(&Fake::new(500, endless)).error_message.unwrap();
        assert!(text.ends_with("x… (cut, 65536 bytes in all)"), "{text}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_says_why_without_the_key() {
    for adapter in adapters() {
        let fake = Fake { unreachable: Some(format!("no route for {SECRET}")), ..Fake::default() };
        let text = format!("{} cannot be reached: no route for …", adapter.who);
        assert_eq!(adapter.message(&fake).error_message, Some(text));
    }
}

#[test]
fn an_error_inside_the_answer_keeps_no_key() {
    for adapter in adapters() {
        let events = [
            json!({"type": "error", "reason": "error", "errorMessage": format!("bad {SECRET}"), "error": {"message": format!("bad {SECRET}")}}).to_string(),
            format!("{{\"type\":\"start\",\"choices\":{SECRET}"),
        ];
        for event in events {
            let text = adapter.message(&Fake::ok(format!("data: {event}\n\n"))).error_message.unwrap();
            assert!(text.contains('…') && !text.contains(SECRET), "{text}");
        }
    }
}

#[test]
fn what_follows_the_end_is_not_waited_for() {
    for adapter in adapters() {
        let chunks = [
            Chunk::Bytes(adapter.recording.clone()),
            Chunk::Bytes(b"data: {broken\n\n".to_vec()),
            Chunk::Stall,
        ];
        let fake = Fake::new(200, chunks);
        assert_eq!(adapter.message(&fake), adapter.whole());
        assert!(fake.is_closed());
    }
}

#[test]
fn dropping_an_answer_closes_the_connection() {
    for adapter in adapters() {
        let first_event = adapter.recording.windows(2).position(|pair| pair == b"\n\n").unwrap() + 2;
        let fake = Fake::new(200, [Chunk::Bytes(adapter.recording[..first_event].to_vec()), Chunk::Stall]);
        let mut answer = (adapter.over)(fake.clone()).stream(Request::new(model(), Messages::new()));
        futures::executor::block_on(answer.next());
        assert!(!fake.is_closed());
        drop(answer);
        assert!(fake.is_closed());
    }
}

/// A server that sends the same piece without end, and never makes anybody wait.
struct Flood(u16, &'static str);

impl Transport for Flood {
    fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let Self(status, piece) = *self;
        let body = stream::repeat_with(move || Ok(piece.as_bytes().to_vec()));
        async move { Ok(HttpResponse::new(status, body)) }.boxed()
    }
}

#[test]
fn a_server_that_floods_keeps_nobody_from_aborting() {
    for (status, piece) in [(200, ": ping\n\n"), (200, ""), (200, "data: {\"choices\":[]}\n\n"), (500, "")] {
        let direct = Run::builder(OpenAiCompatible::new(Flood(status, piece), "http://server"));
        let proxied = Run::builder(ProxyStream::new(Flood(status, piece), "http://proxy", SECRET));
        for builder in [direct, proxied] {
            let mut run = builder.build().prompt("go");
            while let Some(Some(_)) = run.next().now_or_never() {}
            run.abort();
            let run = run.finish().now_or_never().expect("an abort ends it");
            assert!(!run.outcome().unwrap().is_success(), "{status} {piece:?}");
        }
    }
}

#[test]
fn a_model_that_floods_lets_the_proxys_client_go() {
    let model = |_: Request| stream::repeat(Delta::Start);
    let mut body = respond(&model, Request::new(crate::support::model(), Messages::default()));
    assert!(body.next().now_or_never().is_some_and(|first| first.is_some()));
    assert!(body.next().now_or_never().is_none(), "it lets others have the thread");
}
