//! The message type comes before the first hook.

use turnstate::hook::Hook;
use turnstate::message::{CustomMessage, Unknown};
use turnstate::Run;
use turnstate::model::{BoxDeltaStream, Request};

struct Watch;

impl<M: CustomMessage> Hook<M> for Watch {}

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let _ = Run::builder(model).hook(Watch).custom_messages::<Unknown>().build();
}
