//! Real models: the transport seam, and the adapters that speak a provider's protocol over it.
//!
//! An adapter is a [`StreamFn`](crate::model::StreamFn). It knows a protocol and nothing of sockets, runtimes or TLS: it
//! hands a request to a [`Transport`](transport::Transport) and reads the bytes that come back. So one adapter runs on
//! every runtime, in a thread, in a browser, or against a recording. The one that stands on the `genai` crate (feature
//! `genai`) is the exception: it brings every other provider's protocol, and needs a Tokio runtime.
//!
//! What all adapters here promise:
//!
//! * Every answer ends with exactly one [`Delta::Done`](crate::model::Delta::Done) or
//!   [`Delta::Error`](crate::model::Delta::Error), whatever the server or the connection does; what had streamed
//!   before stays.
//! * An error text holds the server's own words and the cause of a broken connection, and never a key or token, even
//!   where the server repeats it. (Texts of fewer than eight characters count as placeholders, and stay.)
//! * Dropping the stream, or an abort, closes the connection.
//!
//! Nothing here retries: an answer that failed is the host's to ask for again. The guide
//! [models](crate::guide::models) shows the adapters at work.

#[cfg(any(feature = "openai-compatible", feature = "genai"))]
mod ending;
#[cfg(any(feature = "proxy", feature = "openai-compatible"))]
mod exchange;
#[cfg(feature = "genai")]
pub mod genai;
#[cfg(any(feature = "proxy", feature = "openai-compatible"))]
mod halves;
#[cfg(any(feature = "openai-compatible", feature = "genai"))]
mod headers;
#[cfg(any(feature = "proxy", feature = "openai-compatible", feature = "genai"))]
mod http_error;
#[cfg(any(feature = "proxy", feature = "openai-compatible"))]
mod json;
#[cfg(any(feature = "proxy", feature = "openai-compatible", feature = "genai"))]
mod observer;
#[cfg(feature = "openai-compatible")]
pub mod openai;
#[cfg(any(feature = "openai-compatible", feature = "genai"))]
mod repair;
#[cfg(feature = "transport-reqwest")]
mod reqwest;
#[cfg(any(feature = "openai-compatible", feature = "genai"))]
mod sampling;
#[cfg(any(feature = "proxy", feature = "openai-compatible", feature = "genai"))]
mod secrets;
#[cfg(any(feature = "proxy", feature = "openai-compatible"))]
pub(crate) mod sse;
#[cfg(any(feature = "openai-compatible", feature = "genai"))]
mod tool_results;
pub mod transport;
#[cfg(any(feature = "proxy", feature = "openai-compatible", feature = "genai"))]
mod until_aborted;
pub(crate) mod url;

/// The `genai` crate, whose types the adapter [`Genai`] takes. Pinned to one version: see [`genai`](mod@self::genai).
#[cfg(feature = "genai")]
pub use ::genai as genai_crate;

#[cfg(feature = "genai")]
pub use self::genai::Genai;
#[cfg(feature = "transport-reqwest")]
pub use self::reqwest::ReqwestTransport;
#[cfg(any(feature = "proxy", feature = "openai-compatible"))]
pub(crate) use exchange::{Decoder, Exchange};
#[cfg(any(feature = "proxy", feature = "openai-compatible"))]
pub(crate) use halves::Halves;
#[cfg(any(feature = "openai-compatible", feature = "genai"))]
pub(crate) use headers::add_headers;
#[cfg(any(feature = "proxy", feature = "openai-compatible"))]
pub(crate) use json::read_json;
#[cfg(any(feature = "proxy", feature = "openai-compatible", feature = "genai"))]
pub use observer::Observer;
#[cfg(feature = "openai-compatible")]
pub use openai::OpenAiCompatible;
#[cfg(any(feature = "openai-compatible", feature = "genai"))]
pub use repair::{CallIds, SystemMessages};
#[cfg(any(feature = "openai-compatible", feature = "genai"))]
pub(crate) use sampling::sampling_params;
#[cfg(any(feature = "proxy", feature = "openai-compatible", feature = "genai"))]
pub(crate) use secrets::Secrets;
#[cfg(any(feature = "proxy", feature = "openai-compatible", feature = "genai"))]
pub(crate) use until_aborted::until_aborted;
