//! A placeholder names a value.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(user = "{}")]
    Positional { text: String },
    #[message(user = "{0}")]
    Numbered { text: String },
    #[message(user = "{text + 1}")]
    Expression { text: String },
    #[message(user = "{text.get(1)}")]
    Argument { text: String },
}

fn main() {}
