//! Surrogate pairs that a server has split.
//!
//! Servers written for UTF-16 cut texts into pieces by code units. A cut in the middle of a character leaves one half of
//! a surrogate pair at the end of a piece and the other at the beginning of the next, which JSON can say (`\\ud83d`) and
//! UTF-8 cannot.

use std::collections::{BTreeMap, VecDeque};

use crate::model::Delta;

const REPLACEMENT: char = '\u{FFFD}';

/// The first of the 2,048 characters that stand for halves between the reading of the JSON and their joining. They are
/// the last ones for private use; a text that really holds one loses it, but only in an answer that has halves too.
const FIRST_MARK: u32 = 0x10_F800;

/// The character that stands for half of a pair.
pub(super) fn mark_of(unit: u16) -> char {
    char::from_u32(FIRST_MARK + u32::from(unit & 0x07FF)).unwrap_or(REPLACEMENT)
}

/// The half that a character stands for.
fn half(mark: char) -> Option<u16> {
    let half = u32::from(mark).checked_sub(FIRST_MARK)?;
    u16::try_from(half).ok().map(|half| 0xD800 | half)
}

/// Joins the halves of an answer, piece by piece. What has no other half becomes U+FFFD.
#[derive(Debug, Clone, Default)]
pub(crate) struct Halves {
    /// Whether there were halves at all: otherwise nothing is looked at.
    expected: bool,
    /// First halves at the end of what was given of a block, by content index.
    waiting: BTreeMap<u32, (Kind, u16)>,
}

#[derive(Debug, Clone, Copy)]
enum Kind {
    Text,
    Thinking,
    ToolCall,
}

impl Kind {
    fn delta(self, index: u32, delta: String) -> Delta {
        match self {
            Self::Text => Delta::Text { index, delta },
            Self::Thinking => Delta::Thinking { index, delta },
            Self::ToolCall => Delta::ToolCall { index, delta },
        }
    }
}

impl Halves {
    /// Says that marks come.
    pub(super) fn expect(&mut self) {
        self.expected = true;
    }

    /// Takes a delta that may hold marks; gives deltas that do not.
    pub(crate) fn join(&mut self, delta: Delta, deltas: &mut VecDeque<Delta>) {
        if !self.expected {
            return deltas.push_back(delta);
        }
        match delta {
            Delta::Text { index, delta } => self.piece(Kind::Text, index, &delta, deltas),
            Delta::Thinking { index, delta } => self.piece(Kind::Thinking, index, &delta, deltas),
            Delta::ToolCall { index, delta } => self.piece(Kind::ToolCall, index, &delta, deltas),
            delta => {
                self.give_up(&delta, deltas);
                deltas.push_back(without_marks(delta));
            }
        }
    }

    fn piece(&mut self, kind: Kind, index: u32, piece: &str, deltas: &mut VecDeque<Delta>) {
        let mut first = self.waiting.remove(&index).map(|(_, first)| first);
        let mut joined = String::with_capacity(piece.len() + REPLACEMENT.len_utf8());
        for character in piece.chars() {
            match (half(character), first.take()) {
                (Some(next @ 0xD800..=0xDBFF), before) => {
                    joined.extend(before.map(|_| REPLACEMENT));
                    first = Some(next);
                }
                (Some(second), Some(first)) => {
                    let pair = char::decode_utf16([first, second]).next();
                    joined.push(pair.and_then(Result::ok).unwrap_or(REPLACEMENT));
                }
                (Some(_), None) => joined.push(REPLACEMENT),
                (None, before) => {
                    joined.extend(before.map(|_| REPLACEMENT));
                    joined.push(character);
                }
            }
        }
        self.waiting.extend(first.map(|first| (index, (kind, first))));
        if !joined.is_empty() {
            deltas.push_back(kind.delta(index, joined));
        }
    }

    /// Where a block or the answer ends, its waiting half finds no other.
    fn give_up(&mut self, end: &Delta, deltas: &mut VecDeque<Delta>) {
        let is_over = |index: &u32| end.is_terminal() || end.index() == Some(*index);
        self.waiting.retain(|index, (kind, _)| {
            let is_over = is_over(index);
            if is_over {
                deltas.push_back(kind.delta(*index, REPLACEMENT.to_string()));
            }
            !is_over
        });
    }
}

/// A delta that is no piece of a text, with U+FFFD for each mark in any of its texts.
fn without_marks(delta: Delta) -> Delta {
    let Ok(json) = serde_json::to_string(&delta) else { return delta };
    if !json.contains(|character| half(character).is_some()) {
        return delta;
    }
    let json = json.replace(|character| half(character).is_some(), "\u{FFFD}");
    serde_json::from_str(&json).unwrap_or(delta)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::StopReason;

    fn joined(deltas: impl IntoIterator<Item = Delta>) -> Vec<Delta> {
        let mut halves = Halves { expected: true, ..Halves::default() };
        let mut all = VecDeque::new();
        deltas.into_iter().for_each(|delta| halves.join(delta, &mut all));
        all.into()
    }

    #[test]
    fn halves_in_two_pieces_of_one_block_become_their_character() {
        let (high, low) = (mark_of(0xD83D), mark_of(0xDE42));
        let end = || Delta::TextEnd { index: 0, signature: None };
        assert_eq!(
            joined([
                Delta::text(0, format!("a{high}")),
                Delta::tool_call(1, format!("{high}")),
                Delta::text(0, format!("{low}b{high}")),
                Delta::tool_call(1, format!("{low}")),
                Delta::text(0, ""),
                end(),
            ]),
            [
                Delta::text(0, "a"),
                Delta::text(0, "🙂b"),
                Delta::tool_call(1, "🙂"),
                Delta::text(0, "\u{FFFD}"),
                end()
            ]
        );
    }

    #[test]
    fn a_half_without_its_other_is_replaced() {
        let (high, low) = (mark_of(0xD83D), mark_of(0xDE42));
        assert_eq!(
            joined([
                Delta::thinking(0, format!("{low}{high}{high}{low}x{high}x")),
                Delta::done(StopReason::Stop)
            ]),
            [Delta::thinking(0, "\u{FFFD}\u{FFFD}🙂x\u{FFFD}x"), Delta::done(StopReason::Stop)]
        );
        assert_eq!(
            joined([Delta::thinking(0, format!("{high}")), Delta::error(format!("x{low}"))]),
            [Delta::thinking(0, "\u{FFFD}"), Delta::error("x\u{FFFD}")]
        );
    }

    #[test]
    fn every_half_has_its_mark() {
        assert!((0xD800..=0xDFFF).all(|unit| half(mark_of(unit)) == Some(unit)));
        assert_eq!(half('\u{10F7FF}'), None);
    }
}
