//! The transport seam over reqwest.

use std::error::Error;

use futures_core::future::BoxFuture;
use futures_util::stream::StreamExt;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use super::transport::{HttpRequest, HttpResponse, Transport, TransportError};

/// Sends requests by a [`reqwest::Client`]. It needs a running Tokio runtime.
///
/// The feature `rustls` turns on TLS. A host that wants another backend depends on reqwest itself with the feature for it,
/// and may give its own client, with its proxies, certificates and timeouts, to [`with_client`](Self::with_client). A
/// timeout for the whole request also cuts off a long answer; reqwest's read timeout does not.
///
/// # Cancel safety
/// Dropping the future of `send`, or the body, closes the connection.
#[derive(Debug, Clone)]
pub struct ReqwestTransport {
    client: reqwest::Client,
}

impl ReqwestTransport {
    /// A transport with a client of reqwest's defaults, but for redirects: none is followed, since it would carry the
    /// conversation, and secrets in headers, to another server.
    ///
    /// # Panics
    /// Where [`reqwest::Client::new`] does: when no TLS backend can be set up.
    #[must_use]
    pub fn new() -> Self {
        let builder = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        Self { client: builder.build().unwrap_or_else(|_| reqwest::Client::new()) }
    }

    /// A transport with the host's own client.
    #[must_use]
    pub fn with_client(client: reqwest::Client) -> Self {
        Self { client }
    }
}

impl Default for ReqwestTransport {
    fn default() -> Self {
        Self::new()
    }
}

impl Transport for ReqwestTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            let method = reqwest::Method::from_bytes(request.method.as_bytes())?;
            let sending = self.client.request(method, request.url).headers(headers_for(&request.headers)?);
            let response = sending.body(request.body).send().await.map_err(without_url)?;
            let status = response.status().as_u16();
            let headers = response
                .headers()
                .iter()
                .map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())))
                .collect();
            let body = response.bytes_stream();
            let body = body.map(|chunk| chunk.map(Vec::from).map_err(without_url));
            Ok(HttpResponse::new(status, body).with_headers(headers))
        })
    }
}

/// URLs may hold keys, and a failed answer's text must not.
fn without_url(error: reqwest::Error) -> TransportError {
    let error: Box<dyn Error + Send + Sync> = Box::new(error.without_url());
    error.into()
}

fn headers_for(headers: &super::transport::HttpHeaders) -> Result<HeaderMap, TransportError> {
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter() {
        let header = HeaderName::from_bytes(name.as_bytes())
            .map_err(|_| format!("`{name}` is no name of a header"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| {
            format!("the value of the header `{name}` has characters that a header cannot hold")
        })?;
        value.set_sensitive(true);
        map.append(header, value);
    }
    Ok(map)
}
