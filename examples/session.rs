//! How is a conversation saved to disk after every turn, and taken up again by another process?
//!
//! ```text
//! cargo run --example session
//! ```

use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use std::{fs, io};

use turnstate::hook::FinishTurn;
use turnstate::testing::{Response, ScriptedModel, block_on};
use turnstate::{CustomMessage, Idle, Run, Transcript};

/// The application's own roles are saved and loaded with the rest.
#[derive(Debug, Clone, PartialEq, CustomMessage)]
enum AppMessage {
    #[message(skip)]
    Bookmark { name: String },
}

/// A run that goes on with what the file says, and saves itself there at the end of each turn, also of one that is
/// aborted. Prompt and tools of the builder are for a new conversation; a loaded one has its own.
fn open(file: &Path, model: ScriptedModel) -> Result<Run<Idle, AppMessage>, Box<dyn Error>> {
    let saved: Transcript<AppMessage> = match fs::read(file) {
        Ok(json) => serde_json::from_slice(&json)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Transcript::new(),
        Err(error) => return Err(error.into()),
    };
    let file: Arc<Path> = file.into();
    let run = Run::builder(model)
        .custom_messages::<AppMessage>()
        .system_prompt("You read a book with a person.")
        .transcript(saved)
        .finish_turn(async move |_, cx| match save(&file, cx.transcript) {
            Ok(()) => FinishTurn::Default,
            Err(error) => FinishTurn::end(format!("the session could not be saved: {error}")),
        })
        .build();
    Ok(run)
}

/// Written beside the file and then renamed, so that a crash leaves the old session or the new one, and no half.
fn save(file: &Path, transcript: &Transcript<AppMessage>) -> Result<(), Box<dyn Error>> {
    let beside = file.with_extension("new");
    fs::write(&beside, serde_json::to_vec_pretty(transcript)?)?;
    Ok(fs::rename(beside, file)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::temp_dir().join(format!("turnstate-session-{}.json", std::process::id()));

    // The first process. The connection breaks in the middle of its second answer.
    let model = ScriptedModel::new([
        Response::text("It begins at sea."),
        Response::text("The captain").failing("the connection is lost"),
    ]);
    let run = block_on(open(&file, model)?.prompt("Where does it begin?").finish());
    let run = block_on(run.prompt([AppMessage::Bookmark { name: "chapter 1".into() }]).finish());
    println!("saved {} messages, the last of them a failed answer", run.transcript().len());
    let before = run.transcript().clone();
    drop(run);

    // The second process loads the same messages, and asks again where the first one failed.
    let model = ScriptedModel::new([Response::text("The captain is called Ahab.")]);
    let run = open(&file, model.clone())?;
    assert_eq!(*run.transcript(), before);
    let run = block_on(run.resume()?.finish());
    println!("resumed: {} messages", run.transcript().len());

    assert_eq!(run.transcript().len(), 6);
    assert_eq!(model.requests()[0].messages.len(), 3, "the bookmark and the failed answer are not sent");
    fs::remove_file(file)?;
    Ok(())
}
