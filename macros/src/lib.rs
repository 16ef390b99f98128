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

/// # Attributes of a message
///
/// On each variant of an enum, or on a struct, which is then one role. A variant has named fields, holds one struct with
/// serde's traits (`Summary(Summary)`), or has no fields. Exactly one attribute says what the model sees of it:
///
/// | attribute | the model sees |
/// |---|---|
/// | `skip` | nothing |
/// | `user = "text with {field}, {field.part:>8} and {method()}"` | a user message: this text, then the content fields' blocks |
/// | `system = "…"` | a system message of this text |
/// | `project = function` | what the function returns, called with the message, or with the one value that it holds |
/// | `project = function(field, *field, method())` | the same, called with a reference to the field, its value, what the method returns |
/// | `extend` | what the type in the variant says; all of its roles join this type's |
///
/// | attribute | what it does |
/// |---|---|
/// | `role = "…"` | the role's name in JSON; otherwise the variant's, or the struct's, in camel case |
/// | `skip_if = place`, `!place`, `function`, `function(…)` | the model does not see the message where this is true |
/// | `timestamp = place` | the message's time; otherwise the field that is marked, or the one called `timestamp`; without any the message has none, and its projection the time 0 |
/// | `content = place` | content blocks that a user message has after its text |
/// | `rename_all_fields = "…"` | how fields are called in JSON; otherwise in camel case |
///
/// A place is a field, a part of one (`field.part`, `field.0`), what a method of either returns (`field.method()`), or what
/// a method of the message itself returns (`method()`). Of a variant that holds a struct, fields and methods are the struct's. A
/// function has a path (`self::function`, `Type::function`) or arguments, so that it is no field.
///
/// # Attributes of a field
///
/// | attribute | what it does |
/// |---|---|
/// | `timestamp` | the message's time is this field: a `u64`, an `Option` of it, or a type that implements `TimestampField` |
/// | `content` | a user message has this field's blocks after its text: a `Content`, an `Image` or a `Text`, an `Option`, a `Vec`, a `Box` or an `Arc` of one, or a type that implements `ContentField` |
/// | `#[serde(…)]` | as everywhere |
///
/// # Attributes of the type
///
/// | attribute | what it does |
/// |---|---|
/// | `rename_all = "…"` | how roles are made from names: `"lowercase"`, `"UPPERCASE"`, `"PascalCase"`, `"camelCase"` (the default), `"snake_case"`, `"SCREAMING_SNAKE_CASE"`, `"kebab-case"`, `"SCREAMING-KEBAB-CASE"` |
/// | `rename_all_fields = "…"` | how fields are called in JSON |
/// | `crate = path` | where the crate `turnstate` is, if it has another name: `crate = ::renamed` |
///
/// Of serde's attributes on the type and on variants, `rename`, `rename_all`, `rename_all_fields`, `default` and
/// `deny_unknown_fields` hold for messages too, unless the attributes above say otherwise; a struct that a variant holds is read
/// as its own attributes say. The others concern only what serde itself derives, if anything.
///
/// # What does not compile
///
/// A variant that does not say what the model sees of it, or says it twice; a role that is reserved, or declared twice, by the
/// type or by the types that it extends (for a generic extension this is found when the program is built); a field that is
/// called `role` in JSON; a placeholder or a place that is not there. Several mistakes are reported together.
///
/// The derive adds no bounds to the parameters of a generic type: they are the user's to say.
#[proc_macro_derive(CustomMessage, attributes(message, serde))]
pub fn custom_message(input: TokenStream) -> TokenStream {
    let input = syn::parse_macro_input!(input as syn::DeriveInput);
    derive::derive(&input).into()
}
