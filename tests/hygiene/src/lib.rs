//! The derive where nothing can be taken for granted: each module is one kind of hostile surroundings, and its use of
//! everything that the derive offers compiles there. `tests/works.rs` shows that it does the usual thing too.
//!
//! The crate `turnstate` has another name here, and serde is no dependency at all.

#![deny(
    warnings,
    missing_docs,
    missing_debug_implementations,
    single_use_lifetimes,
    trivial_casts,
    trivial_numeric_casts,
    unreachable_pub,
    unsafe_code,
    unused_import_braces,
    unused_lifetimes,
    unused_qualifications,
    unused_results,
    variant_size_differences,
    future_incompatible,
    let_underscore,
    nonstandard_style,
    rust_2018_idioms,
    unused,
    clippy::all,
    clippy::pedantic,
    clippy::nursery
)]

pub mod hostile_names;
pub mod lints;
pub mod no_prelude;
