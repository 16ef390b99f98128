//! Every variant says what the model sees of it.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum App {
    Notification { text: String },
    #[message(role = "note")]
    Note { text: String },
    #[message(skip)]
    Ui { text: String },
}

fn main() {}
