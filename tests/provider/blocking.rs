//! The example transport over a blocking socket, without any runtime.

use std::io::{Read, Write};
use std::net::TcpListener;

use futures::StreamExt;
use turnstate::message::StopReason;
use turnstate::model::{Delta, Request, StreamFn};
use turnstate::provider::OpenAiCompatible;
use turnstate::transcript::Messages;

use crate::support::{collect, message_of, model};

#[allow(dead_code, reason = "an example has a main function")]
#[path = "../../examples/blocking_transport.rs"]
pub(crate) mod example;

fn server(listener: &TcpListener) -> OpenAiCompatible {
    OpenAiCompatible::new(example::BlockingTransport, format!("http://{}/v1", listener.local_addr().unwrap()))
}

fn request() -> Request {
    Request::new(model(), Messages::new())
}

/// Takes one connection and reads its request up to the end of the head and its body.
fn accept(listener: &TcpListener) -> (std::net::TcpStream, String) {
    let (mut socket, _) = listener.accept().unwrap();
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(b"\r\n\r\n") {
        socket.read_exact(&mut byte).unwrap();
        read.push(byte[0]);
    }
    let head = String::from_utf8(read).unwrap();
    let length =
        head.lines().find_map(|line| line.strip_prefix("Content-Length: ")).unwrap().parse().unwrap();
    socket.read_exact(&mut vec![0; length]).unwrap();
    (socket, head)
}

#[test]
fn an_answer_comes_through_a_blocking_socket() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = server(&listener);
    let serving = std::thread::spawn(move || {
        let (mut socket, head) = accept(&listener);
        assert!(head.starts_with("POST /v1/chat/completions HTTP/1.0\r\n"), "{head}");
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").unwrap();
        for piece in
            ["data: {\"choices\":[{\"delta\":{\"content\":\"Grü", "ße\"},\"finish_reason\":\"stop\"}]}\n\n"]
        {
            socket.write_all(piece.as_bytes()).unwrap();
            socket.flush().unwrap();
        }
    });
    let message = message_of(&collect(model.stream(request())));
    assert_eq!(message.texts().collect::<Vec<_>>(), ["Grüße"]);
    assert_eq!(message.stop_reason, StopReason::Stop);
    serving.join().unwrap();
}

#[test]
fn an_error_status_comes_through_a_blocking_socket() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = server(&listener);
    let serving = std::thread::spawn(move || {
        let (mut socket, _) = accept(&listener);
        socket
            .write_all(b"HTTP/1.1 429 Slow Down\r\nRetry-After: 3\r\n\r\n{\"error\":\"slow down\"}")
            .unwrap();
    });
    let text = "the provider answered 429 Too Many Requests: slow down (it asks to wait 3 s before the next request)";
    assert_eq!(message_of(&collect(model.stream(request()))).error_message.as_deref(), Some(text));
    serving.join().unwrap();
}

#[test]
fn dropping_the_answer_hangs_up() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = server(&listener);
    let serving = std::thread::spawn(move || {
        let (mut socket, _) = accept(&listener);
        socket
            .write_all(b"HTTP/1.1 200 OK\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n")
            .unwrap();
        // The next read ends when the client hangs up.
        assert_eq!(socket.read(&mut [0]).unwrap_or(0), 0);
        // And while a client still waits for the head, or even for the connection.
        let (mut socket, _) = listener.accept().unwrap();
        let _ = socket.read_to_end(&mut Vec::new());
    });
    let mut answer = model.stream(request());
    assert_eq!(futures::executor::block_on(answer.next()), Some(Delta::Start));
    drop(answer);
    let mut answer = model.stream(request());
    assert_eq!(futures::FutureExt::now_or_never(answer.next()), None);
    drop(answer);
    serving.join().unwrap();
}

#[test]
fn a_refused_connection_tells_its_cause() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let model = server(&listener);
    drop(listener);
    let text = message_of(&collect(model.stream(request()))).error_message.unwrap();
    assert!(text.starts_with("the provider cannot be reached: Connection refused"), "{text}");
}
