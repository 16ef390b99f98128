//! The licences of everything that users of the crate build.

use turnstate_house::{built_with, string};

use crate::assert_none;

/// Licences that ask for no more than that they are kept and named.
const ALLOWED: [&str; 13] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Zlib",
];

#[test]
fn every_crate_that_users_build_has_an_allowed_licence() {
    let found: Vec<_> = built_with()
        .into_iter()
        .filter(|package| !is_allowed(string(&package["license"])))
        .map(|package| format!("{} {}: {}", package["name"], package["version"], package["license"]))
        .collect();
    assert_none(&found);
}

/// Whether an SPDX expression can be satisfied with allowed licences alone.
fn is_allowed(expression: &str) -> bool {
    // The old way to write "or".
    let expression = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = expression.split_whitespace().collect();
    let mut rest = &words[..];
    let allowed = any(&mut rest);
    allowed && rest.is_empty()
}

fn any(words: &mut &[&str]) -> bool {
    let mut allowed = all(words);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        allowed |= all(words);
    }
    allowed
}

fn all(words: &mut &[&str]) -> bool {
    let mut allowed = one(words);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        allowed &= one(words);
    }
    allowed
}

fn one(words: &mut &[&str]) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let allowed = any(words);
            match *words {
                [")", rest @ ..] => {
                    *words = rest;
                    allowed
                }
                _ => false,
            }
        }
        [licence, "WITH", exception, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(&format!("{licence} WITH {exception}").as_str())
        }
        [licence, rest @ ..] => {
            *words = rest;
            ALLOWED.contains(licence)
        }
        [] => false,
    }
}

#[test]
fn an_expression_is_allowed_if_a_way_to_satisfy_it_is() {
    for (expression, allowed) in [
        ("MIT", true),
        ("MIT OR Apache-2.0", true),
        ("MIT/Apache-2.0", true),
        ("MIT OR GPL-3.0-only", true),
        ("MIT AND GPL-3.0-only", false),
        ("(MIT OR GPL-3.0-only) AND Unicode-3.0", true),
        ("(GPL-3.0-only OR MPL-2.0) AND MIT", false),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", true),
        ("GPL-2.0-only WITH LLVM-exception", false),
        ("GPL-3.0-only", false),
        ("(MIT", false),
        ("MIT MIT", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression), allowed, "{expression:?}");
    }
}
