//! A hook is an async closure: of one that returns a future the types are not known either.

use turnstate::Run;
use turnstate::hook::BeforeToolCall;
use turnstate::model::{BoxDeltaStream, Request};

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let _ = Run::builder(model)
        .before_tool_call(|call, _| async move {
            if call.name == "delete" { BeforeToolCall::block("no") } else { BeforeToolCall::Allow }
        })
        .build();
}
