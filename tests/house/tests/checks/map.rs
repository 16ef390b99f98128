//! The map of the sources in ARCHITECTURE.md names all that there is at the top.

use std::fs;

use turnstate_house::{root, shown, text};

use crate::assert_none;

#[test]
fn the_map_names_every_file_and_folder_of_sources_and_tests() {
    let map = text(&root().join("ARCHITECTURE.md"));
    let mut found = Vec::new();
    for folder in ["src", "tests"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = format!("`{}{}`", shown(&path), if path.is_dir() { "/" } else { "" });
            if !map.contains(&name) {
                found.push(format!("ARCHITECTURE.md does not name {name}"));
            }
        }
    }
    assert_none(&found);
}
