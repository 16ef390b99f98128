//! A small agent in the terminal: it lists, reads and writes files and runs commands, in the current folder.
//!
//! ```text
//! cargo run --example quickstart -- "Which dependencies does Cargo.toml name?"
//! ```
//!
//! It asks before it writes or runs anything. While it works, a line that is typed steers it, a line that begins with
//! `+` waits until it is done, and Ctrl-C stops it; a second one leaves.
//!
//! The model is an embedded demonstration (`demo_model.rs`) unless environment variables name a real one; see
//! `choice.rs`. The library is at work in this file and in `tools.rs`; the rest is a terminal.

mod choice;
mod console;
mod demo_model;
mod models;
mod painter;
mod shell;
mod text;
mod tools;

use std::process::ExitCode;

use turnstate::hook::Approval;
use turnstate::{Idle, Run};

use self::console::{Console, Step};
use self::tools::Folder;

const SYSTEM_PROMPT: &str = "You help a person with the files in the current folder. Use the tools to look before you \
                             answer, and be brief.";

fn main() -> ExitCode {
    match start() {
        Ok(exit) => exit,
        Err(advice) => {
            eprintln!("{advice}");
            ExitCode::from(2)
        }
    }
}

/// Builds the run and lets the person talk to it; an error is a sentence that says what to do.
fn start() -> Result<ExitCode, String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let chosen = choice::choose(|name| std::env::var(name).ok()).map_err(|advice| advice.to_string())?;
    let introduction = chosen.introduction();
    let model = chosen.open(&words)?;
    let folder = Folder::current().map_err(|error| format!("The current folder cannot be read: {error}"))?;
    let (mut console, asker) = Console::open();
    let run = Run::builder(model.stream)
        .model(model.model)
        .system_prompt(SYSTEM_PROMPT)
        .tools(tools::all(&folder))
        .hook(
            Approval::new(async move |request| asker.ask(request.call).await)
                .always_allow(["list_files", "read_file"]),
        )
        .build();
    console.watch_interrupts(&run.handle());
    console.greet(&introduction);
    // Any executor will do. Only some models' HTTP clients want a runtime of their own around them.
    let _inside = model.runtime.as_ref().map(|runtime| runtime.enter());
    Ok(smol::block_on(converse(run, &mut console, words.join(" "))))
}

/// Answers the prompt of the command line, then whatever is typed.
async fn converse(mut run: Run<Idle>, console: &mut Console, first: String) -> ExitCode {
    let mut prompt = console.first_prompt(first).await;
    while let Some(text) = prompt {
        run = answer(run, &text, console).await;
        prompt = console.next_prompt().await;
    }
    match run.outcome() {
        Some(outcome) if !outcome.is_success() => ExitCode::FAILURE,
        _ => ExitCode::SUCCESS,
    }
}

/// One run: what it tells is shown as it comes, what is typed meanwhile goes to it.
async fn answer(run: Run<Idle>, prompt: &str, console: &mut Console) -> Run<Idle> {
    console.begin();
    let mut run = run.prompt(prompt);
    let handle = run.handle();
    loop {
        // Giving up the wait for an event loses nothing, so the two can race.
        match console.next_step(run.next()).await {
            Step::Event(Some(event)) => console.show(&event),
            Step::Event(None) => break,
            Step::Line(line) => console.take_line(&line, &handle),
            Step::Silence => console.spin(),
        }
    }
    let run = run.finish().await;
    console.end(run.outcome(), handle.has_queued());
    run
}
