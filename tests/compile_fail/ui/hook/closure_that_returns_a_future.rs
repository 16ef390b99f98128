//! A hook is an async closure: one that returns a future cannot lend it what it is shown.

use turnstate::Run;
use turnstate::hook::BeforeToolCall;
use turnstate::model::{BoxDeltaStream, Request};

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let _ = Run::builder(model)
        .before_tool_call(|_, _| async move { BeforeToolCall::Allow })
        .build();
}
