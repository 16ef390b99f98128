//! The minimum Rust version that is claimed, as far as a newer toolchain can tell. That no newer API of the standard
//! library is called is for clippy, which knows the claim from the manifest (`incompatible_msrv`).

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use turnstate_house::{files, list, members, metadata, root, shown, string, text};

use crate::assert_none;

fn version(text: &str) -> Vec<u32> {
    let mut parts: Vec<u32> = text.split('.').map(|part| part.parse().unwrap()).collect();
    parts.resize(3, 0);
    parts
}

/// Those that only tests are built with count as well: the claim is also that the tests run.
#[test]
fn no_dependency_claims_a_newer_one() {
    let ours = version(string(&members()[0]["rust_version"]));
    let newer = list(&metadata()["packages"]).iter().filter(|package| {
        let theirs = string(&package["rust_version"]);
        !theirs.is_empty() && version(theirs) > ours
    });
    let found: Vec<_> = newer
        .map(|package| {
            format!("{} {} claims {}", package["name"], package["version"], package["rust_version"])
        })
        .collect();
    assert_none(&found);
}

/// They came with Rust 1.88. Once the claim is that new, this test can go.
#[test]
fn no_condition_is_a_chain_with_let() {
    assert!(version(string(&members()[0]["rust_version"])) < version("1.88"));
    let mut found = Vec::new();
    for file in files(root(), &[".rs"]) {
        // What is to fail to compile need not even be Rust.
        if let Ok(tokens) = text(&file).parse::<TokenStream>() {
            lines_with_chains(tokens, &mut |line| found.push(format!("{}:{line}", shown(&file))));
        }
    }
    assert_none(&found);
}

/// Gives the line of every `if` and `while` that mixes `let` and `&&`.
fn lines_with_chains(tokens: TokenStream, found: &mut dyn FnMut(usize)) {
    /// What has been read of a condition.
    struct Condition {
        line: usize,
        has_let: bool,
        has_and: bool,
        /// The pattern of a `let` may have braces; what it is matched against ends before them.
        in_pattern: bool,
    }
    let mut condition: Option<Condition> = None;
    let mut before = ' ';
    let mut before_that = ' ';
    for token in tokens {
        let mut now = 'x';
        match (&token, &mut condition) {
            (TokenTree::Ident(word), _) if *word == "if" || *word == "while" => {
                let line = word.span().start().line;
                condition = Some(Condition { line, has_let: false, has_and: false, in_pattern: false });
            }
            (TokenTree::Ident(word), Some(condition)) if *word == "let" => {
                condition.has_let = true;
                condition.in_pattern = true;
            }
            (TokenTree::Punct(punct), open) => {
                now = punct.as_char();
                if let Some(condition) = open {
                    condition.in_pattern &= now != '=';
                    // After an operator it is two references.
                    let after_operand = before_that == 'x';
                    condition.has_and |= now == '&' && before == '&' && after_operand;
                }
            }
            (TokenTree::Group(group), open) => {
                let ends = group.delimiter() == Delimiter::Brace;
                match open.take() {
                    Some(read) if ends && !read.in_pattern => {
                        if read.has_let && read.has_and {
                            found(read.line);
                        }
                    }
                    other => *open = other,
                }
                lines_with_chains(group.stream(), found);
            }
            _ => {}
        }
        (before_that, before) = (before, now);
    }
}

#[test]
fn chains_are_told_from_what_looks_like_them() {
    for (code, expected) in [
        ("if let Some(x) = y && x {}", 1),
        ("if a && let Some(x) = y {}", 1),
        ("while let Some(x) = y && let Some(z) = x {}", 1),
        ("fn f() { if let P { a } = b && c { } }", 1),
        ("if let Some(x) = y { if a && b {} }", 0),
        ("if let Some(x) = &&y {}", 0),
        ("if a && b { let c = d; }", 0),
        ("if let P { a } = b { c && d }", 0),
        ("if let Some(x) = (a && b).then_some(1) {}", 0),
        ("match x { Some(y) if y && z => { let a = 1; } _ => {} }", 0),
    ] {
        let mut count = 0;
        lines_with_chains(code.parse().unwrap(), &mut |_| count += 1);
        assert_eq!(count, expected, "{code}");
    }
}
