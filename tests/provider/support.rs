//! A fake transport, and the loop's driver in small.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use turnstate::message::AssistantMessage;
use turnstate::model::{BoxDeltaStream, Delta, Failure, Model, PartialMessage};
use turnstate::provider::transport::{
    HttpBody, HttpHeaders, HttpRequest, HttpResponse, Transport, TransportError,
};

/// What a [`Fake`] does for one chunk of the body.
#[derive(Clone)]
pub(crate) enum Chunk {
    Bytes(Vec<u8>),
    /// The connection breaks.
    Reset,
    /// Nothing comes any more.
    Stall,
    /// Nothing yet: the task is woken and has to look again.
    Slow,
}

/// A transport without a network: one response for every request; it keeps the requests.
#[derive(Clone, Default)]
pub(crate) struct Fake {
    pub(crate) status: u16,
    pub(crate) headers: HttpHeaders,
    pub(crate) chunks: Vec<Chunk>,
    /// The request itself fails for this reason.
    pub(crate) unreachable: Option<String>,
    /// Called when the nth chunk (from 0) is asked for.
    pub(crate) on_read: Option<Arc<dyn Fn(usize) + Send + Sync>>,
    pub(crate) requests: Arc<Mutex<Vec<HttpRequest>>>,
    /// Whether the body was dropped: the connection is closed.
    pub(crate) closed: Arc<AtomicBool>,
}

impl Fake {
    pub(crate) fn new(status: u16, chunks: impl IntoIterator<Item = Chunk>) -> Self {
        Self { status, chunks: chunks.into_iter().collect(), ..Self::default() }
    }

    /// A response of 200 with this body.
    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::new(200, [Chunk::Bytes(body.into())])
    }

    pub(crate) fn request(&self) -> HttpRequest {
        self.requests.lock().unwrap().last().expect("a request was sent").clone()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn body(&self) -> HttpBody {
        struct Closes(Arc<AtomicBool>);
        impl Drop for Closes {
            fn drop(&mut self) {
                self.0.store(true, Ordering::SeqCst);
            }
        }
        let state =
            (self.chunks.clone().into_iter().collect::<VecDeque<_>>(), 0, Closes(self.closed.clone()));
        let on_read = self.on_read.clone();
        stream::unfold(state, move |(mut chunks, read, guard)| {
            let on_read = on_read.clone();
            async move {
                if let Some(on_read) = &on_read {
                    on_read(read);
                }
                loop {
                    let chunk = match chunks.pop_front()? {
                        Chunk::Bytes(bytes) => Ok(bytes),
                        Chunk::Reset => Err("connection reset by peer".into()),
                        Chunk::Stall => futures::future::pending().await,
                        Chunk::Slow => {
                            smol::future::yield_now().await;
                            continue;
                        }
                    };
                    return Some((chunk, (chunks, read + 1, guard)));
                }
            }
        })
        .boxed()
    }
}

impl Transport for Fake {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        self.requests.lock().unwrap().push(request);
        async move {
            match &self.unreachable {
                Some(why) => Err(why.as_str().into()),
                None => Ok(HttpResponse::new(self.status, self.body()).with_headers(self.headers.clone())),
            }
        }
        .boxed()
    }
}

/// All deltas of an answer, without a runtime. Panics where the answer does not keep the protocol of a stream of deltas:
/// exactly one terminal delta, and nothing after it.
#[track_caller]
pub(crate) fn collect(answer: BoxDeltaStream) -> Vec<Delta> {
    checked(futures::executor::block_on(answer.collect()))
}

#[track_caller]
pub(crate) fn checked(deltas: Vec<Delta>) -> Vec<Delta> {
    let terminal = deltas.iter().position(Delta::is_terminal);
    assert_eq!(terminal, Some(deltas.len().wrapping_sub(1)), "one terminal delta, at the end: {deltas:?}");
    deltas
}

/// The message that deltas give, grown as the loop's driver grows it.
pub(crate) fn message_of(deltas: &[Delta]) -> AssistantMessage {
    let mut answer = PartialMessage::new(AssistantMessage::default());
    for delta in deltas {
        match delta {
            Delta::Done(done) => return answer.finish(done),
            Delta::Error(failure) => return answer.fail(failure),
            Delta::Whole { message } => return (**message).clone(),
            delta => {
                if let Err(malformed) = answer.apply(delta) {
                    return answer.fail(&Failure::new(malformed.to_string()));
                }
            }
        }
    }
    answer.fail(&Failure::new("the model's stream ended early"))
}

pub(crate) fn model() -> Model {
    Model::new("p-m1", "m1").with_api("a")
}
