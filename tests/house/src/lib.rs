//! What the checks of the house look at: the workspace's files, and what cargo knows of its packages.

#![allow(clippy::unwrap_used, reason = "for tests alone: what is missing fails them")]

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

/// The folder of the workspace.
#[must_use]
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap())
}

/// The path as it is written in the workspace: without the root, with slashes.
#[must_use]
pub fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).to_string_lossy().replace('\\', "/")
}

/// All files below a folder whose name has one of these endings, in order; without what is built or installed.
#[must_use]
pub fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(folder, endings, &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if path.is_dir() {
            if !["target", "node_modules", ".git"].contains(&name) {
                collect(&path, endings, found);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
}

/// The text of a file.
///
/// # Panics
/// When it cannot be read.
#[must_use]
pub fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", shown(path)))
}

/// Cargo, in the folder of the workspace.
#[must_use]
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root());
    cargo
}

/// What a command writes.
///
/// # Panics
/// When it fails.
#[must_use]
pub fn output_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// What cargo knows of the workspace with all features on, for this machine's platform.
///
/// # Panics
/// When cargo cannot tell.
#[must_use]
pub fn metadata() -> &'static Value {
    static METADATA: OnceLock<Value> = OnceLock::new();
    METADATA.get_or_init(|| {
        let version = output_of(Command::new("rustc").arg("-vV"));
        let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
        let arguments =
            ["metadata", "--format-version=1", "--all-features", "--locked", "--filter-platform", host];
        serde_json::from_str(&output_of(cargo().args(arguments))).unwrap()
    })
}

/// The packages that are members of the workspace.
///
/// # Panics
/// When cargo cannot tell.
#[must_use]
pub fn members() -> Vec<&'static Value> {
    let ids = list(&metadata()["workspace_members"]);
    list(&metadata()["packages"]).iter().filter(|package| ids.contains(&package["id"])).collect()
}

/// The members that are published.
///
/// # Panics
/// When cargo cannot tell.
#[must_use]
pub fn published() -> Vec<&'static Value> {
    members().into_iter().filter(|package| package["publish"].is_null()).collect()
}

/// The packages that the published ones are built with, themselves among them: their normal dependencies, and those of
/// these, with all features on.
///
/// # Panics
/// When cargo cannot tell.
#[must_use]
pub fn built_with() -> Vec<&'static Value> {
    let packages: BTreeMap<&str, &Value> =
        list(&metadata()["packages"]).iter().map(|package| (string(&package["id"]), package)).collect();
    let nodes: BTreeMap<&str, &Value> =
        list(&metadata()["resolve"]["nodes"]).iter().map(|node| (string(&node["id"]), node)).collect();
    let mut open: Vec<&str> = published().iter().map(|package| string(&package["id"])).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = open.pop() {
        if seen.insert(id) {
            let dependencies = list(&nodes[id]["deps"]).iter();
            let normal = dependencies.filter(|dependency| {
                list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null())
            });
            open.extend(normal.map(|dependency| string(&dependency["pkg"])));
        }
    }
    seen.into_iter().map(|id| packages[id]).collect()
}

/// The elements of a JSON array; none if it is something else.
#[must_use]
pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a JSON string; empty if it is something else.
#[must_use]
pub fn string(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
