//! The scheduler, proven with the crate's own testing kit.
//!
//! `invariants` holds the twelve invariants of every run as property tests over random scenarios.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod invariants;
mod kept;

use proptest::prelude::ProptestConfig;
use proptest::test_runner::FileFailurePersistence;

/// 2000 cases, or as many as `PROPTEST_CASES` says. Seeds of failures are kept beside the test.
fn config() -> ProptestConfig {
    let config = ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        max_shrink_iters: 20_000,
        ..ProptestConfig::default()
    };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: 2000, ..config },
    }
}
