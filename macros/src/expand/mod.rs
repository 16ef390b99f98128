//! The impl that a type gets.
//!
//! It stands in the user's scope. So it names everything by a path through the crate's hidden module, calls trait
//! methods by their trait, and gives its own variables names that no name of the user's can meet.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use crate::message::{Input, Kind, Message, Shape};

mod json;
mod projection;
mod roles;
mod scope;

/// The impl of `CustomMessage`, and the compile-time checks that no role is declared twice.
pub(crate) fn expand(input: &Input<'_>) -> TokenStream {
    let roles = roles::constant(input);
    let role = roles::method(input);
    let project = projection::method(input);
    let timestamp = projection::timestamp(input);
    let serialize = json::serialize(input);
    let deserialize = json::deserialize(input);
    let checks = roles::checks(input);
    let implementation =
        implementation(input, quote!(#roles #role #project #timestamp #serialize #deserialize));
    quote!(#implementation #checks)
}

/// An impl that stands in where the type has mistakes, so that nothing but them is reported: a program that has one does not
/// compile, so none of its functions is ever reached. A type that cannot have one, whatever its attributes, gets none.
pub(crate) fn fallback(input: &Input<'_>) -> TokenStream {
    if input.is_union || input.generics.lifetimes().next().is_some() {
        return TokenStream::new();
    }
    let private = private(input);
    implementation(
        input,
        quote! {
            const ROLES: #private::Roles = #private::Roles::of(&[]);

            fn role(&self) -> &#private::str {
                #private::unreachable!()
            }

            fn project(&self) -> #private::Projection {
                #private::unreachable!()
            }

            fn serialize_fields<__S: #private::Serializer>(
                &self,
                _: __S,
            ) -> #private::Result<__S::Ok, __S::Error> {
                #private::unreachable!()
            }

            fn deserialize_fields<'__de, __D: #private::Deserializer<'__de>>(
                _: &#private::str,
                _: __D,
            ) -> #private::Result<Self, __D::Error> {
                #private::unreachable!()
            }
        },
    )
}

/// The impl around its items.
fn implementation(input: &Input<'_>, items: TokenStream) -> TokenStream {
    let private = private(input);
    let ident = input.ident;
    let (impl_generics, ty_generics, where_clause) = input.generics.split_for_impl();
    quote! {
        #[automatically_derived]
        impl #impl_generics #private::CustomMessage for #ident #ty_generics #where_clause {
            #items
        }
    }
}

/// A match on `self` with one arm for each message. A type without messages has no value to match on.
fn match_self(input: &Input<'_>, arms: impl Iterator<Item = TokenStream>) -> TokenStream {
    if input.messages.is_empty() {
        return quote!(match *self {});
    }
    quote!(match self { #(#arms)* })
}

/// The hidden module with all that an expansion names.
fn private(input: &Input<'_>) -> TokenStream {
    let krate = &input.krate;
    quote!(#krate::__private)
}

/// The type that a message extends its own with, as the trait's implementor: its items follow after `::`.
fn extension(input: &Input<'_>, message: &Message<'_>) -> Option<TokenStream> {
    let Kind::Extend = message.kind else { return None };
    let Shape::Newtype(field) = &message.shape else { return None };
    let private = private(input);
    let ty = field.ty;
    Some(quote_spanned!(ty.span()=> <#ty as #private::CustomMessage>))
}

/// A variable of the expansion's own: no name of the user's is the same one, even if it is spelled alike.
fn own_name(name: &str, span: Span) -> Ident {
    Ident::new(name, mixed(span))
}

/// The place of a span in the source, without its names: what stands there is the expansion's own.
fn mixed(span: Span) -> Span {
    Span::mixed_site().located_at(span)
}
