//! Links in the texts: the file that one names exists, and so does the heading.
//!
//! Links into the crate's documentation are rustdoc's to check, and those into the net nobody's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use turnstate_house::{files, root, shown, text};

use crate::assert_none;

#[test]
fn every_link_in_the_texts_is_alive() {
    let mut found = Vec::new();
    for file in texts() {
        let content = text(&file);
        for target in targets(&content) {
            if !is_alive(&file, &content, &target) {
                found.push(format!("{}: {target}", shown(&file)));
            }
        }
    }
    assert_none(&found);
}

/// The texts for people: at the top, and the guides.
fn texts() -> Vec<PathBuf> {
    files(root(), &[".md"])
}

fn is_alive(file: &Path, content: &str, target: &str) -> bool {
    let is_foreign = target.contains("://") || target.starts_with("mailto:");
    let is_of_rustdoc = target.contains("::") || target.chars().all(|c| c.is_alphanumeric() || c == '_');
    if is_foreign || is_of_rustdoc {
        return true;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let linked = file.parent().unwrap().join(path);
    if path.is_empty() {
        return headings(content).contains(heading);
    }
    linked.exists() && (heading.is_empty() || headings(&text(&linked)).contains(heading))
}

/// What the links of a Markdown text lead to: `[text](target)` and `[label]: target`, outside of code.
fn targets(markdown: &str) -> Vec<String> {
    let mut targets = Vec::new();
    for line in prose(markdown) {
        let defined = line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        if let Some((_, target)) = defined {
            targets.extend(target.split_whitespace().next().map(str::to_owned));
        }
        for (at, mark) in line.match_indices("](") {
            let rest = &line[at + mark.len()..];
            let target = rest.split([')', ' ']).next().unwrap_or_default();
            targets.push(target.to_owned());
        }
    }
    targets
}

/// The lines of a Markdown text without blocks of code, and without code in the line.
pub(crate) fn prose(markdown: &str) -> Vec<String> {
    let mut in_code = false;
    let lines = markdown.lines().map(|line| {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
            return String::new();
        }
        // Every second part stands between backquotes.
        if in_code { String::new() } else { line.split('`').step_by(2).collect::<Vec<_>>().join("`") }
    });
    lines.collect()
}

/// The names by which a text's headings are linked.
fn headings(markdown: &str) -> BTreeSet<String> {
    let mut in_code = false;
    let mut names = BTreeSet::new();
    for line in markdown.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let Some(heading) = line.strip_prefix('#').filter(|_| !in_code) else { continue };
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
        names.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
    }
    names
}

#[test]
fn links_are_found_where_they_are_and_not_in_code() {
    let markdown =
        "See [a](b.md#c-d) and [e](f), `[not](this)`.\n```\n[nor](this)\n```\n[label]: g.md\n# C, d\n";
    assert_eq!(targets(markdown), ["b.md#c-d", "f", "g.md"]);
    assert!(is_alive(&root().join("README.md"), markdown, "#c-d"));
    for dead in ["#d", "missing.md", "README.md#no-such-heading"] {
        assert!(!is_alive(&root().join("README.md"), markdown, dead), "{dead}");
    }
}
