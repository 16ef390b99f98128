//! What a run tells, as text for the terminal. It writes nothing itself: [`Painter::take`] gives what is to be written.

use std::mem;
use std::time::Duration;

use turnstate::message::{AgentMessage, StopReason, ToolCall, ToolResultMessage};
use turnstate::model::Delta;
use turnstate::{AgentEvent, Ending, Outcome};

use crate::text::{arguments, clean, count, duration, one_line};

/// How much of a tool's name is shown, in characters: a model can ask for any.
const LONGEST_NAME: usize = 60;

const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";
const ERASE_TO_END: &str = "\x1b[K";
/// Goes to the start of the line before, and erases it.
const LINE_BEFORE: &str = "\x1b[A\r\x1b[K";
/// Remembers the cursor and keeps the terminal from scrolling at its edge; and back.
const BEHIND_THE_CURSOR: (&str, &str) = ("\x1b7\x1b[?7l", "\x1b[?7h\x1b8");
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// What the place where the text goes can do.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Abilities {
    /// It shows colours, and is asked to.
    pub(crate) colors: bool,
    /// It is a terminal, whose cursor moves.
    pub(crate) moves: bool,
}

/// Makes the text of one run after another.
#[derive(Default)]
pub(crate) struct Painter {
    abilities: Abilities,
    out: String,
    /// Whether the cursor stands behind something.
    in_line: bool,
    streaming: Streaming,
    /// What is waited for, shown beside the spinner.
    waiting_for: String,
    spinner: usize,
    spinner_is_shown: bool,
    counts: Counts,
}

/// What of an answer was shown last.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Streaming {
    /// Nothing of this answer yet.
    #[default]
    Nothing,
    Thinking,
    Text,
    /// Something, and it has ended.
    Ended,
}

/// What happened in a run.
#[derive(Default)]
struct Counts {
    turns: u64,
    calls: u64,
    user_messages: u64,
}

impl Painter {
    pub(crate) fn new(abilities: Abilities) -> Self {
        Self { abilities, ..Self::default() }
    }

    /// Takes the text that is to be written.
    pub(crate) fn take(&mut self) -> String {
        mem::take(&mut self.out)
    }

    /// Shows one event.
    pub(crate) fn show(&mut self, event: &AgentEvent) {
        self.hide_spinner();
        match event {
            AgentEvent::AgentStart => self.counts = Counts::default(),
            AgentEvent::TurnStart => self.wait_for("waiting for the model".to_owned()),
            AgentEvent::MessageStart { message } => self.message_starts(message),
            AgentEvent::MessageUpdate { delta } => self.delta(delta),
            AgentEvent::MessageEnd { message } => self.message_ends(message),
            AgentEvent::ToolExecutionStart { call } => self.wait_for(call_text(call)),
            AgentEvent::ToolExecutionUpdate { call, partial } => {
                let so_far: String = partial.texts().collect();
                self.wait_for(format!("{}: {}", one_line(&call.name, LONGEST_NAME), one_line(&so_far, 60)));
            }
            AgentEvent::ToolExecutionEnd { call, result } => {
                self.counts.calls += 1;
                self.note(&outcome_of_call(call, &result.message));
            }
            AgentEvent::TurnEnd { .. } => self.counts.turns += 1,
            _ => {}
        }
    }

    /// Shows a line of the program's own.
    pub(crate) fn note(&mut self, text: &str) {
        self.hide_spinner();
        self.end_line();
        self.dim(text);
        self.end_line();
    }

    /// Shows something that is to be answered in the same line.
    pub(crate) fn ask(&mut self, text: &str) {
        self.hide_spinner();
        self.end_line();
        self.put(text);
    }

    /// The person has typed a line, which the terminal has shown.
    pub(crate) fn line_was_typed(&mut self, line: &str) {
        // Behind it there is still what the spinner showed. A line that may have been wrapped is left alone.
        if mem::take(&mut self.spinner_is_shown) && !self.in_line && line.chars().count() <= 40 {
            self.out.extend([LINE_BEFORE, &clean(line), "\n"]);
        }
        self.in_line = false;
    }

    /// The terminal has shown `^C`.
    pub(crate) fn was_interrupted(&mut self) {
        self.in_line = true;
    }

    /// Shows that there is still work, behind the cursor, so that what is being typed stays where it is.
    pub(crate) fn spin(&mut self) {
        if !self.abilities.moves {
            return;
        }
        self.spinner = (self.spinner + 1) % SPINNER.len();
        let glyph = SPINNER.get(self.spinner).copied().unwrap_or('*');
        let text = if self.in_line { format!(" {glyph}") } else { format!("{glyph} {}", self.waiting_for) };
        let (before, after) = BEHIND_THE_CURSOR;
        self.out.push_str(ERASE_TO_END);
        self.out.push_str(before);
        self.dim_in_place(&text);
        self.out.push_str(after);
        self.spinner_is_shown = true;
    }

    /// Shows how a run ended, and what it took.
    pub(crate) fn end(&mut self, outcome: &Outcome, took: Duration) {
        match &outcome.ending {
            Ending::Aborted => self.note("(stopped)"),
            Ending::Failed { message } => self.note(&format!("(failed: {})", clean(message))),
            Ending::EndedByHook { reason } => {
                self.note(&format!("(ended: {})", clean(reason.as_deref().unwrap_or("by a hook"))));
            }
            Ending::Stopped { reason: StopReason::Length } => self.note("(cut off at the model's limit)"),
            _ => {}
        }
        let figures = self.figures(outcome, took);
        self.note(&figures);
    }

    /// Turns, calls, tokens, cost and time in one line; tokens and cost only where the model tells them.
    fn figures(&self, outcome: &Outcome, took: Duration) -> String {
        let usage = &outcome.usage;
        let mut parts = vec![count(self.counts.turns, "turn"), count(self.counts.calls, "tool call")];
        if usage.total_tokens > 0 {
            let read = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
            let cached = match usage.cache_read {
                0 => String::new(),
                cached => format!(" ({cached} from the cache)"),
            };
            parts.push(format!("{}{cached} read, {} written", count(read, "token"), usage.output));
        }
        if usage.cost.total > 0.0 {
            parts.push(format!("cost {:.4}", usage.cost.total));
        }
        parts.push(duration(took));
        format!("({})", parts.join(" · "))
    }

    fn message_starts(&mut self, message: &AgentMessage) {
        match message {
            AgentMessage::Assistant(_) => self.streaming = Streaming::Nothing,
            AgentMessage::User(user) => {
                // The first one is the prompt: the person has just typed it.
                self.counts.user_messages += 1;
                if self.counts.user_messages > 1 {
                    let text = user.content.texts().collect::<Vec<_>>().join(" ");
                    self.note(&format!("» {}", one_line(&text, 100)));
                }
            }
            _ => {}
        }
    }

    fn message_ends(&mut self, message: &AgentMessage) {
        let Some(answer) = message.as_assistant() else { return };
        if self.streaming == Streaming::Nothing {
            // The answer came whole.
            for text in answer.texts() {
                self.put(&clean(text));
            }
        }
        self.end_line();
    }

    fn delta(&mut self, delta: &Delta) {
        match delta {
            Delta::Text { delta, .. } => {
                self.stream(Streaming::Text);
                self.put(&clean(delta));
            }
            Delta::Thinking { delta, .. } if !delta.is_empty() => {
                if self.streaming != Streaming::Thinking {
                    self.stream(Streaming::Thinking);
                    self.dim("… ");
                }
                self.dim(&clean(delta));
            }
            Delta::TextEnd { .. } | Delta::ThinkingEnd { .. } => {
                self.end_line();
                if self.streaming != Streaming::Nothing {
                    self.streaming = Streaming::Ended;
                }
            }
            Delta::ToolCallStart { call, .. } => {
                self.wait_for(format!("writing a call of {}", one_line(&call.name, LONGEST_NAME)));
            }
            _ => {}
        }
    }

    fn stream(&mut self, what: Streaming) {
        if self.streaming != what {
            self.end_line();
            self.streaming = what;
        }
    }

    fn wait_for(&mut self, what: String) {
        self.waiting_for = what;
    }

    fn hide_spinner(&mut self) {
        if mem::take(&mut self.spinner_is_shown) {
            self.out.push_str(ERASE_TO_END);
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        if let Some(last) = text.chars().last() {
            self.in_line = last != '\n';
        }
    }

    fn dim(&mut self, text: &str) {
        self.dim_in_place(text);
        self.in_line |= !text.is_empty();
    }

    fn dim_in_place(&mut self, text: &str) {
        let (before, after) = if self.abilities.colors { (DIM, RESET) } else { ("", "") };
        self.out.extend([before, text, after]);
    }

    fn end_line(&mut self) {
        if mem::take(&mut self.in_line) {
            self.out.push('\n');
        }
    }
}

/// A call in one line: `read_file path=Cargo.toml`.
fn call_text(call: &ToolCall) -> String {
    format!("{} {}", one_line(&call.name, LONGEST_NAME), arguments(&call.arguments)).trim_end().to_owned()
}

/// A call that is over, in one line: `✓ read_file path=Cargo.toml → 137 lines (2 ms)`.
fn outcome_of_call(call: &ToolCall, result: &ToolResultMessage) -> String {
    let text: String = result.texts().collect();
    let lines = text.lines().count();
    let outcome = match (result.is_error, lines) {
        (false, 2..) => count(lines.try_into().unwrap_or(u64::MAX), "line"),
        (false, 0) => "nothing".to_owned(),
        _ => one_line(&text, 80),
    };
    let mark = if result.is_error { '✗' } else { '✓' };
    let took = result.duration_ms.map(|ms| format!(" ({})", duration(Duration::from_millis(ms))));
    format!("{mark} {} → {outcome}{}", call_text(call), took.unwrap_or_default())
}

#[cfg(test)]
#[path = "painter_tests.rs"]
mod tests;
