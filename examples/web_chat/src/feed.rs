//! The fan-out: one board, changed by one writer, shown to any number of readers.
//!
//! The writer never waits for a reader, and a reader costs a number: how far it has come. The last steps are kept once,
//! for all readers together, up to a limit. A reader whose place is among them is given what follows; one that comes
//! late or falls behind is given a snapshot of the board instead, and goes on from there. Change, number and snapshot
//! happen under one lock, so a snapshot and the steps after it fit together: nothing is missing, nothing comes twice.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use tokio::sync::watch;

/// What a feed shows: something that tells how it changes in small steps, and can be shown as a whole.
pub(crate) trait Boarding: Send + 'static {
    /// One change.
    type Step: Serialize;
    /// The whole. It is made under the feed's lock, so it should only share what is large; it is written outside.
    type Snapshot: Serialize;

    /// The whole as it is now.
    fn snapshot(&self) -> Self::Snapshot;
}

/// A board and those who read it.
pub(crate) struct Feed<B> {
    inner: Mutex<Inner<B>>,
    /// The number of the last step. Its receivers are the readers.
    news: watch::Sender<u64>,
    steps: usize,
    step_bytes: usize,
}

struct Inner<B> {
    board: B,
    /// The number of the last step; the first is 1.
    last: u64,
    /// The last steps, oldest first, as they go over the wire.
    tail: VecDeque<Arc<str>>,
    tail_bytes: usize,
}

/// What feeds keep for readers that are not up to date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retained {
    /// Steps.
    pub steps: usize,
    /// Their bytes.
    pub bytes: usize,
}

impl<B: Boarding> Feed<B> {
    /// A feed of this board. It keeps at most this many steps, and this many bytes of them.
    #[must_use]
    pub(crate) fn new(board: B, steps: usize, step_bytes: usize) -> Self {
        let inner = Inner { board, last: 0, tail: VecDeque::new(), tail_bytes: 0 };
        Self { inner: Mutex::new(inner), news: watch::Sender::new(0), steps, step_bytes }
    }

    fn lock(&self) -> MutexGuard<'_, Inner<B>> {
        // A change that panicked half-way must not take the conversation with it: a reload shows what there is.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the board, and publishes the steps that the change pushes. Waits for no reader.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut B, &mut Vec<B::Step>) -> T) -> T {
        let mut inner = self.lock();
        let mut steps = Vec::new();
        let changed = change(&mut inner.board, &mut steps);
        if steps.is_empty() {
            return changed;
        }
        for step in &steps {
            inner.push(step, self.steps, self.step_bytes);
        }
        let last = inner.last;
        drop(inner);
        // Two writers may come here in the other order: the number only ever grows.
        self.news.send_if_modified(|news| std::mem::replace(news, last.max(*news)) < last);
        changed
    }

    /// Looks at the board.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&B) -> T) -> T {
        look(&self.lock().board)
    }

    /// A reader that has seen everything up to a step, or nothing yet. It counts as one until it is dropped.
    #[must_use]
    pub(crate) fn read(self: &Arc<Self>, after: Option<u64>) -> Reader<B> {
        Reader { feed: self.clone(), seen: after, news: self.news.subscribe() }
    }

    /// How many readers there are.
    #[must_use]
    pub(crate) fn readers(&self) -> usize {
        self.news.receiver_count()
    }

    /// What is kept for readers that are not up to date.
    #[must_use]
    pub(crate) fn retained(&self) -> Retained {
        let inner = self.lock();
        Retained { steps: inner.tail.len(), bytes: inner.tail_bytes }
    }
}

impl<B> Inner<B> {
    fn push<S: Serialize>(&mut self, step: &S, most_steps: usize, most_bytes: usize) {
        self.last += 1;
        let event = event(self.last, "step", step);
        self.tail_bytes += event.len();
        self.tail.push_back(event.into());
        while self.tail.len() > most_steps || self.tail_bytes > most_bytes {
            let Some(oldest) = self.tail.pop_front() else { break };
            self.tail_bytes -= oldest.len();
        }
    }

    /// The steps after this one, if all of them are still there.
    fn after(&self, seen: u64) -> Option<impl Iterator<Item = &Arc<str>>> {
        let behind = usize::try_from(self.last.checked_sub(seen)?).ok()?;
        let skip = self.tail.len().checked_sub(behind)?;
        Some(self.tail.iter().skip(skip))
    }
}

/// One event of a stream of server-sent events. JSON has no line breaks of its own.
fn event(id: u64, kind: &str, data: &impl Serialize) -> String {
    match serde_json::to_string(data) {
        Ok(json) => format!("id: {id}\nevent: {kind}\ndata: {json}\n\n"),
        // It holds only maps with text keys, so this does not happen; a reader that sees it asks for a snapshot.
        Err(error) => format!("id: {id}\nevent: unreadable\ndata: {error}\n\n"),
    }
}

/// The most that a reader takes at a time, in bytes, unless a single event is longer. The connection of a browser that
/// reads nothing holds a few of these.
const PIECE: usize = 16 * 1024;

/// One reader of a feed.
pub(crate) struct Reader<B> {
    feed: Arc<Feed<B>>,
    /// The last step it has seen, or that its snapshot had.
    seen: Option<u64>,
    news: watch::Receiver<u64>,
}

impl<B: Boarding> Reader<B> {
    /// The next events, as they go over the wire: those that are there already, or the first that comes.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> String {
        loop {
            // Before the look, so that what is published after it wakes.
            self.news.borrow_and_update();
            if let Some(events) = self.take() {
                return events;
            }
            // It fails only without the feed, which the reader itself holds.
            let _ = self.news.changed().await;
        }
    }

    /// The next events that are there already.
    pub(crate) fn take(&mut self) -> Option<String> {
        let inner = self.feed.lock();
        let Some(steps) = self.seen.and_then(|seen| inner.after(seen)) else {
            let (snapshot, last) = (inner.board.snapshot(), inner.last);
            drop(inner);
            self.seen = Some(last);
            return Some(event(last, "snapshot", &snapshot));
        };
        let mut events = String::new();
        let mut taken = 0;
        for step in steps {
            if taken > 0 && events.len() + step.len() > PIECE {
                break;
            }
            events.push_str(step);
            taken += 1;
        }
        self.seen = self.seen.map(|seen| seen + taken);
        (taken > 0).then_some(events)
    }
}

impl<B: fmt::Debug> fmt::Debug for Feed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Feed").field("readers", &self.news.receiver_count()).finish_non_exhaustive()
    }
}

impl<B> fmt::Debug for Reader<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("seen", &self.seen).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use futures::FutureExt;
    use proptest::prelude::*;

    use super::*;

    /// A board that is a list of numbers, and says which one was added.
    #[derive(Debug, Default)]
    struct Numbers(Vec<u64>);

    impl Boarding for Numbers {
        type Step = u64;
        type Snapshot = Vec<u64>;

        fn snapshot(&self) -> Vec<u64> {
            self.0.clone()
        }
    }

    fn feed(steps: usize, bytes: usize) -> Arc<Feed<Numbers>> {
        Arc::new(Feed::new(Numbers::default(), steps, bytes))
    }

    fn add(feed: &Feed<Numbers>, number: u64) {
        feed.change(|board, steps| {
            board.0.push(number);
            steps.push(number);
        });
    }

    /// What a page does with events: a snapshot replaces what it has, a step is added.
    #[derive(Debug, Default, Clone, PartialEq)]
    struct Page {
        numbers: Vec<u64>,
        last: Option<u64>,
        snapshots: usize,
    }

    impl Page {
        fn hear(&mut self, events: &str) {
            for event in events.split_terminator("\n\n") {
                let mut lines = event.lines().map(|line| line.split_once(": ").unwrap());
                let id: u64 = lines.next().unwrap().1.parse().unwrap();
                let kind = lines.next().unwrap().1;
                let data = lines.next().unwrap().1;
                if kind == "snapshot" {
                    self.numbers = serde_json::from_str(data).unwrap();
                    self.snapshots += 1;
                } else {
                    assert_eq!(Some(id), self.last.map(|last| last + 1), "a step is missing or came twice");
                    self.numbers.push(data.parse().unwrap());
                }
                self.last = Some(id);
            }
        }
    }

    #[derive(Debug, Clone)]
    enum Act {
        Add,
        Read(usize),
        Reconnect(usize),
        ComeAnew(usize),
    }

    fn act() -> impl Strategy<Value = Act> {
        prop_oneof![
            4 => Just(Act::Add),
            3 => (0..3_usize).prop_map(Act::Read),
            1 => (0..3_usize).prop_map(Act::Reconnect),
            1 => (0..3_usize).prop_map(Act::ComeAnew),
        ]
    }

    proptest! {
        #[test]
        fn a_snapshot_and_the_steps_after_it_join_in_every_order(
            acts in proptest::collection::vec(act(), 0..80),
            steps in 0..6_usize,
        ) {
            let feed = feed(steps, usize::MAX);
            let mut pages = vec![Page::default(); 3];
            let mut readers: Vec<_> = (0..3).map(|_| feed.read(None)).collect();
            let mut number = 0;
            for act in acts {
                match act {
                    Act::Add => {
                        number += 1;
                        add(&feed, number);
                    }
                    Act::Read(at) => {
                        if let Some(events) = readers[at].take() {
                            pages[at].hear(&events);
                        }
                    }
                    Act::Reconnect(at) => readers[at] = feed.read(pages[at].last),
                    Act::ComeAnew(at) => {
                        readers[at] = feed.read(None);
                        pages[at] = Page::default();
                    }
                }
                prop_assert!(feed.retained().steps <= steps);
            }
            let all: Vec<_> = (1..=number).collect();
            for (page, reader) in pages.iter_mut().zip(&mut readers) {
                // Everything fits into one piece, so a reader is up to date at once.
                page.hear(&reader.take().unwrap_or_default());
                prop_assert_eq!(reader.take(), None);
                prop_assert_eq!(&page.numbers, &all);
            }
        }
    }

    #[test]
    fn a_reader_that_keeps_up_is_shown_one_snapshot_and_then_only_steps() {
        let feed = feed(4, usize::MAX);
        let (mut reader, mut page) = (feed.read(None), Page::default());
        for number in 1..100 {
            page.hear(&reader.take().unwrap_or_default());
            add(&feed, number);
        }
        page.hear(&reader.take().unwrap());
        assert_eq!((page.snapshots, page.numbers.len()), (1, 99));
    }

    #[test]
    fn a_reader_that_never_reads_costs_no_more_than_the_limits() {
        let feed = feed(10, 300);
        let mut slow = feed.read(None);
        for number in 0..10_000 {
            add(&feed, number);
        }
        let retained = feed.retained();
        assert!(retained.steps <= 10 && retained.bytes <= 300, "{retained:?}");
        let mut page = Page::default();
        page.hear(&slow.take().unwrap());
        assert_eq!((page.snapshots, page.numbers.len()), (1, 10_000));
        assert_eq!(slow.take(), None);
    }

    #[test]
    fn a_reader_that_claims_to_have_seen_what_was_never_told_is_shown_a_snapshot() {
        let feed = feed(10, usize::MAX);
        add(&feed, 1);
        for claimed in [2, u64::MAX] {
            assert!(feed.read(Some(claimed)).take().unwrap().contains("event: snapshot\ndata: [1]"));
        }
    }

    #[test]
    fn one_event_is_given_even_if_it_is_longer_than_a_piece() {
        struct Long;
        impl Boarding for Long {
            type Step = String;
            type Snapshot = ();
            fn snapshot(&self) {}
        }
        let feed = Arc::new(Feed::new(Long, 10, usize::MAX));
        let mut reader = feed.read(None);
        reader.take().unwrap();
        feed.change(|_, steps| steps.extend(["x".repeat(2 * PIECE), "y".repeat(PIECE), "z".to_owned()]));
        let lengths: Vec<_> =
            std::iter::from_fn(|| reader.take()).map(|events| events.len() / PIECE).collect();
        assert_eq!(lengths, [2, 1, 0]);
    }

    #[test]
    fn a_waiting_reader_is_woken_and_a_dropped_one_is_not_counted() {
        let feed = feed(10, usize::MAX);
        let mut reader = feed.read(None);
        assert!(reader.next().now_or_never().unwrap().contains("snapshot"));
        assert_eq!(reader.next().now_or_never(), None);
        add(&feed, 7);
        assert_eq!(reader.next().now_or_never().unwrap(), "id: 1\nevent: step\ndata: 7\n\n");
        assert_eq!(feed.readers(), 1);
        drop(reader);
        assert_eq!(feed.readers(), 0);
    }
}
