//! The grammar: what may come next, and where the text broke it.
//!
//! The reader walks over the builder's text and never goes back, save for the start of a word or an escape that the
//! text did not finish yet. It is the only reader there is: the value that is shown while streaming is the value that
//! the call gets.

use serde_json::{Map, Value};

use super::error::{ArgumentsError, explain};
use super::number::{self, NumberFault};
use super::quoted::{self, Quoted};
use super::tree::{Container, Place, Tree, Work};

#[derive(Debug, Clone)]
pub(super) struct Reader {
    tree: Tree,
    /// How much of the text has been read, in bytes.
    at: usize,
    state: State,
    /// The innermost open object or array.
    inside: Container,
    /// The key that is being read, or whose value comes next.
    key: String,
    fence: Fence,
    fault: Option<Fault>,
    max_depth: usize,
    work: Work,
}

/// What the reader is in, or what has to come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The opening brace of the arguments, or a code fence.
    Start,
    /// The language behind an opening fence, if any.
    FenceWord,
    /// A key, or the end of an object without any.
    FirstKey,
    Key,
    InKey,
    Colon,
    /// A value, or the end of an array without any.
    FirstValue,
    Value,
    InString,
    InNumber {
        start: usize,
    },
    /// A comma, or the end of the object or array.
    Comma,
    /// Nothing but the closing fence.
    End,
}

/// A code fence around the arguments: three backticks before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fence {
    None,
    Open,
    Closed,
}

const FENCE: &str = "```";

/// The first mistake in the text, which ends the reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) kind: FaultKind,
    pub(super) at: usize,
    /// What was to come at that place, and in what.
    pub(super) state: State,
    pub(super) inside: Container,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FaultKind {
    Unexpected,
    Number(NumberFault),
    TooDeep { limit: usize },
}

/// Whether there was enough text to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Went,
    Waits,
}

impl Reader {
    pub(super) fn new(max_depth: usize) -> Self {
        Self {
            tree: Tree::default(),
            at: 0,
            state: State::Start,
            inside: Container::Object,
            key: String::new(),
            fence: Fence::None,
            fault: None,
            max_depth,
            work: Work::default(),
        }
    }

    pub(super) fn value(&self) -> Option<&Value> {
        self.tree.value()
    }

    /// Reads on in `text`, which must begin with all that has been read before.
    pub(super) fn read(&mut self, text: &str) {
        if text.len().saturating_sub(self.at) >= self.tree.worthwhile() {
            self.read_all(text);
        }
    }

    /// The arguments in the whole `text`.
    pub(super) fn finish(mut self, text: &str) -> Result<Map<String, Value>, ArgumentsError> {
        if text.trim().is_empty() {
            return Ok(Map::new());
        }
        self.read_all(text);
        if let Some(fault) = self.fault {
            return Err(explain(text, fault));
        }
        let complete = self.state == State::End && self.fence != Fence::Open;
        let object = if complete { self.tree.into_object() } else { None };
        object.ok_or_else(|| ArgumentsError::incomplete(text))
    }

    fn read_all(&mut self, text: &str) {
        while self.fault.is_none() {
            match self.step(text) {
                Ok(Step::Went) => {}
                Ok(Step::Waits) => break,
                Err(kind) => {
                    self.fault = Some(Fault { kind, at: self.at, state: self.state, inside: self.inside });
                }
            }
        }
        self.tree.put_together();
    }

    fn step(&mut self, text: &str) -> Result<Step, FaultKind> {
        match self.state {
            State::InString => Ok(self.string_goes_on(text)),
            State::InKey => Ok(self.key_goes_on(text)),
            State::InNumber { start } => self.number_goes_on(text, start),
            State::FenceWord => Ok(self.fence_word(text)),
            _ => match self.skip_whitespace(text) {
                Some(byte) => self.token(text, byte),
                None => Ok(Step::Waits),
            },
        }
    }

    /// The grammar proper.
    fn token(&mut self, text: &str, byte: u8) -> Result<Step, FaultKind> {
        match (self.state, byte, self.inside) {
            (State::Start, b'{', _) => self.start(),
            (State::Start, b'`', _) if self.fence == Fence::None => {
                self.fence_line(text, Fence::Open, State::FenceWord)
            }
            (State::FirstKey | State::Key, b'"', _) => Ok(self.take_byte(State::InKey)),
            (State::Colon, b':', _) => Ok(self.take_byte(State::Value)),
            (State::FirstValue | State::Comma, b']', Container::Array { .. })
            | (State::FirstKey | State::Comma, b'}', Container::Object) => Ok(self.close()),
            (State::FirstValue | State::Value, _, _) => self.value_starts(text, byte),
            (State::Comma, b',', Container::Object) => Ok(self.take_byte(State::Key)),
            (State::Comma, b',', Container::Array { .. }) => Ok(self.take_byte(State::Value)),
            (State::End, b'`', _) if self.fence == Fence::Open => {
                self.fence_line(text, Fence::Closed, State::End)
            }
            _ => Err(FaultKind::Unexpected),
        }
    }

    fn value_starts(&mut self, text: &str, byte: u8) -> Result<Step, FaultKind> {
        match byte {
            b'"' => Ok(self.string_starts(text)),
            b'{' => self.open(Container::Object),
            b'[' => self.open(Container::Array { next: 0 }),
            b'-' | b'0'..=b'9' => Ok(self.take_byte(State::InNumber { start: self.at })),
            b't' => self.word(text, "true", Value::Bool(true)),
            b'f' => self.word(text, "false", Value::Bool(false)),
            b'n' => self.word(text, "null", Value::Null),
            _ => Err(FaultKind::Unexpected),
        }
    }

    // Objects and arrays.

    fn start(&mut self) -> Result<Step, FaultKind> {
        self.check_depth()?;
        self.tree.start();
        Ok(self.take_byte(State::FirstKey))
    }

    fn open(&mut self, container: Container) -> Result<Step, FaultKind> {
        self.check_depth()?;
        let (empty, next) = match container {
            Container::Object => (Value::Object(Map::new()), State::FirstKey),
            Container::Array { .. } => (Value::Array(Vec::new()), State::FirstValue),
        };
        let place = self.next_place();
        self.tree.open(place, empty);
        self.inside = container;
        Ok(self.take_byte(next))
    }

    fn close(&mut self) -> Step {
        match self.tree.close() {
            Some(around) => {
                self.inside = around;
                self.take_byte(State::Comma)
            }
            None => self.take_byte(State::End),
        }
    }

    fn check_depth(&self) -> Result<(), FaultKind> {
        if self.tree.depth() < self.max_depth {
            Ok(())
        } else {
            Err(FaultKind::TooDeep { limit: self.max_depth })
        }
    }

    /// The place of the value that starts now.
    fn next_place(&mut self) -> Place {
        match &mut self.inside {
            Container::Object => Place::Key(std::mem::take(&mut self.key)),
            Container::Array { next } => {
                *next += 1;
                Place::Item(*next - 1)
            }
        }
    }

    // Strings and keys.

    fn string_starts(&mut self, text: &str) -> Step {
        self.take_byte(State::InString);
        let mut string = String::new();
        let quoted = quoted::read(rest(text, self.at), &mut string);
        let place = self.next_place();
        if quoted.closed {
            self.tree.insert(place, Value::String(string));
        } else {
            self.tree.open(place, Value::String(string));
        }
        self.take_quoted(text, quoted, State::Comma)
    }

    fn string_goes_on(&mut self, text: &str) -> Step {
        let Some(string) = self.tree.string() else { return Step::Waits };
        let quoted = quoted::read(rest(text, self.at), string);
        if quoted.closed {
            self.tree.close();
        }
        self.take_quoted(text, quoted, State::Comma)
    }

    fn key_goes_on(&mut self, text: &str) -> Step {
        let quoted = quoted::read(rest(text, self.at), &mut self.key);
        self.take_quoted(text, quoted, State::Colon)
    }

    fn take_quoted(&mut self, text: &str, quoted: Quoted, next: State) -> Step {
        if quoted.closed {
            self.work.add(quoted.length);
            self.at += quoted.length;
            self.state = next;
            Step::Went
        } else {
            self.work.add(text.len() - self.at);
            self.at += quoted.length;
            Step::Waits
        }
    }

    // Numbers and words.

    /// A number is certain once something follows it that may follow a value.
    fn number_goes_on(&mut self, text: &str, start: usize) -> Result<Step, FaultKind> {
        let bytes = rest(text, self.at).bytes();
        let more = bytes.take_while(|byte| number::is_number_byte(*byte)).count();
        self.work.add(more + 1);
        self.at += more;
        match text.as_bytes().get(self.at) {
            None => return Ok(Step::Waits),
            Some(b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r') => {}
            Some(_) => return Err(FaultKind::Unexpected),
        }
        let token = text.get(start..self.at).unwrap_or_default();
        self.work.add(token.len());
        match number::read(token) {
            Ok(number) => {
                let place = self.next_place();
                self.tree.insert(place, Value::Number(number));
                self.state = State::Comma;
                Ok(Step::Went)
            }
            Err(fault) => {
                self.at = start;
                Err(FaultKind::Number(fault))
            }
        }
    }

    /// `true`, `false` or `null`; certain once it is spelled out.
    fn word(&mut self, text: &str, word: &str, value: Value) -> Result<Step, FaultKind> {
        match self.begins_with(text, word) {
            Some(true) => {
                let place = self.next_place();
                self.tree.insert(place, value);
                self.at += word.len();
                self.state = State::Comma;
                Ok(Step::Went)
            }
            Some(false) => Err(FaultKind::Unexpected),
            None => Ok(Step::Waits),
        }
    }

    // The code fence.

    fn fence_line(&mut self, text: &str, fence: Fence, next: State) -> Result<Step, FaultKind> {
        match self.begins_with(text, FENCE) {
            Some(true) => {
                self.at += FENCE.len();
                self.fence = fence;
                self.state = next;
                Ok(Step::Went)
            }
            Some(false) => Err(FaultKind::Unexpected),
            None => Ok(Step::Waits),
        }
    }

    fn fence_word(&mut self, text: &str) -> Step {
        let letters = rest(text, self.at).bytes().take_while(u8::is_ascii_alphanumeric).count();
        self.work.add(letters + 1);
        self.at += letters;
        if self.at == text.len() {
            return Step::Waits;
        }
        self.state = State::Start;
        Step::Went
    }

    // The text.

    fn take_byte(&mut self, next: State) -> Step {
        self.at += 1;
        self.state = next;
        Step::Went
    }

    fn skip_whitespace(&mut self, text: &str) -> Option<u8> {
        let bytes = text.as_bytes().get(self.at..)?;
        let blank = bytes.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.work.add(blank + 1);
        self.at += blank;
        bytes.get(blank).copied()
    }

    /// Whether the text goes on with `word`; `None` when it is too short to say.
    fn begins_with(&mut self, text: &str, word: &str) -> Option<bool> {
        let rest = rest(text, self.at);
        self.work.add(word.len().min(rest.len()));
        if rest.len() < word.len() && word.starts_with(rest) { None } else { Some(rest.starts_with(word)) }
    }

    /// Bytes looked at so far, in the text and in the keys of the tree.
    #[cfg(test)]
    pub(super) fn work(&self) -> (usize, usize) {
        (self.work.bytes, self.tree.work.bytes)
    }
}

/// The text from a position on, which is always between two characters.
fn rest(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}
