//! Slow and obvious answers to compare with. Both edit the text and leave the reading to `serde_json`.

use serde_json::Value;

/// What is certain after a prefix of a valid object: the text up to its last certain character, with what is open closed.
pub(super) fn certain(prefix: &str) -> Option<Value> {
    let mut scan = Scan::default();
    for (at, letter) in prefix.char_indices() {
        scan.letter(prefix, at, letter);
    }
    let (end, closing) = scan.certain?;
    Some(serde_json::from_str(&format!("{}{closing}", &prefix[..end])).unwrap())
}

#[derive(Default)]
struct Scan {
    /// The brackets that close what is open, the innermost last.
    open: Vec<char>,
    string: Option<Quoted>,
    /// A key is due or being read, so a string is no value.
    key: bool,
    /// Where the present number or word starts.
    bare: Option<usize>,
    /// An end of the text, and what closes it.
    certain: Option<(usize, String)>,
}

struct Quoted {
    start: usize,
    is_key: bool,
}

impl Scan {
    fn letter(&mut self, text: &str, at: usize, letter: char) {
        let next = at + letter.len_utf8();
        if let Some(quoted) = &self.string {
            let contents = &text[quoted.start..next];
            let closes = letter == '"' && is_whole(&text[quoted.start..at]);
            let (is_key, whole) = (quoted.is_key, is_whole(contents));
            match (closes, is_key) {
                (true, true) => self.string = None,
                (true, false) => {
                    self.string = None;
                    self.mark(next, "");
                }
                (false, false) if whole => self.mark(next, "\""),
                (false, _) => {}
            }
            return;
        }
        if let Some(start) = self.bare {
            let word = &text[start..at];
            let is_number = word.starts_with(|first: char| first == '-' || first.is_ascii_digit());
            if ",]} \t\r\n".contains(letter) {
                self.bare = None;
                self.mark(at, "");
            } else if !is_number && ["true", "false", "null"].contains(&&text[start..next]) {
                self.mark(next, "");
            }
        }
        match letter {
            '{' | '[' => {
                self.open.push(if letter == '{' { '}' } else { ']' });
                self.key = letter == '{';
                self.mark(next, "");
            }
            '}' | ']' => {
                self.open.pop();
                self.mark(next, "");
            }
            ',' => self.key = self.open.last() == Some(&'}'),
            ':' => self.key = false,
            '"' => {
                self.string = Some(Quoted { start: next, is_key: self.key });
                if !self.key {
                    self.mark(next, "\"");
                }
            }
            ' ' | '\t' | '\r' | '\n' => {}
            _ if self.bare.is_none() => self.bare = Some(at),
            _ => {}
        }
    }

    fn mark(&mut self, end: usize, quote: &str) {
        self.certain = Some((end, quote.chars().chain(self.open.iter().rev().copied()).collect()));
    }
}

/// Whether a string's contents end neither within an escape nor within a surrogate pair.
fn is_whole(contents: &str) -> bool {
    serde_json::from_str::<String>(&format!("\"{contents}\"")).is_ok()
}

/// The text after the repairs that are written down in the module's documentation, and no others.
pub(super) fn repaired(text: &str) -> String {
    let text = without_fence(text);
    if text.trim().is_empty() {
        return "{}".to_owned();
    }
    let mut out = String::new();
    let mut in_string = false;
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let (taken, meaning) = match letter {
            '"' => {
                in_string = !in_string;
                (1, "\"".to_owned())
            }
            '\\' if in_string => repaired_escape(rest),
            letter if in_string && letter.is_ascii_control() && letter != '\u{7f}' => {
                (1, format!("\\u{:04x}", u32::from(letter)))
            }
            letter => (letter.len_utf8(), letter.to_string()),
        };
        out.push_str(&meaning);
        rest = &rest[taken..];
    }
    out
}

fn without_fence(text: &str) -> &str {
    let inside = text
        .trim_matches([' ', '\t', '\r', '\n'])
        .strip_prefix("```")
        .and_then(|text| text.strip_suffix("```"));
    match inside {
        // Nothing inside the fence is nothing at all, and not the object that it should be.
        Some(inside) if inside.contains('{') => {
            inside.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric())
        }
        _ => text,
    }
}

/// The escape at the start of `rest`: how many bytes of it to replace, and by what.
fn repaired_escape(rest: &str) -> (usize, String) {
    let quoted = |length: usize| rest.get(..length).filter(|escape| is_whole(escape));
    if let Some(escape) = quoted(2).or_else(|| quoted(6)).or_else(|| quoted(12)) {
        return (escape.len(), escape.to_owned());
    }
    let digits = rest.get(2..6).filter(|digits| digits.chars().all(|digit| digit.is_ascii_hexdigit()));
    // A whole `\u` escape that is no character on its own and none together with the next is half a pair.
    if rest.starts_with("\\u") && digits.is_some() {
        (6, "\\ufffd".to_owned())
    } else {
        (1, "\\\\".to_owned())
    }
}
