//! The house's own checks. Each failure says which file or package, and what is wrong with it.

#![allow(clippy::unwrap_used, reason = "tests")]

mod api;
mod dependencies;
mod licences;
mod links;
mod manifests;
mod map;
mod msrv;
mod packages;
mod words;

/// Fails with everything that was found, a line each.
#[track_caller]
fn assert_none(found: &[String]) {
    assert!(found.is_empty(), "\n{}\n", found.join("\n"));
}
