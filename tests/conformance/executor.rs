//! A deterministic executor of one thread.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};

/// Polls tasks in the order they came, as long as any of them was woken.
#[derive(Default)]
pub(crate) struct Executor {
    new: RefCell<Vec<Task>>,
}

struct Task {
    future: Pin<Box<dyn Future<Output = ()>>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Release);
    }
}

/// More polls than any script needs: beyond, something wakes itself for ever.
const MOST_POLLS: usize = 100_000;

impl Executor {
    pub(crate) fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        self.new.borrow_mut().push(Task { future: Box::pin(future), woken });
    }

    /// Runs until no task can go on; whether that came to pass at all.
    pub(crate) fn run_until_stalled(&self) -> bool {
        let mut tasks: Vec<Task> = Vec::new();
        for _ in 0..MOST_POLLS {
            tasks.append(&mut self.new.borrow_mut());
            let Some(at) = tasks.iter().position(|task| task.woken.0.swap(false, Ordering::AcqRel)) else {
                // They come back in the order they had.
                *self.new.borrow_mut() = tasks;
                return true;
            };
            let task = &mut tasks[at];
            let waker = Waker::from(task.woken.clone());
            if task.future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
                drop(tasks.remove(at));
            }
        }
        false
    }

    /// Whether every task has ended.
    pub(crate) fn is_empty(&self) -> bool {
        self.new.borrow().is_empty()
    }
}
