//! A prompt is a text, a message, or a list of these.

use turnstate::Run;
use turnstate::model::{BoxDeltaStream, Request};

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let _ = Run::builder(model).build().prompt(42);
}
