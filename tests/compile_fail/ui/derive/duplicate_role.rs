//! A type declares each role once.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(skip)]
    Note { text: String },
    #[message(role = "note", skip)]
    Other { text: String },
}

fn main() {}
