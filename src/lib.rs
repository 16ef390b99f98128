//! A typed, runtime-agnostic agent loop.
