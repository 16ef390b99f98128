//! A web page where a person chats with an agent, and the server behind it: how `turnstate` is embedded in a service.
//!
//! ```text
//! cargo run -p web_chat
//! ```
//!
//! The server holds many conversations, each one [`turnstate::Agent`]. Read it in this order:
//!
//! * `conversation`: one agent, what a person may do to it, and what its listener does with each event.
//! * `board`: what a page shows, as a fold of the agent's events. It says how it changed in small *steps*.
//! * `feed`: gives the steps to any number of readers. One that comes late, or falls behind, starts from a snapshot of
//!   the board; the agent never waits for any of them.
//! * `routes`, `guard`, `page`: HTTP, who may speak it, and the page itself.
//! * `model`, `demo`, `tools`, `roles`: what the agent is made of. Which model answers is chosen as for the quickstart, by
//!   the same code (`choice`).

mod board;
#[path = "../../quickstart/choice.rs"]
mod choice;
mod conversation;
mod conversations;
mod demo;
mod feed;
mod guard;
mod limits;
mod model;
mod page;
mod roles;
mod routes;
mod tools;

use std::sync::Arc;

use axum::Router;

use self::conversations::Conversations;
pub use self::feed::Retained;
pub use self::limits::Limits;
pub use self::model::ChatModel;

/// The whole web service. It keeps everything in memory: when it ends, the conversations are gone.
#[derive(Debug, Clone)]
pub struct WebChat {
    conversations: Arc<Conversations>,
}

impl WebChat {
    /// A service without conversations yet, whose agents ask this model.
    #[must_use]
    pub fn new(model: ChatModel, limits: Limits) -> Self {
        Self { conversations: Arc::new(Conversations::new(model, limits)) }
    }

    /// The service's routes, behind the guard that keeps other web pages out.
    ///
    /// `hosts` are the names under which the server is reached beside those of the loopback, without a port.
    pub fn router(&self, hosts: Vec<String>) -> Router {
        routes::router(self.conversations.clone(), guard::Guard::new(hosts))
    }

    /// How many conversations it holds.
    #[must_use]
    pub fn conversations(&self) -> usize {
        self.conversations.len()
    }

    /// How many event streams are open.
    #[must_use]
    pub fn readers(&self) -> usize {
        self.conversations.readers()
    }

    /// What it keeps for event streams that are not up to date, all conversations together.
    #[must_use]
    pub fn retained(&self) -> Retained {
        self.conversations.retained()
    }
}
