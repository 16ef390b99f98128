//! The proxy as a model.

use std::fmt;
use std::sync::Arc;

use super::{BearerToken, CONTENT_TYPE, PATH, ProxyDecoder, request_body};
use crate::model::{BoxDeltaStream, Request, StreamFn};
use crate::provider::sse::DEFAULT_LIMIT;
use crate::provider::transport::{HttpRequest, Transport};
use crate::provider::url::{below, without_secrets};
use crate::provider::{Exchange, Observer, Secrets};

/// A model behind a proxy. Cheap to clone.
///
/// Every answer ends with a terminal delta: an error status, a connection that cannot be made or breaks, and an answer
/// that is cut off are failed answers with the reason in their text. Dropping the stream, or an abort, closes the
/// connection, and so cancels the model behind the proxy.
#[derive(Clone)]
pub struct ProxyStream {
    transport: Arc<dyn Transport>,
    url: String,
    token: BearerToken,
    observer: Option<Arc<dyn Observer>>,
    limit: usize,
}

impl ProxyStream {
    /// The proxy at `base_url` (below which it listens on [`PATH`]), for the client with this token. A query of the base
    /// URL goes with every request.
    #[must_use]
    pub fn new(transport: impl Transport, base_url: impl AsRef<str>, token: impl Into<BearerToken>) -> Self {
        Self {
            transport: Arc::new(transport),
            url: below(base_url.as_ref(), PATH),
            token: token.into(),
            observer: None,
            limit: DEFAULT_LIMIT,
        }
    }

    /// Shows what goes over the wire.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Observer) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Reads events of at most `limit` bytes, 8 MiB otherwise; a longer one fails the answer.
    #[must_use]
    pub fn with_limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }

    fn http_request(&self, request: &Request) -> Result<HttpRequest, serde_json::Error> {
        let mut http = HttpRequest::post(&self.url, request_body(request)?);
        http.headers.set("Authorization", self.token.header());
        http.headers.set("Content-Type", "application/json");
        http.headers.set("Accept", CONTENT_TYPE);
        Ok(http)
    }
}

impl StreamFn for ProxyStream {
    fn stream(&self, request: Request) -> BoxDeltaStream {
        let http = self.http_request(&request);
        let mut secrets = Secrets::of(&request);
        secrets.add(&self.token.header());
        secrets.add_url(&self.url);
        let exchange = Exchange {
            who: "the proxy",
            transport: self.transport.clone(),
            model: request.model,
            observer: self.observer.clone(),
            secrets,
            abort: request.abort,
        };
        exchange.answer(http, ProxyDecoder::with_limit(self.limit))
    }
}

impl fmt::Debug for ProxyStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyStream")
            .field("url", &without_secrets(&self.url))
            .field("token", &self.token)
            .finish_non_exhaustive()
    }
}
