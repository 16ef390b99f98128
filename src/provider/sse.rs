//! Server-sent events, as servers of models send them.

use std::fmt;

use serde::de::IgnoredAny;
use thiserror::Error;

/// The longest line, and the longest event, that is read unless a host sets another: 8 MiB.
pub(crate) const DEFAULT_LIMIT: usize = 8 << 20;

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// Turns the bytes of an event stream into events: push bytes in chunks of any size, then take events until there is
/// none.
///
/// It follows the standard (line ends LF, CR and CRLF; a byte order mark; comments; several `data` lines in one
/// event), and bends it where servers of models do:
///
/// * A `data` line that begins an event and is complete JSON alone, or the `[DONE]` that ends a stream, is an event by
///   itself, also without a blank line after it. Other lines are joined until a blank line.
/// * At the end of the bytes what is left counts: a last line without a line feed, an event without its blank line.
/// * Blank `data` gives no event. Bytes that are no UTF-8 read as U+FFFD. `id` and `retry` are ignored: nothing here
///   reconnects.
///
/// Work is linear in the bytes, however they are split.
#[derive(Clone)]
pub(crate) struct SseDecoder {
    buffer: Vec<u8>,
    /// Where the current line begins in the buffer.
    line: usize,
    /// Up to where the buffer is known to hold no end of the current line.
    searched: usize,
    /// Whether the last line ended in CR: an LF right after it belongs to that end.
    after_cr: bool,
    /// Whether the first line was read.
    begun: bool,
    finished: bool,
    failed: bool,
    limit: usize,
    event: Option<String>,
    data: Option<String>,
}

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The event's name, where the server gave one.
    pub(crate) event: Option<String>,
    /// The data; never blank.
    pub(crate) data: String,
    /// Whether the bytes ended before the event did: the data may be cut off.
    pub(crate) is_cut_off: bool,
}

/// A line, or an event of several lines, is longer than allowed. No event follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the server sent an event of more than {limit} bytes")]
pub(crate) struct EventTooLong {
    /// The limit in bytes.
    pub(crate) limit: usize,
}

impl SseDecoder {
    /// A decoder that reads lines and events of at most `limit` bytes.
    pub(crate) fn with_limit(limit: usize) -> Self {
        Self {
            buffer: Vec::new(),
            line: 0,
            searched: 0,
            after_cr: false,
            begun: false,
            finished: false,
            failed: false,
            limit,
            event: None,
            data: None,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.failed || self.finished {
            return;
        }
        // What was read goes away here, once for each chunk, so that no byte is moved more often than its line is long.
        self.buffer.drain(..self.line.min(self.buffer.len()));
        self.searched = self.searched.saturating_sub(self.line);
        self.line = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// Says that no more bytes come.
    pub(crate) fn finish(&mut self) {
        self.finished = true;
    }

    /// The next event, if the bytes so far hold one.
    ///
    /// # Errors
    /// When a line, or an event, is too long. Nothing is read after that.
    pub(crate) fn next_event(&mut self) -> Option<Result<SseEvent, EventTooLong>> {
        loop {
            if self.failed {
                return None;
            }
            let line = self.next_line();
            let open = self.buffer.len().saturating_sub(self.line);
            let length =
                line.as_ref().map_or(open, |line| line.len() + self.data.as_ref().map_or(0, String::len));
            if length > self.limit {
                return Some(Err(self.fail()));
            }
            match line {
                Some(line) => {
                    if let Some(event) = self.take_line(&line) {
                        return Some(Ok(event));
                    }
                }
                None if self.finished => {
                    let last = self.dispatch();
                    return last.map(|event| Ok(SseEvent { is_cut_off: true, ..event }));
                }
                None => return None,
            }
        }
    }

    /// The next line without its end; at the end of the bytes also one that has no end.
    fn next_line(&mut self) -> Option<String> {
        if self.after_cr && self.buffer.get(self.line) == Some(&b'\n') {
            self.line += 1;
            self.after_cr = false;
        }
        let from = self.searched.max(self.line);
        let unseen = self.buffer.get(from..).unwrap_or_default();
        let end = match unseen.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(at) => from + at,
            None if self.finished && !unseen.is_empty() => self.buffer.len(),
            None if self.finished && from > self.line => self.buffer.len(),
            None => {
                self.searched = self.buffer.len();
                return None;
            }
        };
        let mut line = self.buffer.get(self.line..end).unwrap_or_default();
        if !self.begun {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        let line = String::from_utf8_lossy(line).into_owned();
        self.begun = true;
        self.after_cr = self.buffer.get(end) == Some(&b'\r');
        self.line = (end + 1).min(self.buffer.len());
        self.searched = self.line;
        Some(line)
    }

    /// What a line does: it adds to the event, or ends it.
    fn take_line(&mut self, line: &str) -> Option<SseEvent> {
        if line.is_empty() {
            return self.dispatch();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => return self.take_data(value),
            "event" => self.event = Some(value.to_owned()),
            // Comments have the empty name; `id`, `retry` and unknown fields say nothing here.
            _ => {}
        }
        None
    }

    fn take_data(&mut self, value: &str) -> Option<SseEvent> {
        match &mut self.data {
            Some(data) => {
                data.push('\n');
                data.push_str(value);
                None
            }
            None if value.trim().is_empty() => None,
            None => {
                self.data = Some(value.to_owned());
                if is_whole(value) { self.dispatch() } else { None }
            }
        }
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = self.event.take();
        let data = self.data.take()?;
        Some(SseEvent { event, data, is_cut_off: false })
    }

    fn fail(&mut self) -> EventTooLong {
        self.failed = true;
        self.buffer = Vec::new();
        self.data = None;
        EventTooLong { limit: self.limit }
    }
}

/// Whether a line of data is an event by itself.
fn is_whole(data: &str) -> bool {
    data.trim() == "[DONE]" || serde_json::from_str::<IgnoredAny>(data).is_ok()
}

/// Without the bytes: they are the model's words.
impl fmt::Debug for SseDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SseDecoder")
            .field("buffered", &self.buffer.len().saturating_sub(self.line))
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(body: &[u8], chunk: usize) -> Vec<(Option<String>, String)> {
        let mut decoder = SseDecoder::with_limit(DEFAULT_LIMIT);
        let mut events = Vec::new();
        for bytes in body.chunks(chunk) {
            decoder.push(bytes);
            events.extend(std::iter::from_fn(|| decoder.next_event()));
        }
        decoder.finish();
        events.extend(std::iter::from_fn(|| decoder.next_event()));
        events.into_iter().map(|event| event.map(|event| (event.event, event.data)).unwrap()).collect()
    }

    #[test]
    fn every_form_of_an_event_is_read_at_every_chunk_size() {
        let cases: &[(&str, &[&str])] = &[
            ("data: {\"a\":1}\n\ndata: {\"a\":2}\n\n", &["{\"a\":1}", "{\"a\":2}"]),
            ("data: {\"a\":1}\r\n\r\ndata: {\"a\":2}\r\n\r\n", &["{\"a\":1}", "{\"a\":2}"]),
            ("data: {\"a\":1}\r\rdata: {\"a\":2}\r\r", &["{\"a\":1}", "{\"a\":2}"]),
            // Whole lines are events without a blank line between them, and without a last line end.
            ("data: {\"a\":1}\ndata: {\"a\":2}\ndata: [DONE]", &["{\"a\":1}", "{\"a\":2}", "[DONE]"]),
            ("data:{\"a\":1}", &["{\"a\":1}"]),
            ("\u{FEFF}data: {\"a\":1}\n\n", &["{\"a\":1}"]),
            // Lines that are not whole are joined.
            ("data: {\"a\":\ndata: 1\ndata: }\n\ndata: 2", &["{\"a\":\n1\n}", "2"]),
            ("data: {broken\ndata: {\"a\":1}\n\n", &["{broken\n{\"a\":1}"]),
            (": ping\ndata: {\"a\":\n: ping\nid: 4\nretry: 1\nnonsense\ndata: 1}\n\n", &["{\"a\":\n1}"]),
            ("data: \n\ndata:    \ndata\ndata: {\"a\":1}\n\n", &["{\"a\":1}"]),
            ("data: {\"a\":\"\u{2028}🙂東\u{2029}\u{85}\"}\n\n", &["{\"a\":\"\u{2028}🙂東\u{2029}\u{85}\"}"]),
            ("data: plain\n\n", &["plain"]),
            ("", &[]),
            ("\n\n\r\n: ping\n\n", &[]),
        ];
        for (body, expected) in cases {
            for chunk in 1..=body.len().max(1) {
                let read: Vec<_> = events(body.as_bytes(), chunk).into_iter().map(|(_, data)| data).collect();
                assert_eq!(&read, expected, "{body:?} in chunks of {chunk}");
            }
        }
    }

    #[test]
    fn an_event_has_its_name_and_no_other_events() {
        let read = events(b"event: ping\n\nevent: error\ndata: 1\n\ndata: 2\n\n", 7);
        assert_eq!(read, [(Some("error".to_owned()), "1".to_owned()), (None, "2".to_owned())]);
    }

    #[test]
    fn bytes_that_are_no_utf_8_are_replaced() {
        assert_eq!(events(b"data: a\xFF\xE6\x9D\n\n", 1), [(None, "a\u{FFFD}\u{FFFD}".to_owned())]);
    }

    #[test]
    fn a_line_and_an_event_have_a_longest_length() {
        let too_long = Some(Err(EventTooLong { limit: 10 }));
        for body in ["data: 12345", "data: 12345\n", "data: {\ndata: 1\ndata: 22\n\n", ": a comment\n"] {
            let mut decoder = SseDecoder::with_limit(10);
            decoder.push(body.as_bytes());
            assert_eq!(decoder.next_event(), too_long, "{body:?}");
            decoder.push(b"data: 1\n\n");
            assert_eq!(decoder.next_event(), None);
        }
        let mut decoder = SseDecoder::with_limit(10);
        decoder.push(b"data: 1234\n\ndata: 5678\n\n");
        assert_eq!(std::iter::from_fn(|| decoder.next_event()).count(), 2);
    }

    #[test]
    fn long_lines_in_small_chunks_take_linear_work() {
        // Quadratic work would be 4·10¹² steps here.
        let mut decoder = SseDecoder::with_limit(DEFAULT_LIMIT);
        decoder.push(b"data: ");
        for _ in 0..100_000 {
            decoder.push(b"12345678901234567890");
            assert_eq!(decoder.next_event(), None);
        }
        decoder.push(b"\n\n");
        assert_eq!(decoder.next_event().unwrap().unwrap().data.len(), 2_000_000);
    }

    proptest! {
        #[test]
        fn the_split_into_chunks_changes_nothing(
            lines in prop::collection::vec(
                prop::sample::select(vec![
                    "data: {\"a\":1}", "data: {", "data: }", "data:", "", "", ": ping", "event: x", "data: 🙂", "\u{FEFF}", "data: [DONE]",
                ]),
                0..12,
            ),
            end in prop::sample::select(vec!["\n", "\r", "\r\n"]),
            chunks in prop::collection::vec(1usize..9, 1..40),
        ) {
            let body = lines.join(end);
            let mut decoder = SseDecoder::with_limit(DEFAULT_LIMIT);
            let mut read = Vec::new();
            let (mut rest, mut sizes) = (body.as_bytes(), chunks.iter().cycle());
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at(rest.len().min(*sizes.next().unwrap()));
                decoder.push(chunk);
                read.extend(std::iter::from_fn(|| decoder.next_event()));
                rest = after;
            }
            decoder.finish();
            read.extend(std::iter::from_fn(|| decoder.next_event()));
            let read: Vec<_> = read.into_iter().map(|event| event.map(|event| (event.event, event.data)).unwrap()).collect();
            prop_assert_eq!(read, events(body.as_bytes(), usize::MAX));
        }
    }
}
