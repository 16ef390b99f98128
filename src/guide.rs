//! Guides: longer than a type's documentation, with examples that run.

#[doc = include_str!("docs/custom_roles.md")]
pub mod custom_roles {}

#[doc = include_str!("docs/testing.md")]
#[cfg(feature = "testing")]
pub mod testing {}
