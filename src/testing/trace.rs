//! A run's events as a compact, readable trace.

use std::fmt::{self, Write as _};

use crate::event::AgentEvent;
use crate::message::{
    AgentMessage, AssistantContent, AssistantMessage, Content, CustomMessage, NoCustom, ToolCall, UserContent,
};
use crate::model::Delta;

/// What happened, in order: the events of a run, and notes of what was done to it in between.
///
/// `Display` writes one line per event, with its number; the updates of an answer share a line:
///
/// ```text
///  0 agent_start
///  1 turn_start
///  2 message_start          user "Hi"
///  3 message_end            user "Hi"
///  4 message_start          assistant
///  5 message_update ×3      "Hello."
///  8 message_end            assistant [stop] "Hello."
///    -- steer "wait"
///  9 turn_end
/// ```
pub struct Trace<M = NoCustom> {
    entries: Vec<Entry<M>>,
}

enum Entry<M> {
    Event(AgentEvent<M>),
    Note(String),
}

impl<M> Trace<M> {
    /// An empty trace.
    #[must_use]
    pub fn new() -> Self {
        Self { entries: Vec::new() }
    }

    /// Adds an event.
    pub fn push(&mut self, event: AgentEvent<M>) {
        self.entries.push(Entry::Event(event));
    }

    /// Notes what was done to the run at this moment.
    pub fn note(&mut self, note: impl Into<String>) {
        self.entries.push(Entry::Note(note.into()));
    }

    /// The events, in order.
    #[must_use]
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &AgentEvent<M>> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Event(event) => Some(event),
            Entry::Note(_) => None,
        })
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events().count()
    }

    /// Whether there is no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events().next().is_none()
    }

    /// The kinds of the events, in order.
    #[must_use]
    pub fn kinds(&self) -> Vec<&'static str> {
        self.events().map(AgentEvent::kind).collect()
    }
}

impl<M> Default for Trace<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M> Clone for Trace<M> {
    fn clone(&self) -> Self {
        let copy = |entry: &Entry<M>| match entry {
            Entry::Event(event) => Entry::Event(event.clone()),
            Entry::Note(note) => Entry::Note(note.clone()),
        };
        Self { entries: self.entries.iter().map(copy).collect() }
    }
}

/// Notes count for nothing.
impl<M: PartialEq> PartialEq for Trace<M> {
    fn eq(&self, other: &Self) -> bool {
        self.events().eq(other.events())
    }
}

impl<M> Extend<AgentEvent<M>> for Trace<M> {
    fn extend<I: IntoIterator<Item = AgentEvent<M>>>(&mut self, events: I) {
        events.into_iter().for_each(|event| self.push(event));
    }
}

impl<M> FromIterator<AgentEvent<M>> for Trace<M> {
    fn from_iter<I: IntoIterator<Item = AgentEvent<M>>>(events: I) -> Self {
        let mut trace = Self::new();
        trace.extend(events);
        trace
    }
}

impl<M: CustomMessage> fmt::Display for Trace<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.len().to_string().len();
        let mut number = 0;
        let mut entries = self.entries.iter().peekable();
        while let Some(entry) = entries.next() {
            let event = match entry {
                Entry::Note(note) => {
                    writeln!(f, "{:width$} -- {note}", "")?;
                    continue;
                }
                Entry::Event(event) => event,
            };
            write!(f, "{number:width$} ")?;
            number += 1;
            let AgentEvent::MessageUpdate { delta } = event else {
                writeln!(f, "{}", describe(event))?;
                continue;
            };
            let mut said = fragment(delta).to_owned();
            let mut updates = 1;
            while let Some(Entry::Event(AgentEvent::MessageUpdate { delta })) = entries.peek() {
                said.push_str(fragment(delta));
                updates += 1;
                entries.next();
            }
            number += updates - 1;
            let times = format!("message_update ×{updates}");
            writeln!(f, "{times:KIND$} {}", quoted(&said))?;
        }
        Ok(())
    }
}

impl<M: CustomMessage> fmt::Debug for Trace<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f)?;
        fmt::Display::fmt(self, f)
    }
}

/// The width of the column of kinds.
const KIND: usize = 22;

/// The characters of a text that are shown.
const SHOWN: usize = 48;

/// One event in one line.
pub(super) fn describe<M: CustomMessage>(event: &AgentEvent<M>) -> String {
    let about = match event {
        AgentEvent::AgentStart | AgentEvent::TurnStart => return event.kind().to_owned(),
        AgentEvent::AgentEnd { messages } => format!("{} messages", messages.len()),
        AgentEvent::TurnEnd { tool_results, .. } if tool_results.is_empty() => {
            return event.kind().to_owned();
        }
        AgentEvent::TurnEnd { tool_results, .. } => format!("{} results", tool_results.len()),
        AgentEvent::MessageStart { message } | AgentEvent::MessageEnd { message } => {
            describe_message(message)
        }
        AgentEvent::MessageUpdate { delta } => quoted(fragment(delta)),
        AgentEvent::ToolExecutionStart { call } => describe_call(call),
        AgentEvent::ToolExecutionUpdate { call, partial } => {
            format!("{} {}", short_call(call), contents(&partial.content))
        }
        AgentEvent::ToolExecutionEnd { call, result } => {
            let result = &result.message;
            format!(
                "{} {}{}",
                short_call(call),
                flags(result.is_error, result.made_up),
                contents(&result.content)
            )
        }
    };
    format!("{:KIND$} {about}", event.kind())
}

/// One message in one line.
pub(super) fn describe_message<M: CustomMessage>(message: &AgentMessage<M>) -> String {
    match message {
        AgentMessage::System(system) => {
            let mut line = format!("system {}", quoted(&system.content.joined()));
            for tool in &system.tools_added {
                let _ = write!(line, " +{}", tool.name);
            }
            for tool in &system.tools_removed {
                let _ = write!(line, " -{}", tool.name);
            }
            line
        }
        AgentMessage::User(user) => match &user.content {
            UserContent::Text(text) => format!("user {}", quoted(text)),
            UserContent::Blocks(blocks) => format!("user {}", contents(blocks)),
        },
        AgentMessage::Assistant(answer) => describe_answer(answer),
        AgentMessage::ToolResult(result) => format!(
            "toolResult {} {}{}",
            result.tool_call_id,
            flags(result.is_error, result.made_up),
            contents(&result.content)
        ),
        AgentMessage::Custom(custom) => format!("{} {custom:?}", custom.role()),
    }
}

fn describe_answer(answer: &AssistantMessage) -> String {
    let mut line = format!("assistant [{}]", answer.stop_reason);
    for block in &answer.content {
        let _ = match block {
            AssistantContent::Text(text) => write!(line, " {}", quoted(&text.text)),
            AssistantContent::Thinking(thinking) => write!(line, " thinking {}", quoted(&thinking.thinking)),
            AssistantContent::ToolCall(call) => write!(line, " {}", describe_call(call)),
        };
    }
    if let Some(error) = &answer.error_message {
        let _ = write!(line, " error {}", quoted(error));
    }
    line
}

fn describe_call(call: &ToolCall) -> String {
    let arguments = serde_json::to_string(&call.arguments).unwrap_or_default();
    format!("{} {}", short_call(call), shortened(&arguments))
}

pub(super) fn short_call(call: &ToolCall) -> String {
    format!("{}#{}", call.name, call.id)
}

fn flags(is_error: bool, made_up: bool) -> &'static str {
    match (is_error, made_up) {
        (false, false) => "",
        (true, false) => "error ",
        (false, true) => "made-up ",
        (true, true) => "made-up error ",
    }
}

fn contents(content: &[Content]) -> String {
    let blocks: Vec<_> =
        content.iter().map(|block| block.as_text().map_or_else(|| "image".to_owned(), quoted)).collect();
    blocks.join(" ")
}

fn fragment(delta: &Delta) -> &str {
    match delta {
        Delta::Text { delta, .. } | Delta::Thinking { delta, .. } | Delta::ToolCall { delta, .. } => delta,
        _ => "",
    }
}

fn quoted(text: &str) -> String {
    format!("{:?}", shortened(text))
}

/// The beginning of a text, cut between two characters.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}
