//! The same for every message type.

use turnstate::{CustomMessage, Run, Streaming};

fn again<M: CustomMessage>(run: Run<Streaming, M>) {
    run.prompt("And now?");
}

fn main() {}
