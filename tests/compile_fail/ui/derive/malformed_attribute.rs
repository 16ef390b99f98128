//! Values are given as they are documented.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
#[message(rename_all = "Title Case")]
enum App {
    #[message]
    Empty { text: String },
    #[message = "skip"]
    Text { text: String },
    #[message(skip = true)]
    Valued { text: String },
    #[message(user = function)]
    Function { text: String },
    #[message(project = "App::project")]
    Quoted { text: String },
    #[message(user = "{text}", skip_if = "hidden")]
    QuotedField { text: String, hidden: bool },
    #[message(role = note, skip skip_if = hidden)]
    NoComma { text: String },
    #[message(user = "{text}", skip_if = hidden(), skip_if = is(hidden.get(1)))]
    Twice { text: String },
}

fn main() {}
