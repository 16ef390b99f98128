//! The demonstration model: scripted, so that the program runs without a network. It reads the conversation, calls the
//! tools it needs, and makes its answer from their results.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::stream::{self, StreamExt};
use serde_json::{Value, json};
use turnstate::message::{Message, StopReason, Usage};
use turnstate::model::{Delta, Done, Request, StreamFn};

/// Prompts that show what the page can do. What a person types is looked at for the same words.
pub(crate) const SUGGESTIONS: &[&str] = &[
    "Plan my week",
    "Two searches at once",
    "Delete a note",
    "What is 17 * 23 + 4?",
    "Tell me a long story",
    "Fail once",
    "Show me odd text",
];

/// How a note begins, as the model sees it.
const NOTE: &str = "A note from the user, for your information: ";

/// A stream function that answers by rules, one word after the other.
pub(crate) fn stream_fn(pace: Duration) -> impl StreamFn {
    // How often it was asked to fail: it fails every other time, so that a retry succeeds.
    let asked_to_fail = Arc::new(AtomicU32::new(0));
    move |request: Request| {
        let conversation = Conversation::of(&request.messages);
        let fails =
            conversation.asks_to("fail once") && asked_to_fail.fetch_add(1, Ordering::Relaxed) % 2 == 0;
        let script = if fails { failure() } else { decide(&conversation) };
        let read = request.messages.iter().map(size).sum();
        stream::iter(deltas_of(&script, read)).then(move |delta| async move {
            tokio::time::sleep(pace).await;
            delta
        })
    }
}

/// What of a conversation the model decides by.
struct Conversation {
    /// The last thing the person said.
    prompt: String,
    /// Whether it was said while tools ran.
    is_steer: bool,
    /// The results since then: the tool, its text, and whether it failed.
    results: Vec<(String, String, bool)>,
    /// What the tools gave before the steer.
    earlier: Option<String>,
}

impl Conversation {
    fn of(messages: &[Message]) -> Self {
        let asked_at = messages.iter().rposition(is_said).unwrap_or(0);
        let (before, since) = messages.split_at(asked_at);
        let prompt = match since.first() {
            Some(Message::User(user)) => user.content.texts().collect(),
            _ => String::new(),
        };
        let results = since.iter().filter_map(|message| match message {
            Message::ToolResult(result) => {
                Some((result.tool_name.clone(), result.texts().collect(), result.is_error))
            }
            _ => None,
        });
        let earlier = match before.last() {
            Some(Message::ToolResult(result)) => Some(result.texts().collect()),
            _ => None,
        };
        Self { prompt, is_steer: earlier.is_some(), results: results.collect(), earlier }
    }

    fn asks_to(&self, words: &str) -> bool {
        self.prompt.to_lowercase().contains(words)
    }
}

/// Whether the person said it to be answered: a note is for the model's information.
fn is_said(message: &Message) -> bool {
    match message {
        Message::User(user) => !user.content.texts().next().is_some_and(|text| text.starts_with(NOTE)),
        _ => false,
    }
}

/// What the model streams.
enum Say {
    Think(&'static str),
    Text(String),
    Call(&'static str, Value),
    Fail(&'static str),
}

fn text(text: impl Into<String>) -> Say {
    Say::Text(text.into())
}

fn failure() -> Vec<Say> {
    vec![
        text("I begin to answer, and half-way through"),
        Say::Fail("The demonstration model failed on purpose: its imaginary server is overloaded."),
    ]
}

fn decide(conversation: &Conversation) -> Vec<Say> {
    let asks_to = |words| conversation.asks_to(words);
    let results = conversation.results.as_slice();
    if asks_to("plan my week") {
        plan(results)
    } else if asks_to("two searches") {
        two_searches(results)
    } else if asks_to("delete") {
        delete(results)
    } else if asks_to("long story") {
        vec![Say::Think("A long story, then. It can be stopped at any time."), text(story())]
    } else if asks_to("odd text") {
        odd_text(results)
    } else if asks_to("fail once") {
        vec![text(
            "This time nothing failed. The half answer from before is shown to you, but I never saw it.",
        )]
    } else if let Some(expression) = expression_in(&conversation.prompt) {
        calculate(results, expression)
    } else {
        vec![text(echo(conversation))]
    }
}

type Results<'a> = &'a [(String, String, bool)];

fn plan(results: Results<'_>) -> Vec<Say> {
    let [(_, today, _), (_, notes, _), ..] = results else {
        return vec![
            Say::Think("I need to know which day it is, and what the notes say about the days to come."),
            text("Let me look at the date and at your notes."),
            Say::Call("clock", json!({})),
            Say::Call("search_notes", json!({ "query": "day" })),
        ];
    };
    let items: String = notes.lines().map(|note| format!("- {note}\n")).collect();
    vec![
        Say::Think("Both results are there. A short list is enough."),
        text(format!(
            "Today is **{today}**. Your notes name these days:\n\n{items}\nSo keep *Wednesday morning* free, and the \
             report for the end of the week. In code that would be:\n\n```rust\nlet free = days.filter(|day| \
             day.notes.is_empty());\n```\n\nSay `delete a note` to tidy up afterwards."
        )),
    ]
}

fn two_searches(results: Results<'_>) -> Vec<Say> {
    let [(_, first, _), (_, second, _), ..] = results else {
        return vec![
            Say::Think("The two have nothing to do with each other, so they can run at the same time."),
            Say::Call("search_notes", json!({ "query": "fig" })),
            Say::Call("search_notes", json!({ "query": "500 g flour" })),
        ];
    };
    vec![text(format!("Both searches are back:\n\n1. {first}\n2. {second}"))]
}

fn delete(results: Results<'_>) -> Vec<Say> {
    match results {
        [] => vec![
            text("The old shopping list looks like one you do not need any more."),
            Say::Call("delete_note", json!({ "title": "Old shopping list" })),
        ],
        [.., (_, result, false)] => vec![text(format!("Done. {result}"))],
        [.., (_, reason, true)] => vec![text(format!("I left your notes as they are. ({reason})"))],
    }
}

fn odd_text(results: Results<'_>) -> Vec<Say> {
    if results.is_empty() {
        return vec![
            text("Some notes hold what a careless page would run. I look for it."),
            Say::Call("search_notes", json!({ "query": "hacked" })),
        ];
    }
    vec![text(
        "Here it is, as text: <script>window.hacked = 1</script> <img src=x onerror=\"window.hacked = 1\"> \
         [a link that does nothing](javascript:window.hacked=1), [one that works](https://example.com/), and \
         `<b>code</b>`.\n\n<svg onload=\"window.hacked = 1\"></svg>",
    )]
}

fn calculate(results: Results<'_>, expression: String) -> Vec<Say> {
    match results.last() {
        None => vec![Say::Call("calculate", json!({ "expression": expression }))],
        Some((_, value, false)) => vec![text(format!("It is **{value}**."))],
        Some((_, reason, true)) => vec![text(format!("I could not calculate that: {reason}"))],
    }
}

/// The part of a text that is an expression with at least one operator.
fn expression_in(text: &str) -> Option<String> {
    let is_part = |char: char| char.is_ascii_digit() || " +-*/().".contains(char);
    let longest = text.split(|char| !is_part(char)).map(str::trim).max_by_key(|part| part.len())?;
    let has_digit = longest.contains(|char: char| char.is_ascii_digit());
    (has_digit && longest.contains(['+', '-', '*', '/'])).then(|| longest.to_owned())
}

fn echo(conversation: &Conversation) -> String {
    let prompt = &conversation.prompt;
    match &conversation.earlier {
        Some(result) if conversation.is_steer => {
            format!("You told me while I was working: “{prompt}”. Until then the tools had found: {result}")
        }
        _ => format!(
            "You said: “{prompt}”. I am a scripted demonstration and know only a few things; the suggestions name \
             them."
        ),
    }
}

fn story() -> String {
    const SENTENCES: [&str; 5] = [
        "Once there was a loop that waited for nobody.",
        "It asked a model, ran the tools, and fed the results back.",
        "Whoever wanted to say something said it, and was heard at the next turn.",
        "Whoever wanted it to stop stopped it, and found everything where it was left.",
        "And when a page came late, it was shown what had happened so far.",
    ];
    let chapters = (1..=12).map(|chapter| format!("**Chapter {chapter}.** {}", SENTENCES.join(" ")));
    chapters.collect::<Vec<_>>().join("\n\n")
}

/// The script as a model streams it: in small pieces.
fn deltas_of(script: &[Say], read: u64) -> Vec<Delta> {
    let mut deltas = vec![Delta::Start];
    let mut reason = StopReason::Stop;
    let mut written = 0;
    for (index, say) in (0..).zip(script) {
        match say {
            Say::Think(thinking) => {
                deltas.push(Delta::ThinkingStart { index });
                deltas.extend(pieces(thinking).map(|piece| Delta::thinking(index, piece)));
                deltas.push(Delta::ThinkingEnd { index, signature: None, redacted: false });
                written += tokens(thinking);
            }
            Say::Text(text) => {
                deltas.push(Delta::TextStart { index });
                deltas.extend(pieces(text).map(|piece| Delta::text(index, piece)));
                deltas.push(Delta::TextEnd { index, signature: None });
                written += tokens(text);
            }
            Say::Call(tool, arguments) => {
                reason = StopReason::ToolUse;
                let arguments = arguments.to_string();
                deltas.push(Delta::tool_call_start(index, format!("call_{index}"), *tool));
                deltas.extend(pieces(&arguments).map(|piece| Delta::tool_call(index, piece)));
                deltas.push(Delta::ToolCallEnd { index, call: None });
                written += tokens(&arguments);
            }
            Say::Fail(message) => {
                deltas.push(Delta::error(*message));
                return deltas;
            }
        }
    }
    deltas.push(Done::new(reason).with_usage(Usage::new(read, written)).into());
    deltas
}

/// Word by word.
fn pieces(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_inclusive(' ').map(str::to_owned)
}

/// About as many tokens as a real model would count.
fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

fn size(message: &Message) -> u64 {
    match message {
        Message::User(user) => user.content.texts().map(tokens).sum(),
        Message::Assistant(answer) => answer.texts().map(tokens).sum(),
        Message::ToolResult(result) => result.texts().map(tokens).sum(),
        Message::System(_) => 100,
    }
}

#[cfg(test)]
mod tests {
    use turnstate::message::AgentMessage;

    use super::*;
    use crate::roles::ChatMessage;

    #[test]
    fn expressions_are_found_in_what_a_person_types() {
        let table = [
            ("What is 17 * 23 + 4?", Some("17 * 23 + 4")),
            ("2*(3+4)", Some("2*(3+4)")),
            ("It is 12 o'clock", None),
            ("well-known", None),
            ("", None),
        ];
        for (text, expression) in table {
            assert_eq!(expression_in(text).as_deref(), expression, "{text}");
        }
    }

    #[test]
    fn a_note_is_not_what_is_answered() {
        let note = AgentMessage::from(ChatMessage::note("delete nothing"));
        let seen: Vec<_> = [AgentMessage::user("What is 2 * 21?"), note]
            .iter()
            .flat_map(|message| message.project().messages().to_vec())
            .collect();
        assert_eq!(seen.len(), 2);
        assert_eq!(Conversation::of(&seen).prompt, "What is 2 * 21?");
    }

    #[test]
    fn every_suggestion_has_a_scene_of_its_own() {
        for suggestion in SUGGESTIONS {
            let conversation = Conversation::of(&[Message::user(*suggestion)]);
            let script = decide(&conversation);
            let echoes = matches!(script.as_slice(), [Say::Text(text)] if *text == echo(&conversation));
            assert!(!echoes, "{suggestion}");
        }
    }
}
