//! Time and memory.

use std::time::{Duration, Instant};

/// What a workload came to.
pub(crate) struct Measured {
    /// Wall time of the best round.
    pub(crate) seconds: f64,
    /// Processor time of that round, of all threads.
    pub(crate) cpu_seconds: f64,
    /// Wall time of the floor's best round.
    pub(crate) floor_seconds: f64,
    /// How many units the time is divided by.
    pub(crate) units: usize,
}

/// Measures a workload and its floor in turn, and keeps the best round of each: on a shared machine the best is the
/// least disturbed. Setting up is not measured.
pub(crate) fn beside_floor<A, B>(
    units: usize,
    mut load: impl FnMut() -> A,
    mut run: impl FnMut(A),
    mut floor_load: impl FnMut() -> B,
    mut floor: impl FnMut(B),
) -> Measured {
    let rounds = rounds_for(units);
    let (mut best, mut cpu_best, mut floor_best) = (Duration::MAX, 0.0, Duration::MAX);
    for _ in 0..rounds {
        let input = floor_load();
        let started = Instant::now();
        floor(input);
        floor_best = floor_best.min(started.elapsed());
        let input = load();
        let (started, cpu) = (Instant::now(), cpu_seconds());
        run(input);
        let took = started.elapsed();
        if took < best {
            (best, cpu_best) = (took, cpu_seconds() - cpu);
        }
    }
    Measured {
        seconds: best.as_secs_f64(),
        cpu_seconds: cpu_best,
        floor_seconds: floor_best.as_secs_f64(),
        units,
    }
}

/// More rounds for what is over quickly.
fn rounds_for(units: usize) -> usize {
    (2_000_000 / units.max(1)).clamp(3, 50)
}

/// The processor time of this process's threads so far, as the scheduler counts it; 0 where that is not told.
fn cpu_seconds() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let nanoseconds = threads.filter_map(|thread| {
        let told = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        told.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// The most memory this process has held; 0 where that is not told.
pub(crate) fn peak_rss_kb() -> u64 {
    status_kb("VmHWM:")
}

/// The memory this process holds now; 0 where that is not told.
pub(crate) fn rss_kb() -> u64 {
    status_kb("VmRSS:")
}

fn status_kb(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
