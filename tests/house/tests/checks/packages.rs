//! What is in the packages that are published: all that is needed, and nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use turnstate_house::{cargo, files, list, output_of, published, root, shown, string, text};

use crate::assert_none;

/// What cargo itself adds.
const CARGOS_OWN: [&str; 4] = [".cargo_vcs_info.json", "Cargo.lock", "Cargo.toml", "Cargo.toml.orig"];

/// What every package has beside its sources.
const BESIDE: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

fn packaged(package: &str) -> BTreeSet<String> {
    let listed =
        output_of(cargo().args(["package", "--list", "--allow-dirty", "--quiet", "--package", package]));
    listed.lines().map(|line| line.replace('\\', "/")).filter(|file| !CARGOS_OWN.contains(&&**file)).collect()
}

/// The sources of a package, with the texts that are compiled into them, as paths from its folder.
fn sources(folder: &Path, below: &str) -> BTreeSet<String> {
    files(&folder.join(below), &[".rs", ".md"]).iter().map(|file| shown_from(folder, file)).collect()
}

fn shown_from(folder: &Path, file: &Path) -> String {
    shown(file).strip_prefix(&shown(folder)).unwrap().trim_start_matches('/').to_owned()
}

#[test]
fn the_macros_package_has_its_sources_licences_and_readme_and_nothing_else() {
    let mut expected = sources(&root().join("macros"), "src");
    expected.extend(BESIDE.map(str::to_owned));
    assert_eq!(packaged("turnstate-macros"), expected);
}

#[test]
fn the_package_has_its_sources_texts_licences_examples_and_benches_and_nothing_else() {
    let mut expected = sources(root(), "src");
    expected.extend(BESIDE.map(str::to_owned));
    expected.extend(["ARCHITECTURE.md", "CHANGELOG.md"].map(str::to_owned));
    expected.extend(sources(root(), "benches"));
    // Examples that are packages of their own are not this package's.
    let examples = sources(root(), "examples");
    expected.extend(examples.into_iter().filter(|file| !file.starts_with("examples/web_chat/")));
    assert_eq!(packaged("turnstate"), expected);
}

#[test]
fn every_file_that_a_packaged_source_is_built_with_is_in_the_package() {
    let mut found = Vec::new();
    for (package, folder) in [("turnstate", root().to_owned()), ("turnstate-macros", root().join("macros"))] {
        let packaged = packaged(package);
        for file in packaged.iter().filter(|file| file.ends_with(".rs")) {
            let file = folder.join(file);
            for named in named_files(&text(&file)) {
                let named = file.parent().unwrap().join(named).canonicalize().unwrap();
                if !packaged.contains(&shown_from(&folder, &named)) {
                    found.push(format!("{package}: {}, for {}", shown(&named), shown(&file)));
                }
            }
        }
    }
    assert_none(&found);
}

/// The files that a source includes, or takes for a module, by name.
fn named_files(source: &str) -> Vec<&str> {
    ["include_str!(\"", "include!(\"", "#[path = \""]
        .iter()
        .flat_map(|mark| source.match_indices(mark).map(|(at, mark)| &source[at + mark.len()..]))
        .filter_map(|rest| rest.split('"').next())
        .collect()
}

#[test]
fn every_example_of_a_package_is_in_it() {
    let mut found = Vec::new();
    for package in published() {
        let name = string(&package["name"]);
        let files = packaged(name);
        let folder = Path::new(string(&package["manifest_path"])).parent().unwrap();
        for target in list(&package["targets"]).iter().filter(|target| target["kind"][0] == "example") {
            let source = shown_from(folder, Path::new(string(&target["src_path"])));
            if !files.contains(&source) {
                found.push(format!("{name}: {source}"));
            }
        }
    }
    assert_none(&found);
}

#[test]
fn an_example_that_uses_the_testing_kit_says_so() {
    // Here a development dependency turns the kit on for all of them; the published package has none on itself.
    let mut found = Vec::new();
    for package in published() {
        for target in list(&package["targets"]).iter().filter(|target| target["kind"][0] == "example") {
            let source = text(Path::new(string(&target["src_path"])));
            let says_so = list(&target["required-features"]).iter().any(|feature| feature == "testing");
            if source.contains("turnstate::testing") != says_so {
                found.push(string(&target["name"]).to_owned());
            }
        }
    }
    assert_none(&found);
}
