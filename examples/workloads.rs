//! One workload in a process of its own, measured beside its floor: prints one JSON line, so that other loops can be
//! put beside it.
//!
//! ```text
//! cargo run --release --all-features --example workloads -- w2 10000
//! ```

#![allow(clippy::expect_used, reason = "a measurement that cannot be made is to stop")]

#[path = "../benches/workloads/mod.rs"]
mod workloads;

use workloads::{ALL, Measured};

fn main() {
    let mut args = std::env::args().skip(1);
    let workload = args.next().unwrap_or_default();
    let size = args.next().and_then(|size| size.parse::<usize>().ok());
    let Some(found) = ALL.iter().find(|known| known.name == workload) else {
        eprintln!("usage: workloads WORKLOAD [SIZE]\n");
        ALL.iter().for_each(|known| eprintln!("{:<10} {}", known.name, known.what));
        std::process::exit(2);
    };
    let size = size.unwrap_or(found.sizes[0]);
    let Measured { seconds, cpu_seconds, floor_seconds, units } = (found.run)(size);
    let per_unit = |seconds: f64| seconds * 1e9 / units as f64;
    println!(
        "{}",
        serde_json::json!({
            "workload": workload,
            "n": size,
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "per_unit_ns": per_unit(seconds),
            "peak_rss_kb": workloads::peak_rss_kb(),
            "floor_per_unit_ns": per_unit(floor_seconds),
        })
    );
}
