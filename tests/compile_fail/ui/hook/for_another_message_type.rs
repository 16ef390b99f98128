//! A hook for one message type does not fit a run of another.

use turnstate::hook::Hook;
use turnstate::message::Unknown;
use turnstate::Run;
use turnstate::model::{BoxDeltaStream, Request};

struct Watch;

impl Hook<Unknown> for Watch {}

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let _ = Run::builder(model).hook(Watch);
}
