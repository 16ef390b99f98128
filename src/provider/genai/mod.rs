//! Every provider that the `genai` crate speaks to: OpenAI (chat and Responses), Anthropic, Gemini, Vertex, Bedrock,
//! Ollama, OpenRouter, Groq, xAI, DeepSeek, Mistral and many more.
//!
//! ```no_run
//! use turnstate::Run;
//! use turnstate::model::Model;
//! use turnstate::provider::Genai;
//!
//! # async fn example() {
//! // The key is read from `ANTHROPIC_API_KEY`, as genai does it, unless a hook or `with_api_key` gives one.
//! let idle = Run::builder(Genai::new())
//!     .model(Model::new("anthropic", "claude-sonnet-4-5"))
//!     .system_prompt("You are terse.")
//!     .build();
//! let idle = idle.prompt("What is a monad?").finish().await;
//! # let _ = idle;
//! # }
//! ```
//!
//! Which of genai's adapters is used: the one of [`with_adapter`](Genai::with_adapter); else the one that the model's
//! `api` names (genai's names, or those of the pi-ai catalogue as `openai-responses`); else its `provider`; else genai
//! guesses by the model's id. A namespace in the id (`groq::llama-3.3-70b`) goes over the last three.
//!
//! # Versions, features and runtime
//!
//! genai's own types are part of this adapter's interface, so genai is pinned to one version and re-exported as
//! [`genai_crate`](crate::provider::genai_crate): take the types from there. A new version of genai is a breaking change
//! of this feature alone.
//!
//! It needs a running Tokio runtime with I/O; without a runtime an answer is an error that says so. For `https` turn on
//! the feature `rustls`, or one of genai's own. genai turns on the feature `preserve_order` of `serde_json` in the whole
//! program: objects then keep their order.
//!
//! # How an answer is read
//!
//! * From the events as they stream, so that blocks keep the order in which they came. genai tells the arguments of a
//!   call as all the text so far, or whole; they become fragments again. Where its pieces do not fit together, the end
//!   of the call brings the whole.
//! * An answer with tool calls stops for [`ToolUse`](crate::message::StopReason::ToolUse), whatever reason the provider
//!   gives, unless it was cut at its length. A reason that nobody knows is an error that names it.
//! * An end that genai makes up when the connection closes is an error, as it is for the other adapters.
//! * The raw frames tell what the events leave out: the answer's id and model, the borders of blocks, hidden thinking,
//!   the encrypted reasoning of Responses, why Gemini refused a prompt.
//! * Tokens that the provider read from its cache, or wrote into it, are counted apart from the others.
//!   [`Usage::cost`](crate::message::Usage) stays 0: prices are the host's.
//!
//! # What is sent
//!
//! * Thinking goes back to its own model in the way of its protocol: signed blocks to Anthropic and Bedrock, encrypted
//!   reasoning to Responses, signatures to Gemini, `reasoning_content` to those that speak as OpenAI does.
//! * System messages that come later stand in their place, as user messages where a protocol has only one prompt.
//! * Anthropic is asked to cache the prompt and the conversation, unless the request says
//!   [`CacheRetention::None`](crate::model::CacheRetention::None).
//! * Sampling parameters that genai has an option for (`top_p`, `seed`, `stop`) go to each provider by its own name;
//!   others become fields of the body, which is where Gemini (`generationConfig`) and Ollama (`options`) do not look.
//! * The model's id is sent without its namespace. genai alone reads an ending as `-medium` as a wish for effort; here
//!   it stays part of the name where OpenAI's protocols are spoken, so say the effort by the thinking level.
//!
//! # What is lost
//!
//! Against a protocol's own adapter, because genai has no place for it:
//!
//! * What is sent over the wire is not shown to [`Observer::payload`], and of the head of a response only error
//!   statuses are shown. Events are.
//! * Whether a tool's result is an error, and images in results, but for Anthropic. Images follow the results in a
//!   user message.
//! * Tokens used by an answer that was aborted, or broke off: genai tells them at its end.
//! * Calls of a server that gives all of an answer's calls the same number run together (use
//!   [`OpenAiCompatible`](crate::provider::openai) there), and half of a surrogate pair in an event fails the answer.
//! * Thinking sent back to Ollama and Cohere; Cohere's tools; the ids of messages, and annotations, of Responses;
//!   `reasoning_details` of OpenRouter; encrypted reasoning where no thinking level was asked for.
//! * That Responses were cut by a content filter: they count as cut at their length.
//! * The name of a field of reasoning text; further choices, log probabilities, audio, images that a model makes.
//! * Time, for very long arguments: genai copies all of them with each piece.
//! * A field cannot be taken out of the body, and is merged into it at the top only.

mod answer;
mod call;
mod failure;
mod frames;
mod options;
mod protocol;
mod request;

use std::fmt;
use std::sync::Arc;

use futures_util::stream::{self, StreamExt};
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatStream, ReasoningEffort};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::{Map, Value};

use self::answer::Assembly;
use self::failure::Wrong;
use self::frames::Frames;
use self::protocol::{Protocol, kind_of};
use self::request::Shape;
use super::repair::{CallIds, SystemMessages};
use super::transport::HttpHeaders;
use super::url::{below, without_secrets};
use super::{Observer, Secrets, until_aborted};
use crate::breath::Breath;
use crate::message::ThinkingLevel;
use crate::model::{ApiKey, BoxDeltaStream, Delta, Failure, Model, Request, StreamFn};

/// The key for a server that was given none: genai does not go without, and the environment's is not for every address.
const NO_KEY: &str = "no-key";

/// The models of genai's providers. Cheap to clone.
///
/// The request names the model; see the [module](self) for how its provider is found, and for what is lost.
///
/// The key is the request's (a hook's), or else the one given here, or else what genai finds: by its client's resolver,
/// or in the environment. At a [base URL](Self::with_base_url) of the host's own no key from the environment is sent.
#[derive(Clone)]
pub struct Genai {
    /// Why there is none, otherwise.
    client: Result<Client, Arc<str>>,
    settings: Arc<Settings>,
    observer: Option<Arc<dyn Observer>>,
}

/// What the host says beside the request.
#[derive(Clone)]
struct Settings {
    adapter: Option<AdapterKind>,
    base_url: Option<Arc<str>>,
    key: Option<ApiKey>,
    headers: HttpHeaders,
    extra_body: Map<String, Value>,
    images: Option<bool>,
    call_ids: Option<CallIds>,
    system_messages: Option<SystemMessages>,
    return_thinking: bool,
    effort: fn(ThinkingLevel) -> Option<ReasoningEffort>,
    chat_options: ChatOptions,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            adapter: None,
            base_url: None,
            key: None,
            headers: HttpHeaders::new(),
            extra_body: Map::new(),
            images: None,
            call_ids: None,
            system_messages: None,
            return_thinking: true,
            effort: options::usual_effort,
            chat_options: ChatOptions::default(),
        }
    }
}

impl Default for Genai {
    fn default() -> Self {
        Self::new()
    }
}

impl Genai {
    /// With a client of genai's defaults. Where none can be made (its HTTP client finds no TLS), answers say why.
    #[must_use]
    pub fn new() -> Self {
        Self::of(Client::new().map_err(|error| error.to_string().into()))
    }

    /// With the host's own client: its resolvers, its mapper of models, its proxies and timeouts hold.
    ///
    /// The client's options stand where neither the request nor [`with_chat_options`](Self::with_chat_options) says
    /// anything, but for its sink of raw frames. Its resolver of targets is called twice for a request.
    #[must_use]
    pub fn with_client(client: Client) -> Self {
        Self::of(Ok(client))
    }

    fn of(client: Result<Client, Arc<str>>) -> Self {
        Self { client, settings: Arc::default(), observer: None }
    }

    fn set(mut self, set: impl FnOnce(&mut Settings)) -> Self {
        set(Arc::make_mut(&mut self.settings));
        self
    }

    /// Sets genai's adapter, and so the wire protocol, for every model.
    #[must_use]
    pub fn with_adapter(self, kind: AdapterKind) -> Self {
        self.set(|settings| settings.adapter = Some(kind))
    }

    /// Sends requests to a server of the host's choice, as `https://gateway.example/v1`. What genai puts behind it
    /// depends on the protocol: `chat/completions`, `responses`, `messages`, `models/…`, `api/chat`. A query goes with every
    /// request where OpenAI's protocols are spoken; with others the answer is an error, since genai has no place for it. So
    /// it is with any base URL for Baidu, which genai would pass over.
    #[must_use]
    pub fn with_base_url(self, base_url: impl AsRef<str>) -> Self {
        // genai joins paths to it: without the slash the last segment would be lost.
        let base_url = below(base_url.as_ref(), "/");
        self.set(|settings| settings.base_url = Some(base_url.into()))
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

    /// Sets a field of every request's body, at its top, over what genai would send.
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
        self.set(|settings| settings.images = Some(images))
    }

    /// Says which ids of calls the server takes; what its protocol usually takes, otherwise.
    #[must_use]
    pub fn with_call_ids(self, call_ids: CallIds) -> Self {
        self.set(|settings| settings.call_ids = Some(call_ids))
    }

    /// Says where the server takes system messages; where its protocol has a place for them, otherwise.
    #[must_use]
    pub fn with_system_messages(self, system_messages: SystemMessages) -> Self {
        self.set(|settings| settings.system_messages = Some(system_messages))
    }

    /// Says whether the model gets its own earlier thinking back. It does, otherwise; some providers refuse a call's
    /// result without it.
    #[must_use]
    pub fn with_thinking_returned(self, return_thinking: bool) -> Self {
        self.set(|settings| settings.return_thinking = return_thinking)
    }

    /// Sets the effort for each thinking level; `None` says nothing. Otherwise it is the level's own, and nothing for
    /// [`ThinkingLevel::Off`]; OpenAI's protocols get [`ReasoningEffort::XHigh`] where it is [`ReasoningEffort::Max`]. A
    /// budget of the request ([`thinking_budgets`](crate::model::RequestOptions::thinking_budgets)) goes over it where
    /// the provider counts tokens of thinking.
    #[must_use]
    pub fn with_effort(self, effort: fn(ThinkingLevel) -> Option<ReasoningEffort>) -> Self {
        self.set(|settings| settings.effort = effort)
    }

    /// Sets genai's options for what a request has no words for: verbosity, service tier, response format, timeouts.
    /// What a request says goes over them; the options that say what genai is to capture are the adapter's.
    #[must_use]
    pub fn with_chat_options(self, chat_options: ChatOptions) -> Self {
        self.set(|settings| settings.chat_options = chat_options)
    }

    /// Shows what goes over the wire, as far as genai tells: events, and error statuses.
    #[must_use]
    pub fn with_observer(mut self, observer: impl Observer) -> Self {
        self.observer = Some(Arc::new(observer));
        self
    }

    /// Finds out whom to ask: address, key, protocol.
    async fn target(&self, request: &Request, client: &Client) -> Result<ServiceTarget, genai::Error> {
        let kind = self.settings.adapter.unwrap_or_else(|| kind_of(&request.model));
        let model = ModelIden::new(kind, request.model.id.as_str());
        let key = request.api_key.as_ref().or(self.settings.key.as_ref());
        let key = key.map(|key| AuthData::from_single(key.reveal()));
        let base_url = self.settings.base_url.as_ref().map(|url| Endpoint::from_owned(url.clone()));
        let mut target = client.resolve_service_target(model).await?;
        match (key, &target.auth) {
            (Some(key), _) => target.auth = key,
            (None, AuthData::FromEnv(_)) if base_url.is_some() => target.auth = AuthData::from_single(NO_KEY),
            (None, _) => {}
        }
        target.endpoint = base_url.unwrap_or(target.endpoint);
        Ok(target)
    }

    /// Why nothing is sent to the base URL: genai would garble it, or pass over it, and the conversation is for nobody else.
    fn refused_base_url(&self, protocol: Protocol, kind: AdapterKind) -> Option<&'static str> {
        let url = self.settings.base_url.as_ref()?;
        if kind == AdapterKind::Baidu {
            return Some("genai's adapter for Baidu takes no base URL: it goes to Baidu's own server");
        }
        (url.contains('?') && !protocol.keeps_query(kind)).then_some(
            "genai has no place for the query of a base URL in this provider's protocol: leave it off",
        )
    }

    fn shape(&self, protocol: Protocol, kind: AdapterKind) -> Shape {
        let mut rules = protocol.rules(kind);
        rules.images = self.settings.images;
        rules.call_ids = self.settings.call_ids.unwrap_or(rules.call_ids);
        rules.system_messages = self.settings.system_messages.unwrap_or(rules.system_messages);
        Shape { protocol, rules, return_thinking: self.settings.return_thinking }
    }

    /// Sends the request. What fails before it can be sent is a failure here; all else comes with the answer.
    async fn ask(self, request: Request) -> Result<Answer, Failure> {
        if tokio::runtime::Handle::try_current().is_err() {
            return Err(Failure::new("genai needs a running Tokio runtime, and there is none here"));
        }
        let mut secrets = self.secrets(&request);
        let client = self.client.clone();
        let client = client.map_err(|why| Failure::new(format!("genai has no client: {why}")))?;
        let fail = |error: genai::Error, protocol: Protocol, secrets: &Secrets| {
            let mut failure = Wrong::from(&error, protocol, false).into_failure();
            // Where genai cannot read the address it repeats it, with passwords too short to count as secrets.
            if let Some(url) = &self.settings.base_url {
                failure.message = failure.message.replace(&**url, &without_secrets(url));
            }
            failure.message = secrets.scrub(failure.message);
            failure
        };
        let target = self.target(&request, &client).await;
        let target = target.map_err(|error| fail(error, Protocol::OpenAi, &secrets))?;
        add_secrets(&target.auth, &mut secrets);
        let protocol = Protocol::of(&target.model);
        let settings = &*self.settings;
        if let Some(why) = self.refused_base_url(protocol, target.model.adapter_kind) {
            return Err(Failure::new(why));
        }
        let observer = self.observer.clone().map(|observer| (observer, request.model.clone()));
        let host_sink = settings.chat_options.raw_frame_sink.clone();
        let frames = Arc::new(Frames::new(protocol, observer.clone(), host_sink));
        let options = options::chat_options(&request, settings, &target, protocol, frames.clone());
        let mut chat = request::chat_request(&request, &self.shape(protocol, target.model.adapter_kind));
        // Others that speak Anthropic's protocol may not know the marks.
        let is_claude = matches!(target.model.adapter_kind, AdapterKind::Anthropic | AdapterKind::Vertex);
        if protocol == Protocol::Anthropic && is_claude && options.cache_control.is_none() {
            request::mark_cache(&mut chat, request.options.cache_retention);
        }
        let effort = request.thinking_level.and(options.reasoning_effort.as_ref());
        let effort = effort.and_then(ReasoningEffort::as_keyword);
        let response = client.exec_chat_stream(target, chat, Some(&options)).await;
        let events = response.map_err(|error| fail(error, protocol, &secrets))?.stream;
        let assembly = Assembly::new(protocol, effort);
        Ok(Answer { events: Some(events), frames, assembly, protocol, secrets, observer })
    }

    fn secrets(&self, request: &Request) -> Secrets {
        let mut secrets = Secrets::of(request);
        self.settings.base_url.iter().for_each(|url| secrets.add_url(url));
        self.settings.key.iter().for_each(|key| secrets.add(key.reveal()));
        self.settings.headers.iter().for_each(|(_, value)| secrets.add(value));
        let of_options = self.settings.chat_options.extra_headers.iter().flat_map(|headers| headers.iter());
        of_options.for_each(|(_, value)| secrets.add(value));
        secrets
    }
}

fn add_secrets(auth: &AuthData, secrets: &mut Secrets) {
    match auth {
        AuthData::None => {}
        AuthData::RequestOverride { headers, .. } => headers.iter().for_each(|(_, value)| secrets.add(value)),
        AuthData::MultiKeys(keys) => keys.values().for_each(|key| secrets.add(key)),
        // From the environment: where it is not there, genai says so when it sends.
        AuthData::FromEnv(_) | AuthData::Key(_) => {
            if let Ok(key) = auth.single_key_value() {
                secrets.add(&key);
            }
        }
    }
}

/// An answer that is being read.
struct Answer {
    /// `None` after the terminal delta: whatever else the server has to say is not read.
    events: Option<ChatStream>,
    frames: Arc<Frames>,
    assembly: Assembly,
    protocol: Protocol,
    secrets: Secrets,
    observer: Option<(Arc<dyn Observer>, Arc<Model>)>,
}

impl Answer {
    async fn next(&mut self) -> Option<Delta> {
        let mut breath = Breath::default();
        loop {
            if let Some(delta) = self.assembly.next_delta() {
                return Some(self.secrets.scrub_delta(delta));
            }
            if self.assembly.has_ended() {
                self.events = None;
            }
            breath.take().await;
            let event = self.events.as_mut()?.next().await;
            for note in self.frames.take() {
                self.assembly.note(note);
            }
            match event {
                Some(Ok(event)) => self.assembly.event(event),
                Some(Err(error)) => self.fail(&error),
                None => self.assembly.broken_off(),
            }
        }
    }

    fn fail(&mut self, error: &genai::Error) {
        let wrong = Wrong::from(error, self.protocol, self.assembly.has_begun());
        if let (Some((observer, model)), Wrong::Status { status, headers, .. }) = (&self.observer, &wrong) {
            observer.response(model, *status, headers);
        }
        self.assembly.fail(wrong.into_failure());
    }
}

impl StreamFn for Genai {
    fn stream(&self, request: Request) -> BoxDeltaStream {
        let abort = request.abort.clone();
        let asking = self.clone().ask(request);
        let deltas = stream::once(asking).flat_map(|asked| match asked {
            Ok(answer) => stream::unfold(answer, |mut answer| async move {
                answer.next().await.map(|delta| (delta, answer))
            })
            .boxed(),
            Err(failure) => stream::iter([Delta::from(failure)]).boxed(),
        });
        until_aborted(deltas.boxed(), abort)
    }
}

impl fmt::Debug for Genai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Genai")
            .field("adapter", &self.settings.adapter)
            .field("base_url", &self.settings.base_url.as_deref().map(without_secrets))
            .finish_non_exhaustive()
    }
}
