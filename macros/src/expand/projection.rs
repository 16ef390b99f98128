//! What the model sees of a message.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::LitStr;
use syn::ext::IdentExt;
use syn::spanned::Spanned;

use super::scope::Scope;
use super::{extension, match_self, mixed, private};
use crate::message::{Input, Kind, Message, Own, Projection, Shape};
use crate::place::{Argument, Call, Condition, Place, Root, Value};
use crate::template::{Piece, Placeholder, Template};

/// The method that projects a message.
pub(super) fn method(input: &Input<'_>) -> TokenStream {
    let private = private(input);
    let arms = input.messages.iter().map(|message| {
        let scope = Scope::new(message);
        let projection = match &message.kind {
            Kind::Own(own) => own_projection(input, &scope, message, own),
            Kind::Extend => {
                let extension = extension(input, message);
                let whole = scope.whole(message.ident.span());
                quote!(#extension::project(#whole))
            }
        };
        let pattern = scope.pattern();
        quote!(#pattern => #projection,)
    });
    let body = match_self(input, arms);
    quote!(fn project(&self) -> #private::Projection { #body })
}

/// The method that tells a message's time; left out where no message has one.
pub(super) fn timestamp(input: &Input<'_>) -> Option<TokenStream> {
    let has_time = |message: &Message<'_>| match &message.kind {
        Kind::Own(own) => own.timestamp.is_some(),
        Kind::Extend => true,
    };
    if !input.messages.iter().any(has_time) {
        return None;
    }
    let private = private(input);
    let arms = input.messages.iter().map(|message| {
        let scope = Scope::new(message);
        let time = match &message.kind {
            Kind::Own(own) => match &own.timestamp {
                None => quote!(#private::None),
                Some(place) => {
                    let span = declared_at(message, place);
                    let field = scope.reference_from(place, span);
                    quote_spanned!(mixed(span)=> #private::timestamp(#field))
                }
            },
            Kind::Extend => {
                let extension = extension(input, message);
                let whole = scope.whole(message.ident.span());
                quote!(#extension::timestamp(#whole))
            }
        };
        let pattern = scope.pattern();
        quote!(#pattern => #time,)
    });
    let body = match_self(input, arms);
    Some(quote!(fn timestamp(&self) -> #private::Option<#private::Timestamp> { #body }))
}

/// The projection of a role of the type's own: the condition, then what is shown, then its time.
fn own_projection(input: &Input<'_>, scope: &Scope<'_>, message: &Message<'_>, own: &Own) -> TokenStream {
    let private = private(input);
    let shown = match &own.projection {
        Projection::Skip => return quote!(#private::Projection::none()),
        Projection::Function(call) => {
            let returned = called(scope, call);
            quote_spanned!(mixed(call.function.span())=> #private::projection(#returned))
        }
        Projection::System(text) => {
            let text = format(&private, scope, message, text);
            quote!(#private::system(#text))
        }
        Projection::User { text, content } => {
            let text = format(&private, scope, message, text);
            let content = content.iter().map(|place| {
                let span = declared_at(message, place);
                let field = scope.reference_from(place, span);
                quote_spanned!(mixed(span)=> #private::content(#field))
            });
            quote!(#private::user(#text, &[#(#content),*]))
        }
    };
    let timed = match &own.timestamp {
        None => shown,
        Some(place) => {
            let field = scope.reference_from(place, declared_at(message, place));
            quote!(#private::at(#shown, #field))
        }
    };
    match &own.skip_if {
        None => timed,
        Some(condition) => {
            let condition = holds(scope, condition);
            quote!(if #condition { #private::Projection::none() } else { #timed })
        }
    }
}

fn holds(scope: &Scope<'_>, condition: &Condition) -> TokenStream {
    let not = &condition.not;
    let value = match &condition.value {
        Value::Place(place) => scope.value(place),
        Value::Call(call) => called(scope, call),
    };
    quote!(#not #value)
}

/// A function called with the message, or with the places that are named.
fn called(scope: &Scope<'_>, call: &Call) -> TokenStream {
    let function = &call.function;
    let span = mixed(function.span());
    match &call.arguments {
        None => {
            let whole = scope.whole(span);
            quote_spanned!(span=> #function(#whole))
        }
        Some(arguments) => {
            let arguments = arguments.iter().map(|Argument { by_value, place }| {
                if by_value.is_some() || place.is_returned() {
                    scope.value(place)
                } else {
                    scope.reference(place)
                }
            });
            quote_spanned!(span=> #function(#(#arguments),*))
        }
    }
}

/// The text of a template.
///
/// The user's own literal goes to `format!`, with every field that it names as an argument: so the compiler underlines
/// what is wrong inside the text. Only where a placeholder is more than a name is the text written anew, with a number in
/// its place.
fn format(
    private: &TokenStream,
    scope: &Scope<'_>,
    message: &Message<'_>,
    template: &Template,
) -> TokenStream {
    let mut values = Vec::new();
    let mut text = String::new();
    for piece in &template.pieces {
        match piece {
            Piece::Text(piece) => text.push_str(piece),
            Piece::Placeholder(Placeholder { place, spec, .. }) => match place.as_field() {
                Some(name) => text.push_str(&format!("{{{}{spec}}}", name.unraw())),
                None => {
                    text.push_str(&format!("{{{}{spec}}}", values.len()));
                    values.push(scope.reference(place));
                }
            },
        }
    }
    let span = template.literal.span();
    let named = named_arguments(scope, message, template);
    let literal = if values.is_empty() { template.literal.clone() } else { LitStr::new(&text, span) };
    let text = quote_spanned!(mixed(span)=> #private::format!(#literal #(, #values)* #(, #named)*));
    match unknown_names(scope, message, template) {
        Some(fields) => quote!({ #fields #text }),
        None => text,
    }
}

/// `name = field`, once for each field that a template names.
fn named_arguments(scope: &Scope<'_>, message: &Message<'_>, template: &Template) -> Vec<TokenStream> {
    let sizes: BTreeSet<_> = template.sizes().filter_map(Place::as_field).map(Ident::unraw).collect();
    let names: BTreeSet<_> = template.places().filter_map(Place::as_field).collect();
    let arguments = names.into_iter().filter_map(|name| {
        let field = argument(scope, message, name)?;
        // A width or a precision is taken by value.
        let by_value = sizes.contains(&name.unraw()).then(|| quote!(*));
        Some(quote!(#name = #by_value #field))
    });
    arguments.collect()
}

/// A reference to what a name in a template stands for. A newtype's fields are not known here, so any name is taken for one.
fn argument(scope: &Scope<'_>, message: &Message<'_>, name: &Ident) -> Option<TokenStream> {
    if let Shape::Newtype(_) = message.shape {
        return Some(scope.reference(&Place::root(Root::Field(name.clone()))));
    }
    scope.field(name, name.span()).map(|field| quote!(#field))
}

/// Where a template has names that are no fields, the fields under their own names, so that the compiler offers the one
/// that was meant. The name may also be a constant of the user's, and is then no mistake.
fn unknown_names(scope: &Scope<'_>, message: &Message<'_>, template: &Template) -> Option<TokenStream> {
    let mut names = template.places().filter_map(Place::as_field);
    if names.all(|name| argument(scope, message, name).is_some()) {
        return None;
    }
    let fields = message.named_fields().iter().filter_map(|field| {
        let name = field.ident?;
        let field = scope.field(name, name.span())?;
        Some(quote!(let #name = #field; let _ = #name;))
    });
    Some(fields.collect())
}

/// The field's type where a place is a field, so that a wrong type is underlined there; otherwise the place.
fn declared_at(message: &Message<'_>, place: &Place) -> Span {
    let name = place.as_field().map(Ident::unraw);
    let declared = message.named_fields().iter().find(|field| field.ident.map(Ident::unraw) == name);
    declared.map_or_else(|| place.span(), |field| field.ty.span())
}
