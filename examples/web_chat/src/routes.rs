//! The HTTP surface. Requests and answers are JSON; what happens comes by server-sent events.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::stream::{self, StreamExt};
use serde::Deserialize;
use serde_json::{Value, json};
use turnstate::hook::Decision;

use crate::board::Board;
use crate::conversation::{Conversation, Refused};
use crate::conversations::{Conversations, TooMany};
use crate::feed::Reader;
use crate::guard::{self, Guard};
use crate::page;

type Server = State<Arc<Conversations>>;

/// All routes, behind the guard.
pub(crate) fn router(conversations: Arc<Conversations>, guard: Guard) -> Router {
    // A text may be up to six times as long in JSON, if all of it is escaped.
    let body_limit = conversations.limits().message_bytes.saturating_mul(6).saturating_add(1024);
    let conversation = Router::new()
        .route("/events", get(events))
        .route("/seen", get(seen))
        .route("/prompt", post(prompt))
        .route("/steer", post(steer))
        .route("/follow_up", post(follow_up))
        .route("/note", post(note))
        .route("/stop", post(stop))
        .route("/retry", post(retry))
        .route("/take_back", post(take_back))
        .route("/promote", post(promote))
        .route("/approve", post(approve));
    page::router()
        .route("/api/about", get(about))
        .route("/api/conversations", post(create))
        .nest("/api/conversations/{id}", conversation)
        .fallback(async || Fault::new(StatusCode::NOT_FOUND, "There is nothing here."))
        .layer(DefaultBodyLimit::max(body_limit))
        .layer(middleware::from_fn(move |request: Request, next: Next| {
            let checked = guard.check(request.method(), request.uri().path(), request.headers());
            async move {
                let mut response = match checked {
                    Ok(()) => next.run(request).await,
                    Err(refusal) => Fault::new(refusal.status(), refusal.text()).into_response(),
                };
                guard::protect(response.headers_mut());
                response
            }
        }))
        .with_state(conversations)
}

async fn about(State(server): Server) -> Response {
    let model = server.model();
    answer(&json!({
        "introduction": model.introduction(),
        "suggestions": model.suggestions(),
        "messageBytes": server.limits().message_bytes,
    }))
}

async fn create(State(server): Server) -> Result<Response, Fault> {
    Ok(answer(&json!({ "id": server.create()? })))
}

/// What happens in a conversation, from a snapshot on. A browser that was connected before says what it saw last.
async fn events(
    State(server): Server,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Fault> {
    let conversation = find(&server, &id)?;
    let permit = server.admit_reader().ok_or_else(|| {
        Fault::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many pages are open. Close some, and this one goes on.",
        )
    })?;
    let seen = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let reader = conversation.feed().read(seen);
    let heartbeat = server.limits().heartbeat;
    // Held by the stream: when the browser goes away, the body is dropped, and the reader and its permit with it.
    let held = (reader, permit, conversation);
    let following = stream::unfold(held, move |(mut reader, permit, conversation)| async move {
        let events = next_events(&mut reader, heartbeat).await;
        Some((Ok::<_, std::convert::Infallible>(events), (reader, permit, conversation)))
    });
    let body = stream::once(async { Ok(RECONNECT.to_owned()) }).chain(following);
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Tells a browser how long to wait before it connects again, in milliseconds.
const RECONNECT: &str = "retry: 1000\n\n";

/// The next events, or a sign of life: without one, nobody would notice that a browser is gone.
async fn next_events(reader: &mut Reader<Board>, heartbeat: Duration) -> String {
    match tokio::time::timeout(heartbeat, reader.next()).await {
        Ok(events) => events,
        Err(_) => ": still here\n\n".to_owned(),
    }
}

async fn seen(State(server): Server, Path(id): Path<String>) -> Result<Response, Fault> {
    Ok(answer(&json!({ "messages": find(&server, &id)?.seen_by_the_model() })))
}

async fn prompt(server: Server, id: Path<String>, text: Said) -> Result<Response, Fault> {
    act(&server, &id, |conversation| conversation.prompt(text.0))
}

async fn steer(server: Server, id: Path<String>, text: Said) -> Result<Response, Fault> {
    act(&server, &id, |conversation| conversation.steer(text.0))
}

async fn follow_up(server: Server, id: Path<String>, text: Said) -> Result<Response, Fault> {
    act(&server, &id, |conversation| conversation.follow_up(text.0))
}

async fn note(server: Server, id: Path<String>, text: Said) -> Result<Response, Fault> {
    act(&server, &id, |conversation| conversation.note(text.0))
}

async fn stop(server: Server, id: Path<String>) -> Result<Response, Fault> {
    act(&server, &id, |conversation| {
        conversation.stop();
        Ok(())
    })
}

async fn retry(server: Server, id: Path<String>) -> Result<Response, Fault> {
    act(&server, &id, Conversation::retry)
}

#[derive(Deserialize)]
struct Waiting {
    waiting: u64,
}

async fn take_back(
    State(server): Server,
    id: Path<String>,
    Json(body): Json<Waiting>,
) -> Result<Response, Fault> {
    let text = find(&server, &id)?.take_back(body.waiting)?;
    Ok(answer(&json!({ "text": text })))
}

async fn promote(server: Server, id: Path<String>, Json(body): Json<Waiting>) -> Result<Response, Fault> {
    act(&server, &id, |conversation| conversation.promote(body.waiting))
}

#[derive(Deserialize)]
struct Approve {
    question: u64,
    decision: Decided,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Decided {
    Allow,
    Always,
    Refuse,
}

async fn approve(server: Server, id: Path<String>, Json(body): Json<Approve>) -> Result<Response, Fault> {
    let decision = match body.decision {
        Decided::Allow => Decision::Allow,
        Decided::Always => Decision::AlwaysAllow,
        Decided::Refuse => Decision::refuse("The person does not want this. Go on without it."),
    };
    act(&server, &id, |conversation| conversation.decide(body.question, decision))
}

fn act(
    server: &Conversations,
    id: &str,
    act: impl FnOnce(&Conversation) -> Result<(), Refused>,
) -> Result<Response, Fault> {
    act(&*find(server, id)?)?;
    Ok(answer(&json!({})))
}

fn find(server: &Conversations, id: &str) -> Result<Arc<Conversation>, Fault> {
    server.get(id).ok_or_else(|| {
        Fault::new(StatusCode::NOT_FOUND, "This conversation is not on the server any more. Start a new one.")
    })
}

/// A JSON body. What is wrong with it is told as JSON too.
struct Json<T>(T);

impl<S: Send + Sync, T: serde::de::DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Fault;

    async fn from_request(request: Request, state: &S) -> Result<Self, Fault> {
        let read: Result<axum::Json<T>, JsonRejection> = axum::Json::from_request(request, state).await;
        match read {
            Ok(axum::Json(body)) => Ok(Self(body)),
            Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => Err(too_long()),
            Err(rejection) => Err(Fault::new(rejection.status(), rejection.body_text())),
        }
    }
}

/// What a person said: a text that is not blank and not too long.
struct Said(String);

#[derive(Deserialize)]
struct SaidBody {
    text: String,
}

impl FromRequest<Arc<Conversations>> for Said {
    type Rejection = Fault;

    async fn from_request(request: Request, server: &Arc<Conversations>) -> Result<Self, Fault> {
        let Json(SaidBody { text }) = Json::from_request(request, server).await?;
        if text.len() > server.limits().message_bytes {
            return Err(too_long());
        }
        let text = text.trim();
        if text.is_empty() {
            return Err(Fault::new(StatusCode::UNPROCESSABLE_ENTITY, "There is nothing in the message."));
        }
        Ok(Self(text.to_owned()))
    }
}

fn too_long() -> Fault {
    Fault::new(StatusCode::PAYLOAD_TOO_LARGE, "The message is too long.")
}

/// Why a request was not done, in words for the person.
#[derive(Debug)]
struct Fault {
    status: StatusCode,
    text: String,
}

impl Fault {
    fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }
}

impl From<Refused> for Fault {
    fn from(refused: Refused) -> Self {
        Self::new(refused.status(), refused.to_string())
    }
}

impl From<TooMany> for Fault {
    fn from(too_many: TooMany) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, too_many.to_string())
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        (self.status, answer(&json!({ "error": self.text }))).into_response()
    }
}

fn answer(value: &Value) -> Response {
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, value.to_string()).into_response()
}
