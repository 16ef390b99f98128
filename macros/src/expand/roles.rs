//! The roles of a type.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::scope::Scope;
use super::{extension, match_self, private};
use crate::message::{Input, Kind, Message, Shape};

/// The constant of all roles: own ones with the place that declares them, then those of the extended types.
pub(super) fn constant(input: &Input<'_>) -> TokenStream {
    let private = private(input);
    let own = input.messages.iter().filter_map(|message| own_role(input, message));
    let extended = extended(input);
    let extending = (!extended.is_empty()).then(|| quote!(.extending(&[#(#extended),*])));
    quote!(const ROLES: #private::Roles = #private::Roles::of(&[#(#own),*])#extending;)
}

fn own_role(input: &Input<'_>, message: &Message<'_>) -> Option<TokenStream> {
    let Kind::Own(own) = &message.kind else { return None };
    let private = private(input);
    let name = &own.role.name;
    let place = if message.is_struct {
        format!("::{}", input.ident)
    } else {
        format!("::{}::{}", input.ident, message.ident)
    };
    Some(quote! {
        #private::Role::new(#name, #private::concat!(#private::module_path!(), #place))
    })
}

/// The roles of each extended type.
pub(super) fn extended(input: &Input<'_>) -> Vec<TokenStream> {
    let extensions = input.messages.iter().filter_map(|message| extension(input, message));
    extensions.map(|extension| quote!(#extension::ROLES)).collect()
}

/// The method that tells a message's role.
pub(super) fn method(input: &Input<'_>) -> TokenStream {
    let private = private(input);
    let arms = input.messages.iter().map(|message| {
        let scope = Scope::new(message);
        let role = match (&message.kind, extension(input, message)) {
            (Kind::Own(own), _) => {
                let name = &own.role.name;
                quote!(#name)
            }
            (Kind::Extend, extension) => {
                let whole = scope.whole(Span::call_site());
                quote!(#extension::role(#whole))
            }
        };
        let pattern = scope.pattern();
        quote!(#pattern => #role,)
    });
    let body = match_self(input, arms);
    quote!(fn role(&self) -> &#private::str { #body })
}

/// One evaluation for each extended type, at the type: an error falls on the one at fault. A generic type is checked
/// by the crate, when it is known what the type is.
pub(super) fn checks(input: &Input<'_>) -> TokenStream {
    if input.generics.type_params().next().is_some() || input.generics.const_params().next().is_some() {
        return TokenStream::new();
    }
    let private = private(input);
    let ident = input.ident;
    let extended = input.messages.iter().filter(|message| matches!(message.kind, Kind::Extend));
    let checks = extended.enumerate().map(|(index, message)| {
        let span = match &message.shape {
            Shape::Newtype(field) => field.ty.span(),
            _ => message.ident.span(),
        };
        quote_spanned! {span=>
            const _: () = <#ident as #private::CustomMessage>::ROLES.check_extension(#index);
        }
    });
    checks.collect()
}
