//! Fields and functions have the types that their place asks for; the error is at the field or function.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(user = "{text}", skip_if = text)]
    NotABool { text: String },
    #[message(skip)]
    NotATime { timestamp: String },
    #[message(user = "{text}")]
    NotContent {
        text: String,
        #[message(content)]
        path: String,
    },
    #[message(project = number)]
    NotAProjection { text: String },
    #[message(project = takes_a_number(text))]
    OtherArgument { text: String },
}

fn number(_: &App) -> u32 {
    1
}

fn takes_a_number(_: &u32) -> Option<turnstate::message::Message> {
    None
}

fn main() {}
