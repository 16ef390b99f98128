//! A custom message can be shown for debugging.

use turnstate::CustomMessage;

#[derive(CustomMessage)]
#[message(skip)]
struct Note {
    text: String,
}

fn main() {}
