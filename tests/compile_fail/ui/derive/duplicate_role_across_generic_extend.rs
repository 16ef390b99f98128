//! What a generic type extends is known when the program is built, and checked then.

use turnstate::CustomMessage;
use turnstate::message::AgentMessage;

#[derive(Debug, CustomMessage)]
#[message(skip)]
struct Note {
    text: String,
}

#[derive(Debug, CustomMessage)]
enum App<P: CustomMessage> {
    #[message(role = "note", skip)]
    Own { text: String },
    #[message(extend)]
    Plugin(P),
}

fn main() {
    let message: AgentMessage<App<Note>> = App::Plugin(Note { text: String::new() }).into();
    let _ = message.project();
}
