//! Custom message roles: what `#[derive(CustomMessage)]` makes of a type.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod app;
mod convert;
mod generics;
mod json;
mod projection;
mod properties;
mod reference_sessions;
mod unknown_roles;
