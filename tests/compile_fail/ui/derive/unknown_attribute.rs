//! Attributes are those that are documented, and stand where they belong.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
#[message(role = "app")]
enum App {
    #[message(usr = "{text}")]
    Note { text: String },
    #[message(skip, crate = turnstate)]
    Ui { text: String },
    #[message(user = "{text}")]
    Field {
        #[message(skip)]
        text: String,
    },
}

fn main() {}
