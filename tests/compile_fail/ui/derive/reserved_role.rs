//! The four standard roles are taken.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(role = "toolResult", skip)]
    Result { text: String },
    #[message(skip)]
    User { text: String },
    #[message(role = "", skip)]
    Empty,
}

fn main() {}
