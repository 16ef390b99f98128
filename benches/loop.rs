//! What the loop itself costs, beside the floor of each workload measured in the same run.
//!
//! `cargo bench` prints a line for each workload as it is measured, and a table at the end. A ratio over its budget, or
//! one that grows with the size, would be bad.

#![allow(clippy::expect_used, reason = "a measurement that cannot be made is to stop")]

mod workloads;

use workloads::{ALL, BytesPerAgent, Measured, Workload};

fn main() {
    // First, while the process has no memory to reuse.
    let BytesPerAgent { idle, running } = workloads::bytes_per_agent(10_000);
    let rows: Vec<_> = ALL.iter().map(row).collect();
    println!("\n| workload | per unit | × floor | budget | usual size ÷ small size, per unit |");
    println!("|---|---|---|---|---|");
    rows.iter().for_each(|row| println!("{row}"));
    println!("\nmemory: {idle} bytes for each idle agent, {running} for each in the middle of an answer");
    println!("peak memory of the whole run: {} KiB", workloads::peak_rss_kb());
}

fn row(workload: &Workload) -> String {
    let [usual, small] = workload.sizes.map(|size| {
        let measured = (workload.run)(size);
        println!(
            "{} at {size}: {:.1} ns a unit, {:.2} × the floor",
            workload.name,
            per_unit(&measured),
            ratio(&measured)
        );
        measured
    });
    let budget =
        if workload.budget.is_finite() { format!("≤ {} ×", workload.budget) } else { "–".to_owned() };
    format!(
        "| {}: {} | {:.1} ns | {:.2} | {budget} | {:.2} |",
        workload.name,
        workload.what,
        per_unit(&usual),
        ratio(&usual),
        per_unit(&usual) / per_unit(&small),
    )
}

fn per_unit(measured: &Measured) -> f64 {
    measured.seconds * 1e9 / measured.units as f64
}

fn ratio(measured: &Measured) -> f64 {
    measured.seconds / measured.floor_seconds
}
