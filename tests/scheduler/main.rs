//! The scheduler, proven with the crate's own testing kit.
//!
//! * `invariants`: the invariants of every run, as property tests over random scenarios; `laws` is what they share.
//! * `exhaustive`: small scopes in full: all completion orders, all placements of one thing that a host does.
//! * `differential`: the same scenarios on other executors give the same events.
//! * `kit`: the kit finds what it must find. `guide`: the guide shows what comes out. `kept`: what once broke a rule.
//!
//! Every property has 2000 cases, or as many as `PROPTEST_CASES` says.
//!
//! `mutations.sh` plants faults in a copy of the loop, one at a time, and tells what catches each:
//!
//! | fault | caught by |
//! |---|---|
//! | results in the order of completion | every property: the checker reads along |
//! | one-at-a-time drains two | `invariant_07_queue_modes_say_how_many_are_delivered` |
//! | all drains one | `invariant_07_queue_modes_say_how_many_are_delivered` |
//! | steering is polled before the batch ends | every property: the checker reads along |
//! | any call terminates the run | `a_batch_ends_the_run_only_if_every_call_asks` |
//! | calls of a truncated answer are executed | every property: the checker reads along |
//! | an abort loses what was taken from a queue | `every_placement_of_one_abort_and_one_steer_loses_nothing`, `invariant_03_queued_messages_are_delivered_once_or_wait` |
//! | a cancel loses what was taken from a queue | `invariant_03_queued_messages_are_delivered_once_or_wait` |
//! | calls go on before the end of another is told | `every_batch_of_up_to_four_calls_that_do_not_wait_goes_on_only_when_its_events_are_read` |
//! | an update wakes nobody | every property: the checker reads along |
//! | a delivered abort wakes nobody | `every_placement_of_one_abort_and_one_steer_loses_nothing`, `every_placement_of_one_abort_ends_the_run_at_once_and_whole`, `invariant_08_an_abort_settles_the_run` |
//! | a request is sent after an abort | `every_placement_of_one_abort_ends_the_run_at_once_and_whole`, `invariant_08_an_abort_settles_the_run` |
//! | the projection is not extended | `invariant_05_each_request_is_a_prefix_of_the_next`, `invariant_05_each_request_is_the_projection_of_the_transcript` |
//! | changed tools are not declared | `invariant_06_declarations_are_the_executable_tools`, `invariant_06_tools_changed_between_runs_are_declared` |
//! | a cancelled call has no result | every property: the checker reads along |
//! | an abort waits for every tool | `every_placement_of_one_abort_and_one_steer_loses_nothing`, `every_placement_of_one_abort_ends_the_run_at_once_and_whole`, `invariant_08_an_abort_settles_the_run` |
//! | a call that has ended stays in the state | every property: the checker reads along |
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod differential;
mod exhaustive;
mod guide;
mod invariants;
mod kept;
mod kit;
mod laws;

use proptest::prelude::ProptestConfig;
use proptest::test_runner::FileFailurePersistence;

/// 2000 cases, or as many as `PROPTEST_CASES` says. Seeds of failures are kept beside the test.
fn config() -> ProptestConfig {
    let config = ProptestConfig {
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    };
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => config,
        None => ProptestConfig { cases: 2000, ..config },
    }
}
