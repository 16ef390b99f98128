//! The HTTP surface: who is answered, with what, and within which limits.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};
use support::Server;
use web_chat::{ChatModel, Limits};

fn server(change: impl FnOnce(&mut Limits)) -> Server {
    let mut limits = Limits::default();
    change(&mut limits);
    Server::start(ChatModel::demonstration(Duration::ZERO), limits)
}

/// The events of a stream, as kind and data.
struct Events(std::io::Lines<BufReader<TcpStream>>);

impl Events {
    fn of(server: &Server, path: &str, headers: &[(&str, &str)]) -> Self {
        let stream = server.open("GET", &format!("{path}/events"), headers, "");
        let mut lines = BufReader::new(stream).lines();
        assert!(lines.next().unwrap().unwrap().contains("200"));
        Self(lines)
    }

    fn next(&mut self) -> (u64, String, Value) {
        let mut field = |name: &str| {
            // Between the lines of events are those of the chunks.
            self.0
                .by_ref()
                .map(Result::unwrap)
                .find_map(|line| line.strip_prefix(name).map(str::to_owned))
                .unwrap()
        };
        let id = field("id: ").parse().unwrap();
        (id, field("event: "), serde_json::from_str(&field("data: ")).unwrap())
    }

    fn until(&mut self, kind: &str) -> Value {
        loop {
            let (_, _, data) = self.next();
            if data["type"] == kind {
                return data;
            }
        }
    }
}

#[test]
fn a_page_is_sent_with_what_keeps_it_to_itself() {
    let server = server(|_| {});
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    for rule in [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.split("; ").any(|known| known == rule), "{policy}");
    }
    let foreign = [("origin", "http://evil.example")];
    let refused = server.request("POST", "/api/conversations", &foreign, "{}");
    for answer in
        [page, server.get("/api/about"), server.get("/api/nowhere"), server.get("/nowhere"), refused]
    {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{}", answer.head);
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"), "{}", answer.head);
    }
    let page = server.get("/");
    assert!(!page.body.contains("<script>") && !page.body.contains(" style="));
    for file in ["app.js", "style.css", "icon.svg"] {
        assert_eq!(server.get(&format!("/{file}")).status, 200, "{file}");
    }
}

#[test]
fn other_pages_and_other_names_are_refused_in_words() {
    let server = server(|_| {});
    let table = [
        (&[("host", "evil.example")][..], 421, "This server does not go by that name."),
        (&[("origin", "http://evil.example")], 403, "Only pages of this server may do that."),
        (&[("sec-fetch-site", "cross-site")], 403, "Only pages of this server may do that."),
    ];
    for (headers, status, text) in table {
        let answer = server.request("POST", "/api/conversations", headers, "{}");
        assert_eq!((answer.status, answer.json()), (status, json!({ "error": text })));
    }
    assert_eq!(server.service.conversations(), 0);
}

#[test]
fn what_cannot_be_done_is_refused_in_words() {
    let server = server(|limits| limits.message_bytes = 100);
    let path = server.create();
    let said = |text: &str| json!({ "text": text });
    let table = [
        ("/nowhere", json!({}), 404, "There is nothing here."),
        (
            "/api/conversations/1/stop",
            json!({}),
            404,
            "This conversation is not on the server any more. Start a new one.",
        ),
        (&format!("{path}/prompt"), said(&"x".repeat(101)), 413, "The message is too long."),
        (&format!("{path}/prompt"), said(&"x".repeat(10_000)), 413, "The message is too long."),
        (&format!("{path}/prompt"), said(" \n"), 422, "There is nothing in the message."),
        (
            &format!("{path}/retry"),
            json!({}),
            409,
            "There is nothing to try again: the last answer is complete.",
        ),
        (
            &format!("{path}/take_back"),
            json!({ "waiting": 7 }),
            409,
            "That message is not waiting any more: it was delivered or taken back.",
        ),
        (
            &format!("{path}/promote"),
            json!({ "waiting": 7 }),
            409,
            "That message is not waiting any more: it was delivered or taken back.",
        ),
        (
            &format!("{path}/approve"),
            json!({ "question": 7, "decision": "allow" }),
            409,
            "That question is not open any more.",
        ),
    ];
    for (path, body, status, text) in table {
        let answer = server.post(path, &body);
        assert_eq!((answer.status, answer.json()), (status, json!({ "error": text })), "{path}");
    }
    for (body, status) in [("{", 400), ("{}", 422), (r#"{"text": 1}"#, 422)] {
        let answer = server.request("POST", &format!("{path}/prompt"), &[], body);
        assert_eq!(answer.status, status);
        assert!(answer.json()["error"].is_string());
    }
    // A form of another page would come as one of these.
    let form = [("content-type", "text/plain")];
    assert_eq!(server.request("POST", &format!("{path}/prompt"), &form, r#"{"text": "x"}"#).status, 415);
}

#[test]
fn a_second_prompt_is_refused_while_the_first_is_answered_and_messages_wait_within_limits() {
    let server = server(|limits| limits.waiting = 2);
    let path = server.create();
    let mut events = Events::of(&server, &path, &[]);
    assert_eq!(server.post(&format!("{path}/prompt"), &json!({ "text": "Delete a note" })).status, 200);
    let asked = events.until("asked");
    let say = |what: &str, text: &str| server.post(&format!("{path}/{what}"), &json!({ "text": text }));
    let busy = "The agent is working already. Send the message while it works, or stop it first.";
    let answer = say("prompt", "another");
    assert_eq!((answer.status, answer.json()), (409, json!({ "error": busy })));
    assert_eq!(say("steer", "one").status, 200);
    assert_eq!(say("note", "two").status, 200);
    assert_eq!(say("follow_up", "three").status, 429);
    assert_eq!(server.post(&format!("{path}/stop"), &json!({})).status, 200);
    assert_eq!(events.until("answered")["question"], asked["question"]["question"]);
    let end = events.until("run_end");
    assert_eq!(end["ending"], json!({ "type": "aborted" }));
    // The note is written, and is no reason to ask; the steer waits on, for a page that comes now too.
    assert_eq!(events.until("message")["shown"]["message"]["text"], "two");
    let (_, kind, snapshot) = Events::of(&server, &path, &[]).next();
    assert_eq!((kind.as_str(), snapshot["running"].clone()), ("snapshot", json!(false)));
    let texts: Vec<_> =
        snapshot["waiting"].as_array().unwrap().iter().map(|waiting| &waiting["text"]).collect();
    assert_eq!(texts, ["one"]);
}

#[test]
fn a_note_is_read_with_the_next_turn_and_brings_about_none() {
    let server = server(|_| {});
    let path = server.create();
    let mut events = Events::of(&server, &path, &[]);
    server.post(&format!("{path}/prompt"), &json!({ "text": "Delete a note" }));
    let question = events.until("asked")["question"]["question"].clone();
    let note =
        |text: &str| assert_eq!(server.post(&format!("{path}/note"), &json!({ "text": text })).status, 200);
    note("between two turns");
    let waiting = events.until("waiting")["waiting"][0].clone();
    assert_eq!((&waiting["queue"], &waiting["text"]), (&json!("note"), &json!("between two turns")));
    note("taken back");
    let taken = events.until("waiting")["waiting"][1]["waiting"].clone();
    let answer = server.post(&format!("{path}/take_back"), &json!({ "waiting": taken }));
    assert_eq!(answer.json(), json!({ "text": "taken back" }));
    assert_eq!(
        server.post(&format!("{path}/promote"), &json!({ "waiting": waiting["waiting"] })).status,
        409
    );
    server.post(&format!("{path}/approve"), &json!({ "question": question, "decision": "refuse" }));
    events.until("run_end");
    let (_, _, snapshot) = Events::of(&server, &path, &[]).next();
    let shown = snapshot["messages"].as_array().unwrap().iter();
    let roles: Vec<_> = shown.map(|shown| shown["message"]["role"].as_str().unwrap()).collect();
    assert_eq!(
        roles,
        ["notification", "user", "assistant", "toolResult", "notification", "note", "assistant"]
    );
    assert_eq!(snapshot["waiting"], json!([]));
    let answer = &snapshot["messages"][6]["message"]["content"][0]["text"];
    assert!(answer.as_str().unwrap().starts_with("I left your notes as they are."), "{answer}");
}

#[test]
fn a_steer_of_an_idle_agent_is_delivered_at_once() {
    let server = server(|_| {});
    let path = server.create();
    let mut events = Events::of(&server, &path, &[]);
    assert_eq!(server.post(&format!("{path}/steer"), &json!({ "text": "Are you there?" })).status, 200);
    events.until("run_start");
    assert_eq!(events.until("run_end")["ending"]["type"], "stopped");
}

#[test]
fn a_browser_that_reconnects_goes_on_where_it_was() {
    let server = server(|_| {});
    let path = server.create();
    let mut first = Events::of(&server, &path, &[]);
    server.post(&format!("{path}/prompt"), &json!({ "text": "What is 2 * 21?" }));
    let (seen, _, _) = (first.next(), first.next(), first.next()).2;
    first.until("run_end");
    let mut again = Events::of(&server, &path, &[("last-event-id", &seen.to_string())]);
    let (id, kind, _) = again.next();
    assert_eq!((id, kind.as_str()), (seen + 1, "step"));
    // One that says something else starts anew.
    for unknown in ["999999", "x", "-1"] {
        let (_, kind, _) = Events::of(&server, &path, &[("last-event-id", unknown)]).next();
        assert_eq!(kind, "snapshot", "{unknown}");
    }
}

#[test]
fn a_conversation_takes_no_more_messages_than_it_may_have() {
    let server = server(|limits| limits.messages = 2);
    let path = server.create();
    let note = || server.post(&format!("{path}/note"), &json!({ "text": "x" }));
    assert_eq!(note().status, 200); // Beside the notification that it begins with.
    let answer = note();
    let full = "This conversation is as long as it can get. Start a new one.";
    assert_eq!((answer.status, answer.json()), (429, json!({ "error": full })));
}

#[test]
fn what_the_model_sees_has_notes_and_no_notifications() {
    let server = server(|_| {});
    let path = server.create();
    server.post(&format!("{path}/note"), &json!({ "text": "The shop closes at six." }));
    let seen = server.get(&format!("{path}/seen")).json();
    let roles: Vec<_> = seen["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["system", "user"]);
    let text = &seen["messages"][1]["content"];
    assert!(
        text.to_string().contains("A note from the user, for your information: The shop closes at six."),
        "{text}"
    );
}
