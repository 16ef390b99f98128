//! Which runtime does a run need? None: the same run on Tokio, on smol and on plain futures, with the same events.
//!
//! ```text
//! cargo run --example runtimes
//! ```

use std::error::Error;
use std::time::Duration;

use serde_json::json;
use turnstate::Run;
use turnstate::testing::{Response, ScriptedModel};
use turnstate::tool::{AgentTool, NoArgs, tool_fn};

/// A run with a host's own tool, and what it told.
async fn converse(wait: AgentTool) -> Vec<&'static str> {
    let model = ScriptedModel::new([
        Response::tool_call("call_1", "wait", json!({})),
        Response::text("That was a short while.").in_chunks_of(8).and_yield(),
    ]);
    let mut run = Run::builder(model).tool(wait).build().prompt("Wait a little.");
    let mut told = Vec::new();
    while let Some(event) = run.next().await {
        told.push(event.kind());
    }
    told
}

// Only what a host brings along may need a runtime. Here it is a tool with a timer.

fn wait_on_tokio() -> AgentTool {
    tool_fn("wait", "Waits a little.", async |_: NoArgs, _| {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Ok("waited")
    })
}

fn wait_on_smol() -> AgentTool {
    tool_fn("wait", "Waits a little.", async |_: NoArgs, _| {
        smol::Timer::after(Duration::from_millis(5)).await;
        Ok("waited")
    })
}

fn wait_on_a_thread() -> AgentTool {
    tool_fn("wait", "Waits a little.", async |_: NoArgs, _| {
        let (done, waited) = futures::channel::oneshot::channel();
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(5));
            done.send("waited")
        });
        Ok(waited.await?)
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    // Spawned: a run is `Send + 'static`, and may be polled by one thread now and by another later.
    let tokio = tokio::runtime::Builder::new_multi_thread().enable_time().build()?;
    let on_tokio = tokio.block_on(async { tokio::spawn(converse(wait_on_tokio())).await })?;

    let on_smol = smol::block_on(smol::spawn(converse(wait_on_smol())));

    let on_futures = futures::executor::block_on(converse(wait_on_a_thread()));

    assert_eq!(on_tokio, on_smol);
    assert_eq!(on_smol, on_futures);
    println!("{} events, the same on all three", on_tokio.len());
    Ok(())
}
