//! A transport over a plain blocking socket: no runtime, no HTTP library.
//!
//! ```text
//! cargo run --example blocking_transport --features openai-compatible -- http://127.0.0.1:11434/v1 smollm2 "Hello."
//! ```
//!
//! The `Transport` below is the whole of it; what follows it is a bare HTTP client (no TLS), which a library that blocks,
//! as `ureq`, would bring.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use futures::channel::{mpsc, oneshot};
use futures::future::{BoxFuture, FutureExt};
use futures::stream::StreamExt;
use turnstate::provider::OpenAiCompatible;
use turnstate::provider::transport::{HttpHeaders, HttpRequest, HttpResponse, Transport, TransportError};
use turnstate::{AgentEvent, Run, model::Delta, model::Model};

/// Sends each request from a thread of its own.
#[derive(Debug)]
pub(crate) struct BlockingTransport;

impl Transport for BlockingTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let (head_sender, head) = oneshot::channel();
        let connection = Connection::default();
        let hang_up = HangUp(connection.clone());
        std::thread::spawn(move || exchange(&request, &connection, head_sender));
        async move {
            let (status, headers, body) =
                head.await.map_err(|_| "the connection ended before the response")??;
            // Whoever drops the future or the body hangs up.
            let body = body.map(move |chunk| {
                let _ = &hang_up;
                chunk
            });
            Ok(HttpResponse::new(status, body).with_headers(headers))
        }
        .boxed()
    }
}

/// What the thread and the one who waits for the answer share.
type Connection = Arc<Mutex<Line>>;

#[derive(Default)]
enum Line {
    #[default]
    Connecting,
    Open(TcpStream),
    HungUp,
}

/// Closes the socket when dropped, now or as soon as there is one: the thread that reads from it then ends.
struct HangUp(Connection);

impl Drop for HangUp {
    fn drop(&mut self) {
        let mut line = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Line::Open(socket) = std::mem::replace(&mut *line, Line::HungUp) {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }
}

type Chunk = Result<Vec<u8>, TransportError>;
type Head = Result<(u16, HttpHeaders, mpsc::UnboundedReceiver<Chunk>), TransportError>;

/// Runs in the thread: sends the request, tells the head, and then the body chunk by chunk.
fn exchange(request: &HttpRequest, connection: &Connection, head_sender: oneshot::Sender<Head>) {
    let (mut response, status, headers) = match connect(request, connection) {
        Ok(connected) => connected,
        Err(error) => return drop(head_sender.send(Err(error))),
    };
    let (chunks, body) = mpsc::unbounded();
    if head_sender.send(Ok((status, headers, body))).is_err() {
        return;
    }
    let mut buffer = vec![0; 8_192];
    loop {
        let chunk = match response.read(&mut buffer) {
            Ok(0) => return,
            Ok(length) => Ok(buffer.iter().take(length).copied().collect()),
            Err(error) => Err(error.into()),
        };
        let is_last = chunk.is_err();
        if chunks.unbounded_send(chunk).is_err() || is_last {
            return;
        }
    }
}

/// HTTP/1.0, so that the body comes as it is and ends with the connection.
fn connect(
    request: &HttpRequest,
    connection: &Connection,
) -> Result<(BufReader<TcpStream>, u16, HttpHeaders), TransportError> {
    let rest = request.url.strip_prefix("http://").ok_or("only http:// URLs are served here")?;
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let port = if authority.contains(':') { "" } else { ":80" };
    let mut socket = TcpStream::connect(format!("{authority}{port}"))?;
    match &mut *connection.lock().unwrap_or_else(PoisonError::into_inner) {
        Line::HungUp => return Err("nobody waits for the response any more".into()),
        line => *line = Line::Open(socket.try_clone()?),
    }
    let mut head = format!("{} /{path} HTTP/1.0\r\nHost: {authority}\r\n", request.method);
    for (name, value) in request.headers.iter() {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", request.body.len()));
    socket.write_all(head.as_bytes())?;
    socket.write_all(&request.body)?;

    let mut response = BufReader::new(socket);
    let mut line = String::new();
    response.read_line(&mut line)?;
    let status = line.split(' ').nth(1).ok_or("this is no HTTP server")?.parse()?;
    let mut headers = HttpHeaders::new();
    loop {
        line.clear();
        response.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.append(name, value.trim()),
            None => return Ok((response, status, headers)),
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(url), Some(model), Some(prompt)) = (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("give a base URL, a model and a prompt".into());
    };
    let run =
        Run::builder(OpenAiCompatible::new(BlockingTransport, url)).model(Model::new("local", model)).build();
    let mut run = run.prompt(prompt);
    // Any executor will do; this one comes with the futures crate.
    futures::executor::block_on(async {
        while let Some(event) = run.next().await {
            if let AgentEvent::MessageUpdate { delta: Delta::Text { delta, .. } } = event {
                print!("{delta}");
                let _ = std::io::stdout().flush();
            }
        }
        println!();
        match run.state().error() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    })
}
