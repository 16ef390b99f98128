//! Serves a model to clients of the proxy protocol: a key stays on the server, a token lets a client in.
//!
//! ```text
//! TURNSTATE_TOKEN=let-me-in cargo run --example proxy_server --features proxy
//! ```
//!
//! The model here repeats what it hears; put any `StreamFn` in its place.

use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{self, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use axum::routing::post;
use futures::StreamExt;
use turnstate::message::{Message, StopReason};
use turnstate::model::{Delta, Request, StreamFn, stream_fn};
use turnstate::proxy::{self, BearerToken};

/// What all requests share.
pub(crate) struct Proxy<S> {
    pub(crate) model: S,
    pub(crate) token: BearerToken,
    /// The longest request that is read, in bytes.
    pub(crate) limit: usize,
}

/// The web service.
pub(crate) fn service<S: StreamFn>(proxy: Proxy<S>) -> Router {
    Router::new().route(proxy::PATH, post(answer)).with_state(Arc::new(proxy))
}

async fn answer<S: StreamFn>(State(proxy): State<Arc<Proxy<S>>>, request: extract::Request) -> Response {
    // First of all: nothing is read for, and no model is asked by, someone without the token.
    let authorization = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    if !proxy.token.accepts(authorization) {
        return refuse(StatusCode::UNAUTHORIZED, r#"{"error":"wrong or missing token"}"#.to_owned());
    }
    match proxy::read_request(request.into_body().into_data_stream(), proxy.limit).await {
        Err(error) => {
            let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::BAD_REQUEST);
            refuse(status, error.body())
        }
        Ok(request) => {
            let request = allowed(request);
            // When the client goes away the body is dropped, and the model's stream with it.
            let body = proxy::respond(&proxy.model, request).map(Ok::<_, Infallible>);
            respond(StatusCode::OK, proxy::CONTENT_TYPE, Body::from_stream(body))
        }
    }
}

/// What of a request is passed on. A host may also choose the model here, or count what a client asks for.
fn allowed(mut request: Request) -> Request {
    let options = Arc::make_mut(&mut request.options);
    // Headers of the provider's, and fields of its body, are not for clients to say.
    (options.headers, options.sampling_params) = (None, None);
    request
}

fn refuse(status: StatusCode, json: String) -> Response {
    respond(status, "application/json", json.into())
}

fn respond(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(content_type));
    response.headers_mut().insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache"));
    response
}

/// A model that repeats the last user message.
pub(crate) fn parrot() -> impl StreamFn {
    stream_fn(async |request| {
        let heard = request.messages.iter().rev().find_map(|message| match message {
            Message::User(user) => Some(user.content.texts().collect::<Vec<_>>().join(" ")),
            _ => None,
        });
        let heard = heard.ok_or("there is no user message to repeat")?;
        let words: Vec<_> = heard.split_inclusive(' ').map(|word| Delta::text(0, word)).collect();
        let begin = [Delta::Start, Delta::TextStart { index: 0 }];
        let end = [Delta::TextEnd { index: 0, signature: None }, Delta::done(StopReason::Stop)];
        Ok(futures::stream::iter(begin.into_iter().chain(words).chain(end)))
    })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let token = std::env::var("TURNSTATE_TOKEN").map_err(|_| "set TURNSTATE_TOKEN to the clients' token")?;
    let proxy = Proxy { model: parrot(), token: token.into(), limit: 32 << 20 };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:8787").await?;
    println!("listening on http://{}{}", listener.local_addr()?, proxy::PATH);
    axum::serve(listener, service(proxy)).await?;
    Ok(())
}
