//! A tool implements `Tool`, or is made from a closure.

use turnstate::Run;
use turnstate::model::{BoxDeltaStream, Request};

struct Clock;

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let _ = Run::builder(model).tool(Clock);
}
