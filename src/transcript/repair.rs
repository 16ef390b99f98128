//! What repair does to one message.

use std::sync::Arc;

use crate::message::{
    AssistantContent, AssistantMessage, Content, Message, SystemMessage, Text, TextContent, Timestamp,
    ToolCall, ToolResultMessage, UserContent, UserMessage,
};

/// What the model is told of a call that has no result.
const NO_RESULT: &str = "There is no result: the call was interrupted. Whether it took effect is unknown, so check before you repeat it.";

/// The message as it may be sent, or `None` where it is left out: failed and aborted answers, and messages without
/// content. Shared as it is unless it has a blank text block, which is taken out of a copy.
///
/// A system message that says something about sections or tools has content, and a tool result answers its call
/// even without any.
pub(super) fn repaired(message: Message) -> Option<Message> {
    match message {
        Message::System(message) => system(message).map(Message::System),
        Message::User(message) => user(message).map(Message::User),
        Message::Assistant(message) => assistant(message).map(Message::Assistant),
        Message::ToolResult(message) => Some(Message::ToolResult(tool_result(message))),
    }
}

/// The result of a call that has none. It has the time of the answer that asked for the call, so that the same
/// transcript always gives the same request.
pub(super) fn missing_result(call: &ToolCall, timestamp: Timestamp) -> ToolResultMessage {
    let mut result = ToolResultMessage::new(&call.id, &call.name, vec![Content::text(NO_RESULT)]);
    result.is_error = true;
    result.made_up = true;
    result.timestamp = timestamp;
    result
}

fn system(mut message: Arc<SystemMessage>) -> Option<Arc<SystemMessage>> {
    let is_blank = message.content.texts().all(|text| text.trim().is_empty());
    if is_blank && message.sections.is_empty() && !message.changes_tools() {
        return None;
    }
    let has_blank =
        matches!(&message.content, TextContent::Blocks(blocks) if blocks.iter().any(is_blank_text));
    if has_blank {
        if let TextContent::Blocks(blocks) = &mut Arc::make_mut(&mut message).content {
            blocks.retain(|block| !is_blank_text(block));
        }
    }
    Some(message)
}

fn user(mut message: Arc<UserMessage>) -> Option<Arc<UserMessage>> {
    match &message.content {
        UserContent::Text(text) => (!text.trim().is_empty()).then_some(message),
        UserContent::Blocks(blocks) if blocks.iter().all(is_blank) => None,
        UserContent::Blocks(blocks) if blocks.iter().any(is_blank) => {
            if let UserContent::Blocks(blocks) = &mut Arc::make_mut(&mut message).content {
                blocks.retain(|block| !is_blank(block));
            }
            Some(message)
        }
        UserContent::Blocks(_) => Some(message),
    }
}

fn assistant(mut message: Arc<AssistantMessage>) -> Option<Arc<AssistantMessage>> {
    let is_blank =
        |block: &AssistantContent| matches!(block, AssistantContent::Text(text) if is_blank_text(text));
    if !message.is_usable() || message.content.iter().all(is_blank) {
        return None;
    }
    if message.content.iter().any(is_blank) {
        Arc::make_mut(&mut message).content.retain(|block| !is_blank(block));
    }
    Some(message)
}

fn tool_result(mut message: Arc<ToolResultMessage>) -> Arc<ToolResultMessage> {
    if message.content.iter().any(is_blank) {
        Arc::make_mut(&mut message).content.retain(|block| !is_blank(block));
    }
    message
}

fn is_blank(block: &Content) -> bool {
    matches!(block, Content::Text(text) if is_blank_text(text))
}

/// A text that carries a provider's mark is not blank: the provider wants its mark back, and it may come on an empty
/// text.
fn is_blank_text(block: &Text) -> bool {
    block.text.trim().is_empty() && block.text_signature.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::RemovedTool;

    #[test]
    fn a_missing_result_says_that_it_is_one_and_has_the_time_of_the_answer() {
        let call = ToolCall { id: "a".to_owned(), name: "read".to_owned(), ..ToolCall::default() };
        let mut expected = ToolResultMessage::new("a", "read", vec![Content::text(NO_RESULT)]);
        expected.is_error = true;
        expected.made_up = true;
        expected.timestamp = 7;
        assert_eq!(missing_result(&call, 7), expected);
    }

    #[test]
    fn blank_blocks_are_taken_out_of_a_system_message() {
        let blocks = |texts: &[&str]| TextContent::Blocks(texts.iter().copied().map(Text::new).collect());
        let message = |texts| Arc::new(SystemMessage { content: blocks(texts), ..SystemMessage::default() });
        assert_eq!(system(message(&["a", " ", "b"])), Some(message(&["a", "b"])));
        assert_eq!(system(message(&["", " "])), None);
        let removes = |texts| {
            let mut message = SystemMessage::clone(&message(texts));
            message.tools_removed.push(RemovedTool::new("t"));
            Arc::new(message)
        };
        assert_eq!(system(removes(&[" "])), Some(removes(&[])));
    }
}
