//! The transport seam: an HTTP request out; a status, headers and a stream of body bytes in.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures_core::Stream;
use futures_core::future::BoxFuture;
use futures_core::stream::BoxStream;
use futures_util::stream::StreamExt;

use super::url::without_secrets;

/// Sends HTTP requests. The one thing an adapter needs of the outside world.
///
/// No type here belongs to a runtime or to an HTTP library, so an implementation over any of them is short:
///
/// ```
/// use futures::FutureExt;
/// use futures::future::BoxFuture;
/// use turnstate::provider::transport::{HttpRequest, HttpResponse, Transport, TransportError};
///
/// /// Answers every request with the same bytes: a recording.
/// struct Recorded(&'static [u8]);
///
/// impl Transport for Recorded {
///     fn send(&self, _: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
///         let body = futures::stream::iter([Ok(self.0.to_vec())]);
///         async move { Ok(HttpResponse::new(200, body)) }.boxed()
///     }
/// }
/// # let _ = Recorded(b"");
/// ```
///
/// [`ReqwestTransport`](crate::provider::ReqwestTransport) is a ready one; `examples/blocking_transport.rs` is one over
/// a plain blocking socket.
///
/// The seam has no timer: a transport that wants to give up on a silent server does so itself, with an error.
///
/// # Cancel safety
/// Dropping the future of `send`, or the response's body, must close the connection: that is how an abort reaches the
/// server.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a transport",
    label = "cannot send HTTP requests",
    note = "implement `Transport` for `{Self}`, or use `ReqwestTransport` (feature `transport-reqwest`)"
)]
pub trait Transport: Send + Sync + 'static {
    /// Sends a request and gives the response as soon as its head is there.
    ///
    /// # Errors
    /// When there is no response: the server cannot be reached, or the connection broke before the head. A response
    /// with an error status is a response.
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>>;
}

impl<T: Transport + ?Sized> Transport for Arc<T> {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        (**self).send(request)
    }
}

/// An HTTP request with its whole body.
///
/// Its `Debug` shows neither the values of headers, nor the body, nor what in the URL may be secret.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpRequest {
    /// The method, in capitals.
    pub method: &'static str,
    /// The absolute URL.
    pub url: String,
    /// The headers. `Content-Length` and `Host` are the transport's to add.
    pub headers: HttpHeaders,
    /// The body; may be empty.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// A POST of `body` to `url`.
    #[must_use]
    pub fn post(url: impl Into<String>, body: impl Into<Vec<u8>>) -> Self {
        Self { method: "POST", url: url.into(), headers: HttpHeaders::default(), body: body.into() }
    }
}

impl fmt::Debug for HttpRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpRequest")
            .field("method", &self.method)
            .field("url", &without_secrets(&self.url))
            .field("headers", &self.headers)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish()
    }
}

/// A stream of body bytes, in chunks of any size. An error ends it.
pub type HttpBody = BoxStream<'static, Result<Vec<u8>, TransportError>>;

/// The head of an HTTP response, and its body as it arrives.
#[non_exhaustive]
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The headers.
    pub headers: HttpHeaders,
    /// The body. Dropping it closes the connection.
    pub body: HttpBody,
}

impl HttpResponse {
    /// A response without headers.
    #[must_use]
    pub fn new(
        status: u16,
        body: impl Stream<Item = Result<Vec<u8>, TransportError>> + Send + 'static,
    ) -> Self {
        Self { status, headers: HttpHeaders::default(), body: body.boxed() }
    }

    /// Sets the headers.
    #[must_use]
    pub fn with_headers(mut self, headers: HttpHeaders) -> Self {
        self.headers = headers;
        self
    }
}

impl fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpResponse")
            .field("status", &self.status)
            .field("headers", &self.headers)
            .finish_non_exhaustive()
    }
}

/// Header names and values, in order. Names are compared without regard to case. The values are not printed.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HttpHeaders(Vec<(String, String)>);

impl HttpHeaders {
    /// No headers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The first value of the header `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Sets the header `name` to one value.
    pub fn set(&mut self, name: impl Into<String>, value: impl Into<String>) {
        let name = name.into();
        self.0.retain(|(known, _)| !known.eq_ignore_ascii_case(&name));
        self.0.push((name, value.into()));
    }

    /// Adds a value, beside those that the header `name` may have.
    pub fn append(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }

    /// Names and values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for HttpHeaders {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        Self(headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

impl fmt::Debug for HttpHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(name, _)| (name, "…"))).finish()
    }
}

/// Why a transport got no response, or no more of its body.
///
/// Made from any error, and from texts, by `?` or `into()`; it is not an error itself, so that this works for all of
/// them. Its text, with the texts of the errors behind it, becomes part of the failed answer's error message: keep
/// secrets, also those in URLs, out of it.
pub struct TransportError(Box<dyn Error + Send + Sync>);

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for TransportError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::error_text::write_chain(&*self.0, f)
    }
}

/// The text of the errors, as `Display`: a derived form could show what the texts keep back.
impl fmt::Debug for TransportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransportError({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_prints_no_secret() {
        let mut request = HttpRequest::post("https://me:pw@api.test:8/v1/x?key=sk-1#sk-2", "sk-3");
        request.headers.set("Authorization", "Bearer sk-4");
        assert_eq!(
            format!("{request:?}"),
            "HttpRequest { method: \"POST\", url: \"https://api.test:8/v1/x\", \
             headers: {\"Authorization\": \"…\"}, body: 4 bytes }"
        );
    }

    #[test]
    fn header_names_have_no_case() {
        let mut headers: HttpHeaders = [("Retry-After", "1")].into_iter().collect();
        assert_eq!(headers.get("retry-after"), Some("1"));
        headers.append("RETRY-AFTER", "2");
        headers.set("retry-after", "3");
        assert_eq!(headers.iter().collect::<Vec<_>>(), [("retry-after", "3")]);
    }

    #[test]
    fn an_error_tells_the_errors_behind_it() {
        #[derive(Debug, thiserror::Error)]
        #[error("cannot connect")]
        struct Outer(#[source] std::io::Error);
        let error = TransportError::from(Outer(std::io::Error::other("refused")));
        assert_eq!(error.to_string(), "cannot connect: refused");
        assert_eq!(format!("{error:?}"), "TransportError(cannot connect: refused)");
    }
}
