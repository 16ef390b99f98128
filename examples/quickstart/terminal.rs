//! The terminal: what is shown, what is typed, and Ctrl-C.

use std::io::{self, BufRead, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use futures::channel::oneshot;
use turnstate::message::ToolCall;
use turnstate::model::{Delta, PartialBlock};
use turnstate::{AgentEvent, Ending, Handle, Outcome, State};

const DIM: &str = "\x1b[2m";
const RESET: &str = "\x1b[0m";

/// The terminal, shared by the main task, the hook that asks, and the thread that reads what is typed.
#[derive(Clone)]
pub(crate) struct Terminal(Arc<Shared>);

struct Shared {
    typed: Mutex<Typed>,
    line: Condvar,
    colors: bool,
    interactive: bool,
}

/// Who gets the next line that is typed.
#[derive(Default)]
struct Typed {
    handle: Option<Handle>,
    question: Option<oneshot::Sender<String>>,
    prompts: Vec<String>,
    closed: bool,
}

/// The words of the command line, as one prompt.
pub(crate) fn prompt_of_the_command_line() -> Option<String> {
    let words: Vec<_> = std::env::args().skip(1).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

impl Terminal {
    /// Looks whether a person sits there, and starts to read what they type.
    pub(crate) fn open() -> Self {
        let colors = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let interactive = io::stdin().is_terminal();
        let shared = Shared { typed: Mutex::default(), line: Condvar::new(), colors, interactive };
        Self(Arc::new(shared))
    }

    /// Has typed lines steer this run, and Ctrl-C abort it.
    pub(crate) fn attach(&self, handle: Handle) {
        let on_interrupt = handle.clone();
        let installed = ctrlc::set_handler(move || {
            if on_interrupt.is_running() {
                on_interrupt.abort();
            } else {
                std::process::exit(130);
            }
        });
        if let Err(error) = installed {
            self.say(&format!("(Ctrl-C will not abort cleanly: {error})"));
        }
        self.typed().handle = Some(handle);
        if self.0.interactive {
            let terminal = self.clone();
            thread::spawn(move || terminal.read_lines());
        }
    }

    pub(crate) fn is_interactive(&self) -> bool {
        self.0.interactive
    }

    pub(crate) fn say(&self, text: &str) {
        println!("{}", self.dim(text));
    }

    /// Waits for the next prompt; `None` at the end of the input.
    pub(crate) fn read_prompt(&self) -> Option<String> {
        if !self.0.interactive {
            return None;
        }
        print!("> ");
        flush();
        let mut typed = self.typed();
        while typed.prompts.is_empty() && !typed.closed {
            typed = self.0.line.wait(typed).unwrap_or_else(PoisonError::into_inner);
        }
        if typed.prompts.is_empty() { None } else { Some(typed.prompts.remove(0)) }
    }

    /// Asks the person whether a call may run. Where nobody sits there, it may not.
    pub(crate) async fn allows(&self, call: &ToolCall) -> bool {
        if !self.0.interactive {
            return false;
        }
        print!(
            "Let it {} {}? [y/N] ",
            call.name,
            shorten(&serde_json::Value::Object(call.arguments.clone()).to_string())
        );
        flush();
        let (answer, answered) = oneshot::channel();
        self.typed().question = Some(answer);
        answered.await.is_ok_and(|line| line.trim().eq_ignore_ascii_case("y"))
    }

    /// Shows one event of a run.
    pub(crate) fn show(&self, event: &AgentEvent, state: &State) {
        match event {
            AgentEvent::MessageUpdate { delta } => self.show_delta(delta, state),
            AgentEvent::ToolExecutionUpdate { partial, .. } => {
                println!("{}", self.dim(&format!("  … {}", partial.texts().collect::<String>())));
            }
            AgentEvent::ToolExecutionEnd { call, result } => {
                let text: String = result.message.texts().collect();
                let mark = if result.message.is_error { "✗" } else { "✓" };
                println!("{}", self.dim(&format!("  {mark} {}: {}", call.name, shorten(&text))));
            }
            AgentEvent::MessageEnd { message } if message.as_assistant().is_some() => println!(),
            _ => {}
        }
        flush();
    }

    fn show_delta(&self, delta: &Delta, state: &State) {
        match delta {
            Delta::Text { delta, .. } => print!("{delta}"),
            Delta::Thinking { delta, .. } => print!("{}", self.dim(delta)),
            Delta::TextEnd { .. } | Delta::ThinkingEnd { .. } => println!(),
            Delta::ToolCallStart { call, .. } => print!("{}", self.dim(&format!("→ {} ", call.name))),
            Delta::ToolCall { delta, .. } => print!("{}", self.dim(delta)),
            Delta::ToolCallEnd { index, .. } => {
                let call = state.partial().and_then(|answer| answer.block(*index));
                if let Some(PartialBlock::ToolCall(call)) = call {
                    if call.complete().is_some_and(|call| call.arguments_error.is_some()) {
                        print!("{}", self.dim(" (unreadable)"));
                    }
                }
                println!();
            }
            _ => {}
        }
    }

    /// Says how a run ended, if it did not end as it should.
    pub(crate) fn show_outcome(&self, outcome: Option<&Outcome>) {
        match outcome.map(|outcome| &outcome.ending) {
            Some(Ending::Aborted) => self.say("(stopped)"),
            Some(Ending::Failed { message }) => self.say(&format!("(failed: {message})")),
            Some(Ending::EndedByHook { reason }) => {
                self.say(&format!("(ended: {})", reason.as_deref().unwrap_or("a hook")));
            }
            _ => {}
        }
    }

    /// Gives each typed line to whoever waits: a question, the run that works, or the next prompt.
    fn read_lines(&self) {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            let mut typed = self.typed();
            match (typed.question.take(), &typed.handle) {
                (Some(question), _) => drop(question.send(line)),
                (None, Some(handle)) if handle.is_running() => {
                    let _ = handle.steer(line);
                }
                (None, _) if line.trim().is_empty() => {}
                (None, _) => typed.prompts.push(line),
            }
            self.0.line.notify_all();
        }
        self.typed().closed = true;
        self.0.line.notify_all();
    }

    fn typed(&self) -> MutexGuard<'_, Typed> {
        self.0.typed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dim(&self, text: &str) -> String {
        if self.0.colors { format!("{DIM}{text}{RESET}") } else { text.to_owned() }
    }
}

fn flush() {
    // Nothing can be said about a terminal that is gone.
    let _ = io::stdout().flush();
}

/// The first line, cut at 100 characters.
fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let short: String = line.chars().take(100).collect();
    if short.len() < text.trim_end().len() { format!("{short} …") } else { short }
}
