//! The texts of `user = "…"` and `system = "…"`, and their placeholders.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::{Ident, LitStr};

use crate::place::{Place, Root};

/// A text with placeholders.
pub(crate) struct Template {
    /// As the user wrote it.
    pub(crate) literal: LitStr,
    /// Its parts; none if the text is no well-formed template, which `format!` explains best.
    pub(crate) pieces: Vec<Piece>,
}

/// One part of a template.
pub(crate) enum Piece {
    /// Text as it stands in the template: braces are still doubled.
    Text(String),
    Placeholder(Placeholder),
}

/// `{place:spec}`.
pub(crate) struct Placeholder {
    pub(crate) place: Place,
    /// What follows the place, with its colon; may be empty.
    pub(crate) spec: String,
    /// The values that the spec takes its width or precision from, as in `{text:>width$}`.
    pub(crate) sizes: Vec<Place>,
}

impl Template {
    /// Reads the placeholders of a text.
    ///
    /// # Errors
    /// If a placeholder is not a field, a part of one, or a method.
    pub(crate) fn parse(literal: LitStr) -> syn::Result<Self> {
        let text = literal.value();
        // What is made of the text stands where the text stands, but is not what the user wrote there: the compiler
        // then does not offer to write something else over the whole of it.
        let span = Span::mixed_site().located_at(literal.span());
        let mut pieces = Vec::new();
        let mut rest = text.as_str();
        while let Some((piece, after)) = split_piece(rest) {
            rest = after;
            pieces.push(match piece {
                RawPiece::Text(text) => Piece::Text(text.to_owned()),
                RawPiece::Placeholder(inner) => match Placeholder::parse(inner, span) {
                    Some(placeholder) => Piece::Placeholder(placeholder),
                    None => return Err(names_no_value(&literal, inner)),
                },
                RawPiece::Malformed => return Ok(Self { literal, pieces: Vec::new() }),
            });
        }
        Ok(Self { literal, pieces })
    }

    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Placeholder(placeholder) => Some(placeholder),
            Piece::Text(_) => None,
        })
    }

    /// The values that formats take a width or a precision from.
    pub(crate) fn sizes(&self) -> impl Iterator<Item = &Place> {
        self.placeholders().flat_map(|placeholder| &placeholder.sizes)
    }

    /// All places that the template takes values from.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        self.placeholders()
            .flat_map(|placeholder| std::iter::once(&placeholder.place).chain(&placeholder.sizes))
    }
}

impl Placeholder {
    fn parse(inner: &str, span: Span) -> Option<Self> {
        let (name, spec) = match inner.find(':') {
            Some(colon) => inner.split_at(colon),
            None => (inner, ""),
        };
        Some(Self { place: place(name.trim(), span)?, spec: spec.to_owned(), sizes: sizes(spec, span) })
    }
}

/// A place from text; its tokens stand where the whole template stands.
fn place(name: &str, span: Span) -> Option<Place> {
    if let Some(field) = field(name, span) {
        return Some(Place::root(Root::Field(field)));
    }
    LitStr::new(name, span).parse().ok()
}

/// A field's name, which may be a keyword: `{type}` is the field `r#type`.
fn field(name: &str, span: Span) -> Option<Ident> {
    let ident = syn::parse_str::<Ident>(name).or_else(|_| syn::parse_str(&format!("r#{name}"))).ok()?;
    if ident.unraw() != name {
        return None;
    }
    let mut ident = ident;
    ident.set_span(span);
    Some(ident)
}

/// The names before a `$` in a format.
fn sizes(spec: &str, span: Span) -> Vec<Place> {
    let before_dollars = spec.split('$').collect::<Vec<_>>();
    let Some((_, before_dollars)) = before_dollars.split_last() else { return Vec::new() };
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let names = before_dollars.iter().filter_map(|text| text.rsplit(|letter| !is_name(letter)).next());
    names.filter_map(|name| field(name, span)).map(|name| Place::root(Root::Field(name))).collect()
}

fn names_no_value(literal: &LitStr, placeholder: &str) -> syn::Error {
    let message = format!(
        "`{{{placeholder}}}` names no value: a placeholder is `{{field}}`, `{{field.part}}` or `{{method()}}`, with a \
         format after a colon if need be"
    );
    syn::Error::new(literal.span(), message)
}

enum RawPiece<'a> {
    Text(&'a str),
    Placeholder(&'a str),
    Malformed,
}

/// The first piece of a template and what follows it.
fn split_piece(text: &str) -> Option<(RawPiece<'_>, &str)> {
    if text.is_empty() {
        return None;
    }
    let brace = text.find(['{', '}']).unwrap_or(text.len());
    let (before, at_brace) = text.split_at(brace);
    if !before.is_empty() {
        return Some((RawPiece::Text(before), at_brace));
    }
    if at_brace.starts_with("{{") || at_brace.starts_with("}}") {
        let (doubled, after) = at_brace.split_at(2);
        return Some((RawPiece::Text(doubled), after));
    }
    match at_brace.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
        Some((inner, after)) => Some((RawPiece::Placeholder(inner), after)),
        None => Some((RawPiece::Malformed, "")),
    }
}
