//! A generic type says itself that what it extends with is a custom message.

use std::fmt::Debug;

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App<P: Debug + Send + Sync + 'static> {
    #[message(extend)]
    Plugin(P),
}

fn main() {}
