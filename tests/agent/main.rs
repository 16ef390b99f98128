//! The shared agent, the spawner and the ready-made hooks, through the public surface.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod changes;
mod dropped;
mod executors;
mod growth;
mod idle;
mod laws;
mod listeners;
mod panics;
mod prompts;
mod queues;
mod ready_hooks;
mod spawner;
mod support;
