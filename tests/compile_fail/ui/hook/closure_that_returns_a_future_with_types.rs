//! A hook is an async closure: with its types, one that returns a future still cannot lend.

use turnstate::Run;
use turnstate::hook::BeforeToolCall;
use turnstate::hook::HookContext;
use turnstate::message::{NoCustom, ToolCall};
use turnstate::model::{BoxDeltaStream, Request};

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let _ = Run::builder(model)
        .before_tool_call(|call: &ToolCall, _: HookContext<'_, NoCustom>| async move {
            if call.name == "delete" { BeforeToolCall::block("no") } else { BeforeToolCall::Allow }
        })
        .build();
}
