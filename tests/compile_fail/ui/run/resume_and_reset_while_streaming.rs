//! Neither `resume` nor `reset` fits a run that streams.

use turnstate::{Run, Streaming};

fn resume(run: Run<Streaming>) {
    let _ = run.resume();
}

fn reset(run: &mut Run<Streaming>) {
    run.reset();
}

fn main() {}
