//! `#[message(…)]` and `#[serde(…)]` as they are written, before anything is made of them.

use proc_macro2::{Ident, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, ExprPath, LitStr, Meta, Path, Token, token};

use crate::case::Case;
use crate::errors::Errors;
use crate::place::{Call, Condition, Place};
use crate::template::Template;

/// What an attribute stands on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Enum,
    Struct,
    Variant,
    Field,
}

/// Everything that the `#[message(…)]` attributes of one owner say.
#[derive(Default)]
pub(crate) struct Attrs {
    pub(crate) krate: Option<Given<Path>>,
    pub(crate) rename_all: Option<Given<Case>>,
    pub(crate) rename_all_fields: Option<Given<Case>>,
    pub(crate) role: Option<Given<LitStr>>,
    pub(crate) shown: Option<Given<Shown>>,
    pub(crate) skip_if: Option<Given<Condition>>,
    pub(crate) timestamp: Option<Given<Option<Place>>>,
    pub(crate) content: Option<Given<Option<Place>>>,
    /// Whether a key was not understood: it may have been meant as the projection.
    pub(crate) unreadable: bool,
}

/// A value with the key it was given to.
pub(crate) struct Given<T> {
    pub(crate) key: Ident,
    pub(crate) value: T,
}

/// What the model sees of a message.
pub(crate) enum Shown {
    Skip,
    User(Template),
    System(Template),
    Project(Call),
    Extend,
}

/// Every key, and what it may stand on.
const KEYS: [(&str, &[Owner]); 12] = [
    ("skip", &[Owner::Struct, Owner::Variant]),
    ("user", &[Owner::Struct, Owner::Variant]),
    ("system", &[Owner::Struct, Owner::Variant]),
    ("project", &[Owner::Struct, Owner::Variant]),
    ("extend", &[Owner::Struct, Owner::Variant]),
    ("skip_if", &[Owner::Struct, Owner::Variant]),
    ("role", &[Owner::Struct, Owner::Variant]),
    ("timestamp", &[Owner::Struct, Owner::Variant, Owner::Field]),
    ("content", &[Owner::Struct, Owner::Variant, Owner::Field]),
    ("rename_all", &[Owner::Enum, Owner::Struct]),
    ("rename_all_fields", &[Owner::Enum, Owner::Struct, Owner::Variant]),
    ("crate", &[Owner::Enum, Owner::Struct]),
];

/// The keys by which a message says what the model sees of it.
pub(crate) const PROJECTIONS: &str =
    "`skip`, `user = \"…\"`, `system = \"…\"`, `project = function` or `extend`";

impl Attrs {
    /// Reads all attributes of one owner; each mistake is reported and passed over.
    pub(crate) fn read(attributes: &[Attribute], owner: Owner, errors: &mut Errors) -> Self {
        let mut attrs = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("message")) {
            match &attribute.meta {
                Meta::List(list) => {
                    let parser = |input: ParseStream<'_>| {
                        attrs.read_list(input, owner, errors);
                        Ok(())
                    };
                    // All of the list is read. What syn can complain about here is the rest of parentheses inside of it,
                    // after a mistake there that is reported already.
                    let _: syn::Result<()> = list.parse_args_with(parser);
                }
                meta => {
                    attrs.unreadable = true;
                    errors.at(meta, "write what it says in parentheses: `#[message(…)]`");
                }
            }
        }
        attrs
    }

    fn read_list(&mut self, input: ParseStream<'_>, owner: Owner, errors: &mut Errors) {
        while !input.is_empty() {
            if let Err(error) = self.read_one(input, owner) {
                errors.push(error);
                pass_over(input);
            }
            if input.parse::<Token![,]>().is_err() && !input.is_empty() {
                errors.push(input.error("expected `,`"));
                pass_over(input);
                // The comma that ended the passing over.
                let _: syn::Result<Token![,]> = input.parse();
            }
        }
    }

    fn read_one(&mut self, input: ParseStream<'_>, owner: Owner) -> syn::Result<()> {
        let key = input.call(Ident::parse_any)?;
        if let Err(error) = belongs(&key, owner) {
            self.unreadable = true;
            return Err(error);
        }
        match key.to_string().as_str() {
            "crate" => set(&mut self.krate, key, |_| unquoted(input)),
            "rename_all" => set(&mut self.rename_all, key, |_| case(input)),
            "rename_all_fields" => set(&mut self.rename_all_fields, key, |_| case(input)),
            "role" => set(&mut self.role, key, |_| quoted(input)),
            "skip_if" => set(&mut self.skip_if, key, |_| unquoted(input)),
            "timestamp" => set(&mut self.timestamp, key, |key| place(input, key, owner)),
            "content" => set(&mut self.content, key, |key| place(input, key, owner)),
            _ => self.read_projection(input, key),
        }
    }

    /// A message has one projection, so a second one is refused, whichever it is.
    fn read_projection(&mut self, input: ParseStream<'_>, key: Ident) -> syn::Result<()> {
        let value = Shown::read(input, &key).inspect_err(|_| self.unreadable = true)?;
        if let Some(first) = &self.shown {
            let message = format!(
                "the model sees a message in one way: this one has `{}` already; remove one of the two",
                first.key
            );
            return Err(syn::Error::new(key.span(), message));
        }
        self.shown = Some(Given { key, value });
        Ok(())
    }
}

impl Shown {
    fn read(input: ParseStream<'_>, key: &Ident) -> syn::Result<Self> {
        Ok(match key.to_string().as_str() {
            "user" => Self::User(template(input, key)?),
            "system" => Self::System(template(input, key)?),
            "project" => Self::Project(unquoted(input)?),
            "extend" => Self::Extend.alone(input, key)?,
            _ => Self::Skip.alone(input, key)?,
        })
    }

    /// This, which takes no value.
    fn alone(self, input: ParseStream<'_>, key: &Ident) -> syn::Result<Self> {
        if input.peek(Token![=]) || input.peek(token::Paren) {
            return Err(input.error(format_args!("`{key}` takes no value")));
        }
        Ok(self)
    }
}

/// Whether a key is known and stands where it belongs.
fn belongs(key: &Ident, owner: Owner) -> syn::Result<()> {
    let Some((_, owners)) = KEYS.iter().find(|(known, _)| key == known) else {
        let known = KEYS.iter().filter(|(_, owners)| owners.contains(&owner));
        let known: Vec<_> = known.map(|(key, _)| format!("`{key}`")).collect();
        let message = format!("unknown attribute `{key}`, expected one of: {}", known.join(", "));
        return Err(syn::Error::new(key.span(), message));
    };
    if owners.contains(&owner) {
        return Ok(());
    }
    let place = match owner {
        Owner::Enum => "each variant",
        Owner::Field if owners.contains(&Owner::Variant) => "the whole message, not on a field",
        _ => "the type",
    };
    Err(syn::Error::new(key.span(), format!("`{key}` belongs on {place}")))
}

/// Sets what is set once.
fn set<T>(
    slot: &mut Option<Given<T>>,
    key: Ident,
    value: impl FnOnce(&Ident) -> syn::Result<T>,
) -> syn::Result<()> {
    let value = value(&key)?;
    if slot.is_some() {
        return Err(syn::Error::new(key.span(), format!("`{key}` is given twice")));
    }
    *slot = Some(Given { key, value });
    Ok(())
}

/// `= value`, where a text in quotes is a habit from other derives.
fn unquoted<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    if let Ok(text) = input.fork().parse::<LitStr>() {
        let message = format!("write it without quotes: `{}`", text.value());
        return Err(syn::Error::new(text.span(), message));
    }
    input.parse()
}

fn quoted(input: ParseStream<'_>) -> syn::Result<LitStr> {
    input.parse::<Token![=]>()?;
    input.parse()
}

fn template(input: ParseStream<'_>, key: &Ident) -> syn::Result<Template> {
    input.parse::<Token![=]>()?;
    let literal = input.parse().map_err(|error| {
        let message = format!(
            "`{key}` takes a text, as `{key} = \"with {{field}}\"`; for a function write `project = function`"
        );
        syn::Error::new(error.span(), message)
    })?;
    Template::parse(literal)
}

fn case(input: ParseStream<'_>) -> syn::Result<Case> {
    let name = quoted(input)?;
    Case::parse(&name.value()).ok_or_else(|| {
        let known = Case::ALL.map(|(known, _)| format!("`\"{known}\"`"));
        syn::Error::new(name.span(), format!("unknown rule for names, expected one of: {}", known.join(", ")))
    })
}

/// On a field the key is a mark; elsewhere it names a place.
fn place(input: ParseStream<'_>, key: &Ident, owner: Owner) -> syn::Result<Option<Place>> {
    if owner != Owner::Field {
        return unquoted(input).map(Some);
    }
    if input.peek(Token![=]) || input.peek(token::Paren) {
        return Err(input.error(format_args!("on a field `{key}` takes no value")));
    }
    Ok(None)
}

/// Goes on to the next comma, so that one mistake does not hide the next.
fn pass_over(input: ParseStream<'_>) {
    while !input.is_empty() && !input.peek(Token![,]) {
        let _: syn::Result<TokenTree> = input.parse();
    }
}

/// What the derive reads of the `#[serde(…)]` attributes of one owner. What is wrong with them, serde says.
#[derive(Default)]
pub(crate) struct SerdeAttrs {
    pub(crate) rename: Option<LitStr>,
    pub(crate) rename_all: Option<Case>,
    pub(crate) rename_all_fields: Option<Case>,
    /// Left out of the JSON.
    pub(crate) skip: bool,
    /// Its fields stand beside the others: it has no name of its own.
    pub(crate) flatten: bool,
    /// Missing fields come from the type's default value, or from a function's.
    pub(crate) default: Option<DefaultFrom>,
    /// The key, where fields that are not known are refused.
    pub(crate) deny_unknown_fields: Option<Ident>,
}

/// Where missing fields come from.
pub(crate) struct DefaultFrom {
    pub(crate) key: Ident,
    pub(crate) function: Option<ExprPath>,
}

impl SerdeAttrs {
    pub(crate) fn read(attributes: &[Attribute]) -> Self {
        let mut attrs = Self::default();
        for list in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            let Meta::List(list) = &list.meta else { continue };
            let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
            for meta in parser.parse2(list.tokens.clone()).into_iter().flatten() {
                attrs.read_one(&meta);
            }
        }
        attrs
    }

    fn read_one(&mut self, meta: &Meta) {
        let Some(key) = meta.path().get_ident() else { return };
        match key.to_string().as_str() {
            "rename" => self.rename = text(meta),
            "rename_all" => self.rename_all = text(meta).and_then(|name| Case::parse(&name.value())),
            "rename_all_fields" => {
                self.rename_all_fields = text(meta).and_then(|name| Case::parse(&name.value()));
            }
            "skip" => self.skip = true,
            "flatten" => self.flatten = true,
            "default" => {
                let function = text(meta).and_then(|path| path.parse().ok());
                self.default = Some(DefaultFrom { key: key.clone(), function });
            }
            "deny_unknown_fields" => self.deny_unknown_fields = Some(key.clone()),
            _ => {}
        }
    }
}

/// The text of `key = "text"`, or the one for writing of `key(serialize = "text", deserialize = "…")`.
fn text(meta: &Meta) -> Option<LitStr> {
    match meta {
        Meta::NameValue(pair) => syn::parse2(quote::ToTokens::to_token_stream(&pair.value)).ok(),
        Meta::List(list) => {
            let parser = Punctuated::<Meta, Token![,]>::parse_terminated;
            let metas = parser.parse2(list.tokens.clone()).ok()?;
            metas.iter().find(|meta| meta.path().is_ident("serialize")).and_then(text)
        }
        Meta::Path(_) => None,
    }
}
