//! How do I put a message into a run that is at work, from another thread or task?
//!
//! ```text
//! cargo run --example steering
//! ```

use std::sync::mpsc;
use std::thread;

use serde_json::json;
use turnstate::Run;
use turnstate::testing::{Gates, Response, ScriptedModel, ScriptedTool, ToolScript};

fn main() {
    // A search that takes until somebody opens the gate.
    let gates = Gates::new();
    let search = ScriptedTool::new("search").does(
        ToolScript::new().update("searching").waits(&gates.gate("results")).returns("12 hotels in Bergen"),
    );
    let model = ScriptedModel::new([
        Response::text("Let me look.").and_tool_call("call_1", "search", json!({})),
        Response::text("The Admiral has a view of the harbour."),
        Response::text("It is booked."),
    ]);
    let mut run = Run::builder(model).tool(search).build().prompt("Find a hotel in Bergen.");

    // The person sits at another thread. A handle is all it needs, and none of its methods blocks.
    let (searching, begun) = mpsc::channel();
    let handle = run.handle();
    let person = thread::spawn(move || {
        begun.recv().ok();
        // Put in as soon as the search is done: nothing is interrupted, and no call is left out.
        let steer = handle.steer("With a view, please.");
        // Put in when the agent would otherwise be done.
        handle.follow_up("Book it.");
        // On second thoughts: what still waits can be taken back.
        let hasty = handle.follow_up("And a flight.");
        assert_eq!(hasty.take_back().len(), 1);
        gates.release("results");
        steer
    });

    let run = futures::executor::block_on(async {
        while let Some(event) = run.next().await {
            if event.kind() == "tool_execution_update" {
                searching.send(()).ok();
            }
        }
        run.finish().await
    });
    assert!(person.join().is_ok_and(|steer| !steer.is_waiting()), "the steer has been delivered");

    for message in run.transcript().iter() {
        let text: String = match (message.as_user(), message.as_assistant()) {
            (Some(user), _) => user.content.texts().collect(),
            (_, Some(answer)) => answer.texts().collect(),
            _ => continue,
        };
        println!("{:9} {text}", message.role());
    }
    let asked = run.transcript().iter().filter_map(|message| message.as_user());
    let asked: Vec<_> = asked.flat_map(|user| user.content.texts()).collect();
    assert_eq!(asked, ["Find a hotel in Bergen.", "With a view, please.", "Book it."]);
}
