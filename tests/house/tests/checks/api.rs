//! The public API as text, so that a change of it is seen in review.
//!
//! `API=overwrite cargo test -p turnstate-house api` writes the text anew.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use serde_json::Value;
use turnstate_house::{cargo, metadata, output_of, root, string, text};

/// The format of rustdoc's JSON that the crate `public-api`, in the version of the manifest, reads.
const FORMAT: u64 = 57;

#[test]
fn the_public_api_is_the_one_that_was_reviewed() {
    let json = documented();
    let format = serde_json::from_str::<Value>(&text(&json)).unwrap()["format_version"].as_u64();
    if format != Some(FORMAT) {
        assert!(std::env::var_os("TURNSTATE_REQUIRE_API").is_none(), "the format {format:?} is not {FORMAT}");
        // Past the test runner, which keeps what a passing test prints.
        let skipped = "skipped the public API: this compiler's rustdoc writes its JSON in another format";
        let _ = writeln!(std::io::stderr(), "{skipped}");
        return;
    }
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .build()
        .unwrap();
    compare(&without_what_traits_imply(&api.to_string()));
}

/// The functions of a type's traits are those of the trait: that it has the trait says all of it.
fn without_what_traits_imply(api: &str) -> String {
    let mut owner = String::new();
    let mut kept = String::new();
    for line in api.lines().filter(|line| !line.contains("core::marker::StructuralPartialEq")) {
        if line.starts_with("impl") {
            let implementor = line.split_once(" for ").map_or("", |(_, implementor)| implementor);
            owner = implementor.split(['<', ' ']).next().unwrap_or_default().to_owned();
        }
        let function = line.split_once("fn ").map_or("", |(_, function)| function);
        let rest = function.strip_prefix(&owner).unwrap_or_default();
        if owner.is_empty() || !rest.starts_with(['<', ':']) {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

#[test]
fn what_a_trait_implies_is_left_out_and_nothing_else() {
    let api = "\
pub struct a::B
impl a::B
pub fn a::B::new() -> Self
impl core::clone::Clone for a::B
pub fn a::B::clone(&self) -> a::B
impl core::iter::Iterator for a::B
pub type a::B::Item = u8
pub fn a::B::next(&mut self) -> core::option::Option<u8>
impl core::marker::StructuralPartialEq for a::B
pub fn a::c()
";
    let kept = "\
pub struct a::B
impl a::B
pub fn a::B::new() -> Self
impl core::clone::Clone for a::B
impl core::iter::Iterator for a::B
pub type a::B::Item = u8
pub fn a::c()
";
    assert_eq!(without_what_traits_imply(api), kept);
}

/// Has rustdoc write the JSON for the crate with all features.
fn documented() -> PathBuf {
    let made = output_of(
        cargo()
            .args(["rustdoc", "--quiet", "--package", "turnstate", "--lib", "--all-features", "--"])
            .args(["-Zunstable-options", "--output-format=json", "--cap-lints=allow"])
            .env("RUSTDOC", root().join("tests/house/rustdoc")),
    );
    assert_eq!(made, "");
    PathBuf::from(string(&metadata()["target_directory"])).join("doc/turnstate.json")
}

fn compare(api: &str) {
    let reviewed = root().join("tests/house/api.txt");
    if std::env::var_os("API").is_some_and(|value| value == "overwrite") {
        fs::write(&reviewed, api).unwrap();
        return;
    }
    let reviewed = text(&reviewed);
    let missing = |from: &str, among: &str, sign: char| -> Vec<String> {
        let among: std::collections::BTreeSet<_> = among.lines().collect();
        from.lines().filter(|line| !among.contains(line)).map(|line| format!("{sign} {line}")).collect()
    };
    let mut changes = missing(&reviewed, api, '-');
    changes.extend(missing(api, &reviewed, '+'));
    assert!(
        changes.is_empty(),
        "the public API has changed:\n{}\nif that is meant, `API=overwrite cargo test -p turnstate-house api` writes it down",
        changes.join("\n")
    );
}
