//! The derive macro of the `turnstate` crate.
//!
//! The way of a type through it: `attr` reads the attributes as they are written; `message` makes of them what each
//! role is and shows the model; `check` holds the rules that attributes keep together, and reports every mistake at
//! once; `expand` writes the impl, or after a mistake one that stands in for it.

// A derive answers every input with an impl or with errors at their tokens.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable,
        clippy::indexing_slicing
    )
)]

use proc_macro::TokenStream;

mod attr;
mod case;
mod check;
mod derive;
mod errors;
mod expand;
mod message;
mod place;
mod template;
#[cfg(test)]
mod tests;

/// Derives `CustomMessage`: the application's own roles, and what the model sees of each.
#[proc_macro_derive(CustomMessage, attributes(message, serde))]
pub fn custom_message(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    derive::derive(&input).into()
}
