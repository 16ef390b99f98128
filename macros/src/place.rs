//! The values that attributes name: a field, a field of a field, what a method returns.

use proc_macro2::{Delimiter, Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::{ExprPath, Member, Token, parenthesized, token};

/// `field`, `field.part`, `field.method()`, or `method()` of the message itself.
#[derive(Clone)]
pub(crate) struct Place {
    pub(crate) root: Root,
    steps: Vec<Step>,
}

/// Where a place begins.
#[derive(Clone)]
pub(crate) enum Root {
    /// A field of the message.
    Field(Ident),
    /// A method of the message.
    Method(Ident),
    /// All that the message holds.
    Whole(Span),
}

/// One step from a value to a part of it.
#[derive(Clone)]
enum Step {
    Field(Member),
    Method(Ident),
}

impl Place {
    /// The root itself.
    pub(crate) fn root(root: Root) -> Self {
        Self { root, steps: Vec::new() }
    }

    /// The field's name, if the place is a field and no part of one.
    pub(crate) fn as_field(&self) -> Option<&Ident> {
        match &self.root {
            Root::Field(name) if self.steps.is_empty() => Some(name),
            _ => None,
        }
    }

    /// The steps after the root; none if it is the root itself.
    pub(crate) fn steps(&self) -> Option<TokenStream> {
        let steps = self.steps.iter().map(ToTokens::to_token_stream);
        if self.steps.is_empty() { None } else { Some(steps.collect()) }
    }

    /// Whether the value is what a method returns.
    pub(crate) fn is_returned(&self) -> bool {
        match self.steps.last() {
            Some(step) => matches!(step, Step::Method(_)),
            None => matches!(self.root, Root::Method(_)),
        }
    }

    pub(crate) fn span(&self) -> Span {
        match &self.root {
            Root::Field(name) | Root::Method(name) => name.span(),
            Root::Whole(span) => *span,
        }
    }
}

impl ToTokens for Step {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        tokens.extend(match self {
            Self::Field(member) => quote!(.#member),
            Self::Method(method) => quote!(.#method()),
        });
    }
}

impl Parse for Place {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let root: Ident = input
            .parse()
            .map_err(|error| syn::Error::new(error.span(), "expected a field, `field.part` or `method()`"))?;
        let root = if empty_parentheses(input)? { Root::Method(root) } else { Root::Field(root) };
        let mut place = Self::root(root);
        while input.peek(Token![.]) {
            parse_steps(input, &mut place.steps)?;
        }
        Ok(place)
    }
}

/// `.name`, `.name()`, `.0`, and `.0.1`, which the lexer takes for a number.
fn parse_steps(input: ParseStream<'_>, steps: &mut Vec<Step>) -> syn::Result<()> {
    input.parse::<Token![.]>()?;
    if let Some(number) = input.parse::<Option<syn::LitFloat>>()? {
        for index in number.token().to_string().split('.') {
            let index = index.parse().map_err(|_| syn::Error::new(number.span(), "expected an index"))?;
            steps.push(Step::Field(Member::Unnamed(syn::Index { index, span: number.span() })));
        }
        return Ok(());
    }
    steps.push(match input.parse()? {
        Member::Named(method) if empty_parentheses(input)? => Step::Method(method),
        member => Step::Field(member),
    });
    Ok(())
}

/// Reads `()`, if it comes next.
fn empty_parentheses(input: ParseStream<'_>) -> syn::Result<bool> {
    if !input.peek(token::Paren) {
        return Ok(false);
    }
    let arguments;
    parenthesized!(arguments in input);
    if arguments.is_empty() {
        return Ok(true);
    }
    Err(arguments.error("a method is called without arguments here; write a method that needs none"))
}

/// A function, and what it is called with: the message, or the places in parentheses.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) function: ExprPath,
    pub(crate) arguments: Option<Vec<Argument>>,
}

impl Parse for Call {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let function = input.parse()?;
        let arguments = if input.peek(token::Paren) { Some(arguments(input)?) } else { None };
        Ok(Self { function, arguments })
    }
}

impl Call {
    /// The places that are passed.
    pub(crate) fn places(&self) -> impl Iterator<Item = &Place> {
        self.arguments.iter().flatten().map(|argument| &argument.place)
    }
}

/// A place that is passed to a function: a reference to a field, or with `*` its value; what a method returns as it is.
#[derive(Clone)]
pub(crate) struct Argument {
    pub(crate) by_value: Option<Token![*]>,
    pub(crate) place: Place,
}

impl Parse for Argument {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        Ok(Self { by_value: input.parse()?, place: input.parse()? })
    }
}

fn arguments(input: ParseStream<'_>) -> syn::Result<Vec<Argument>> {
    let arguments;
    parenthesized!(arguments in input);
    Ok(arguments.parse_terminated(Argument::parse, Token![,])?.into_iter().collect())
}

/// When a message is left out: where this is true, or with `!`, where it is false.
#[derive(Clone)]
pub(crate) struct Condition {
    pub(crate) not: Option<Token![!]>,
    pub(crate) value: Value,
}

/// What is asked for a condition.
#[derive(Clone)]
pub(crate) enum Value {
    Place(Place),
    Call(Call),
}

impl Parse for Condition {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let not = input.parse()?;
        let value = if is_call(input) { Value::Call(input.parse()?) } else { Value::Place(input.parse()?) };
        Ok(Self { not, value })
    }
}

/// A path of several names, or a name with arguments, is a function; anything else is a place.
fn is_call(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    let Ok(path) = ahead.parse::<ExprPath>() else { return false };
    path.path.get_ident().is_none() || has_arguments(&ahead)
}

fn has_arguments(input: ParseStream<'_>) -> bool {
    let group = input.cursor().group(Delimiter::Parenthesis);
    group.is_some_and(|(arguments, ..)| !arguments.eof())
}
