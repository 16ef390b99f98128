//! The compiler explains a text that is no template.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(user = "{text")]
    Open { text: String },
    #[message(user = "text}")]
    Closed { text: String },
    #[message(user = "{text:nonsense}")]
    Format { text: String },
}

fn main() {}
