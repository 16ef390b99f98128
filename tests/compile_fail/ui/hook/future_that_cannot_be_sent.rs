//! A hook's future can go to another thread.

use std::rc::Rc;

use turnstate::Run;
use turnstate::hook::BeforeToolCall;
use turnstate::model::{BoxDeltaStream, Request};

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let _ = Run::builder(model).before_tool_call(async |_, _| {
        let counter = Rc::new(1);
        std::future::ready(()).await;
        drop(counter);
        BeforeToolCall::Allow
    });
}
