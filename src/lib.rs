//! A typed, runtime-agnostic agent loop.

pub mod message;
pub mod transcript;
