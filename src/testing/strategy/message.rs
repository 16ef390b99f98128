//! Messages and transcripts.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

use super::script::stop_reason;
use crate::message::{
    AgentMessage, AssistantContent, AssistantMessage, Content, CustomMessage, Image, SystemMessage, Text,
    TextContent, ToolCall, ToolResultMessage, Usage, UserContent, UserMessage,
};

/// Short texts: plain, blank, empty, with characters of several bytes, of several lines.
pub fn text() -> impl Strategy<Value = String> + Clone {
    prop_oneof![
        4 => "[a-z]{1,6}",
        1 => select(vec!["", " ", "\n", "é", "你好", "👩‍💻", "a\nb", "\u{2028}", "\0", "\\\"{"]).prop_map(str::to_owned),
    ]
}

/// User messages: one text, or blocks of text and images.
pub fn user_message() -> impl Strategy<Value = UserMessage> + Clone {
    let content = prop_oneof![
        3 => text().prop_map(UserContent::from),
        1 => contents().prop_map(UserContent::from),
    ];
    (content, time()).prop_map(|(content, at)| UserMessage::new(content).at(at))
}

/// System messages: text or blocks, sections set and removed, no tool changes.
pub fn system_message() -> impl Strategy<Value = SystemMessage> + Clone {
    let content = prop_oneof![
        3 => text().prop_map(TextContent::from),
        1 => vec(text().prop_map(Text::new), 0..3).prop_map(TextContent::Blocks),
    ];
    let sections = vec((select(vec!["x", "y"]), option::of(text())), 0..3);
    (content, sections, time()).prop_map(|(content, sections, at)| {
        let mut message = SystemMessage::default().at(at);
        message.content = content;
        for (name, text) in sections {
            message.sections.set(name, text);
        }
        message
    })
}

/// Answers of any kind: text, thinking, calls, every stop reason.
pub fn assistant_message() -> impl Strategy<Value = AssistantMessage> + Clone {
    let block = prop_oneof![
        2 => text().prop_map(AssistantContent::text),
        1 => text().prop_map(AssistantContent::thinking),
        2 => tool_call().prop_map(AssistantContent::from),
    ];
    (vec(block, 0..4), stop_reason(), time(), 0..100_u64).prop_map(|(content, reason, at, tokens)| {
        let mut message = AssistantMessage::new(content).with_stop_reason(reason).at(at);
        message.usage = Usage::new(tokens, tokens);
        message
    })
}

/// Tool results, of few ids, so that some answer a call.
pub fn tool_result_message() -> impl Strategy<Value = ToolResultMessage> + Clone {
    (id(), contents(), any::<bool>(), time()).prop_map(|(id, content, is_error, at)| {
        let mut message = ToolResultMessage::new(id, "tool", content);
        message.is_error = is_error;
        message.timestamp = at;
        message
    })
}

/// Messages of the four standard roles.
pub fn agent_message<M: CustomMessage>() -> BoxedStrategy<AgentMessage<M>> {
    prop_oneof![
        1 => system_message().prop_map(AgentMessage::from),
        2 => user_message().prop_map(AgentMessage::from),
        2 => assistant_message().prop_map(AgentMessage::from),
        2 => tool_result_message().prop_map(AgentMessage::from),
    ]
    .boxed()
}

/// Messages of the four standard roles, and the application's own.
pub fn agent_message_or<M: CustomMessage>(
    custom: impl Strategy<Value = M> + 'static,
) -> BoxedStrategy<AgentMessage<M>> {
    prop_oneof![4 => agent_message(), 1 => custom.prop_map(own)].boxed()
}

pub(super) fn own<M>(custom: M) -> AgentMessage<M> {
    AgentMessage::Custom(std::sync::Arc::new(custom))
}

/// Messages in any order, however broken: calls without results, results without calls, failed answers anywhere.
pub fn any_transcript<M: CustomMessage>() -> BoxedStrategy<Vec<AgentMessage<M>>> {
    vec(agent_message(), 0..12).boxed()
}

/// As [`any_transcript`], with the application's own messages.
pub fn any_transcript_or<M: CustomMessage>(
    custom: impl Strategy<Value = M> + 'static,
) -> BoxedStrategy<Vec<AgentMessage<M>>> {
    vec(agent_message_or(custom), 0..12).boxed()
}

/// Transcripts as runs leave them: each answer usable, each of its calls answered directly after it, in order.
pub fn sound_transcript<M: CustomMessage>() -> BoxedStrategy<Vec<AgentMessage<M>>> {
    let turn = (text(), vec(any::<bool>(), 0..3)).prop_map(|(text, calls)| {
        let calls: Vec<_> =
            (0..calls.len()).map(|n| ToolCall::new(format!("old{n}"), "tool", Map::new())).collect();
        let content = std::iter::once(AssistantContent::text(text))
            .chain(calls.iter().cloned().map(AssistantContent::from))
            .collect();
        let mut turn = vec![AgentMessage::user("earlier"), AssistantMessage::new(content).into()];
        let result = |call: ToolCall| ToolResultMessage::new(call.id, call.name, vec![Content::text("ok")]);
        turn.extend(calls.into_iter().map(result).map(AgentMessage::from));
        turn
    });
    vec(turn, 0..3).prop_map(|turns| turns.concat()).boxed()
}

fn contents() -> impl Strategy<Value = Vec<Content>> + Clone {
    let block = prop_oneof![
        4 => text().prop_map(Content::text),
        1 => Just(Image::new("aGk=", "image/png")).prop_map(Content::Image),
    ];
    vec(block, 0..3)
}

fn tool_call() -> impl Strategy<Value = ToolCall> + Clone {
    (id(), text()).prop_map(|(id, text)| {
        let arguments = match json!({ "text": text }) {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        ToolCall::new(id, "tool", arguments)
    })
}

fn id() -> impl Strategy<Value = &'static str> + Clone {
    select(vec!["a", "b", "c"])
}

fn time() -> impl Strategy<Value = u64> + Clone {
    0..9_u64
}
