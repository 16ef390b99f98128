//! A custom message is an object of fields that owns its data.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(skip)]
    Pair(String, String),
    #[message(skip)]
    Nothing(),
    #[message(extend)]
    Plugin { plugin: String },
}

#[derive(Debug, CustomMessage)]
#[message(skip)]
struct Borrowed<'a> {
    text: &'a str,
}

#[derive(CustomMessage)]
union Either {
    number: u32,
    other: f32,
}

fn main() {}
