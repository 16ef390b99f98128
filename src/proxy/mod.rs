//! A model behind a server of the host's own: the reference's wire protocol, both sides.
//!
//! The client posts a request as JSON to `{base URL}/api/stream`, with a bearer token; the server answers with
//! [`Delta`](crate::model::Delta)s as server-sent events. So keys stay on the server, and a browser or a desktop
//! program runs the loop.
//!
//! The protocol itself is free of I/O: [`request_body`] and [`ProxyDecoder`] are the client's half,
//! [`parse_request`] and [`respond`] the server's. [`ProxyStream`] is the client as a model, over a
//! [`Transport`](crate::provider::transport::Transport); `examples/proxy_server.rs` serves the other half, and the guide
//! [models](crate::guide::models#behind-a-proxy) has both in one page.
//!
//! What goes over the wire:
//!
//! * The request: `model`, `context.messages` (system messages in place, with the tools they declare), `options` (all of
//!   [`RequestOptions`](crate::model::RequestOptions) but the identity, and the thinking level as `reasoning`). Never
//!   the key of the provider. A server need not do all that it is asked for: see [`parse_request`].
//! * The answer: one event for each delta, `data: {"type": "text_delta", "contentIndex": 0, "delta": "…"}`, up to one
//!   `done` or `error`. Kinds of events that a client does not know are ignored by it.

mod client;
mod decoder;
mod request;
mod server;
mod token;

pub use client::ProxyStream;
pub use decoder::ProxyDecoder;
pub use request::{InvalidRequest, PATH, parse_request, request_body};
pub use server::{CONTENT_TYPE, ReadError, ResponseBody, read_request, respond};
pub use token::BearerToken;
