//! A run is moved by its prompt.

use turnstate::Run;
use turnstate::model::{BoxDeltaStream, Request};

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let run = Run::builder(model).build();
    let _first = run.prompt("Hello");
    let _second = run.prompt("Hello?");
}
