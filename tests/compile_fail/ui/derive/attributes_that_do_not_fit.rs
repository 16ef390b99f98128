//! Attributes fit what the model sees of the message.

use turnstate::CustomMessage;
use turnstate::message::{Content, NoCustom};

#[derive(Debug, CustomMessage)]
enum App {
    #[message(skip, skip_if = hidden)]
    SkippedTwice { hidden: bool },
    #[message(extend, role = "plugin", skip_if = hidden, timestamp = at)]
    Plugin(NoCustom),
    #[message(system = "{text}")]
    SystemContent {
        text: String,
        #[message(content)]
        blocks: Vec<Content>,
    },
    #[message(skip)]
    #[serde(default)]
    DefaultOfAVariant { text: String },
    #[message(extend)]
    #[serde(deny_unknown_fields)]
    DeniedForAnother(NoCustom),
    #[message(user = "{text}")]
    TwoTimes {
        text: String,
        #[message(timestamp)]
        started: u64,
        #[message(timestamp)]
        ended: u64,
    },
}

fn main() {}
