//! What comes before a dot is a field, and what comes after it is a part of that field.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
enum Field {
    #[message(system = "{heading.text}")]
    Parts { title: Title },
    #[message(system = "{title.text}")]
    Nothing,
}

#[derive(Debug, CustomMessage)]
enum Part {
    #[message(system = "{title.txt} {title.shout()} {whisper()}")]
    Parts { title: Title },
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Title {
    text: String,
}

fn main() {}
