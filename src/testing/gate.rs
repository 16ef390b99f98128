//! Gates: named latches that scripted models, tools and hooks wait on, so that a test decides what completes when.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A named latch: whoever waits on it goes on once it is released, also if that happened before. Cheap to clone; all
/// clones are one gate.
#[derive(Clone)]
pub struct Gate(Arc<Inner>);

/// Cloning, waking and dropping a waker runs foreign code, which may come back here: none of it happens under the lock.
struct Inner {
    name: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    released: bool,
    /// Who waits, by ticket: the wakers in order of their arrival.
    waiting: BTreeMap<u64, Waker>,
    next_ticket: u64,
}

impl Gate {
    /// A closed gate. The name is for people: it tells what is waited for when nothing can progress.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self(Arc::new(Inner { name: name.into(), state: Mutex::default() }))
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Lets everyone through who waits now or comes later.
    pub fn release(&self) {
        let woken = {
            let mut state = self.state();
            state.released = true;
            std::mem::take(&mut state.waiting)
        };
        woken.into_values().for_each(Waker::wake);
    }

    /// Whether it was released.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.state().released
    }

    /// How many wait on it now.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// Waits until the gate is released.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub fn wait(&self) -> GateWait {
        GateWait { gate: self.clone(), ticket: None }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gate({:?})", self.name())
    }
}

/// Waits until a [`Gate`] is released.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct GateWait {
    gate: Gate,
    ticket: Option<u64>,
}

impl Future for GateWait {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        let waker = cx.waker().clone();
        let mut state = this.gate.state();
        if state.released {
            return Poll::Ready(());
        }
        let ticket = this.ticket.unwrap_or(state.next_ticket);
        if this.ticket.is_none() {
            state.next_ticket += 1;
        }
        let replaced = state.waiting.insert(ticket, waker);
        drop(state);
        drop(replaced);
        this.ticket = Some(ticket);
        Poll::Pending
    }
}

impl Drop for GateWait {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let gone = self.gate.state().waiting.remove(&ticket);
            drop(gone);
        }
    }
}

/// The gates of one test, by name. Cheap to clone; all clones are one set.
#[derive(Debug, Clone, Default)]
pub struct Gates(Arc<Mutex<Vec<Gate>>>);

impl Gates {
    /// No gates yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The gate of this name; it is made, closed, when it is asked for the first time.
    #[must_use]
    pub fn gate(&self, name: impl AsRef<str>) -> Gate {
        let name = name.as_ref();
        let mut gates = self.list();
        if let Some(known) = gates.iter().find(|gate| gate.name() == name) {
            return known.clone();
        }
        let gate = Gate::new(name);
        gates.push(gate.clone());
        gate
    }

    /// Releases the gate of this name.
    pub fn release(&self, name: impl AsRef<str>) {
        self.gate(name).release();
    }

    /// The gates that somebody waits on now, in the order in which they were made.
    #[must_use]
    pub fn waiting(&self) -> Vec<Gate> {
        self.list().iter().filter(|gate| gate.waiting() > 0).cloned().collect()
    }

    fn list(&self) -> MutexGuard<'_, Vec<Gate>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A panic that was scripted: it does not print, since a test that plays thousands of them asks for none of it.
pub(super) fn quiet_panic(message: String) -> ! {
    std::panic::resume_unwind(Box::new(message))
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn a_released_gate_lets_through_who_waits_and_who_comes_later() {
        let gates = Gates::new();
        let mut early = gates.gate("a").wait();
        assert!((&mut early).now_or_never().is_none());
        gates.release("a");
        assert!(early.now_or_never().is_some());
        assert!(gates.gate("a").wait().now_or_never().is_some());
    }

    #[test]
    fn gates_say_who_is_waited_on_and_a_dropped_wait_leaves_nothing_behind() {
        let gates = Gates::new();
        let [a, b] = ["a", "b"].map(|name| gates.gate(name));
        let (mut first, mut second) = (b.wait(), a.wait());
        assert!(gates.waiting().is_empty());
        assert!((&mut first).now_or_never().is_none() && (&mut second).now_or_never().is_none());
        let names = || gates.waiting().iter().map(|gate| gate.name().to_owned()).collect::<Vec<_>>();
        assert_eq!(names(), ["a", "b"]);
        drop(second);
        assert_eq!(names(), ["b"]);
        b.release();
        assert!(names().is_empty());
    }
}
