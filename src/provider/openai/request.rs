//! The body of a request for a chat completion.

use serde_json::{Map, Value, json};

use super::Settings;
use super::detail::Detail;
use crate::message::{
    AssistantContent, AssistantMessage, ConstrainedSampling, Content, Image, Message, Thinking,
    ToolDeclaration, ToolResultMessage, UserContent,
};
use crate::model::{CacheRetention, Request};
use crate::provider::repair::repaired;
use crate::provider::{sampling_params, tool_results};

/// The fields in which servers send reasoning text, and take it back.
pub(super) const REASONING_FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_text"];

/// The field of the text, whose parts may be thinking: Mistral's way.
pub(super) const CONTENT: &str = "content";

pub(super) fn body(request: &Request, settings: &Settings) -> Map<String, Value> {
    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.id.as_str().into());
    body.insert("messages".to_owned(), messages(request, settings).into());
    body.insert("stream".to_owned(), true.into());
    body.insert("stream_options".to_owned(), json!({ "include_usage": true }));
    let tools: Vec<Value> = request.tools().iter().map(|declaration| tool(declaration)).collect();
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
    }
    options(request, settings, &mut body);
    for (name, value) in &settings.extra_body {
        match value {
            Value::Null => drop(body.remove(name)),
            value => drop(body.insert(name.clone(), value.clone())),
        }
    }
    body
}

fn options(request: &Request, settings: &Settings, body: &mut Map<String, Value>) {
    let options = &*request.options;
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            body.insert(name.to_owned(), value);
        }
    };
    set("temperature", options.temperature.map(Value::from));
    set(settings.max_tokens_field, options.max_tokens.map(Value::from));
    set("tool_choice", options.tool_choice.clone());
    set("metadata", options.metadata.clone().map(Value::from));
    set("reasoning_effort", request.thinking_level.and_then(settings.effort).map(Value::from));
    if settings.prompt_cache && options.cache_retention != Some(CacheRetention::None) {
        set("prompt_cache_key", options.session_id.clone().map(Value::from));
        let is_long = options.cache_retention == Some(CacheRetention::Long);
        set("prompt_cache_retention", is_long.then(|| "24h".into()));
    }
    for (name, value) in sampling_params(options) {
        set(name, Some(value.clone()));
    }
}

fn tool(declaration: &ToolDeclaration) -> Value {
    let mut function = json!({
        "name": declaration.name,
        "description": declaration.description,
        "parameters": *declaration.parameters,
    });
    if let (Some(ConstrainedSampling::JsonSchema { .. }), Some(fields)) =
        (&declaration.constrained_sampling, function.as_object_mut())
    {
        fields.insert("strict".to_owned(), true.into());
    }
    json!({ "type": "function", "function": function })
}

fn messages(request: &Request, settings: &Settings) -> Vec<Value> {
    let mut messages = Vec::new();
    // Images in tool results: the role `tool` takes text only, so they follow the last result of the answer.
    let mut images: Vec<Image> = Vec::new();
    for message in repaired(&request.messages, &request.model, &settings.rules) {
        if !matches!(message, Message::ToolResult(_)) {
            messages.extend(images_message(std::mem::take(&mut images)));
        }
        match message {
            Message::System(system) => {
                let text = system.content.joined();
                if !text.is_empty() {
                    messages.push(json!({ "role": settings.system_role, "content": text }));
                }
            }
            Message::User(user) => {
                messages.push(json!({ "role": "user", "content": user_content(&user.content) }));
            }
            Message::Assistant(answer) => messages.extend(assistant(&answer, settings)),
            Message::ToolResult(result) => messages.push(tool_result(&result, &mut images)),
        }
    }
    messages.extend(images_message(images));
    messages
}

fn user_content(content: &UserContent) -> Value {
    match content {
        UserContent::Text(text) => text.as_str().into(),
        UserContent::Blocks(blocks) => match blocks.as_slice() {
            // Servers for small models take plain text only.
            [Content::Text(text)] => text.text.as_str().into(),
            blocks => blocks.iter().map(part).collect(),
        },
    }
}

fn part(content: &Content) -> Value {
    match content {
        Content::Text(text) => text_part(&text.text),
        Content::Image(image) => image_part(image),
    }
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn image_part(image: &Image) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{};base64,{}", image.mime_type, image.data) } })
}

/// An answer as the provider wants it back; `None` where nothing of it can be sent.
fn assistant(answer: &AssistantMessage, settings: &Settings) -> Option<Value> {
    let calls: Vec<Value> = answer
        .tool_calls()
        .map(|call| {
            let arguments = Value::Object(call.arguments.clone()).to_string();
            json!({ "id": call.id, "type": "function", "function": { "name": call.name, "arguments": arguments } })
        })
        .collect();
    if calls.is_empty() && answer.texts().all(str::is_empty) {
        return None;
    }
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    message.insert(CONTENT.to_owned(), content(answer, settings));
    if settings.return_thinking {
        add_thinking(answer, &mut message);
    }
    if !calls.is_empty() {
        message.insert("tool_calls".to_owned(), calls.into());
    }
    Some(message.into())
}

/// The text of an answer; in parts where thinking came between them, and goes back so.
fn content(answer: &AssistantMessage, settings: &Settings) -> Value {
    let is_between = |thinking: &Thinking| thinking.thinking_signature.as_deref() == Some(CONTENT);
    let has_between = |block: &AssistantContent| matches!(block, AssistantContent::Thinking(thinking) if is_between(thinking));
    if settings.return_thinking && answer.content.iter().any(has_between) {
        let parts = answer.content.iter().filter_map(|block| match block {
            AssistantContent::Text(text) if !text.text.is_empty() => Some(text_part(&text.text)),
            AssistantContent::Thinking(thinking) if is_between(thinking) => {
                Some(json!({ "type": "thinking", "thinking": [text_part(&thinking.thinking)] }))
            }
            _ => None,
        });
        return parts.collect();
    }
    let text: String = answer.texts().collect();
    if text.is_empty() { Value::Null } else { text.into() }
}

/// Adds the thinking as it came: in the field that its signature names, or as the detail that its signature is.
fn add_thinking(answer: &AssistantMessage, message: &mut Map<String, Value>) {
    let mut details = Vec::new();
    for block in &answer.content {
        let AssistantContent::Thinking(thinking) = block else { continue };
        let Some(signature) = thinking.thinking_signature.as_deref() else { continue };
        if !REASONING_FIELDS.contains(&signature) {
            details.extend(Detail::restored(signature, &thinking.thinking));
            continue;
        }
        match message.get_mut(signature) {
            Some(Value::String(text)) => text.push_str(&thinking.thinking),
            _ => drop(message.insert(signature.to_owned(), thinking.thinking.as_str().into())),
        }
    }
    if !details.is_empty() {
        message.insert("reasoning_details".to_owned(), details.into());
    }
}

fn tool_result(result: &ToolResultMessage, images: &mut Vec<Image>) -> Value {
    let text = tool_results::text_of(result, images);
    json!({ "role": "tool", "tool_call_id": result.tool_call_id, "content": text })
}

fn images_message(images: Vec<Image>) -> Option<Value> {
    let text = text_part(tool_results::IMAGES);
    let parts: Vec<Value> = std::iter::once(text).chain(images.iter().map(image_part)).collect();
    (!images.is_empty()).then(|| json!({ "role": "user", "content": parts }))
}
