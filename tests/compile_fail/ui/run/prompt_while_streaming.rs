//! A run that streams takes no prompt, and the message says what to do.

use turnstate::Run;
use turnstate::model::{BoxDeltaStream, Request};

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let run = Run::builder(model).build().prompt("Hello");
    run.prompt("And now?");
}
