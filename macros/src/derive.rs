//! The whole derive, from a type to its impl.

use proc_macro2::TokenStream;
use syn::DeriveInput;

use crate::errors::Errors;
use crate::expand;
use crate::message::Input;

/// The impl of `CustomMessage` for this type; where it has mistakes, they and an impl that never runs.
pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let read = Input::read(input, &mut errors);
    match errors.into_compile_errors() {
        None => expand::expand(&read),
        Some(mistakes) => {
            let fallback = expand::fallback(&read);
            quote::quote!(#mistakes #fallback)
        }
    }
}
