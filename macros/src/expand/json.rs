//! How messages are written as JSON and read from it.
//!
//! The work is serde's, on types that mirror the user's: so the user's own type may be serializable in another form,
//! and `#[serde(…)]` attributes of fields mean what they mean everywhere. For writing the mirror is a remote of the user's
//! type, so that attributes' functions get the fields as they are; for reading it is a struct for each role, since the
//! role is known by then.

use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::LitStr;
use syn::spanned::Spanned;

use super::scope::{Scope, binding, path};
use super::{extension, match_self, private, roles};
use crate::message::{Field, Input, Kind, Message, Shape};

/// The method that writes a message's fields.
pub(super) fn serialize(input: &Input<'_>) -> TokenStream {
    let private = private(input);
    let mirror = writing_mirror(input);
    let unmirrored = input.messages.iter().filter(|message| !is_mirrored(message));
    let direct: Vec<_> = unmirrored.map(|message| write_directly(input, message)).collect();
    let mirrored = quote!(__Fields::serialize(self, serializer));
    let body = match mirror {
        Some(_) if direct.is_empty() => mirrored,
        Some(_) => match_self(input, direct.into_iter().chain([quote!(_ => #mirrored,)])),
        None => match_self(input, direct.into_iter()),
    };
    quote! {
        fn serialize_fields<__S: #private::Serializer>(
            &self,
            serializer: __S,
        ) -> #private::Result<__S::Ok, __S::Error> {
            #mirror
            #body
        }
    }
}

/// The arm of a message that needs no mirror.
fn write_directly(input: &Input<'_>, message: &Message<'_>) -> TokenStream {
    let private = private(input);
    let scope = Scope::new(message);
    let written = match &message.shape {
        Shape::Newtype(field) => {
            let ty = field.ty;
            let whole = scope.whole(ty.span());
            match extension(input, message) {
                Some(extension) => quote!(#extension::serialize_fields(#whole, serializer)),
                None => {
                    quote_spanned!(ty.span()=> <#ty as #private::Serialize>::serialize(#whole, serializer))
                }
            }
        }
        Shape::Unit | Shape::Named(_) => quote!(#private::Serializer::serialize_unit(serializer)),
    };
    let pattern = scope.pattern();
    quote!(#pattern => #written,)
}

/// Whether a message has fields of its own, or attributes for serde on the one that it holds.
fn is_mirrored(message: &Message<'_>) -> bool {
    match &message.shape {
        Shape::Named(_) => true,
        Shape::Newtype(field) => matches!(message.kind, Kind::Own(_)) && !field.serde.is_empty(),
        Shape::Unit => false,
    }
}

/// The type's mirror for writing, if a message needs it. Those that do not are skipped in it: serde asks nothing of them.
fn writing_mirror(input: &Input<'_>) -> Option<TokenStream> {
    let first = input.messages.iter().find(|message| is_mirrored(message))?;
    let private = private(input);
    let serde = serde_path(input);
    let remote = remote(input);
    let bound = bound(input);
    let attributes = quote! {
        #[derive(#private::serde::Serialize)]
        #[serde(crate = #serde, remote = #remote)]
        #bound
        // Serde looks into the user's type by it, and makes none.
        #[allow(dead_code)]
    };
    if first.is_struct {
        let renamed = renamed(first);
        let mirror = mirror_struct(input, first, None);
        return Some(quote!(#attributes #renamed #mirror));
    }
    let variants = input.messages.iter().map(|message| {
        let ident = message.ident;
        let body = body(input, message, None);
        let attributes = if is_mirrored(message) { renamed(message) } else { Some(quote!(#[serde(skip)])) };
        quote!(#attributes #ident #body)
    });
    let (generics, _, where_clause) = input.generics.split_for_impl();
    Some(quote! {
        #attributes
        #[serde(untagged)]
        enum __Fields #generics #where_clause { #(#variants),* }
    })
}

/// The method that reads the message of a role.
pub(super) fn deserialize(input: &Input<'_>) -> TokenStream {
    let private = private(input);
    let own = input.messages.iter().filter_map(|message| {
        let Kind::Own(own) = &message.kind else { return None };
        let role = &own.role.name;
        let read = read(input, message);
        Some(quote!(#role => { #read }))
    });
    let extended = read_extended(input);
    quote! {
        fn deserialize_fields<'__de, __D: #private::Deserializer<'__de>>(
            role: &#private::str,
            fields: __D,
        ) -> #private::Result<Self, __D::Error> {
            match role {
                #(#own)*
                _ => #extended,
            }
        }
    }
}

/// Reads a role that is not the type's own.
fn read_extended(input: &Input<'_>) -> TokenStream {
    let private = private(input);
    let unknown = quote!(#private::unknown_role(role));
    let extended = roles::extended(input);
    if extended.is_empty() {
        return unknown;
    }
    let messages = input.messages.iter().filter(|message| matches!(message.kind, Kind::Extend));
    let arms = messages.enumerate().map(|(index, message)| {
        let extension = extension(input, message);
        let path = path(message);
        quote!(#private::Some(#index) => #extension::deserialize_fields(role, fields).map(#path),)
    });
    quote! {
        match #private::extension_for(role, &[#(#extended),*]) {
            #(#arms)*
            _ => #unknown,
        }
    }
}

/// Reads the fields of one role.
fn read(input: &Input<'_>, message: &Message<'_>) -> TokenStream {
    let private = private(input);
    let path = path(message);
    let (_, generics, _) = input.generics.split_for_impl();
    match &message.shape {
        Shape::Unit => {
            let read = if message.denies_unknown_fields { "denied_fields" } else { "no_fields" };
            let read = Ident::new(read, Span::call_site());
            quote! {
                #private::#read(fields)?;
                #private::Ok(#path)
            }
        }
        Shape::Newtype(field) if field.serde.is_empty() => {
            let ty = field.ty;
            quote_spanned!(ty.span()=> <#ty as #private::Deserialize<'__de>>::deserialize(fields).map(#path))
        }
        Shape::Newtype(_) => {
            let mirror = reading_mirror(input, message);
            let value = binding(0, Span::call_site());
            quote! {
                #mirror
                let __Fields(#value, ..) = <__Fields #generics as #private::Deserialize>::deserialize(fields)?;
                #private::Ok(#path(#value))
            }
        }
        Shape::Named(fields) => {
            let mirror = reading_mirror(input, message);
            let names: Vec<_> = fields.iter().map(|field| field.ident).collect();
            let values: Vec<_> = (0..names.len()).map(|index| binding(index, Span::call_site())).collect();
            quote! {
                #mirror
                let __Fields { #(#names: #values,)* .. } =
                    <__Fields #generics as #private::Deserialize>::deserialize(fields)?;
                #private::Ok(#path { #(#names: #values),* })
            }
        }
    }
}

/// A role's mirror for reading.
fn reading_mirror(input: &Input<'_>, message: &Message<'_>) -> TokenStream {
    let private = private(input);
    let serde = serde_path(input);
    let bound = bound(input);
    let transparent = matches!(message.shape, Shape::Newtype(_)).then(|| quote!(#[serde(transparent)]));
    let deny = message.denies_unknown_fields.then(|| quote!(#[serde(deny_unknown_fields)]));
    let renamed = renamed(message);
    let mirror = mirror_struct(input, message, marker(input, message));
    let default = default(input, message);
    let defaulted = default.is_some().then(|| quote!(#[serde(default)]));
    quote! {
        #[derive(#private::serde::Deserialize)]
        #[serde(crate = #serde)]
        #bound
        #transparent
        #deny
        #defaulted
        #renamed
        #mirror
        #default
    }
}

/// The default value of a struct's mirror, where the struct says that missing fields come from its own. What a newtype
/// holds is never missing.
fn default(input: &Input<'_>, message: &Message<'_>) -> Option<TokenStream> {
    let Shape::Named(fields) = &message.shape else { return None };
    let from = message.serde.default.as_ref()?;
    let private = private(input);
    let this = self_type(input);
    let value = match &from.function {
        Some(function) => quote!(#function()),
        None => quote!(<#this as #private::Default>::default()),
    };
    let ident = input.ident;
    let names: Vec<_> = fields.iter().map(|field| field.ident).collect();
    let values: Vec<_> = (0..names.len()).map(|index| binding(index, Span::call_site())).collect();
    let (generics, ty_generics, where_clause) = input.generics.split_for_impl();
    Some(quote! {
        impl #generics #private::Default for __Fields #ty_generics #where_clause {
            fn default() -> Self {
                let #ident { #(#names: #values),* } = #value;
                Self { #(#names: #values),* }
            }
        }
    })
}

/// The declaration of a mirror that is a struct.
fn mirror_struct(input: &Input<'_>, message: &Message<'_>, marker: Option<TokenStream>) -> TokenStream {
    let (generics, _, where_clause) = input.generics.split_for_impl();
    let body = body(input, message, marker);
    match message.shape {
        Shape::Named(_) => quote!(struct __Fields #generics #where_clause #body),
        Shape::Unit | Shape::Newtype(_) => quote!(struct __Fields #generics #body #where_clause;),
    }
}

/// The fields of a message in a mirror.
fn body(input: &Input<'_>, message: &Message<'_>, marker: Option<TokenStream>) -> TokenStream {
    let field = |field: &Field<'_>| {
        let attributes = &field.serde;
        let ty = without_self(input, field.ty.to_token_stream());
        match field.ident {
            Some(ident) => quote!(#(#attributes)* #ident: #ty),
            None => quote!(#(#attributes)* #ty),
        }
    };
    match &message.shape {
        Shape::Unit => TokenStream::new(),
        Shape::Newtype(one) => {
            let one = field(one);
            let marker = marker.map(|ty| quote!(, #[serde(skip)] #ty));
            quote!((#one #marker))
        }
        Shape::Named(fields) => {
            let fields = fields.iter().map(field);
            let marker = marker.map(|ty| quote!(#[serde(skip)] __marker: #ty));
            quote!({ #(#fields,)* #marker })
        }
    }
}

/// The type of a field that uses all type parameters: one variant need not use them, but a struct must.
fn marker(input: &Input<'_>, message: &Message<'_>) -> Option<TokenStream> {
    let mut parameters = input.generics.type_params().map(|parameter| &parameter.ident).peekable();
    if message.is_struct || parameters.peek().is_none() {
        return None;
    }
    let private = private(input);
    Some(quote!(#private::PhantomData<fn() -> (#(#parameters,)*)>))
}

/// Keeps serde from adding bounds of its own: beside a `T: DeserializeOwned` of the user's they would be ambiguous.
fn bound(input: &Input<'_>) -> Option<TokenStream> {
    let is_generic = input.generics.type_params().next().is_some();
    is_generic.then(|| quote!(#[serde(bound = "")]))
}

/// How a message's fields are called in JSON.
fn renamed(message: &Message<'_>) -> Option<TokenStream> {
    let Shape::Named(_) = message.shape else { return None };
    let case = message.field_case.name();
    Some(quote!(#[serde(rename_all = #case)]))
}

/// The user's type, as a text for serde, which gives it the mirror's own parameters.
fn remote(input: &Input<'_>) -> LitStr {
    LitStr::new(&input.ident.to_string(), input.ident.span())
}

/// The path to serde, as a text for serde.
fn serde_path(input: &Input<'_>) -> LitStr {
    let private = private(input);
    let path = quote!(#private::serde).to_string().replace(' ', "");
    LitStr::new(&path, Span::call_site())
}

fn self_type(input: &Input<'_>) -> TokenStream {
    let ident = input.ident;
    let (_, generics, _) = input.generics.split_for_impl();
    quote!(#ident #generics)
}

/// A type with the name of the user's type in place of `Self`, which would be the mirror.
fn without_self(input: &Input<'_>, ty: TokenStream) -> TokenStream {
    let replaced = ty.into_iter().map(|token| match token {
        TokenTree::Ident(ident) if ident == "Self" => self_type(input),
        TokenTree::Group(group) => {
            let inner = without_self(input, group.stream());
            let mut replaced = Group::new(group.delimiter(), inner);
            replaced.set_span(group.span());
            TokenTree::Group(replaced).into()
        }
        token => token.into(),
    });
    replaced.collect()
}
