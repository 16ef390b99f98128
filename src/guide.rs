//! Guides: longer than a type's documentation, with examples that run.
//!
//! Each is one page, and its examples are tests of this crate. They need no network: the model is a scripted one from the
//! testing kit (feature `testing`).
//!
//! | to | read |
//! |---|---|
//! | give the model something to call | [tools] |
//! | allow and refuse, limit, save, change what the model sees | [hooks] |
//! | put messages into a run that works, and stop it | [steering] |
//! | show what happens, and know how it ended | [events] |
//! | keep a conversation in a struct, or share it | [runs] |
//! | run on Tokio, on smol, on threads | [runtimes] |
//! | ask a real model | [models] |
//! | have message roles of your own | [custom_roles] |
#![cfg_attr(feature = "testing", doc = "| test tools, hooks and whole runs | [testing] |")]
#![cfg_attr(
    not(feature = "testing"),
    doc = "| test tools, hooks and whole runs | `testing` (feature `testing`) |"
)]
//! | translate what you know of the TypeScript loop | [coming_from_typescript] |
//!
//! The crate's own page, [above](crate), is the first hour. The programs in `examples/` each answer one question.

#[doc = include_str!("docs/tools.md")]
pub mod tools {}

#[doc = include_str!("docs/hooks.md")]
pub mod hooks {}

#[doc = include_str!("docs/steering.md")]
pub mod steering {}

#[doc = include_str!("docs/events.md")]
pub mod events {}

#[doc = include_str!("docs/runs.md")]
pub mod runs {}

#[doc = include_str!("docs/runtimes.md")]
pub mod runtimes {}

#[doc = include_str!("docs/models.md")]
pub mod models {}

#[doc = include_str!("docs/custom_roles.md")]
pub mod custom_roles {}

#[doc = include_str!("docs/testing.md")]
#[cfg_attr(feature = "proptest", doc = include_str!("docs/property_tests.md"))]
#[cfg(feature = "testing")]
pub mod testing {}

#[doc = include_str!("docs/coming_from_typescript.md")]
pub mod coming_from_typescript {}
