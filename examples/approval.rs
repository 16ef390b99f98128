//! How does a person allow or refuse what a tool is about to do?
//!
//! ```text
//! cargo run --example approval
//! ```
//!
//! At a terminal it asks; anywhere else an answer is scripted: the first file may be deleted, the second may not.

use std::io::{BufRead, IsTerminal, Write, stdin, stdout};

use serde_json::json;
use turnstate::Run;
use turnstate::hook::{Approval, ApprovalRequest, Decision};
use turnstate::testing::{Response, ScriptedModel, block_on};
use turnstate::tool::tool_fn;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Delete {
    /// The file.
    path: String,
}

fn main() {
    let delete = tool_fn("delete", "Deletes a file.", async |args: Delete, _| {
        Ok(format!("{} is gone.", args.path)) // an example deletes nothing
    });
    let [log, thesis] = ["build.log", "thesis.tex"].map(|path| json!({ "path": path }));
    let model = ScriptedModel::new([
        Response::tool_call("call_1", "delete", log).and_tool_call("call_2", "delete", thesis),
        Response::text("I have cleaned up."),
    ]);
    // Calls are asked about one after the other, before the first of them runs. "Always" holds for the runs to come too.
    let run = Run::builder(model)
        .tool(delete)
        .hook(Approval::new(async |request| match stdin().is_terminal() {
            true => ask_the_person(request),
            false => answer_from_the_script(request),
        }))
        .build();
    let run = block_on(run.prompt("Clean up.").finish());

    // A refusal is a result that the model reads, so that it can do without.
    let results = run.transcript().iter().filter_map(|message| message.as_tool_result());
    let results: Vec<_> = results.flat_map(|result| result.texts()).collect();
    println!("{}\nagent: {}", results.join("\n"), run.transcript().last_answer_text());
    if !stdin().is_terminal() {
        assert_eq!(results, ["build.log is gone.", "The person wants to keep this file."]);
    }
}

/// Blocks the thread until the person has answered, which is fine where nothing else runs on it.
fn ask_the_person(request: ApprovalRequest<'_>) -> Decision {
    // With quotes, and with what would hide in a name or turn it around written out.
    print!(
        "Delete {:?}? [y]es, [a]lways, [n]o: ",
        request.call.arguments["path"].as_str().unwrap_or_default()
    );
    let mut line = String::new();
    let answered = stdout().flush().and_then(|()| stdin().lock().read_line(&mut line));
    match (answered, line.trim()) {
        (Ok(_), "y") => Decision::Allow,
        (Ok(_), "a") => Decision::AlwaysAllow,
        _ => Decision::refuse("The person wants to keep this file."),
    }
}

fn answer_from_the_script(request: ApprovalRequest<'_>) -> Decision {
    match request.call.arguments["path"].as_str() {
        Some("build.log") => Decision::Allow,
        _ => Decision::refuse("The person wants to keep this file."),
    }
}
