//! Servers that speak OpenAI's chat completions: OpenAI itself, Ollama, llama.cpp, vLLM, LM Studio, OpenRouter, Groq,
//! Mistral, DeepSeek and many more.
//!
//! ```
//! # #[cfg(feature = "transport-reqwest")] {
//! use turnstate::provider::{OpenAiCompatible, ReqwestTransport};
//!
//! let model = OpenAiCompatible::new(ReqwestTransport::new(), "http://127.0.0.1:11434/v1");
//! # let _ = model;
//! # }
//! ```
//!
//! How an answer is read:
//!
//! * Text, reasoning text (`reasoning_content`, `reasoning`, `reasoning_text`) and each tool call become blocks in the
//!   order in which they begin. Arguments of calls stay the fragments that the server sent.
//! * An answer with tool calls stops for [`ToolUse`](crate::message::StopReason::ToolUse), whatever reason the server
//!   gives, unless it was cut at its length. A reason that nobody knows is an error that names it.
//! * A server that answers in one piece although a stream was asked for is read too.
//! * Tokens that the provider read from its cache are counted apart from the others.
//!   [`Usage::cost`](crate::message::Usage) stays 0: prices are the host's.
//!
//! Thinking goes back as it came, with the answer that it belongs to: in its field, in Mistral's parts of the text, or as
//! OpenRouter's reasoning details, which may be signed or encrypted. Thinking alone, without text or a call, does not.
//!
//! What is lost: further choices of one answer, log probabilities and audio.

mod answer;
mod chunk;
mod detail;
mod request;

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use self::answer::AnswerDecoder;
use super::repair::{CallIds, Rules, SystemMessages};
use super::sse::DEFAULT_LIMIT;
use super::transport::{HttpHeaders, HttpRequest, Transport};
use super::url::{below, without_secrets};
use super::{Exchange, Observer, Secrets, add_headers};
use crate::message::ThinkingLevel;
use crate::model::{ApiKey, BoxDeltaStream, Request, StreamFn};
use crate::tool::schema::Ordered;

/// The models of one server that speaks chat completions. Cheap to clone.
///
/// The request names the model; the key is the request's, or else the one given here; no key is sent where there is
/// none. Servers differ in small things: the methods below say how. None of them needs to be called for most servers.
#[derive(Clone)]
pub struct OpenAiCompatible {
    transport: Arc<dyn Transport>,
    url: String,
    settings: Arc<Settings>,
    observer: Option<Arc<dyn Observer>>,
}

/// How one server differs from others.
#[derive(Clone)]
struct Settings {
    key: Option<ApiKey>,
    headers: HttpHeaders,
    extra_body: Map<String, Value>,
    rules: Rules,
    max_tokens_field: &'static str,
    system_role: &'static str,
    prompt_cache: bool,
    return_thinking: bool,
    effort: fn(ThinkingLevel) -> Option<&'static str>,
    limit: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            key: None,
            headers: HttpHeaders::new(),
            extra_body: Map::new(),
            rules: Rules::default(),
            max_tokens_field: "max_tokens",
            system_role: "system",
            prompt_cache: false,
            return_thinking: true,
            effort: usual_effort,
            limit: DEFAULT_LIMIT,
        }
    }
}

fn usual_effort(level: ThinkingLevel) -> Option<&'static str> {
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Minimal => Some("minimal"),
        ThinkingLevel::Low => Some("low"),
        ThinkingLevel::Medium => Some("medium"),
        ThinkingLevel::High => Some("high"),
        ThinkingLevel::Xhigh | ThinkingLevel::Max => Some("xhigh"),
    }
}

impl OpenAiCompatible {
    /// The server whose `chat/completions` is below `base_url`, as `https://api.openai.com/v1`. A query of the base URL
    /// (`?api-version=…`) goes with every request.
    #[must_use]
    pub fn new(transport: impl Transport, base_url: impl AsRef<str>) -> Self {
        Self {
            transport: Arc::new(transport),
            url: below(base_url.as_ref(), "/chat/completions"),
            settings: Arc::default(),
            observer: None,
        }
    }

    fn set(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(Arc::make_mut(&mut self.settings));
        self
    }

    /// Sets the key for requests that bring none.
    #[must_use]
    pub fn with_api_key(self, key: impl Into<ApiKey>) -> Self {
        self.set(|settings| settings.key = Some(key.into()))
    }

    /// Sets a header of every request. Its value is treated as a secret. A request's own headers go over it.
    #[must_use]
    pub fn with_header(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.set(|settings| settings.headers.set(name, value))
    }

    /// Sets a field of every request's body, over what the adapter would send; `null` takes the field out.
    #[must_use]
    pub fn with_body_field(self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.set(|settings| {
            settings.extra_body.insert(name.into(), value.into());
        })
    }

    /// Says whether the model takes images. Otherwise the model's own `input` decides, and where it says nothing images
    /// are sent.
    #[must_use]
    pub fn with_images(self, images: bool) -> Self {
        self.set(|settings| settings.rules.images = Some(images))
    }

    /// Says which ids of calls the server takes; all, otherwise.
    #[must_use]
    pub fn with_call_ids(self, call_ids: CallIds) -> Self {
        self.set(|settings| settings.rules.call_ids = call_ids)
    }

    /// Says where the server takes system messages; in place, otherwise.
    #[must_use]
    pub fn with_system_messages(self, system_messages: SystemMessages) -> Self {
        self.set(|settings| settings.rules.system_messages = system_messages)
    }

    /// Sends system messages in the role `developer`, as OpenAI's reasoning models want them.
    #[must_use]
    pub fn with_developer_role(self) -> Self {
        self.set(|settings| settings.system_role = "developer")
    }

    /// Sends the limit of tokens as `max_completion_tokens`, as OpenAI's newer models want it.
    #[must_use]
    pub fn with_max_completion_tokens(self) -> Self {
        self.set(|settings| settings.max_tokens_field = "max_completion_tokens")
    }

    /// Sends the session's id and the wish to keep the cache (`prompt_cache_key`, `prompt_cache_retention`), which
    /// OpenAI knows and other servers may refuse.
    #[must_use]
    pub fn with_prompt_cache(self) -> Self {
        self.set(|settings| settings.prompt_cache = true)
    }

    /// Sets what `reasoning_effort` says for each thinking level; `None` says nothing. Otherwise it is the level's own
    /// name, `xhigh` for [`ThinkingLevel::Max`], and nothing for [`ThinkingLevel::Off`].
    #[must_use]
    pub fn with_effort(self, effort: fn(ThinkingLevel) -> Option<&'static str>) -> Self {
        self.set(|settings| settings.effort = effort)
    }

    /// Says whether the model gets its own earlier thinking back, the way it came. It does, otherwise; servers that refuse
    /// it are few.
    #[must_use]
    pub fn with_thinking_returned(self, return_thinking: bool) -> Self {
        self.set(|settings| settings.return_thinking = return_thinking)
    }

    /// Reads events of at most `limit` bytes, 8 MiB otherwise; a longer one fails the answer.
    #[must_use]
    pub fn with_limit(self, limit: usize) -> Self {
        self.set(|settings| settings.limit = limit)
    }

    /// Shows what goes over the wire.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Observer) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    fn http_request(&self, request: &Request) -> Result<HttpRequest, serde_json::Error> {
        // A model writes arguments in the order in which it reads the properties.
        let body = serde_json::to_vec(&Ordered(&request::body(request, &self.settings).into()))?;
        let mut http = HttpRequest::post(&self.url, body);
        http.headers.set("Content-Type", "application/json");
        http.headers.set("Accept", "text/event-stream");
        if let Some(key) = request.api_key.as_ref().or(self.settings.key.as_ref()) {
            http.headers.set("Authorization", format!("Bearer {}", key.reveal()));
        }
        add_headers(&request.options, &self.settings.headers, &mut http.headers);
        Ok(http)
    }

    fn secrets(&self, request: &Request) -> Secrets {
        let mut secrets = Secrets::of(request);
        secrets.add_url(&self.url);
        self.settings.key.iter().for_each(|key| secrets.add(key.reveal()));
        self.settings.headers.iter().for_each(|(_, value)| secrets.add(value));
        secrets
    }
}

impl StreamFn for OpenAiCompatible {
    fn stream(&self, request: Request) -> BoxDeltaStream {
        let http = self.http_request(&request);
        let secrets = self.secrets(&request);
        let effort = request.thinking_level.and_then(self.settings.effort);
        let exchange = Exchange {
            who: "the provider",
            transport: self.transport.clone(),
            model: request.model,
            observer: self.observer.clone(),
            secrets,
            abort: request.abort,
        };
        exchange.answer(http, AnswerDecoder::new(effort, self.settings.limit))
    }
}

impl fmt::Debug for OpenAiCompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiCompatible").field("url", &without_secrets(&self.url)).finish_non_exhaustive()
    }
}
