//! Custom message roles: what `#[derive(CustomMessage)]` makes of a type.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod app;
mod projection;
