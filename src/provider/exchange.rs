//! One request and its answer: what every adapter does in the same way.

use std::fmt;
use std::sync::Arc;

use futures_core::Stream;
use futures_util::future::Either;
use futures_util::stream::{self, StreamExt};

use super::http_error;
use super::transport::{HttpBody, HttpRequest, Transport, TransportError};
use super::{Observer, Secrets, until_aborted};
use crate::abort::AbortSignal;
use crate::breath::Breath;
use crate::model::{BoxDeltaStream, Delta, Failure, Model};

/// The most that is read of the body of an error status, in bytes.
const ERROR_BODY_LIMIT: usize = 64 << 10;

/// Turns the bytes of a response body into deltas, without any I/O.
///
/// It gives exactly one terminal delta, at the latest after `finish`.
pub(crate) trait Decoder: Send + 'static {
    /// Takes the next bytes.
    fn push(&mut self, bytes: &[u8]);

    /// Says that no more bytes come; `broken` tells why, where it was not the server that ended them.
    fn finish(&mut self, broken: Option<String>);

    /// The next delta, if the bytes so far hold one.
    fn next_delta(&mut self, observe: &dyn Fn(&str)) -> Option<Delta>;
}

/// One request and everything that is needed to get its answer.
pub(crate) struct Exchange {
    /// How the server is called in error texts, as `the proxy`.
    pub(crate) who: &'static str,
    pub(crate) transport: Arc<dyn Transport>,
    pub(crate) model: Arc<Model>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) secrets: Secrets,
    pub(crate) abort: AbortSignal,
}

impl Exchange {
    /// The answer: everything that the decoder makes of the response, or the reason why there is none, which may be that
    /// the request cannot be written.
    pub(crate) fn answer<D: Decoder>(
        self,
        request: Result<HttpRequest, serde_json::Error>,
        decoder: D,
    ) -> BoxDeltaStream {
        let abort = self.abort.clone();
        let secrets = self.secrets.clone();
        let opened = async move {
            match self.open(request).await {
                Ok(body) => Either::Left(self.deltas(body, decoder)),
                Err(failure) => Either::Right(stream::iter([Delta::from(failure)])),
            }
        };
        let deltas = stream::once(opened).flatten().map(move |delta| secrets.scrub_delta(delta));
        until_aborted(deltas.boxed(), abort)
    }

    /// Sends the request; gives the body of a response that succeeded.
    async fn open(&self, request: Result<HttpRequest, serde_json::Error>) -> Result<HttpBody, Failure> {
        let request = request
            .map_err(|error| Failure::new(format!("the request cannot be written as JSON: {error}")))?;
        if let Some(observer) = &self.observer {
            observer.payload(&self.model, &request.body);
        }
        let response = self.transport.send(request).await;
        let response =
            response.map_err(|error| Failure::new(format!("{} cannot be reached: {error}", self.who)))?;
        if let Some(observer) = &self.observer {
            observer.response(&self.model, response.status, &response.headers);
        }
        if (200..300).contains(&response.status) {
            return Ok(response.body);
        }
        let body = read_limited(response.body).await;
        Err(http_error::failure(self.who, response.status, &response.headers, &body))
    }

    fn deltas<D: Decoder>(self, body: HttpBody, decoder: D) -> impl Stream<Item = Delta> + Send + 'static {
        let reading = Reading { body: Some(body), decoder, exchange: self };
        stream::unfold(
            reading,
            |mut reading| async move { reading.next().await.map(|delta| (delta, reading)) },
        )
    }
}

/// A body that is read into deltas.
struct Reading<D> {
    /// `None` after its end, and after the terminal delta: whatever else the server has to say is not read.
    body: Option<HttpBody>,
    decoder: D,
    exchange: Exchange,
}

impl<D: Decoder> Reading<D> {
    async fn next(&mut self) -> Option<Delta> {
        let mut breath = Breath::default();
        loop {
            let Exchange { observer, model, .. } = &self.exchange;
            let observe = |data: &str| {
                if let Some(observer) = observer {
                    observer.event(model, data);
                }
            };
            if let Some(delta) = self.decoder.next_delta(&observe) {
                if delta.is_terminal() {
                    self.body = None;
                }
                return Some(delta);
            }
            breath.take().await;
            match self.body.as_mut()?.next().await {
                Some(Ok(bytes)) => self.decoder.push(&bytes),
                Some(Err(error)) => self.finish(Some(error)),
                None => self.finish(None),
            }
        }
    }

    fn finish(&mut self, error: Option<TransportError>) {
        self.body = None;
        let who = self.exchange.who;
        self.decoder.finish(error.map(|error| format!("the connection to {who} broke: {error}")));
    }
}

/// The beginning of a body; what a broken connection leaves of it is enough.
async fn read_limited(mut body: HttpBody) -> Vec<u8> {
    let mut read = Vec::new();
    let mut breath = Breath::default();
    while let Some(Ok(bytes)) = body.next().await {
        breath.take().await;
        read.extend_from_slice(&bytes);
        if read.len() >= ERROR_BODY_LIMIT {
            break;
        }
    }
    read
}

impl fmt::Debug for Exchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange").field("who", &self.who).field("model", &self.model).finish_non_exhaustive()
    }
}
