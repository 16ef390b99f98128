//! The request as the wire has it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::message::ThinkingLevel;
use crate::model::{Model, Request, RequestOptions};
use crate::transcript::Messages;

/// Where a proxy listens, below its base URL.
pub const PATH: &str = "/api/stream";

/// The body of the request to a proxy: JSON in UTF-8.
///
/// The key of the provider and the identity are not in it: the proxy has its own.
///
/// # Errors
/// When the request cannot be written as JSON.
pub fn request_body(request: &Request) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct Body<'a> {
        model: &'a Model,
        context: Context<'a>,
        options: Map<String, Value>,
    }
    #[derive(Serialize)]
    struct Context<'a> {
        messages: &'a Messages,
    }
    let mut options = match serde_json::to_value(&*request.options)? {
        Value::Object(options) => options,
        _ => Map::new(),
    };
    options.remove("identity");
    if let Some(level) = request.thinking_level.filter(|level| *level != ThinkingLevel::Off) {
        options.insert("reasoning".to_owned(), level.as_str().into());
    }
    let context = Context { messages: &request.messages };
    serde_json::to_vec(&Body { model: &request.model, context, options })
}

/// Reads the body of a request to a proxy.
///
/// The request it gives has no key, and a fresh abort signal. All else is the client's word, and goes to the provider if
/// the host does not change it: the model (with `Genai` also which provider is asked, by whose key), and in the options
/// headers, which go over those of the adapter, and further fields of the body. A host that does not trust its clients so
/// far takes them out:
///
/// ```
/// use std::sync::Arc;
/// use turnstate::model::{Model, Request, RequestOptions};
///
/// /// Of what a client asks for, the messages with their tools, and how long the answer may be.
/// fn allowed(mut request: Request) -> Request {
///     let mut options = RequestOptions::default();
///     options.max_tokens = Some(request.options.max_tokens.map_or(4_000, |tokens| tokens.min(4_000)));
///     request.options = Arc::new(options);
///     request.model = Arc::new(Model::new("openai", "gpt-5-mini"));
///     request
/// }
/// # let request = turnstate::proxy::parse_request(br#"{"model":{"id":"x"},"context":{},"options":{"headers":{"a":"b"}}}"#);
/// # assert_eq!(allowed(request.unwrap()).options.headers, None);
/// ```
///
/// # Errors
/// When the body is not such a request; the text says where.
pub fn parse_request(body: &[u8]) -> Result<Request, InvalidRequest> {
    #[derive(Deserialize)]
    struct Body {
        model: Model,
        context: Context,
        #[serde(default)]
        options: Options,
    }
    #[derive(Deserialize)]
    struct Context {
        #[serde(default)]
        messages: Messages,
    }
    #[derive(Deserialize, Default)]
    struct Options {
        #[serde(default)]
        reasoning: Option<ThinkingLevel>,
        #[serde(flatten)]
        rest: RequestOptions,
    }
    let deserializer = &mut serde_json::Deserializer::from_slice(body);
    let parsed: Body = serde_path_to_error::deserialize(deserializer).map_err(InvalidRequest)?;
    let mut request = Request::new(parsed.model, parsed.context.messages);
    request.thinking_level = parsed.options.reasoning.filter(|level| *level != ThinkingLevel::Off);
    request.options = Arc::new(RequestOptions { identity: None, ..parsed.options.rest });
    Ok(request)
}

/// A body that is no request to a proxy. The text says where and why.
#[derive(Debug, Error)]
#[error("the body is not a request to a proxy: {0}")]
pub struct InvalidRequest(serde_path_to_error::Error<serde_json::Error>);
