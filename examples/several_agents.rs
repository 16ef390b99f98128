//! How do several agents work at the same time, on one thread, and what they find comes together?
//!
//! ```text
//! cargo run --example several_agents
//! ```

use std::cell::RefCell;

use futures::future::join_all;
use turnstate::Run;
use turnstate::message::AgentMessage;
use turnstate::testing::{Response, ScriptedModel, block_on};

/// Who says what, in the order in which it is said. All agents are on one thread, so a plain cell will do.
type Heard = RefCell<Vec<(&'static str, String)>>;

fn main() {
    let heard = Heard::default();
    let reviewers = [
        ("Ada", "The loop ends one step too early."),
        ("Bob", "Its names are good."),
        ("Cyd", "It has no test for the empty list."),
    ];

    // Three runs, polled in turn: while one waits for its model, the others go on.
    let reviews = block_on(join_all(reviewers.map(|(name, opinion)| review(name, opinion, &heard))));
    let heard = heard.into_inner();
    for (name, words) in &heard {
        println!("{name}: {words}");
    }
    let names: Vec<_> = heard.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["Ada", "Bob", "Cyd", "Ada", "Bob", "Cyd"], "nobody waits until another is done");

    // And one that reads what they have found, each review a message of its prompt.
    let model = ScriptedModel::new([Response::text("Change the loop's end, and add the test.")]);
    let editor = Run::builder(model.clone()).system_prompt("Sum up the reviews.").build();
    let prompt: Vec<AgentMessage> = reviews.iter().map(AgentMessage::user).collect();
    let editor = block_on(editor.prompt(prompt).finish());
    println!("editor: {}", editor.transcript().last_answer_text());
    assert_eq!(model.requests()[0].messages.len(), 4, "the system message and three reviews");
}

/// One reviewer: a run of its own, with a prompt and a model of its own.
async fn review(name: &'static str, opinion: &str, heard: &Heard) -> String {
    // The pause is where a real model would let one wait for the network.
    let model = ScriptedModel::new([Response::text("I have read it. ").and_yield().and_text(opinion)]);
    let idle = Run::builder(model).system_prompt(format!("You are {name}, a reviewer.")).build();
    let mut run = idle.prompt("Review the change.");
    while let Some(event) = run.next().await {
        if let Some(words) = event.text_delta() {
            heard.borrow_mut().push((name, words.to_owned()));
        }
    }
    format!("{name}: {}", run.finish().await.transcript().last_answer_text())
}
