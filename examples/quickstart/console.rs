//! The terminal: what is shown, what is typed, what is asked, and Ctrl-C.

use std::future::{Future, pending};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use futures::channel::{mpsc, oneshot};
use futures::stream::StreamExt;
use smol::future::or;
use turnstate::hook::Decision;
use turnstate::message::ToolCall;
use turnstate::{AgentEvent, Handle, Outcome};

use crate::painter::{Abilities, Painter};
use crate::text::{clean, exact};

/// How long nothing happens before the spinner moves.
const SILENCE: Duration = Duration::from_millis(100);
/// How many lines of an argument a question shows. A command is shown whole: it could hide something in its last line.
const SHOWN_LINES: usize = 12;

const HELP: &str = "(While it works: a line steers it, `+ a line` waits until it is done, Ctrl-C stops it and twice leaves.)";
const STEERS: &str = "(put in before the next request)";
const FOLLOWS_UP: &str = "(waits until it is done)";

/// The terminal, for the one task that shows and routes everything.
pub(crate) struct Console {
    painter: Painter,
    /// Whether a person sits there. Otherwise one prompt is answered, and nothing is asked.
    interactive: bool,
    inbox: mpsc::UnboundedReceiver<Word>,
    sender: mpsc::UnboundedSender<Word>,
    question: Option<oneshot::Sender<Decision>>,
    input_ended: bool,
    interrupted: Arc<AtomicBool>,
    started: Instant,
}

/// What comes from outside of the run.
enum Word {
    Line(String),
    /// Ctrl-C, which the terminal has shown as `^C`.
    Interrupt,
    EndOfInput,
    Question(String, oneshot::Sender<Decision>),
}

/// What comes next while a run works.
pub(crate) enum Step<E> {
    /// The run's event.
    Event(E),
    /// A line was typed.
    Line(String),
    /// Nothing, for a while.
    Silence,
}

/// Asks the person whether a call may run.
#[derive(Clone)]
pub(crate) struct Asker(Option<mpsc::UnboundedSender<Word>>);

impl Asker {
    pub(crate) async fn ask(&self, call: &ToolCall) -> Decision {
        let Some(console) = &self.0 else {
            return Decision::refuse(
                "This changes something, and nobody is there to be asked. Do without it.",
            );
        };
        let (answer, answered) = oneshot::channel();
        let sent = console.unbounded_send(Word::Question(question(call), answer));
        match (sent, answered.await) {
            (Ok(()), Ok(decision)) => decision,
            _ => Decision::refuse("The person has left."),
        }
    }
}

impl Console {
    /// Looks what the terminal can do, and starts to read what is typed.
    pub(crate) fn open() -> (Self, Asker) {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let terminal =
            io::stdout().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let abilities = Abilities { colors: terminal && !set("NO_COLOR"), moves: terminal };
        let interactive = io::stdin().is_terminal();
        let (sender, inbox) = mpsc::unbounded();
        if interactive {
            let sender = sender.clone();
            thread::spawn(move || read_lines(&sender));
        }
        let console = Self {
            painter: Painter::new(abilities),
            interactive,
            inbox,
            sender: sender.clone(),
            question: None,
            // Then nothing is waited for.
            input_ended: !interactive,
            interrupted: Arc::default(),
            started: Instant::now(),
        };
        (console, Asker(interactive.then_some(sender)))
    }

    /// Has Ctrl-C abort the run, and leave when it comes again or when nothing runs.
    pub(crate) fn watch_interrupts(&mut self, handle: &Handle) {
        let (handle, interrupted, console) = (handle.clone(), self.interrupted.clone(), self.sender.clone());
        let watching = ctrlc::set_handler(move || {
            if handle.is_running() && !interrupted.swap(true, Ordering::Relaxed) {
                // Nobody listens any more only if the program ends.
                let _ = console.unbounded_send(Word::Interrupt);
                handle.abort();
            } else {
                // Not to the output, which may be locked by whoever hangs.
                let _ = writeln!(io::stderr());
                std::process::exit(130);
            }
        });
        if let Err(error) = watching {
            self.painter.note(&format!("(Ctrl-C leaves at once: {error})"));
        }
    }

    pub(crate) fn greet(&mut self, introduction: &str) {
        self.painter.note(&format!("({})", clean(introduction)));
        if self.interactive {
            self.painter.note(HELP);
        }
        self.write();
    }

    /// The words of the command line; without any, what is typed, or all that comes through a pipe.
    pub(crate) async fn first_prompt(&mut self, words: String) -> Option<String> {
        if !words.is_empty() {
            return Some(words);
        }
        if self.interactive {
            return self.next_prompt().await;
        }
        let mut text = String::new();
        let read = io::stdin().lock().read_to_string(&mut text);
        if read.is_err() || text.trim().is_empty() {
            self.painter.note("(Nothing was asked: give a question on the command line, or through a pipe.)");
            self.write();
            return None;
        }
        Some(text)
    }

    /// Waits for a prompt; `None` when no more will be typed.
    pub(crate) async fn next_prompt(&mut self) -> Option<String> {
        while !self.input_ended {
            self.painter.ask("> ");
            self.write();
            match self.next_word().await {
                Word::Line(line) if !without_mark(&line).1.is_empty() => {
                    return Some(without_mark(&line).1.to_owned());
                }
                Word::Line(_) | Word::Interrupt | Word::Question(..) | Word::EndOfInput => {}
            }
        }
        None
    }

    /// A run begins.
    pub(crate) fn begin(&mut self) {
        self.started = Instant::now();
        self.interrupted.store(false, Ordering::Relaxed);
    }

    /// Waits for the run's next event, for a line, or until nothing has happened for a while.
    pub(crate) async fn next_step<E>(&mut self, event: impl Future<Output = E>) -> Step<E> {
        let spins = self.question.is_none();
        let event = async { Step::Event(event.await) };
        let line = async {
            loop {
                match self.next_word().await {
                    Word::Line(line) => return Step::Line(line),
                    Word::Question(text, answer) => {
                        self.question = Some(answer);
                        self.painter.ask(&text);
                        self.write();
                    }
                    // The run drops the question itself.
                    Word::Interrupt => {}
                    Word::EndOfInput => self.question = None,
                }
            }
        };
        let silence = async {
            if !spins {
                pending::<()>().await;
            }
            smol::Timer::after(SILENCE).await;
            Step::Silence
        };
        or(line, or(event, silence)).await
    }

    /// Gives a line to whoever waits for it: a question, or the run.
    pub(crate) fn take_line(&mut self, line: &str, handle: &Handle) {
        match self.question.take().filter(|question| !question.is_canceled()) {
            Some(question) => {
                // The one who asked may be gone by now: then nobody needs the answer.
                let _ = question.send(decision(line));
            }
            None => match without_mark(line) {
                (_, "") => {}
                (true, text) => {
                    handle.follow_up(text);
                    self.painter.note(FOLLOWS_UP);
                }
                (false, text) => {
                    handle.steer(text);
                    self.painter.note(STEERS);
                }
            },
        }
        self.write();
    }

    pub(crate) fn show(&mut self, event: &AgentEvent) {
        self.painter.show(event);
        self.write();
    }

    pub(crate) fn spin(&mut self) {
        if self.question.is_none() {
            self.painter.spin();
            self.write();
        }
    }

    /// A run is over.
    pub(crate) fn end(&mut self, outcome: Option<&Outcome>, has_queued: bool) {
        self.question = None;
        if let Some(outcome) = outcome {
            self.painter.end(outcome, self.started.elapsed());
        }
        if has_queued {
            self.painter.note("(What you typed meanwhile waits for your next prompt.)");
        }
        self.write();
    }

    async fn next_word(&mut self) -> Word {
        let word = self.inbox.next().await.unwrap_or(Word::EndOfInput);
        match &word {
            Word::Line(line) => self.painter.line_was_typed(line),
            Word::Interrupt => self.painter.was_interrupted(),
            Word::EndOfInput if self.input_ended => pending().await,
            Word::EndOfInput => self.input_ended = true,
            Word::Question(..) => {}
        }
        word
    }

    /// Writes what was painted. Nothing can be said about a terminal that is gone.
    fn write(&mut self) {
        let mut out = io::stdout().lock();
        let _ = out.write_all(self.painter.take().as_bytes()).and_then(|()| out.flush());
    }
}

fn read_lines(console: &mpsc::UnboundedSender<Word>) {
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if console.unbounded_send(Word::Line(line)).is_err() {
            return;
        }
    }
    let _ = console.unbounded_send(Word::EndOfInput);
}

/// Whether a line is marked as a follow-up, and the line without the mark.
fn without_mark(line: &str) -> (bool, &str) {
    match line.trim().strip_prefix('+') {
        Some(marked) => (true, marked.trim()),
        None => (false, line.trim()),
    }
}

/// What a person means by their answer to a question.
fn decision(line: &str) -> Decision {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Decision::Allow,
        "a" | "always" => Decision::AlwaysAllow,
        "" | "n" | "no" => Decision::refuse("The person does not want this."),
        other => Decision::refuse(format!("The person does not want this, and says: {other}")),
    }
}

/// A question with everything that the person has to know.
fn question(call: &ToolCall) -> String {
    let mut text = format!("? {}\n", exact(&call.name));
    for (name, value) in &call.arguments {
        let value = exact(value.as_str().unwrap_or(&value.to_string()));
        let shown = if name == "command" { usize::MAX } else { SHOWN_LINES };
        // An empty value is a line too: nothing that is asked about is left out.
        let lines = value.strip_suffix('\n').unwrap_or(&value).split('\n');
        for (number, line) in lines.clone().take(shown).enumerate() {
            let name =
                if number == 0 { format!("{}:", exact(name).replace('\n', "\\n")) } else { String::new() };
            text.push_str(&format!("  {name:9}{line}\n"));
        }
        let more = lines.count().saturating_sub(shown);
        if more > 0 {
            text.push_str(&format!("  {:9}… and {more} more\n", ""));
        }
    }
    text + "  Yes, always, or no? [y/a/N] "
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, arguments: serde_json::Value) -> ToolCall {
        ToolCall::new("call", name, arguments.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn a_question_shows_a_command_whole_and_with_nothing_hidden() {
        let command = format!("true\n{}\u{202e}\x1b[1A\rrm -rf .", ":\n".repeat(20));
        let asked = question(&call("run_command", json!({ "command": command })));
        assert!(asked.starts_with("? run_command\n  command: true\n           :\n"), "{asked}");
        assert!(
            asked.ends_with("           \\u{202e}\\u{1b}[1A\\rrm -rf .\n  Yes, always, or no? [y/a/N] "),
            "{asked}"
        );
    }

    #[test]
    fn a_question_cuts_a_long_file() {
        let content = (1..=20).map(|number| format!("{number}\n")).collect::<String>();
        let asked = question(&call("write_file", json!({"path": "a.txt", "content": content})));
        assert!(asked.contains("  path:    a.txt\n"), "{asked}");
        let empty = question(&call("write_file", json!({"path": "a.txt", "content": ""})));
        assert!(empty.contains("  content: \n") && empty.contains("  path:    a.txt\n"), "{empty}");
        assert!(asked.contains("           12\n           … and 8 more\n"), "{asked}");
    }

    #[test]
    fn the_readmes_session_is_one_of_this_program() {
        let readme = include_str!("../../README.md");
        let introduction = crate::choice::Choice::Demonstration.introduction();
        let command = json!({ "command": "sleep 3; head -n 1 CHANGELOG.md" });
        let file = json!({ "content": "Please write that down.\n", "path": "note.txt" });
        let refusal = decision("no");
        let Decision::Refuse { reason } = &refusal else { panic!("{refusal:?}") };
        for said in [
            &*format!("({introduction})\n{HELP}\n"),
            &*format!("\n{STEERS}\n+ Please write that down.\n{FOLLOWS_UP}\n"),
            &*format!("\n{}y\n", question(&call("run_command", command))),
            &*format!(" → {reason}\n"),
        ] {
            assert!(readme.contains(said), "{said}");
        }
        let asked = question(&call("write_file", file));
        let lines: Vec<_> = asked.lines().collect();
        assert!(lines.iter().all(|line| readme.contains(line)), "{asked}");
    }

    #[test]
    fn only_a_clear_yes_allows() {
        for (line, expected) in [
            ("y", Decision::Allow),
            (" YES ", Decision::Allow),
            ("a", Decision::AlwaysAllow),
            ("", Decision::refuse("The person does not want this.")),
            ("no", Decision::refuse("The person does not want this.")),
            ("yesterday", Decision::refuse("The person does not want this, and says: yesterday")),
        ] {
            assert_eq!(decision(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_plus_marks_a_follow_up() {
        assert_eq!(without_mark(" go on "), (false, "go on"));
        assert_eq!(without_mark("+ later"), (true, "later"));
        assert_eq!(without_mark("+"), (true, ""));
    }
}
