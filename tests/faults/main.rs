//! Faults that users met in agent loops, each as the rule that keeps it out, with the smallest input that shows it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod abort;
mod api;
mod batch_order;
mod coercion;
mod combinations;
mod content_blocks;
mod cost;
mod events;
mod hooks;
mod hosts_own;
mod ids_and_names;
mod lifecycle;
mod nesting;
mod pairing;
mod queues;
mod schema_features;
mod stop_reasons;
mod streaming_json;
mod support;
mod transcript;
mod unicode;
mod usage_and_errors;
