//! The shapes of the traces: messages, events, results and states as JSON, with this crate's own texts as tokens.

use serde::Serialize;
use serde_json::{Map, Value, json};
use turnstate::message::{
    AgentMessage, AssistantContent, AssistantMessage, Content, CustomMessage, Message, StopReason, ToolCall,
    ToolResultMessage, Usage,
};
use turnstate::model::{Delta, PartialBlock};
use turnstate::tool::{ToolOutput, ToolResult};
use turnstate::{AgentEvent, State};

/// A message of the scenario.
#[track_caller]
pub(crate) fn read_message<M: CustomMessage>(json: &Value) -> AgentMessage<M> {
    let mut json = json.clone();
    if json["role"] == "assistant" {
        let fields = json.as_object_mut().unwrap();
        fields.entry("model").or_insert_with(|| json!("m1"));
        fields.entry("stopReason").or_insert_with(|| json!("stop"));
    }
    serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error}: {json}"))
}

pub(crate) fn read_messages<M: CustomMessage>(json: &[Value]) -> Vec<AgentMessage<M>> {
    json.iter().map(read_message).collect()
}

/// What a tool of the scenario gives back.
#[track_caller]
pub(crate) fn read_output(json: &Value) -> ToolOutput {
    let mut json = json.clone();
    if json["content"].is_null() {
        json.as_object_mut().unwrap().remove("content");
    }
    serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error}: {json}"))
}

pub(crate) fn messages<M: CustomMessage>(messages: &[AgentMessage<M>]) -> Value {
    messages.iter().map(message).collect()
}

pub(crate) fn message<M: CustomMessage>(message: &AgentMessage<M>) -> Value {
    match message {
        AgentMessage::Assistant(message) => assistant(message),
        AgentMessage::ToolResult(message) => tool_result(message),
        AgentMessage::System(_) | AgentMessage::User(_) | AgentMessage::Custom(_) => plain(message),
    }
}

pub(crate) fn model_message(message: &Message) -> Value {
    match message {
        Message::Assistant(message) => assistant(message),
        Message::ToolResult(message) => tool_result(message),
        Message::System(_) | Message::User(_) => plain(message),
    }
}

/// System, user and custom messages: all they have, but for the time.
fn plain(message: &impl Serialize) -> Value {
    let mut json = serde_json::to_value(message).unwrap();
    json.as_object_mut().unwrap().remove("timestamp");
    if let (Some("user"), Some(text)) = (json["role"].as_str(), json["content"].as_str()) {
        json["content"] = json!([{"type": "text", "text": text}]);
    }
    json
}

fn assistant(message: &AssistantMessage) -> Value {
    let mut json = Map::new();
    json.insert("role".into(), "assistant".into());
    json.insert("model".into(), message.model.as_str().into());
    json.insert("content".into(), assistant_content(message));
    if message.stop_reason != StopReason::Pending {
        json.insert("stopReason".into(), to_json(&message.stop_reason));
    }
    if let Some(text) = &message.error_message {
        json.insert("errorMessage".into(), text_or_token(text));
    }
    if let Some(level) = &message.thinking_level {
        json.insert("thinkingLevel".into(), to_json(level));
    }
    json.into()
}

fn assistant_content(message: &AssistantMessage) -> Value {
    let is_empty_text =
        |block: &AssistantContent| matches!(block, AssistantContent::Text(text) if text.text.is_empty());
    match &message.content[..] {
        [block] if is_empty_text(block) && !message.is_usable() => json!([]),
        blocks => blocks.iter().map(block).collect(),
    }
}

fn block(block: &AssistantContent) -> Value {
    match block {
        AssistantContent::ToolCall(call) => tool_call(call),
        other => to_json(other),
    }
}

fn tool_call(call: &ToolCall) -> Value {
    let mut json = json!({
        "type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments,
    });
    if call.arguments_error.is_some() {
        json["argumentsError"] = true.into();
    }
    json
}

fn partial_block(block: &PartialBlock) -> Value {
    match block {
        PartialBlock::Text(text) => json!({"type": "text", "text": text.text}),
        PartialBlock::Thinking(thinking) => json!({"type": "thinking", "thinking": thinking.thinking}),
        PartialBlock::ToolCall(call) => match call.complete() {
            Some(call) => tool_call(call),
            None => json!({
                "type": "toolCall", "id": call.id(), "name": call.name(),
                "arguments": call.arguments().cloned().unwrap_or_default(),
            }),
        },
        other => panic!("a block of no recorded kind: {other:?}"),
    }
}

/// A tool result. The mark of made-up results is left out.
fn tool_result(message: &ToolResultMessage) -> Value {
    let mut json = json!({
        "role": "toolResult", "toolCallId": message.tool_call_id, "toolName": message.tool_name,
        "isError": message.is_error,
    });
    add_result(&mut json, &message.content, message.details.as_ref(), message.usage.as_ref());
    json
}

/// What a call gave, as events and hooks show it.
pub(crate) fn result(result: &ToolResult) -> Value {
    let ToolResultMessage { content, details, usage, .. } = &*result.message;
    let mut json = json!({});
    add_result(&mut json, content, details.as_ref(), usage.as_ref());
    add_data(&mut json, result.structured_content.as_ref(), result.terminate);
    json
}

/// What a tool gives, or tells of its progress.
pub(crate) fn output(output: &ToolOutput) -> Value {
    let mut json = json!({});
    add_result(&mut json, &output.content, output.details.as_ref(), output.usage.as_ref());
    add_data(&mut json, output.structured_content.as_ref(), output.terminate);
    json
}

fn add_result(json: &mut Value, content: &[Content], details: Option<&Value>, usage: Option<&Usage>) {
    json["content"] = match content {
        [Content::Text(text)] => match token(&text.text) {
            Some(token) => json!({"error": token}),
            None => to_json(&content),
        },
        _ => to_json(&content),
    };
    if let Some(details) = details.filter(|details| !details.is_null() && **details != json!({})) {
        json["details"] = details.clone();
    }
    if let Some(usage) = usage {
        json["usage"] = to_json(usage);
    }
}

fn add_data(json: &mut Value, structured_content: Option<&Value>, terminate: bool) {
    if let Some(value) = structured_content {
        json["structuredContent"] = value.clone();
    }
    if terminate {
        json["terminate"] = true.into();
    }
}

/// The token of a text that is this crate's own, since the wording is free.
fn token(text: &str) -> Option<&'static str> {
    let starts = |prefix: &str| text.starts_with(prefix);
    Some(match text {
        "Operation aborted" => "aborted",
        _ if starts("There is no tool `") => "unknown_tool",
        _ if starts("The arguments for tool `") || starts("invalid arguments for the tool `") => {
            "invalid_arguments"
        }
        _ if starts("The call of tool `") && text.ends_with("` was blocked.") => "blocked",
        _ if starts("The call was not run: the answer was cut off at its length limit") => "truncated",
        _ => return None,
    })
}

fn text_or_token(text: &str) -> Value {
    match text {
        "Request was aborted" => json!({"error": "aborted"}),
        other => other.into(),
    }
}

/// An event as it was told, with the state of that moment.
pub(crate) fn event<M: CustomMessage>(event: &AgentEvent<M>, state: &State<M>) -> Value {
    let kind = event.kind();
    match event {
        AgentEvent::AgentStart | AgentEvent::TurnStart => json!({"type": kind}),
        AgentEvent::AgentEnd { messages: added } => json!({"type": kind, "messages": messages(added)}),
        AgentEvent::TurnEnd { message, tool_results } => json!({
            "type": kind, "message": assistant(message),
            "toolResults": tool_results.iter().map(|result| tool_result(result)).collect::<Value>(),
        }),
        AgentEvent::MessageStart { message: told } | AgentEvent::MessageEnd { message: told } => {
            json!({"type": kind, "message": message(told)})
        }
        AgentEvent::MessageUpdate { delta } => update(delta, state),
        AgentEvent::ToolExecutionStart { call } => execution(kind, call),
        AgentEvent::ToolExecutionUpdate { call, partial } => {
            let mut json = execution(kind, call);
            json["partialResult"] = output(partial);
            json
        }
        AgentEvent::ToolExecutionEnd { call, result: told } => json!({
            "type": kind, "toolCallId": call.id, "toolName": call.name,
            "isError": told.message.is_error, "result": result(told),
        }),
        other => panic!("an event of no recorded kind: {other:?}"),
    }
}

fn execution(kind: &str, call: &ToolCall) -> Value {
    json!({"type": kind, "toolCallId": call.id, "toolName": call.name, "args": call.arguments})
}

fn update<M>(delta: &Delta, state: &State<M>) -> Value {
    let partial = state.partial().expect("an update comes while an answer streams");
    let told = to_json(delta);
    let mut event = json!({"type": told["type"], "contentIndex": told["contentIndex"]});
    if let Some(piece) = told.get("delta") {
        event["delta"] = piece.clone();
    }
    let block = delta.index().and_then(|index| partial.block(index)).map_or(Value::Null, partial_block);
    json!({"type": "message_update", "event": event, "blocks": partial.blocks().len(), "block": block})
}

/// What a listener sees; `streaming` and `open` are not the state's own words for what the reference shows.
pub(crate) fn state<M>(state: &State<M>, streaming: bool, open: bool) -> Value {
    let mut json = json!({"messages": state.transcript().len()});
    if !streaming {
        json["streaming"] = false.into();
    }
    if open {
        json["partial"] = true.into();
    }
    let mut pending: Vec<_> = state.running_calls().map(|call| call.id.as_str()).collect();
    if !pending.is_empty() {
        pending.sort_unstable();
        json["pending"] = to_json(&pending);
    }
    if state.error().is_some() {
        json["error"] = true.into();
    }
    json
}

pub(crate) fn to_json(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}
