//! How is a run kept from going on for ever, or from costing too much, and how does one see why it ended?
//!
//! ```text
//! cargo run --example limits
//! ```

use serde_json::json;
use turnstate::hook::{RepeatedCalls, TokenBudget, TurnLimit};
use turnstate::message::Usage;
use turnstate::model::Request;
use turnstate::testing::{Response, ScriptedModel, ScriptedTool, block_on};
use turnstate::{Ending, Idle, Run};

/// A model that never has enough: each answer looks at one more page, and uses 1,000 tokens.
fn curious(request: &Request) -> Response {
    let page = request.messages.len();
    Response::tool_call(format!("call_{page}"), "read_page", json!({ "page": page }))
        .with_usage(Usage::new(900, 100))
}

/// A model in a circle: it asks the same again and again.
fn stuck(_: &Request) -> Response {
    Response::tool_call("call", "read_page", json!({ "page": 1 })).with_usage(Usage::new(900, 100))
}

fn reader(model: fn(&Request) -> Response) -> Run<Idle> {
    // Limits count for each run anew, and of several the first that is reached ends the run. The calls that were asked
    // for are run first, so that none is left without a result, and the next prompt works.
    Run::builder(ScriptedModel::from_fn(model))
        .tool(ScriptedTool::new("read_page"))
        .hook(TurnLimit::new(8))
        .hook(TokenBudget::new(5_000))
        .hook(RepeatedCalls::new(3))
        .build()
}

fn main() {
    assert_eq!(why_it_ended(reader(curious)), "the budget of 5000 tokens is used up: 5000 were used");
    assert_eq!(
        why_it_ended(reader(stuck)),
        "tool `read_page` was called 3 times in a row with the same arguments"
    );
}

fn why_it_ended(run: Run<Idle>) -> String {
    let run = block_on(run.prompt("What is in this book?").finish());
    let Some(outcome) = run.outcome() else { return "it has not begun".into() };
    let why = match &outcome.ending {
        Ending::Stopped { .. } | Ending::Terminated => "it was done".into(),
        Ending::EndedByHook { reason } => reason.clone().unwrap_or_else(|| "a hook ended it".into()),
        Ending::Aborted => "somebody stopped it".into(),
        Ending::Failed { message } => format!("it failed: {message}"),
        _ => "it ended".into(),
    };
    println!("{} messages, {} tokens: {why}", outcome.added.len(), outcome.usage.total_tokens);
    why
}
