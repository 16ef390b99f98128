//! The derive as a function from tokens to tokens.

#![allow(clippy::expect_used, reason = "a test fails by panicking")]

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::derive::derive;

fn expanded(input: &str) -> TokenStream {
    let input: DeriveInput = syn::parse_str(input).expect("the input is a type");
    derive(&input)
}

/// The expansion is the text in the file beside the input. Where it is meant to change, run with `EXPANSIONS=overwrite`
/// and read the difference.
macro_rules! golden {
    ($($name:ident),*) => {$(
        #[test]
        fn $name() {
            let input = include_str!(concat!("expansions/", stringify!($name), ".rs"));
            let file = syn::parse2(expanded(input)).expect("the expansion is a list of items");
            let shown = prettyplease::unparse(&file);
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/expansions/", stringify!($name), ".expanded.rs");
            if std::env::var_os("EXPANSIONS").is_some_and(|what| what == "overwrite") {
                std::fs::write(path, &shown).expect("the file can be written");
            }
            assert_eq!(shown, std::fs::read_to_string(path).expect("the file can be read"));
        }
    )*};
}

golden!(enum_of_roles, struct_of_one_role, generic_type);

/// All types of up to three variants with roles out of few names: whatever is reserved, empty or there twice is refused,
/// and nothing else is.
#[test]
fn reserved_and_duplicate_roles_never_compile() {
    const ROLES: [&str; 9] =
        ["system", "user", "assistant", "toolResult", "", "note", "ui", "User", "tool_result"];
    let mut roles = vec![Vec::new()];
    for length in 0..3 {
        let shorter: Vec<Vec<&str>> = roles.iter().filter(|roles| roles.len() == length).cloned().collect();
        roles.extend(
            shorter.iter().flat_map(|shorter| ROLES.map(|role| [shorter.as_slice(), &[role]].concat())),
        );
    }
    assert_eq!(roles.len(), 1 + 9 + 81 + 729);
    for roles in roles {
        let variants: String = roles
            .iter()
            .enumerate()
            .map(|(number, role)| format!("#[message(role = {role:?}, skip)] Role{number},"))
            .collect();
        let refused = expanded(&format!("enum App {{ {variants} }}")).to_string().contains("compile_error");
        let is_reserved = |role: &&str| ROLES[..5].contains(role);
        let is_twice = roles.iter().enumerate().any(|(number, role)| roles[..number].contains(role));
        assert_eq!(refused, roles.iter().any(is_reserved) || is_twice, "{roles:?}");
    }
}

/// However the attributes are cut off, the derive answers with an error or an impl.
#[test]
fn no_attribute_makes_the_derive_panic() {
    let attributes = [
        "role = \"r\", user = \"a {text:>width$} {b.c.0.1()} {m()}\", skip_if = !f::<u8>(a, *b.c, m()), timestamp = a.b",
        "project = <A as B>::f(a, b()), skip_if = a.b(), content = a.0.1, rename_all_fields = \"camelCase\"",
        "extend, crate = a::b, rename_all = \"kebab-case\"",
        "user = \"{{}} {} {0} {a:?} }} {\", skip_if = a..b, role = , , = ,, skip skip",
    ];
    for attribute in attributes {
        let tokens: Vec<_> = attribute.parse::<TokenStream>().expect("tokens").into_iter().collect();
        for from in 0..tokens.len() {
            for to in from..=tokens.len() {
                let cut: TokenStream = tokens[from..to].iter().cloned().collect();
                let named =
                    expanded(&format!("enum App {{ #[message({cut})] Note {{ text: String, a: A }} }}"));
                let newtype =
                    expanded(&format!("enum App {{ #[message({cut})] Note(#[message({cut})] A) }}"));
                let whole = expanded(&format!("#[message({cut})] struct Note;"));
                for answer in [named, newtype, whole] {
                    assert!(syn::parse2::<syn::File>(answer.clone()).is_ok(), "{cut}: {answer}");
                }
            }
        }
    }
}
