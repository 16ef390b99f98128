//! The messages of an application with everything that the derive offers, extended by another crate's.

use serde::{Deserialize, Serialize};
use turnstate::CustomMessage;
use turnstate::message::{AssistantMessage, Content, Image, Message, Projection, Timestamp, UserMessage};

/// The application's roles.
#[derive(Debug, Clone, PartialEq, CustomMessage)]
pub(crate) enum AppMessage {
    /// Shown to the person only.
    #[message(role = "notification", skip)]
    Notification { text: String, timestamp: u64 },
    /// Reaches the model as a user message, unless it is left out.
    #[message(user = "Ran `{command}`:\n{output}", skip_if = exclude_from_context)]
    BashExecution {
        command: String,
        output: String,
        #[serde(default, skip_serializing_if = "is_default")]
        exclude_from_context: bool,
        timestamp: u64,
    },
    /// Any other projection is a function.
    #[message(role = "branchSummary", project = BranchSummary::project)]
    BranchSummary(BranchSummary),
    /// A struct with serde's traits, and places in it.
    #[message(system = "{title}: {author.name} says {shout()}", timestamp = at, skip_if = !author.shown)]
    Quote(Quote),
    /// Images go in as blocks.
    #[message(user = "Look, {count:>width$}:")]
    Pictures {
        count: usize,
        width: usize,
        #[message(content)]
        pictures: Vec<Image>,
        #[message(content)]
        more: Option<Content>,
        #[message(timestamp)]
        sent_at: Option<Timestamp>,
    },
    /// Nothing to tell but that it happened.
    #[message(user = "The person came back.")]
    CameBack,
    /// Several messages.
    #[message(project = exchange(question, answer, *timestamp))]
    Exchange { question: String, answer: String, timestamp: u64 },
    /// All the roles of another crate's messages.
    #[message(extend)]
    Plugin(plugin::PluginMessage),
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn exchange(question: &str, answer: &str, timestamp: u64) -> Vec<Message> {
    let mut assistant = AssistantMessage::default();
    assistant.timestamp = timestamp + 1;
    assistant.error_message = Some(answer.to_owned());
    vec![UserMessage::new(question).into(), assistant.into()]
}

/// What happened on a branch that was left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BranchSummary {
    pub(crate) summary: String,
    pub(crate) from_id: Option<String>,
}

impl BranchSummary {
    fn project(&self) -> Projection {
        Projection::one(UserMessage::new(self.summary.as_str()))
    }
}

/// What somebody said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Quote {
    pub(crate) title: String,
    pub(crate) author: Author,
    pub(crate) at: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Author {
    pub(crate) name: String,
    pub(crate) shown: bool,
}

impl Quote {
    fn shout(&self) -> String {
        self.title.to_uppercase()
    }
}

/// As another crate would have it.
pub(crate) mod plugin {
    use turnstate::CustomMessage;

    #[derive(Debug, Clone, PartialEq, CustomMessage)]
    #[message(rename_all = "kebab-case", rename_all_fields = "snake_case")]
    pub(crate) enum PluginMessage {
        #[message(user = "{long_text}")]
        PluginNote { long_text: String, timestamp: u64 },
    }
}
