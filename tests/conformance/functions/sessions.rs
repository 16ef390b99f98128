//! Saved transcripts: loaded, and saved again.

use serde_json::{Value, json};
use turnstate::message::Timestamp;
use turnstate::{CustomMessage, Transcript};

use super::Verdict;
use crate::compare;
use crate::shape::to_json;

#[derive(Debug, Clone, PartialEq, CustomMessage)]
enum Saved {
    #[message(role = "note", skip)]
    Note {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        timestamp: Option<Timestamp>,
    },
    #[message(role = "ui", skip)]
    Ui {
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        timestamp: Option<Timestamp>,
    },
}

pub(super) fn check(vector: &Value) -> Verdict {
    let (messages, expect) = (&vector["messages"], &vector["expect"]);
    let loaded = serde_json::from_value::<Transcript<Saved>>(messages.clone());
    let differs = match (loaded, expect["error"].as_str()) {
        (Err(error), Some(role)) if error.to_string().contains(role) => None,
        (Err(error), _) => Some(error.to_string()),
        (Ok(_), Some(role)) => Some(format!("the role {role} was loaded")),
        (Ok(loaded), None) => {
            let saved = to_json(&loaded);
            let same = (expect["same"] == true).then(|| compare::difference("saved", &saved, messages));
            same.flatten().or_else(|| {
                let content = (expect["loads"] == true).then(|| &saved[2]["content"]);
                content.and_then(|content| compare::difference("content", content, &json!([])))
            })
        }
    };
    differs.map_or(Verdict::Agrees, Verdict::Differs)
}
