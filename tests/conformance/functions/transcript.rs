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
    compared(&json!({"added": added, "removed": removed}), vector)
}
