//! The inside of a JSON string: plain runs, escapes, and the repairs of both.

/// How far [`read`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quoted {
    /// Bytes of the text that are done with. The rest is the start of an escape, at most eleven bytes of it.
    pub(super) length: usize,
    /// Whether the last of them was the closing quote.
    pub(super) closed: bool,
}

/// Appends what a string's text means to `out`, up to the closing quote or as far as `text` goes.
///
/// An escape that `text` does not finish is left for the next call. Control characters need no care: they are taken
/// as they are.
pub(super) fn read(text: &str, out: &mut String) -> Quoted {
    let mut rest = text;
    let closed = loop {
        let (plain, special) = rest.split_at_checked(plain_length(rest.as_bytes())).unwrap_or((rest, ""));
        out.push_str(plain);
        rest = special;
        let Some(&first) = special.as_bytes().first() else { break false };
        if first == b'"' {
            rest = special.get(1..).unwrap_or_default();
            break true;
        }
        let Some((meaning, length)) = escape(special.as_bytes()) else { break false };
        out.push(meaning);
        rest = special.get(length..).unwrap_or_default();
    };
    Quoted { length: text.len() - rest.len(), closed }
}

/// The number of bytes before the first quote or backslash.
///
/// Whole chunks are tested without an early exit, which the compiler turns into vector instructions.
fn plain_length(bytes: &[u8]) -> usize {
    const CHUNK: usize = 16;
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\');
    let chunks = bytes.chunks_exact(CHUNK);
    let tail = chunks.remainder();
    match chunks.clone().position(|chunk| chunk.iter().fold(false, |found, byte| found | is_special(byte))) {
        Some(index) => {
            let start = index * CHUNK;
            let within = bytes.get(start..).unwrap_or_default().iter().position(is_special);
            start + within.unwrap_or(CHUNK)
        }
        None => bytes.len() - tail.len() + tail.iter().position(is_special).unwrap_or(tail.len()),
    }
}

/// The character that `bytes`, beginning with a backslash, stand for, and how many of them do. `None` when that
/// depends on what follows.
///
/// A backslash that begins no escape stands for itself, and what follows it is read on its own.
fn escape(bytes: &[u8]) -> Option<(char, usize)> {
    let short = match bytes.get(1)? {
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => return unicode_escape(bytes),
        _ => return Some(('\\', 1)),
    };
    Some((short, 2))
}

fn unicode_escape(bytes: &[u8]) -> Option<(char, usize)> {
    match code_unit(bytes) {
        CodeUnit::Unfinished => None,
        CodeUnit::Malformed => Some(('\\', 1)),
        CodeUnit::Unit(high @ 0xD800..=0xDBFF) => match code_unit(bytes.get(6..).unwrap_or_default()) {
            CodeUnit::Unfinished => None,
            CodeUnit::Unit(low @ 0xDC00..=0xDFFF) => Some((pair(high, low), 12)),
            // What follows is no second half: it is read again on its own.
            CodeUnit::Unit(_) | CodeUnit::Malformed => Some((char::REPLACEMENT_CHARACTER, 6)),
        },
        // A second half without a first is no character either.
        CodeUnit::Unit(unit) => Some((char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER), 6)),
    }
}

enum CodeUnit {
    /// `\u` with four hexadecimal digits.
    Unit(u32),
    /// Something else.
    Malformed,
    /// Either of the two, the text ends too early to say.
    Unfinished,
}

fn code_unit(bytes: &[u8]) -> CodeUnit {
    let mut unit = 0;
    for position in 0..6 {
        let Some(&byte) = bytes.get(position) else { return CodeUnit::Unfinished };
        match (position, byte, char::from(byte).to_digit(16)) {
            (0, b'\\', _) | (1, b'u', _) => {}
            (2.., _, Some(digit)) => unit = unit * 16 + digit,
            _ => return CodeUnit::Malformed,
        }
    }
    CodeUnit::Unit(unit)
}

fn pair(high: u32, low: u32) -> char {
    let code_point = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
    char::from_u32(code_point).unwrap_or(char::REPLACEMENT_CHARACTER)
}
