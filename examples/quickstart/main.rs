//! A small agent in the terminal: it lists, reads and writes files, and asks before it writes.
//!
//! ```text
//! cargo run --example quickstart -- "Which dependencies does Cargo.toml name?"
//! ```
//!
//! The model is an embedded demonstration (see `demo_model.rs`): it is scripted, but the tools it calls are real, and
//! its answers are made from what they give. While it works, type a line to steer it; Ctrl-C aborts the run, and
//! leaves when nothing runs.

mod demo_model;
mod terminal;
mod tools;

use turnstate::hook::BeforeToolCall;
use turnstate::{Idle, Run};

use self::terminal::Terminal;

fn main() {
    let terminal = Terminal::open();
    let run = Run::builder(demo_model::stream_fn())
        .model(demo_model::model())
        .system_prompt("You help a person with the files in the current directory. Be brief.")
        .tool(tools::list_files())
        .tool(tools::read_file())
        .tool(tools::write_file())
        .before_tool_call({
            let terminal = terminal.clone();
            async move |call, _| match call.name.as_str() {
                "write_file" if !terminal.allows(call).await => {
                    BeforeToolCall::block("The person does not want this file to be written.")
                }
                _ => BeforeToolCall::Allow,
            }
        })
        .build();
    terminal.attach(run.handle());
    terminal.say(demo_model::NOTICE);
    smol::block_on(converse(run, &terminal));
}

/// Answers the prompt of the command line, then whatever is typed.
async fn converse(mut run: Run<Idle>, terminal: &Terminal) {
    let mut prompt = terminal::prompt_of_the_command_line();
    loop {
        let Some(text) = prompt.take().or_else(|| terminal.read_prompt()) else { return };
        run = answer(run, &text, terminal).await;
        if !terminal.is_interactive() {
            return;
        }
    }
}

/// One run: everything it tells is shown as it comes.
async fn answer(run: Run<Idle>, prompt: &str, terminal: &Terminal) -> Run<Idle> {
    let mut run = run.prompt(prompt);
    while let Some(event) = run.next().await {
        terminal.show(&event, run.state());
    }
    let run = run.finish().await;
    terminal.show_outcome(run.outcome());
    run
}
