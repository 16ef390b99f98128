//! What a hook, a tool or a listener captures is shared through an `Arc`.

use std::sync::Mutex;

use turnstate::hook::FinishTurn;
use turnstate::model::{BoxDeltaStream, Request};
use turnstate::tool::{NoArgs, tool_fn};
use turnstate::{Agent, Run};

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let count = Mutex::new(0);
    let run = Run::builder(model)
        .finish_turn(async move |_, _| {
            *count.lock().unwrap() += 1;
            FinishTurn::Default
        })
        .build();

    let log = Mutex::new(Vec::new());
    let _tool = tool_fn("note", "Notes it.", async move |_: NoArgs, _| {
        log.lock().unwrap().push(1);
        Ok("noted")
    });

    let agent = Agent::new(run);
    let mut told = 0;
    let _subscription = agent.subscribe(async |_, _| told += 1);
}
