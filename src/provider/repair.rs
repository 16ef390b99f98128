//! What a provider's own rules make of a request's messages.
//!
//! The loop's projection leaves out what no model can use. What is here depends on whom the request goes to, so each
//! adapter does it, by `Rules` that a host may change.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::message::{
    AssistantContent, AssistantMessage, Content, Message, Sections, SystemMessage, TextContent,
    ToolResultMessage, UserContent, UserMessage,
};
use crate::model::Model;

/// What stands in for an image that the model cannot see.
const NO_IMAGE: &str = "(An image was left out: this model takes text only.)";

const BLANK_LINE: &str = "\n\n";

/// What a provider takes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rules {
    /// Whether the model takes images; `None`: as the model's own `input` says (a list that holds `image` or not), and
    /// yes where it says nothing.
    pub(super) images: Option<bool>,
    /// Which ids of calls are taken.
    pub(super) call_ids: CallIds,
    /// Where system messages may stand.
    pub(super) system_messages: SystemMessages,
}

impl Default for Rules {
    fn default() -> Self {
        Self { images: None, call_ids: CallIds::Any, system_messages: SystemMessages::InPlace }
    }
}

/// Which ids of tool calls a provider takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallIds {
    /// All but empty ones.
    Any,
    /// Letters, digits, `_` and `-`, up to a length.
    Plain {
        /// The longest id, in bytes; less than 9 counts as 9.
        longest: usize,
    },
    /// Exactly nine letters and digits, as Mistral wants them.
    Nine,
}

/// Where system messages may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemMessages {
    /// Anywhere but between a call and its results.
    InPlace,
    /// At the front only; what is said later comes as a user message in its place. Caches of the prompt stay warm.
    LaterAsUser,
    /// One at the front, which says what all of them say together. Each new one changes the front of the request.
    Folded,
}

/// The messages as this provider takes them:
///
/// * Thinking and signatures of another model are left out: only their own model can read them.
/// * Ids of calls are made such as the provider takes, and unique within one answer, for calls and results alike.
/// * Images for a model that takes none become a text that says so.
/// * System messages do not stand between a call and its results; and where the provider wants them at the front, they
///   go there or become user messages.
///
/// The same messages always give the same ones. Where every call has its result, messages added at the end change nothing
/// before them (but with [`SystemMessages::Folded`]), so that a provider's cache stays warm.
pub(super) fn repaired(messages: &[Message], model: &Model, rules: &Rules) -> Vec<Message> {
    let images = rules.images.unwrap_or_else(|| takes_images(model));
    let mut ids = Ids { rule: rules.call_ids, open: Vec::new() };
    let mut sections = Sections::default();
    let mut repaired = Vec::with_capacity(messages.len());
    for message in in_order(messages) {
        let message = match message {
            Message::System(system) => {
                system_message(system, &mut sections, rules.system_messages, repaired.is_empty())
            }
            Message::User(user) if !images => Message::User(without_images(user)),
            Message::Assistant(answer) => Message::Assistant(ids.answer(without_foreign(answer, model))),
            Message::ToolResult(result) => Message::ToolResult(ids.result(tool_result(result, images))),
            message => message,
        };
        repaired.push(message);
    }
    match rules.system_messages {
        SystemMessages::Folded => folded(repaired, messages),
        _ => repaired,
    }
}

/// What the pi-ai catalogue says of a model: `"input": ["text", "image"]`.
fn takes_images(model: &Model) -> bool {
    let kinds = model.extra.get("input").and_then(|input| input.as_array());
    kinds.is_none_or(|kinds| kinds.iter().any(|kind| kind == "image"))
}

/// The messages with each system message that stands between a call and its results put behind the results.
fn in_order(messages: &[Message]) -> impl Iterator<Item = Message> {
    let mut ordered: Vec<Message> = Vec::with_capacity(messages.len());
    let mut waiting = Vec::new();
    let mut open = 0usize;
    for message in messages {
        match message {
            Message::System(_) if open > 0 => {
                waiting.push(message.clone());
                continue;
            }
            Message::ToolResult(_) => open = open.saturating_sub(1),
            Message::Assistant(answer) => open = answer.tool_calls().count(),
            _ => open = 0,
        }
        if !matches!(message, Message::ToolResult(_)) {
            ordered.append(&mut waiting);
        }
        ordered.push(message.clone());
        if open == 0 {
            ordered.append(&mut waiting);
        }
    }
    ordered.append(&mut waiting);
    ordered.into_iter()
}

/// A system message as plain text in its place: its text, then its sections. A section that changes one from before
/// says so, since the earlier text still stands where it was.
fn system_message(
    system: Arc<SystemMessage>,
    sections: &mut Sections,
    rule: SystemMessages,
    is_at_front: bool,
) -> Message {
    let mut parts: Vec<String> = vec![system.content.joined()];
    for (name, text) in system.sections.iter() {
        let before = sections.get(name).map(str::to_owned);
        match text {
            Some(text) => sections.set(name, Some(text.to_owned())),
            None => sections.remove(name),
        }
        match (before, text) {
            (Some(before), Some(text)) if before == text => {}
            (Some(before), Some(text)) => {
                parts.push(format!("This replaces an earlier part of these instructions:\n\n{text}\n\nThe part that no longer holds:\n\n{before}"));
            }
            (Some(before), None) => {
                parts.push(format!("This part of the earlier instructions no longer holds:\n\n{before}"));
            }
            (None, text) => parts.extend(text.map(str::to_owned)),
        }
    }
    parts.retain(|part| !part.is_empty());
    let text = parts.join(BLANK_LINE);
    if rule == SystemMessages::LaterAsUser && !is_at_front && !text.is_empty() {
        return UserMessage::new(format!("<system>\n{text}\n</system>")).at(system.timestamp).into();
    }
    let mut plain = SystemMessage::new(text).at(system.timestamp);
    plain.tools_added.clone_from(&system.tools_added);
    plain.tools_removed.clone_from(&system.tools_removed);
    plain.into()
}

/// One system message in the place of the first, with the prompt of all.
fn folded(repaired: Vec<Message>, original: &[Message]) -> Vec<Message> {
    let mut replay = crate::transcript::Replay::default();
    for message in original {
        if let Message::System(system) = message {
            replay.push(system);
        }
    }
    let Some(mut front) = replay.system() else { return repaired };
    front.content = TextContent::Text(replay.prompt());
    front.sections = Sections::default();
    let others = repaired.into_iter().filter(|message| !matches!(message, Message::System(_)));
    std::iter::once(Message::from(front)).chain(others).collect()
}

fn without_images(mut user: Arc<UserMessage>) -> Arc<UserMessage> {
    if matches!(&user.content, UserContent::Blocks(blocks) if blocks.iter().any(is_image)) {
        if let UserContent::Blocks(blocks) = &mut Arc::make_mut(&mut user).content {
            replace_images(blocks);
        }
    }
    user
}

fn tool_result(mut result: Arc<ToolResultMessage>, images: bool) -> Arc<ToolResultMessage> {
    if !images && result.content.iter().any(is_image) {
        replace_images(&mut Arc::make_mut(&mut result).content);
    }
    result
}

fn is_image(block: &Content) -> bool {
    matches!(block, Content::Image(_))
}

/// Each image becomes a note; several in a row become one.
fn replace_images(blocks: &mut Vec<Content>) {
    for block in blocks.iter_mut().filter(|block| is_image(block)) {
        *block = Content::text(NO_IMAGE);
    }
    blocks.dedup_by(|next, block| next == block && block.as_text() == Some(NO_IMAGE));
}

/// The answer without what only the model that gave it can read, where that is not this one.
fn without_foreign(mut answer: Arc<AssistantMessage>, model: &Model) -> Arc<AssistantMessage> {
    let is_own = answer.model == model.id && answer.provider == model.provider && answer.api == model.api;
    let is_foreign = |block: &AssistantContent| match block {
        AssistantContent::Thinking(_) => true,
        AssistantContent::Text(text) => text.text_signature.is_some(),
        AssistantContent::ToolCall(call) => call.thought_signature.is_some(),
    };
    if is_own || !answer.content.iter().any(is_foreign) {
        return answer;
    }
    let content = &mut Arc::make_mut(&mut answer).content;
    content.retain(|block| !matches!(block, AssistantContent::Thinking(_)));
    for block in content {
        match block {
            AssistantContent::Text(text) => text.text_signature = None,
            AssistantContent::ToolCall(call) => Arc::make_mut(call).thought_signature = None,
            AssistantContent::Thinking(_) => {}
        }
    }
    answer
}

/// Gives calls and their results ids that the provider takes.
struct Ids {
    rule: CallIds,
    /// The calls of the last answer that have no result yet: the id they had, and the one they have now.
    open: Vec<(String, String)>,
}

impl Ids {
    fn answer(&mut self, mut answer: Arc<AssistantMessage>) -> Arc<AssistantMessage> {
        let mut taken = BTreeSet::new();
        let mut ids = Vec::new();
        for call in answer.tool_calls() {
            let mut id = self.rule.fit(&call.id);
            for again in 2.. {
                if taken.insert(id.clone()) {
                    break;
                }
                id = self.rule.fit(&format!("{}-{again}", call.id));
            }
            ids.push((call.id.clone(), id));
        }
        if ids.iter().any(|(before, now)| before != now) {
            let calls = Arc::make_mut(&mut answer).content.iter_mut().filter_map(|block| match block {
                AssistantContent::ToolCall(call) => Some(call),
                _ => None,
            });
            for (call, (_, id)) in calls.zip(&ids) {
                if call.id != *id {
                    Arc::make_mut(call).id.clone_from(id);
                }
            }
        }
        self.open = ids;
        answer
    }

    fn result(&mut self, mut result: Arc<ToolResultMessage>) -> Arc<ToolResultMessage> {
        // Results come in the order of their calls, so the first open call of that id is the one.
        if let Some(at) = self.open.iter().position(|(before, _)| *before == result.tool_call_id) {
            let (before, now) = self.open.remove(at);
            if before != now {
                Arc::make_mut(&mut result).tool_call_id = now;
            }
        }
        result
    }
}

impl CallIds {
    /// The id itself where it is taken; otherwise one made of it, the same each time.
    fn fit(self, id: &str) -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let is_taken = match self {
            Self::Any => !id.is_empty(),
            Self::Plain { longest } => (1..=longest.max(9)).contains(&id.len()) && id.bytes().all(is_plain),
            Self::Nine => id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()),
        };
        if is_taken { id.to_owned() } else { hashed(id) }
    }
}

/// Nine letters and digits from the bytes of a text (FNV-1a): fits every rule, and differs where texts differ but for
/// chance.
fn hashed(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    let digits = std::iter::successors(Some(hash), |rest| Some(rest / 36)).take(9);
    digits.filter_map(|rest| char::from_digit(u32::try_from(rest % 36).unwrap_or(0), 36)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::transcript::Messages;

    fn messages(json: Value) -> Messages {
        serde_json::from_value(json).unwrap()
    }

    fn own_model() -> Model {
        Model::new("p", "m").with_api("a")
    }

    fn repaired_json(json: Value, rules: Rules) -> Value {
        serde_json::to_value(repaired(&messages(json), &own_model(), &rules)).unwrap()
    }

    #[test]
    fn what_the_provider_takes_stays_shared_and_as_it_is() {
        let messages = messages(json!([
            {"role": "user", "content": [{"type": "image", "data": "AA==", "mimeType": "image/png"}]},
            {"role": "assistant", "provider": "p", "model": "m", "api": "a", "content": [
                {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                {"type": "toolCall", "id": "c", "name": "t", "arguments": {}, "thoughtSignature": "s"}]},
            {"role": "toolResult", "toolCallId": "c", "content": []},
        ]));
        let repaired = repaired(&messages, &own_model(), &Rules::default());
        assert_eq!(repaired, *messages);
        let is_shared = |pair: (&Message, &Message)| match pair {
            (Message::Assistant(a), Message::Assistant(b)) => Arc::ptr_eq(a, b),
            (Message::User(a), Message::User(b)) => Arc::ptr_eq(a, b),
            (Message::ToolResult(a), Message::ToolResult(b)) => Arc::ptr_eq(a, b),
            _ => false,
        };
        assert!(repaired.iter().zip(messages.iter()).all(is_shared));
    }

    #[test]
    fn only_the_model_itself_gets_its_thinking_and_signatures_back() {
        for (provider, model, api) in [("q", "m", "a"), ("p", "n", "a"), ("p", "m", "b")] {
            let repaired = repaired_json(
                json!([{"role": "assistant", "provider": provider, "model": model, "api": api, "content": [
                    {"type": "thinking", "thinking": "hm", "thinkingSignature": "sig"},
                    {"type": "text", "text": "x", "textSignature": "sig"},
                    {"type": "toolCall", "id": "c", "name": "t", "arguments": {}, "thoughtSignature": "sig"}]}]),
                Rules::default(),
            );
            let content = json!([
                {"type": "text", "text": "x"},
                {"type": "toolCall", "id": "c", "name": "t", "arguments": {}},
            ]);
            assert_eq!(repaired[0]["content"], content);
        }
    }

    #[test]
    fn a_later_system_message_says_what_no_longer_holds() {
        let system = json!([
            {"role": "system", "content": "a", "sections": {"s1": "1", "s2": "2"}},
            {"role": "system", "content": "", "sections": {"s1": "1", "s2": "two", "s3": "3"}},
            {"role": "system", "content": "b", "sections": {"s3": null, "s4": null}},
        ]);
        let texts = |repaired: &Value| -> Vec<Value> {
            repaired.as_array().unwrap().iter().map(|message| message["content"].clone()).collect()
        };
        let in_place = repaired_json(system.clone(), Rules::default());
        let later = [
            "This replaces an earlier part of these instructions:\n\ntwo\n\nThe part that no longer holds:\n\n2\n\n3",
            "b\n\nThis part of the earlier instructions no longer holds:\n\n3",
        ];
        assert_eq!(texts(&in_place), ["a\n\n1\n\n2", later[0], later[1]]);
        let rules = Rules { system_messages: SystemMessages::LaterAsUser, ..Rules::default() };
        let as_user = repaired_json(system.clone(), rules);
        assert_eq!(texts(&as_user)[2], format!("<system>\n{}\n</system>", later[1]));
        assert_eq!(as_user[2]["role"], "user");
        let rules = Rules { system_messages: SystemMessages::Folded, ..Rules::default() };
        assert_eq!(texts(&repaired_json(system, rules)), ["a\n\nb\n\n1\n\ntwo"]);
    }

    #[test]
    fn only_what_stands_at_the_front_stays_a_system_message() {
        let rules = Rules { system_messages: SystemMessages::LaterAsUser, ..Rules::default() };
        let late = repaired_json(
            json!([{"role": "user", "content": "hi"}, {"role": "system", "content": "s"}]),
            rules,
        );
        assert_eq!(
            (&late[1]["role"], &late[1]["content"]),
            (&json!("user"), &json!("<system>\ns\n</system>"))
        );
    }

    fn conversations() -> impl Strategy<Value = Vec<Value>> {
        let id = prop::sample::select(vec!["c1", "c2", "call|very/odd", "", "東京", "123456789", "a-b_c"]);
        let turn = (prop::collection::vec(id, 0..4), any::<bool>(), any::<bool>()).prop_map(|(ids, early, late)| {
            let calls: Vec<_> =
                ids.iter().map(|id| json!({"type": "toolCall", "id": id, "name": "t", "arguments": {}})).collect();
            let system = |is_there: bool| is_there.then(|| json!({"role": "system", "content": "s"}));
            let mut turn = vec![json!({"role": "user", "content": "u"}), json!({"role": "assistant", "content": calls})];
            for (number, id) in ids.iter().enumerate() {
                turn.extend(system(early && number == 1));
                turn.push(json!({"role": "toolResult", "toolCallId": id, "toolName": number.to_string(), "content": []}));
            }
            turn.extend(system(late));
            turn
        });
        prop::collection::vec(turn, 0..5).prop_map(|turns| turns.concat())
    }

    proptest! {
        #[test]
        fn each_result_answers_its_call_by_an_id_that_is_taken_and_unique(
            conversation in conversations(),
            call_ids in prop::sample::select(vec![CallIds::Any, CallIds::Plain { longest: 12 }, CallIds::Nine]),
        ) {
            let messages = messages(conversation.into());
            let repaired = repaired(&messages, &own_model(), &Rules { call_ids, ..Rules::default() });
            prop_assert_eq!(repaired.len(), messages.len());
            let mut calls: Vec<String> = Vec::new();
            let mut results = 0;
            for message in &repaired {
                match message {
                    Message::Assistant(answer) => {
                        calls = answer.tool_calls().map(|call| call.id.clone()).collect();
                        results = 0;
                        prop_assert_eq!(calls.iter().collect::<BTreeSet<_>>().len(), calls.len());
                        prop_assert!(calls.iter().all(|id| call_ids.fit(id) == *id), "{:?}", calls);
                    }
                    Message::ToolResult(result) => {
                        // The results were made in the order of their calls.
                        prop_assert_eq!(Some(&result.tool_call_id), calls.get(results));
                        results += 1;
                    }
                    Message::System(_) => prop_assert_eq!(results, calls.len()),
                    Message::User(_) => {}
                }
            }
        }

        #[test]
        fn a_conversation_that_goes_on_changes_nothing_before(conversation in conversations(), cut in 0usize..20) {
            let messages = messages(conversation.into());
            // Requests are made when every call has its result.
            let ends: Vec<_> = (0..=messages.len())
                .filter(|end| messages.get(*end).is_none_or(|next| matches!(next, Message::User(_))))
                .collect();
            let end = ends[cut % ends.len()];
            for system_messages in [SystemMessages::InPlace, SystemMessages::LaterAsUser] {
                let rules = Rules { call_ids: CallIds::Nine, system_messages, ..Rules::default() };
                let whole = repaired(&messages, &own_model(), &rules);
                let part = repaired(&messages[..end], &own_model(), &rules);
                prop_assert_eq!(&whole[..part.len()], &part[..]);
            }
        }
    }
}
