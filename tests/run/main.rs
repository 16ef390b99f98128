//! Runs, through the public surface.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod first_steps;
mod updates;
