//! The model sees a message in one way.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(skip, user = "{text}")]
    Note { text: String },
    #[message(skip)]
    #[message(skip)]
    Ui { text: String },
}

fn main() {}
