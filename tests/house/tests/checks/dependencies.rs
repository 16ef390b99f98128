//! Each dependency is used where it is declared for.

use std::path::Path;

use serde_json::Value;
use turnstate_house::{files, list, members, shown, string, text};

use crate::assert_none;

#[test]
fn every_dependency_of_every_member_is_named_in_its_sources() {
    let mut found = Vec::new();
    for package in members() {
        let manifest = Path::new(string(&package["manifest_path"]));
        let folder = manifest.parent().unwrap();
        let others: Vec<_> = members().iter().map(|other| string(&other["manifest_path"])).collect();
        let sources = sources_of(folder, &others);
        for dependency in list(&package["dependencies"]) {
            if !is_named(dependency, folder, &sources) {
                found.push(format!("{}: {} is not used", shown(manifest), dependency["name"]));
            }
        }
    }
    assert_none(&found);
}

/// The Rust files of a package, and the texts that are documentation of it; without other members in its folder.
fn sources_of(folder: &Path, manifests: &[&str]) -> Vec<(String, String)> {
    let inner: Vec<_> = manifests
        .iter()
        .filter_map(|manifest| Path::new(manifest).parent())
        .filter(|other| *other != folder && other.starts_with(folder))
        .collect();
    files(folder, &[".rs", ".md"])
        .into_iter()
        .filter(|file| !inner.iter().any(|other| file.starts_with(other)))
        .map(|file| (file.strip_prefix(folder).unwrap().to_string_lossy().into_owned(), text(&file)))
        .collect()
}

/// Whether the crate is named where it may be: a normal dependency in the code of `src`, one for tests anywhere, also
/// in the examples of the documentation.
fn is_named(dependency: &Value, folder: &Path, sources: &[(String, String)]) -> bool {
    let name = dependency["rename"].as_str().unwrap_or_else(|| string(&dependency["name"])).replace('-', "_");
    sources.iter().any(|(file, text)| match string(&dependency["kind"]) {
        "build" => file == "build.rs" && names(text, &name),
        "dev" => names(text, &name),
        // A folder of tests may have no code but tests.
        _ if folder.join("src").is_dir() => file.starts_with("src") && names(&without_comments(text), &name),
        _ => names(&without_comments(text), &name),
    })
}

fn without_comments(text: &str) -> String {
    text.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .fold(String::new(), |all, line| all + line + "\n")
}

/// Whether a text has a path that begins with this crate.
fn names(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let begins = !before.ends_with(|c: char| c.is_alphanumeric() || c == '_')
            && (!before.ends_with(':') || before.ends_with(" ::") || before.ends_with("(::"));
        begins && (after.starts_with("::") || before.ends_with("use ") && after.starts_with([';', ' ']))
    })
}

#[test]
fn a_crate_is_named_by_a_path_that_begins_with_it() {
    for (text, named) in [
        ("use serde::Serialize;", true),
        ("use serde;", true),
        ("#[derive(serde::Serialize)]", true),
        ("let x = ::serde::Value;", true),
        ("use my_serde::Serialize;", false),
        ("use crate::serde::Serialize;", false),
        ("a serde of words", false),
        ("serde_json::to_string", false),
    ] {
        assert_eq!(names(text, "serde"), named, "{text}");
    }
    assert!(!names(&without_comments("// use serde::Serialize;"), "serde"));
}
