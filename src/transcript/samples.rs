//! What this module's tests share: a custom message, short ways to write messages, and strategies for random ones.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde::de::{Deserialize, Deserializer};
use serde::ser::Serializer;
use serde_json::{Map, json};

use crate::message::{
    AgentMessage, AssistantContent, AssistantMessage, Content, CustomMessage, Message, Projection,
    RemovedTool, Role, Roles, StopReason, SystemMessage, Text, TextContent, ToolCall, ToolDeclaration,
    ToolResultMessage, UserContent, UserMessage,
};

/// A custom message that the model sees as any list of messages; read from JSON it is seen as a user message.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Sample {
    Note(Vec<Message>),
    Ui,
}

impl CustomMessage for Sample {
    const ROLES: Roles = Roles::of(&[Role::new("note", "Sample::Note"), Role::new("ui", "Sample::Ui")]);

    fn role(&self) -> &str {
        match self {
            Self::Note(_) => "note",
            Self::Ui => "ui",
        }
    }

    fn project(&self) -> Projection {
        match self {
            Self::Note(messages) => messages.clone().into(),
            Self::Ui => Projection::none(),
        }
    }

    fn serialize_fields<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }

    fn deserialize_fields<'de, D: Deserializer<'de>>(role: &str, fields: D) -> Result<Self, D::Error> {
        let fields = Map::deserialize(fields)?;
        let text = fields.get("text").and_then(|text| text.as_str()).unwrap_or_default();
        Ok(if role == "ui" { Self::Ui } else { Self::Note(vec![Message::user(text)]) })
    }
}

pub(super) type Any = AgentMessage<Sample>;

pub(super) fn call(id: &str) -> AssistantContent {
    ToolCall::new(id, "tool", Map::new()).into()
}

pub(super) fn answer(content: impl IntoIterator<Item = AssistantContent>) -> Any {
    AssistantMessage::new(content.into_iter().collect()).at(7).into()
}

/// An answer of nothing but these calls.
pub(super) fn calls<const N: usize>(ids: [&str; N]) -> Any {
    answer(ids.map(call))
}

pub(super) fn stopped(content: impl IntoIterator<Item = AssistantContent>, reason: StopReason) -> Any {
    AssistantMessage::new(content.into_iter().collect()).with_stop_reason(reason).into()
}

pub(super) fn result(id: &str, text: &str) -> Any {
    ToolResultMessage::new(id, "tool", vec![Content::text(text)]).into()
}

pub(super) fn tool(name: &str, description: &str) -> Arc<ToolDeclaration> {
    Arc::new(ToolDeclaration::new(name, description, json!({"type": "object"})))
}

pub(super) fn adds(content: &str, added: &[Arc<ToolDeclaration>], removed: &[&str]) -> SystemMessage {
    let mut message = SystemMessage::new(content);
    message.tools_added = added.to_vec();
    message.tools_removed = removed.iter().copied().map(RemovedTool::new).collect();
    message
}

fn text() -> impl Strategy<Value = &'static str> {
    select(vec!["", " \n", "one", "two"])
}

fn id() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "c"])
}

/// Tools of few names and two versions, so that lists overlap. Names may repeat.
pub(super) fn any_tools() -> impl Strategy<Value = Vec<Arc<ToolDeclaration>>> {
    vec((select(vec!["read", "write", "list", "calc"]), select(vec!["v1", "v2"])), 0..5)
        .prop_map(|tools| tools.into_iter().map(|(name, version)| tool(name, version)).collect())
}

pub(super) fn any_system() -> impl Strategy<Value = SystemMessage> {
    let sections = vec((select(vec!["x", "y"]), option::of(text())), 0..3);
    let removed = vec(select(vec!["read", "write", "ghost"]), 0..3);
    (text(), any::<bool>(), sections, any_tools(), removed, 0..9_u64).prop_map(
        |(text, blocks, sections, added, removed, timestamp)| {
            let mut message = adds(text, &added, &removed).at(timestamp);
            if blocks {
                message.content = TextContent::Blocks(vec![Text::new(text), Text::new("block")]);
            }
            for (name, text) in sections {
                message.sections.set(name, text.map(str::to_owned));
            }
            message
        },
    )
}

fn any_user() -> impl Strategy<Value = UserMessage> {
    prop_oneof![
        text().prop_map(UserMessage::new),
        vec(text().prop_map(Content::from), 0..3)
            .prop_map(|blocks| UserMessage::new(UserContent::Blocks(blocks))),
    ]
}

fn any_answer() -> impl Strategy<Value = AssistantMessage> {
    let block = prop_oneof![
        text().prop_map(AssistantContent::text),
        text().prop_map(AssistantContent::thinking),
        id().prop_map(call),
        id().prop_map(call),
    ];
    let reason = select(vec![
        StopReason::ToolUse,
        StopReason::Stop,
        StopReason::Length,
        StopReason::Error,
        StopReason::Aborted,
    ]);
    (vec(block, 0..4), reason, 0..9_u64)
        .prop_map(|(content, reason, at)| AssistantMessage::new(content).with_stop_reason(reason).at(at))
}

fn any_result() -> impl Strategy<Value = ToolResultMessage> {
    (id(), vec(text().prop_map(Content::from), 0..2))
        .prop_map(|(id, content)| ToolResultMessage::new(id, "tool", content))
}

fn any_projected() -> impl Strategy<Value = Message> {
    prop_oneof![
        1 => any_system().prop_map(Message::from),
        1 => any_user().prop_map(Message::from),
        2 => any_answer().prop_map(Message::from),
        3 => any_result().prop_map(Message::from),
    ]
}

pub(super) fn any_message() -> impl Strategy<Value = Any> {
    prop_oneof![
        9 => any_projected().prop_map(Any::from),
        1 => vec(any_projected(), 0..3).prop_map(|seen| Any::Custom(Arc::new(Sample::Note(seen)))),
    ]
}

/// Messages as a host may have them, however broken.
pub(super) fn any_transcript() -> impl Strategy<Value = Vec<Any>> {
    vec(any_message(), 0..16)
}

/// Turns as a loop writes them: each answer usable, each call of it answered directly, nothing blank.
pub(super) fn sound_transcript() -> impl Strategy<Value = Vec<Any>> {
    let turn = vec(id(), 0..4).prop_map(|ids| {
        let mut turn = vec![Any::user("go on"), answer(ids.iter().map(|id| call(id)).chain([text_block()]))];
        turn.extend(ids.iter().map(|id| result(id, "done")));
        turn
    });
    vec(turn, 0..5).prop_map(|turns| turns.concat())
}

fn text_block() -> AssistantContent {
    AssistantContent::text("text")
}
