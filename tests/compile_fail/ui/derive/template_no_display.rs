//! What stands in a text can be shown as text.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(user = "The bytes: {bytes}")]
    Bytes { bytes: Vec<u8> },
    #[message(user = "The parts: {list.parts}")]
    Parts { list: List },
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct List {
    parts: Vec<u8>,
}

fn main() {}
