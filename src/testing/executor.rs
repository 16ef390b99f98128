//! The deterministic executor: polls only what was woken, and says when nothing can progress.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use futures_core::Stream;
use futures_util::future::BoxFuture;

use super::{Gate, Gates};
use crate::agent_loop::Spawner;

/// How many polls in a row may bring nothing while each wakes for the next one.
const BUSY: usize = 10_000;

/// Runs a future to its end on this thread, polling it only when it was woken.
///
/// It waits for no timer, socket or other thread, so that tests are deterministic: a program that asks a real model uses
/// its runtime's own `block_on`.
///
/// # Panics
/// When nothing can progress any more: a test that would hang fails instead. Also when the future wakes itself for
/// ever without an end in sight.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let woken = Woken::new();
    let waker = Waker::from(woken.clone());
    let mut cx = Context::from_waker(&waker);
    for _ in 0..100 * BUSY {
        let seen = woken.count();
        if let Poll::Ready(output) = future.as_mut().poll(&mut cx) {
            return output;
        }
        assert!(
            woken.count() > seen,
            "nothing can progress: the future is pending, and nobody woke it (this executor waits for no timer, socket or \
             other thread: outside of tests use your runtime's `block_on`)"
        );
    }
    panic!("the future wakes itself for ever");
}

/// A stream, usually a run, that is driven step by step on this thread, deterministically.
///
/// It polls only when it was woken, so whatever forgets to wake is found: when nothing seems to be able to progress, one
/// more poll must bring nothing. Between two steps the test does as it likes: looks at the stream, steers, aborts,
/// releases gates.
///
/// ```
/// use turnstate::Run;
/// use turnstate::testing::{Driven, Gates, Response, ScriptedModel};
///
/// let gates = Gates::new();
/// let model = ScriptedModel::new([Response::text("One moment").and_wait(&gates.gate("rest")).and_text("!")]);
/// let mut run = Driven::new(Run::builder(model).build().prompt("Hi")).with_gates(&gates);
/// let stall = run.run_until_stalled();
/// assert_eq!(stall.waiting, ["rest"]);
/// gates.release("rest");
/// assert!(run.run_until_stalled().is_over);
/// ```
#[derive(Debug)]
#[must_use = "nothing happens until it is stepped"]
pub struct Driven<S> {
    stream: S,
    gates: Gates,
    workers: Workers,
    woken: Arc<Woken>,
    /// Wakes that were seen by a poll.
    seen: usize,
    polls: usize,
    is_over: bool,
    waker: Waker,
}

/// What one step of a [`Driven`] stream brought.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress<T> {
    /// An item.
    Item(T),
    /// Nothing: nobody has woken the stream, so something outside must happen first.
    Stalled,
    /// The stream is over.
    Over,
}

/// Where a [`Driven`] stream stopped, and what it gave until then.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stall<T> {
    /// The items since the last stall.
    pub items: Vec<T>,
    /// The names of the gates that are waited on, in the order in which the gates were made.
    pub waiting: Vec<String>,
    /// Whether the stream is over.
    pub is_over: bool,
}

impl<S> Driven<S> {
    /// Drives a stream.
    pub fn new(stream: S) -> Self {
        let woken = Woken::new();
        let waker = Waker::from(woken.clone());
        Self {
            stream,
            gates: Gates::new(),
            workers: Workers::new(),
            woken,
            // The first poll needs no wake.
            seen: usize::MAX,
            polls: 0,
            is_over: false,
            waker,
        }
    }

    /// Knows these gates: it tells which of them are waited on.
    pub fn with_gates(mut self, gates: &Gates) -> Self {
        self.gates = gates.clone();
        self
    }

    /// Runs these workers' tasks between the stream's polls.
    pub fn with_workers(mut self, workers: &Workers) -> Self {
        self.workers = workers.clone();
        self
    }

    /// The stream.
    #[must_use]
    pub fn get_ref(&self) -> &S {
        &self.stream
    }

    /// The stream, to be changed.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// The stream, for whatever comes next.
    #[must_use]
    pub fn into_inner(self) -> S {
        self.stream
    }

    /// How often the stream was polled.
    #[must_use]
    pub fn polls(&self) -> usize {
        self.polls
    }

    /// How often it was woken.
    #[must_use]
    pub fn wakes(&self) -> usize {
        self.woken.count()
    }

    /// The gates that are waited on.
    #[must_use]
    pub fn waiting(&self) -> Vec<Gate> {
        self.gates.waiting()
    }
}

impl<S: Stream + Unpin> Driven<S> {
    /// One step: the next item, or nothing.
    ///
    /// # Panics
    /// When a wake-up was lost: the stream progresses although nobody woke it. When it is busy: it wakes itself on and
    /// on and brings nothing.
    #[track_caller]
    pub fn step(&mut self) -> Progress<S::Item> {
        if self.is_over {
            return Progress::Over;
        }
        for _ in 0..BUSY {
            if self.seen == self.woken.count() {
                if self.workers.poll_woken() > 0 {
                    continue;
                }
                self.assert_no_wake_was_lost();
                return Progress::Stalled;
            }
            if let Poll::Ready(item) = self.poll() {
                return self.told(item);
            }
        }
        panic!(
            "busy: the stream was polled {BUSY} times in a row, woke itself each time, and brought nothing"
        );
    }

    /// Steps until nothing can progress.
    ///
    /// # Panics
    /// As [`step`](Self::step).
    #[track_caller]
    pub fn run_until_stalled(&mut self) -> Stall<S::Item> {
        let mut items = Vec::new();
        let is_over = loop {
            match self.step() {
                Progress::Item(item) => items.push(item),
                Progress::Stalled => break false,
                Progress::Over => break true,
            }
        };
        let waiting = self.waiting().iter().map(|gate| gate.name().to_owned()).collect();
        Stall { items, waiting, is_over }
    }

    /// Runs to the end, and at each stall releases the gate that `choose` picks from those that are waited on, by its
    /// place among them (taken modulo their number): a fixed or a random order.
    ///
    /// # Panics
    /// As [`step`](Self::step), and when the stream stalls without waiting on a gate.
    #[track_caller]
    pub fn run_releasing(&mut self, mut choose: impl FnMut(&[Gate]) -> usize) -> Vec<S::Item> {
        let mut items = Vec::new();
        loop {
            let stall = self.run_until_stalled();
            items.extend(stall.items);
            if stall.is_over {
                return items;
            }
            let waiting = self.waiting();
            assert!(!waiting.is_empty(), "nothing can progress, and no known gate is waited on");
            if let Some(gate) = waiting.get(choose(&waiting) % waiting.len()) {
                gate.release();
            }
        }
    }

    /// Runs to the end, releasing gates in the order of these names; one that is not waited on yet is released all the
    /// same.
    ///
    /// # Panics
    /// As [`step`](Self::step), and when the stream does not end with the last gate.
    #[track_caller]
    pub fn run_in_order<N: AsRef<str>>(&mut self, order: impl IntoIterator<Item = N>) -> Vec<S::Item> {
        let mut stall = self.run_until_stalled();
        let mut items = std::mem::take(&mut stall.items);
        for name in order {
            self.gates.release(name);
            stall = self.run_until_stalled();
            items.append(&mut stall.items);
        }
        assert!(
            stall.is_over,
            "all gates are released, and the stream is not over; it waits on {:?}",
            stall.waiting
        );
        items
    }

    fn poll(&mut self) -> Poll<Option<S::Item>> {
        self.seen = self.woken.count();
        self.polls += 1;
        Pin::new(&mut self.stream).poll_next(&mut Context::from_waker(&self.waker))
    }

    fn told(&mut self, item: Option<S::Item>) -> Progress<S::Item> {
        // Whoever takes an item asks for the next one: no wake is needed for that.
        self.seen = usize::MAX;
        self.is_over = item.is_none();
        item.map_or(Progress::Over, Progress::Item)
    }

    /// One poll that nobody asked for must bring nothing, and leave the same gates waited on.
    #[track_caller]
    fn assert_no_wake_was_lost(&mut self) {
        let names =
            |gates: &Gates| gates.waiting().iter().map(|gate| gate.name().to_owned()).collect::<Vec<_>>();
        let before = names(&self.gates);
        let polled = self.poll();
        let after = names(&self.gates);
        assert!(
            polled.is_pending() && before == after,
            "a wake-up was lost: nobody woke the stream, and yet a poll made progress (gates that are waited on: \
             {before:?} before, {after:?} after)"
        );
    }
}

/// Counts wakes.
struct Woken(AtomicUsize);

impl Woken {
    fn new() -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(0)))
    }

    fn count(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

impl fmt::Debug for Woken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Woken").field(&self.count()).finish()
    }
}

/// Tasks beside a run: a [`Spawner`] whose tasks a [`Driven`] runs, one after the other, when they are woken. Cheap to
/// clone; all clones are one set of workers.
#[derive(Clone, Default)]
pub struct Workers(Arc<Mutex<VecDeque<Task>>>);

struct Task {
    future: BoxFuture<'static, ()>,
    woken: Arc<Woken>,
    seen: usize,
}

impl Workers {
    /// No tasks yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many tasks are not over.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tasks().len()
    }

    /// Whether no task is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Polls each woken task once, in the order they were spawned; says how many were.
    fn poll_woken(&self) -> usize {
        let mut polled = 0;
        let tasks = std::mem::take(&mut *self.tasks());
        for mut task in tasks {
            if task.seen == task.woken.count() {
                self.tasks().push_back(task);
                continue;
            }
            polled += 1;
            task.seen = task.woken.count();
            let waker = Waker::from(task.woken.clone());
            if task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_pending() {
                self.tasks().push_back(task);
            }
        }
        polled
    }

    fn tasks(&self) -> MutexGuard<'_, VecDeque<Task>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spawner for Workers {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        self.tasks().push_back(Task { future, woken: Woken::new(), seen: usize::MAX });
    }
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Workers").field("tasks", &self.len()).finish()
    }
}
