//! A request in genai's words.

use genai::ModelIden;
use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatRequest, ChatRole, ContentPart, CustomPart, Tool, ToolCall, ToolResponse,
};
use serde_json::{Map, Value, json};

use super::protocol::Protocol;
use crate::message::{
    AssistantContent, AssistantMessage, ConstrainedSampling, Content, Image, Message, Thinking,
    ToolDeclaration, ToolResultMessage, UserContent,
};
use crate::model::{CacheRetention, Request};
use crate::provider::repair::{Rules, repaired};
use crate::provider::tool_results;

/// What the messages of a request depend on, beside the request.
pub(super) struct Shape {
    pub(super) protocol: Protocol,
    pub(super) rules: Rules,
    pub(super) return_thinking: bool,
}

pub(super) fn chat_request(request: &Request, shape: &Shape) -> ChatRequest {
    let mut chat = ChatRequest::default();
    let mut results = Results::default();
    for message in repaired(&request.messages, &request.model, &shape.rules) {
        if !matches!(message, Message::ToolResult(_)) {
            results.give(shape.protocol, &mut chat.messages);
        }
        match message {
            Message::System(system) => {
                let text = system.content.joined();
                if text.is_empty() {
                    continue;
                }
                match chat.system {
                    None if chat.messages.is_empty() => chat.system = Some(text),
                    _ => chat.messages.push(ChatMessage::system(text)),
                }
            }
            Message::User(user) => chat.messages.extend(user_message(&user.content)),
            Message::Assistant(answer) => chat.messages.extend(assistant(&answer, shape)),
            Message::ToolResult(result) => results.take(&result, shape.protocol),
        }
    }
    results.give(shape.protocol, &mut chat.messages);
    let tools: Vec<Tool> = request.tools().iter().map(|declaration| tool(declaration)).collect();
    chat.tools = Some(tools).filter(|tools| !tools.is_empty());
    chat
}

/// Marks what Anthropic is to keep in its cache: the prompt with the tools, and the conversation up to its end.
pub(super) fn mark_cache(chat: &mut ChatRequest, retention: Option<CacheRetention>) {
    let control = match retention {
        Some(CacheRetention::None) => return,
        Some(CacheRetention::Long) => CacheControl::Ephemeral1h,
        Some(CacheRetention::Short) | None => CacheControl::Ephemeral,
    };
    // A call without its result yet may end with thinking, which takes no mark.
    if let Some(last) = chat.messages.last_mut().filter(|last| last.role != ChatRole::Assistant) {
        last.options = Some(control.clone().into());
    }
    match chat.system.take() {
        Some(system) => {
            chat.messages.insert(0, ChatMessage::system(system).with_options(control));
        }
        None => {
            if let Some(tool) = chat.tools.as_mut().and_then(|tools| tools.last_mut()) {
                tool.cache_control = Some(control);
            }
        }
    }
}

fn tool(declaration: &ToolDeclaration) -> Tool {
    let tool = Tool::new(declaration.name.as_str())
        .with_description(declaration.description.as_str())
        .with_schema((*declaration.parameters).clone());
    match &declaration.constrained_sampling {
        Some(ConstrainedSampling::JsonSchema { .. }) => tool.with_strict(true),
        _ => tool,
    }
}

fn user_message(content: &UserContent) -> Option<ChatMessage> {
    let parts: Vec<ContentPart> = match content {
        UserContent::Text(text) => vec![text.as_str().into()],
        UserContent::Blocks(blocks) => blocks.iter().map(part).collect(),
    };
    (!parts.is_empty()).then(|| ChatMessage::user(parts))
}

fn part(content: &Content) -> ContentPart {
    match content {
        Content::Text(text) => text.text.as_str().into(),
        Content::Image(image) => image_part(image),
    }
}

fn image_part(image: &Image) -> ContentPart {
    ContentPart::from_binary_base64(image.mime_type.as_str(), image.data.as_str(), None)
}

/// An answer as genai wants it back; none where nothing of it can be sent.
fn assistant(answer: &AssistantMessage, shape: &Shape) -> Vec<ChatMessage> {
    let mut parts = Vec::new();
    for block in &answer.content {
        match block {
            AssistantContent::Text(text) => {
                let signature = text.text_signature.clone().filter(|_| shape.protocol == Protocol::Gemini);
                parts.extend(signature.map(ContentPart::ThoughtSignature));
                if !text.text.is_empty() {
                    parts.push(ContentPart::from_text(text.text.as_str()));
                }
            }
            AssistantContent::Thinking(thinking) if shape.return_thinking => {
                parts.extend(thinking_parts(thinking, shape.protocol));
            }
            AssistantContent::Thinking(_) => {}
            AssistantContent::ToolCall(call) => {
                let signature = call.thought_signature.clone().filter(|_| shape.protocol == Protocol::Gemini);
                parts.push(ContentPart::ToolCall(ToolCall {
                    call_id: call.id.clone(),
                    fn_name: call.name.clone(),
                    fn_arguments: Value::Object(call.arguments.clone()),
                    thought_signatures: signature.map(|signature| vec![signature]),
                }));
            }
        }
    }
    if !parts.iter().any(|part| matches!(part, ContentPart::Text(_) | ContentPart::ToolCall(_))) {
        return Vec::new();
    }
    match shape.protocol {
        Protocol::OpenAi => vec![ChatMessage::assistant(joined(parts))],
        Protocol::Responses => in_order_of_reasoning(parts).into_iter().map(ChatMessage::assistant).collect(),
        _ => vec![ChatMessage::assistant(parts)],
    }
}

fn thinking_parts(thinking: &Thinking, protocol: Protocol) -> Vec<ContentPart> {
    let text = || Some(ContentPart::ReasoningContent(thinking.thinking.clone()));
    let has_text = !thinking.thinking.is_empty();
    let signature = thinking.thinking_signature.clone();
    let parts = match (protocol, signature) {
        (Protocol::OpenAi, _) => [None, text().filter(|_| has_text)],
        (Protocol::Anthropic, Some(payload)) if thinking.redacted == Some(true) => {
            let data = json!({ "type": "redacted_thinking", "data": payload });
            [Some(ContentPart::Custom(CustomPart { model_iden: None, data })), None]
        }
        // A signature without its text is refused, and so is a text without its signature.
        (Protocol::Anthropic, Some(signature)) => [Some(ContentPart::ThoughtSignature(signature)), text()],
        // Here a signature alone is hidden thinking.
        (Protocol::Bedrock, Some(signature)) => {
            [Some(ContentPart::ThoughtSignature(signature)), text().filter(|_| has_text)]
        }
        (Protocol::Responses | Protocol::Interactions, Some(signature)) => {
            [Some(ContentPart::ThoughtSignature(signature)), None]
        }
        _ => [None, None],
    };
    parts.into_iter().flatten().collect()
}

/// genai puts line breaks between the texts of an answer, which the model did not write.
fn joined(parts: Vec<ContentPart>) -> Vec<ContentPart> {
    let (mut text, mut thinking, mut rest) = (String::new(), String::new(), Vec::new());
    for part in parts {
        match part {
            ContentPart::Text(more) => text.push_str(&more),
            ContentPart::ReasoningContent(more) => thinking.push_str(&more),
            part => rest.push(part),
        }
    }
    let mut parts = Vec::new();
    if !thinking.is_empty() {
        parts.push(ContentPart::ReasoningContent(thinking));
    }
    if !text.is_empty() {
        parts.push(ContentPart::Text(text));
    }
    parts.append(&mut rest);
    parts
}

/// One message for each reasoning with what follows it: within one message genai puts all reasoning first. Reasoning
/// that nothing follows goes to the front: some servers tell of it late.
fn in_order_of_reasoning(parts: Vec<ContentPart>) -> Vec<Vec<ContentPart>> {
    let is_reasoning = |part: &ContentPart| matches!(part, ContentPart::ThoughtSignature(_));
    let mut groups: Vec<Vec<ContentPart>> = vec![Vec::new()];
    for part in parts {
        let goes_on = groups.last().is_none_or(|group| group.iter().all(is_reasoning));
        if is_reasoning(&part) && !goes_on {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.last_mut() {
            group.push(part);
        }
    }
    let is_late = groups.len() > 1 && groups.last().is_some_and(|group| group.iter().all(is_reasoning));
    let late = if is_late { groups.pop() } else { None };
    if let (Some(mut late), Some(first)) = (late, groups.first_mut()) {
        late.append(first);
        *first = late;
    }
    groups
}

/// The results of one answer's calls, and the images that must follow them.
#[derive(Default)]
struct Results {
    parts: Vec<ContentPart>,
    images: Vec<Image>,
}

impl Results {
    fn take(&mut self, result: &ToolResultMessage, protocol: Protocol) {
        let part = match protocol {
            Protocol::Anthropic => anthropic_result(result),
            _ => self.plain_result(result),
        };
        self.parts.push(part);
    }

    /// A result as text: genai knows no other. Images follow in a message of their own.
    fn plain_result(&mut self, result: &ToolResultMessage) -> ContentPart {
        let text = tool_results::text_of(result, &mut self.images);
        let response = ToolResponse::new(result.tool_call_id.as_str(), text);
        ContentPart::ToolResponse(match result.tool_name.as_str() {
            "" => response,
            name => response.with_fn_name(name),
        })
    }

    fn give(&mut self, protocol: Protocol, messages: &mut Vec<ChatMessage>) {
        let parts = std::mem::take(&mut self.parts);
        match protocol {
            // genai keeps one result of a message here.
            Protocol::Ollama => messages.extend(parts.into_iter().map(|part| ChatMessage::tool(vec![part]))),
            _ if parts.is_empty() => {}
            // Results of one answer must stand in one message.
            _ => messages.push(ChatMessage::tool(parts)),
        }
        let images = std::mem::take(&mut self.images);
        if !images.is_empty() {
            let text = ContentPart::from_text(tool_results::IMAGES);
            let parts: Vec<_> = std::iter::once(text).chain(images.iter().map(image_part)).collect();
            messages.push(ChatMessage::user(parts));
        }
    }
}

/// A result with its images and whether it failed, which genai has no words for: it passes such parts on as they are.
fn anthropic_result(result: &ToolResultMessage) -> ContentPart {
    let mut blocks: Vec<Value> = result.content.iter().filter_map(anthropic_block).collect();
    if blocks.is_empty() {
        blocks.push(json!({ "type": "text", "text": tool_results::NO_OUTPUT }));
    }
    let mut data = Map::new();
    data.insert("type".to_owned(), "tool_result".into());
    data.insert("tool_use_id".to_owned(), result.tool_call_id.as_str().into());
    data.insert("content".to_owned(), blocks.into());
    if result.is_error {
        data.insert("is_error".to_owned(), true.into());
    }
    ContentPart::Custom(CustomPart { model_iden: None, data: data.into() })
}

fn anthropic_block(content: &Content) -> Option<Value> {
    match content {
        // Empty texts are refused.
        Content::Text(text) if text.text.is_empty() => None,
        Content::Text(text) => Some(json!({ "type": "text", "text": text.text })),
        Content::Image(image) => {
            let source = json!({ "type": "base64", "media_type": image.mime_type, "data": image.data });
            Some(json!({ "type": "image", "source": source }))
        }
    }
}

/// Whether a name without a wish for effort must be kept from genai, which takes its ending for one (`…-medium`).
pub(super) fn name_reads_as_effort(model: &ModelIden, protocol: Protocol) -> bool {
    let (_, name) = model.model_name.namespace_and_name();
    protocol.reads_effort_from_names()
        // Its requests say whether to think by whether there is any effort.
        && model.adapter_kind != AdapterKind::DeepSeek
        && genai::chat::ReasoningEffort::from_model_name(name).0.is_some()
}
