//! What system messages say together, and the difference between two lists of tools.

use std::sync::Arc;

use serde_json::{Value, json};
use turnstate::message::{AgentMessage, ToolDeclaration};
use turnstate::transcript::{Replay, ToolChanges};

use super::{Verdict, compared};
use crate::play::Skipped;
use crate::shape;

pub(super) fn replay(vector: &Value) -> Verdict {
    let messages: Vec<AgentMessage<Skipped>> = shape::read_messages(vector["messages"].as_array().unwrap());
    let replay = Replay::of(&messages);
    let system = replay.system().map(|system| shape::message(&AgentMessage::<Skipped>::from(system)));
    let tools: Vec<_> = replay.tools().iter().map(|tool| &tool.name).collect();
    compared(&json!({"system": system, "prompt": replay.prompt(), "tools": tools}), vector)
}

pub(super) fn tool_diff(vector: &Value) -> Verdict {
    let read = |key: &str| -> Vec<Arc<ToolDeclaration>> {
        let tools: Vec<ToolDeclaration> = serde_json::from_value(vector[key].clone()).unwrap();
        tools.into_iter().map(Arc::new).collect()
    };
    let changes = ToolChanges::between(&read("previous"), &read("current"));
    let added: Vec<_> = changes.added.iter().map(|tool| &tool.name).collect();
    let removed: Vec<_> = changes.removed.iter().map(|tool| &tool.name).collect();
    match compared(&json!({"added": added, "removed": removed}), vector) {
        Verdict::Differs(_) if is_reordered(vector) => {
            Verdict::Excused("the order of keys is no change of a tool")
        }
        verdict => verdict,
    }
}

/// Whether a tool is declared with the same JSON value before and after: the reference compares the text, and takes
/// other orders of keys for changes.
fn is_reordered(vector: &Value) -> bool {
    let current = vector["current"].as_array().unwrap();
    let changed = &vector["expect"]["added"];
    let is_changed = |tool: &Value| changed.as_array().unwrap().contains(&tool["name"]);
    vector["previous"].as_array().unwrap().iter().any(|tool| is_changed(tool) && current.contains(tool))
}
