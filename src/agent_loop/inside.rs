//! Which runs the code of this moment is part of.
//!
//! Whoever waits for the end of a run from within it waits for ever. While a run's code is polled, the run is noted for
//! its thread, so that such a wait is an error instead.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project::pin_project;

use crate::abort::AbortSignal;

thread_local! {
    /// The runs that are polled on this thread now, the innermost last. A run is known by its abort signal.
    static POLLED: RefCell<Vec<AbortSignal>> = const { RefCell::new(Vec::new()) };
}

/// A future that is part of a run.
#[pin_project]
pub(crate) struct Inside<F> {
    #[pin]
    future: F,
    run: AbortSignal,
}

pub(crate) fn inside<F: Future>(run: AbortSignal, future: F) -> Inside<F> {
    Inside { future, run }
}

/// Whether the code that asks is part of this run, as far as its thread knows.
pub(crate) fn is_inside(run: &AbortSignal) -> bool {
    POLLED.with_borrow(|polled| polled.iter().any(|signal| signal.same_as(run)))
}

impl<F: Future> Future for Inside<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        POLLED.with_borrow_mut(|polled| polled.push(this.run.clone()));
        let _leave = Leave;
        this.future.poll(cx)
    }
}

/// Takes the innermost run off, also when its code panics.
struct Leave;

impl Drop for Leave {
    fn drop(&mut self) {
        let left = POLLED.with_borrow_mut(Vec::pop);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn code_is_inside_of_every_run_that_is_polled_around_it_and_of_no_other() {
        let (outer, inner, other) = (AbortSignal::new(), AbortSignal::new(), AbortSignal::new());
        let asks = async { [&outer, &inner, &other].map(is_inside) };
        let nested = inside(outer.clone(), inside(inner.clone(), asks));
        assert_eq!(nested.now_or_never(), Some([true, true, false]));
        assert_eq!([&outer, &inner, &other].map(is_inside), [false; 3]);
    }

    #[test]
    fn a_panic_leaves_the_run() {
        let run = AbortSignal::new();
        let panics = std::panic::AssertUnwindSafe(inside(run.clone(), async { panic!("inside") }));
        assert!(panics.catch_unwind().now_or_never().is_some_and(|outcome: Result<(), _>| outcome.is_err()));
        assert!(!is_inside(&run));
    }
}
