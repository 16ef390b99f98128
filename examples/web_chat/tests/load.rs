//! Many readers, some of which read nothing: the agents finish, and nothing piles up.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

mod support;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::Server;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use web_chat::{ChatModel, Limits};

const READERS: usize = 200;
const STALLED: usize = 10;
const CONVERSATIONS: usize = 4;
const RUNS: usize = 4;

#[test]
fn two_hundred_readers_hold_up_nobody_and_leave_nothing_behind() {
    let mut limits = Limits::default();
    limits.readers = READERS;
    let server = Server::start(ChatModel::demonstration(Duration::ZERO), limits.clone());
    let paths: Vec<_> = (0..CONVERSATIONS).map(|_| server.create()).collect();
    let clients = tokio::runtime::Runtime::new().unwrap();

    let connect = |at: usize| connect(server.address, format!("{}/events", paths[at % CONVERSATIONS]));
    let stalled: Vec<_> = (0..STALLED).map(|at| clients.block_on(connect(at)).unwrap()).collect();
    let reading: Vec<_> =
        (STALLED..READERS).map(|at| clients.spawn(read(clients.block_on(connect(at)).unwrap()))).collect();
    server.wait_until("all readers are there", |service| service.readers() == READERS);

    // One more is told in words that there is no room.
    let refused = server.get(&format!("{}/events", paths[0]));
    assert_eq!((refused.status, refused.json()["error"].is_string()), (503, true));

    let most_steps = limits.steps * CONVERSATIONS;
    let most_bytes = limits.step_bytes * CONVERSATIONS;
    let started = Instant::now();
    for run in 0..RUNS {
        for path in &paths {
            // A run is asked for when the one before is over.
            let begun = Instant::now();
            while server.post(&format!("{path}/prompt"), &json!({ "text": "A long story" })).status != 200 {
                assert!(begun.elapsed() < Duration::from_secs(15), "run {run} never ended");
                std::thread::sleep(Duration::from_millis(10));
            }
            let retained = server.service.retained();
            assert!(retained.steps <= most_steps && retained.bytes <= most_bytes, "{retained:?}");
        }
    }
    let pages: Vec<_> = reading.into_iter().map(|page| clients.block_on(page).unwrap()).collect();
    assert!(started.elapsed() < Duration::from_secs(20), "the agents were held up: {:?}", started.elapsed());

    // Those who read were told everything, whether they kept up or were shown a snapshot meanwhile.
    assert_eq!(pages.len(), READERS - STALLED);
    for page in &pages {
        assert_eq!(page.answers.len(), RUNS, "{page:?}");
        assert!(
            page.answers.iter().all(|answer| answer.contains("Chapter 12") && answer == &page.answers[0])
        );
    }
    // Those who did not cost no more than their place. Once they read, they are shown the whole again, and miss nothing.
    let retained = server.service.retained();
    assert!(retained.steps <= most_steps && retained.bytes <= most_bytes, "{retained:?}");
    for stream in stalled {
        let page = clients.block_on(read(stream));
        assert!(page.snapshots > 1, "it was not stalled");
        assert_eq!(page.answers, pages[0].answers);
    }
    server.wait_until("all readers are gone", |service| service.readers() == 0);
    assert_eq!(server.service.conversations(), CONVERSATIONS);
}

/// Asks for events. The socket's buffer is small, so that one who does not read fills it soon.
async fn connect(address: std::net::SocketAddr, path: String) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    let mut stream = socket.connect(address).await?;
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes()).await?;
    Ok(stream)
}

/// What a reader knows at the end.
#[derive(Debug, Default)]
struct Page {
    /// The complete answers.
    answers: Vec<String>,
    /// The number of the last event.
    last: u64,
    running: bool,
    snapshots: usize,
}

impl Page {
    fn hear(&mut self, id: u64, kind: &str, data: &Value) {
        if kind == "snapshot" {
            self.answers.clear();
            self.snapshots += 1;
            data["messages"].as_array().unwrap().iter().for_each(|shown| self.show(shown));
            self.running = data["running"] == true;
        } else {
            assert_eq!(id, self.last + 1, "a step is missing or came twice");
            match data["type"].as_str().unwrap() {
                "message" => self.show(&data["shown"]),
                "run_start" => self.running = true,
                "run_end" => self.running = false,
                _ => {}
            }
        }
        self.last = id;
    }

    fn show(&mut self, shown: &Value) {
        let message = &shown["message"];
        if message["role"] == "assistant" {
            let texts =
                message["content"].as_array().unwrap().iter().filter_map(|block| block["text"].as_str());
            self.answers.push(texts.collect());
        }
    }
}

/// Reads until all runs are over.
async fn read(stream: TcpStream) -> Page {
    let mut page = Page::default();
    let mut lines = BufReader::new(stream).lines();
    let (mut id, mut kind) = (0, String::new());
    while page.answers.len() < RUNS || page.running {
        // Between the lines of events are those of the chunks.
        let Some(line) = lines.next_line().await.unwrap() else { break };
        match line.split_once(": ") {
            Some(("id", value)) => id = value.parse().unwrap(),
            Some(("event", value)) => kind = value.to_owned(),
            Some(("data", json)) => page.hear(id, &kind, &serde_json::from_str(json).unwrap()),
            _ => {}
        }
    }
    page
}
