//! What the manifests of published packages say.

use serde_json::Value;
use turnstate_house::{list, members, published, root, string, text};

use crate::assert_none;

fn missing(package: &Value) -> Vec<&'static str> {
    let told = |key: &str| !string(&package[key]).is_empty();
    let some = |key: &str| !list(&package[key]).is_empty();
    let documented = package["metadata"]["docs"]["rs"]["all-features"] == true;
    let keywords = list(&package["keywords"]);
    [
        ("a description", told("description")),
        ("a licence", told("license")),
        ("a repository", told("repository")),
        ("a readme", told("readme")),
        ("the Rust version", told("rust_version")),
        ("categories", some("categories")),
        ("one to five keywords of at most 20 characters", {
            (1..=5).contains(&keywords.len()) && keywords.iter().all(|keyword| string(keyword).len() <= 20)
        }),
        ("all features on docs.rs", documented),
    ]
    .into_iter()
    .filter_map(|(what, is_there)| (!is_there).then_some(what))
    .collect()
}

#[test]
fn the_manifest_of_a_published_package_is_complete() {
    let found: Vec<_> = published()
        .iter()
        .flat_map(|package| missing(package).into_iter().map(|what| format!("{}: {what}", package["name"])))
        .collect();
    assert_none(&found);
}

#[test]
fn all_members_have_one_version_rust_version_and_licence() {
    for key in ["version", "rust_version", "edition", "license"] {
        let values: Vec<_> = members().iter().map(|package| string(&package[key])).collect();
        assert!(values.windows(2).all(|pair| pair[0] == pair[1]), "{key}: {values:?}");
    }
}

#[test]
fn the_macros_are_pinned_to_the_version_that_they_were_written_with() {
    let packages = published();
    let main = packages.iter().find(|package| package["name"] == "turnstate").unwrap();
    let macros =
        list(&main["dependencies"]).iter().find(|wanted| wanted["name"] == "turnstate-macros").unwrap();
    assert_eq!(string(&macros["req"]), format!("={}", string(&main["version"])));
}

#[test]
fn every_feature_is_explained_in_the_crates_documentation() {
    let packages = published();
    let main = packages.iter().find(|package| package["name"] == "turnstate").unwrap();
    let documentation = text(&root().join("src/lib.rs"));
    let found: Vec<_> = main["features"]
        .as_object()
        .unwrap()
        .keys()
        .filter(|feature| *feature != "default" && !documentation.contains(&format!("//! | `{feature}` |")))
        .map(|feature| format!("src/lib.rs has no line for the feature `{feature}` in its table"))
        .collect();
    assert_none(&found);
}

#[test]
fn the_changelog_tells_of_the_version_or_of_what_is_unreleased() {
    let version = string(&published()[0]["version"]).to_owned();
    let changelog = text(&root().join("CHANGELOG.md"));
    let latest = changelog.lines().find_map(|line| line.strip_prefix("## ")).unwrap();
    assert!(latest == "Unreleased" || latest.contains(&version), "{latest}");
}
