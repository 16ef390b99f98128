//! A server of this process on a free port of the loopback, and a client that is as plain as can be.

#![allow(dead_code, reason = "each test uses a part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests fail by panicking")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;
use web_chat::{ChatModel, Limits, WebChat};

/// A running server. It ends when this is dropped.
pub(crate) struct Server {
    pub(crate) service: WebChat,
    pub(crate) address: SocketAddr,
    _runtime: tokio::runtime::Runtime,
}

impl Server {
    pub(crate) fn start(model: ChatModel, limits: Limits) -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let service = WebChat::new(model, limits);
        let listener = runtime.block_on(async { listen() });
        let address = listener.local_addr().unwrap();
        let router = service.router(Vec::new());
        runtime.spawn(async move { axum::serve(listener, router).await });
        Self { service, address, _runtime: runtime }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Sends a request and reads the whole answer.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = self.open(method, path, headers, body);
        let mut text = String::new();
        // A server that refuses a long body may close before it has read all of it.
        let _ = stream.read_to_string(&mut text);
        Answer::parse(&text)
    }

    /// Sends a request and leaves the answer to the caller.
    pub(crate) fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut head =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += &format!("host: {}\r\n", self.address);
        }
        if method == "POST" && !headers.iter().any(|(name, _)| *name == "content-type") {
            head += "content-type: application/json\r\n";
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let _ = stream.write_all(format!("{head}\r\n{body}").as_bytes());
        stream
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.request("GET", path, &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.request("POST", path, &[], &body.to_string())
    }

    /// The path of a new conversation.
    pub(crate) fn create(&self) -> String {
        let answer = self.post("/api/conversations", &Value::Null);
        assert_eq!(answer.status, 200, "{}", answer.body);
        format!("/api/conversations/{}", answer.json()["id"].as_str().unwrap())
    }

    /// Waits for a state of the server, by looking again and again.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&WebChat) -> bool) {
        let started = Instant::now();
        while !is_so(&self.service) {
            assert!(started.elapsed() < Duration::from_secs(20), "it never came to this: {what}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Connections inherit the small buffer: a client that does not read is felt soon.
fn listen() -> tokio::net::TcpListener {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(8 * 1024).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    socket.listen(1024).unwrap()
}

/// An answer, read to its end.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, head: head.to_owned(), body: body.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (known, value) = line.split_once(": ")?;
            known.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// The path of a part that `.ci/services` installs, in its folder unless the path is absolute. Where it is missing this
/// says that the test is skipped, in one plain line; with `TURNSTATE_REQUIRE_SERVICES` set that fails the test.
pub(crate) fn find(test: &str, part: &str) -> Option<String> {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let folder =
        std::env::var_os("TURNSTATE_SERVICES").map_or(target.with_file_name("services"), PathBuf::from);
    let path = folder.join(part);
    if path.exists() {
        return Some(path.to_string_lossy().into_owned());
    }
    assert!(std::env::var_os("TURNSTATE_REQUIRE_SERVICES").is_none(), "{part} is not installed");
    // Past the test runner, which keeps what a passing test prints.
    let _ = writeln!(std::io::stderr(), "skipped {test}: {part} is not installed (.ci/services install)");
    None
}

/// Runs a script beside the tests, and fails with what it printed if it fails.
pub(crate) fn node(script: &str, arguments: &[&str]) {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let output = Command::new("node").arg(script).args(arguments).output();
    let output = output.expect("node is installed with the services");
    let printed = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(output.status.success(), "{}", printed.concat());
}
