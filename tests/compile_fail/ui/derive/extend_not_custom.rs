//! What is extended is a custom message.

use turnstate::CustomMessage;

#[derive(Debug)]
struct Plain;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(extend)]
    Plugin(Plain),
}

fn main() {}
