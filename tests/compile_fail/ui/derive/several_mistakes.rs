//! All mistakes are reported in one go, each at its own place, and nothing else is.

use turnstate::CustomMessage;
use turnstate::message::AgentMessage;

#[derive(Debug, CustomMessage)]
enum App {
    Forgotten { text: String },
    #[message(role = "user", skip)]
    Reserved { text: String },
    #[message(role = "note", skip)]
    Note { role: String },
    #[message(role = "note", skip, hidden)]
    NoteAgain { text: String },
    #[message(user = "{text.length}", skip_if = hiden)]
    Typo { txt: String, hidden: bool },
    #[message(skip)]
    Pair(String, String),
}

/// The type is a custom message all the same.
fn show(message: &AgentMessage<App>) -> usize {
    message.project().messages().len()
}

fn main() {}
