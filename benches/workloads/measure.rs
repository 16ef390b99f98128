//! Time and memory.

use std::time::{Duration, Instant};

/// What a workload came to.
pub(crate) struct Measured {
    /// Wall time of the best round.
    pub(crate) seconds: f64,
    /// Processor time of the whole process.
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
    let (mut best, mut floor_best) = (Duration::MAX, Duration::MAX);
    for _ in 0..rounds {
        let input = floor_load();
        let started = Instant::now();
        floor(input);
        floor_best = floor_best.min(started.elapsed());
        let input = load();
        let started = Instant::now();
        run(input);
        best = best.min(started.elapsed());
    }
    Measured {
        seconds: best.as_secs_f64(),
        cpu_seconds: cpu_seconds(),
        floor_seconds: floor_best.as_secs_f64(),
        units,
    }
}

/// More rounds for what is over quickly.
fn rounds_for(units: usize) -> usize {
    (2_000_000 / units.max(1)).clamp(3, 50)
}

/// The processor time of this process so far, from the kernel's clock ticks (100 a second); 0 where that is not told.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> =
        after_name.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse().ok()).collect();
    ticks.iter().sum::<f64>() / 100.0
}

/// The most memory this process has held; 0 where that is not told.
pub(crate) fn peak_rss_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
