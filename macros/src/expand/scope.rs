//! The values of one message inside its match arm.

use std::cell::RefCell;
use std::collections::BTreeSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

use super::{mixed, own_name};
use crate::message::{Message, Shape};
use crate::place::{Place, Root};

/// Turns places into expressions, and remembers which fields the arm's pattern must bind for them.
pub(super) struct Scope<'a> {
    message: &'a Message<'a>,
    used: RefCell<BTreeSet<usize>>,
}

impl<'a> Scope<'a> {
    pub(super) fn new(message: &'a Message<'a>) -> Self {
        Self { message, used: RefCell::default() }
    }

    /// The pattern of the arm; to be asked for after all expressions.
    pub(super) fn pattern(&self) -> TokenStream {
        let path = path(self.message);
        let used = self.used.borrow();
        if used.is_empty() {
            return quote!(#path { .. });
        }
        if let Shape::Newtype(_) = self.message.shape {
            let whole = binding(0, Span::call_site());
            return quote!(#path(#whole));
        }
        let fields = self.message.named_fields();
        let bound = used.iter().filter_map(|&index| {
            let ident = fields.get(index)?.ident?;
            let binding = binding(index, Span::call_site());
            Some(quote!(#ident: #binding))
        });
        if used.len() == fields.len() {
            quote!(#path { #(#bound),* })
        } else {
            quote!(#path { #(#bound,)* .. })
        }
    }

    /// A reference to what the message holds: the value of a newtype, otherwise the whole of `self`.
    pub(super) fn whole(&self, span: Span) -> TokenStream {
        if let Shape::Newtype(_) = self.message.shape {
            let whole = self.bind(0, span);
            return quote!(#whole);
        }
        let this = Ident::new("self", span.resolved_at(Span::call_site()));
        quote!(#this)
    }

    /// A reference to a named field, if there is one of this name.
    pub(super) fn field(&self, name: &Ident, span: Span) -> Option<Ident> {
        let mut fields = self.message.named_fields().iter();
        let index =
            fields.position(|field| field.ident.is_some_and(|ident| ident.unraw() == name.unraw()))?;
        Some(self.bind(index, span))
    }

    /// The value at a place.
    pub(super) fn value(&self, place: &Place) -> TokenStream {
        let span = mixed(place.span());
        let (root, is_reference) = self.root(place, span);
        match place.steps() {
            Some(steps) => quote!(#root #steps),
            None if is_reference => quote_spanned!(span=> *#root),
            None => root,
        }
    }

    /// A reference to the value at a place.
    pub(super) fn reference(&self, place: &Place) -> TokenStream {
        self.reference_from(place, place.span())
    }

    /// The same, where what is wrong with it is to be shown elsewhere.
    pub(super) fn reference_from(&self, place: &Place, span: Span) -> TokenStream {
        let span = mixed(span);
        let (root, is_reference) = self.root(place, span);
        match place.steps() {
            Some(steps) => quote_spanned!(span=> &#root #steps),
            None if is_reference => root,
            None => quote_spanned!(span=> &#root),
        }
    }

    /// The expression that a place begins with, and whether it is a reference already.
    fn root(&self, place: &Place, span: Span) -> (TokenStream, bool) {
        match &place.root {
            Root::Whole(_) => (self.whole(span), true),
            Root::Method(method) => {
                let whole = self.whole(span);
                (quote_spanned!(span=> #whole.#method()), false)
            }
            Root::Field(name) => match self.field(name, span) {
                Some(field) => (quote!(#field), true),
                None => {
                    let whole = self.whole(span);
                    (quote_spanned!(span=> #whole.#name), false)
                }
            },
        }
    }

    fn bind(&self, index: usize, span: Span) -> Ident {
        self.used.borrow_mut().insert(index);
        binding(index, span)
    }
}

/// The path of a message's pattern and expression.
pub(super) fn path(message: &Message<'_>) -> TokenStream {
    let ident = message.ident;
    if message.is_struct { quote!(Self) } else { quote!(Self::#ident) }
}

/// The variable for a field.
pub(super) fn binding(index: usize, span: Span) -> Ident {
    own_name(&format!("field{index}"), span)
}
