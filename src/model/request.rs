//! What a model is asked.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::abort::AbortSignal;
use crate::message::{ClientIdentity, ThinkingLevel, ToolDeclaration};
use crate::transcript::{Messages, Replay};

/// One request to a model: everything a transport needs, owned and cheap to clone.
///
/// The messages are shared with the loop, not copied; a transport that keeps a request past its stream costs one copy
/// of pointers at the next request.
///
/// JSON: `model`, `messages`, `thinkingLevel`, `options`. The key and the abort signal are not written.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Request {
    /// The model to ask.
    #[serde(with = "super::shared")]
    pub model: Arc<Model>,
    /// What the model sees, in order. System messages stand in place and carry the declarations of tools.
    pub messages: Messages,
    /// How much the model is asked to think; `None` when it is not asked to ([`ThinkingLevel::Off`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_level: Option<ThinkingLevel>,
    /// What else the host wants of the transport.
    #[serde(default, with = "super::shared")]
    pub options: Arc<RequestOptions>,
    /// The key for the provider. Never serialized, never printed.
    #[serde(skip)]
    pub api_key: Option<ApiKey>,
    /// Raised when the run is aborted. The loop drops the stream by itself then; a transport needs it only for work
    /// that outlives the stream.
    #[serde(skip)]
    pub abort: AbortSignal,
}

impl Request {
    /// A request with these messages and nothing else.
    #[must_use]
    pub fn new(model: impl Into<Arc<Model>>, messages: impl Into<Messages>) -> Self {
        Self {
            model: model.into(),
            messages: messages.into(),
            thinking_level: None,
            options: Arc::default(),
            api_key: None,
            abort: AbortSignal::new(),
        }
    }

    /// The tools that the messages declare, in order.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<ToolDeclaration>> {
        self.replay().tools().to_vec()
    }

    /// The prompt that the system messages give when they are taken together.
    #[must_use]
    pub fn system_prompt(&self) -> String {
        self.replay().prompt()
    }

    fn replay(&self) -> Replay {
        let mut replay = Replay::default();
        for message in self.messages.iter() {
            if let crate::message::Message::System(system) = message {
                replay.push(system);
            }
        }
        replay
    }
}

/// A model by name. The loop knows no catalogue: all but these three fields is the host's and its transport's.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Model {
    /// The provider's id of the model.
    pub id: String,
    /// The provider: the name by which [`api_key`](crate::Hook::api_key) is asked for a key.
    #[serde(default)]
    pub provider: String,
    /// The wire protocol.
    #[serde(default)]
    pub api: String,
    /// Whatever else describes it; goes to the transport, and over the proxy, as it is.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Model {
    /// The model `id` of `provider`.
    #[must_use]
    pub fn new(provider: impl Into<String>, id: impl Into<String>) -> Self {
        Self { id: id.into(), provider: provider.into(), ..Self::default() }
    }

    /// Sets the wire protocol.
    #[must_use]
    pub fn with_api(mut self, api: impl Into<String>) -> Self {
        self.api = api.into();
        self
    }
}

/// A key for a provider. It is never printed: its `Debug` is `ApiKey(…)`.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(Arc<str>);

impl ApiKey {
    /// A key.
    #[must_use]
    pub fn new(key: impl Into<Arc<str>>) -> Self {
        Self(key.into())
    }

    /// The key itself, for the transport alone.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

impl From<&str> for ApiKey {
    fn from(key: &str) -> Self {
        Self::new(key)
    }
}

impl From<String> for ApiKey {
    fn from(key: String) -> Self {
        Self::new(key)
    }
}

/// What a host wants of the transport, beside the messages. The loop only carries it.
///
/// JSON: camelCase; a field that is not set is left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct RequestOptions {
    /// Tokens of thinking for each level.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_budgets: Option<ThinkingBudgets>,
    /// The temperature of sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Further parameters of sampling, by the provider's names.
    ///
    /// The adapters of this crate leave out what would be another request (`model`, `messages`, `tools`, `stream` and
    /// what other protocols call these); all else becomes a field of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling_params: Option<Map<String, Value>>,
    /// The most tokens the answer may have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u64>,
    /// Whether, or which, tool is to be called: the provider's own value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<Value>,
    /// How long the provider is to keep its cache of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_retention: Option<CacheRetention>,
    /// An id that stays the same for one conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Further headers. They may hold secrets, so their values are not printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headers: Option<Headers>,
    /// Further fields for the provider's records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
    /// The kind of connection to prefer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// The longest delay a provider may ask for before a retry, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_retry_delay_ms: Option<u64>,
    /// Whether the transport must send each request whole, without building upon the provider's memory of the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disable_continuation: Option<bool>,
    /// Who asks. The loop sends this merged over [`ClientIdentity::this_crate`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<ClientIdentity>,
}

/// Header names and values. The values are not printed.
#[derive(Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Headers(
    /// Values by name.
    pub BTreeMap<String, String>,
);

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, "…"))).finish()
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Headers {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(headers: I) -> Self {
        Self(headers.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// Tokens of thinking for each level, where a provider counts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ThinkingBudgets {
    /// For [`ThinkingLevel::Minimal`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimal: Option<u64>,
    /// For [`ThinkingLevel::Low`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub low: Option<u64>,
    /// For [`ThinkingLevel::Medium`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<u64>,
    /// For [`ThinkingLevel::High`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<u64>,
    /// For [`ThinkingLevel::Xhigh`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xhigh: Option<u64>,
    /// For [`ThinkingLevel::Max`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

/// How long a provider is to keep its cache of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum CacheRetention {
    /// Not at all.
    None,
    /// As the provider usually does.
    Short,
    /// As long as it can.
    Long,
}

/// A kind of connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Transport {
    /// Whatever the provider does best.
    Auto,
    /// Server-sent events.
    Sse,
    /// A web socket.
    Websocket,
}
