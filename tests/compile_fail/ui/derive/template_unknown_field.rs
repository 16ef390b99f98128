//! The compiler underlines a misspelt field inside the text, and offers the one that was meant.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(user = "Ran `{comand}`:\n{output}")]
    BashExecution { command: String, output: String },
    #[message(user = "{sumary}")]
    Newtype(Summary),
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Summary {
    summary: String,
}

fn main() {}
