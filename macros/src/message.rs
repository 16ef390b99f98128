//! A type's messages: the role of each, what it holds, and what the model sees of it.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Fields, Generics, Path, Type, parse_quote};

use crate::attr::{Attrs, Given, Owner, PROJECTIONS, SerdeAttrs, Shown};
use crate::case::Case;
use crate::check;
use crate::errors::Errors;
use crate::place::{Call, Condition, Place, Root};
use crate::template::Template;

/// A type that derives `CustomMessage`.
pub(crate) struct Input<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) is_union: bool,
    /// The `turnstate` crate, by the name it has here.
    pub(crate) krate: Path,
    /// In order, without those that could not be read.
    pub(crate) messages: Vec<Message<'a>>,
}

/// One variant of an enum, or a whole struct.
pub(crate) struct Message<'a> {
    /// The variant's name, or the struct's.
    pub(crate) ident: &'a Ident,
    pub(crate) is_struct: bool,
    pub(crate) shape: Shape<'a>,
    /// How the fields are called in JSON.
    pub(crate) field_case: Case,
    /// Whether fields that are not known are refused: the message, or the whole type, says so.
    pub(crate) denies_unknown_fields: bool,
    /// The `#[serde(…)]` attributes of the variant or struct.
    pub(crate) serde: SerdeAttrs,
    pub(crate) kind: Kind,
}

/// What a message holds.
pub(crate) enum Shape<'a> {
    Unit,
    Newtype(Field<'a>),
    Named(Vec<Field<'a>>),
}

pub(crate) struct Field<'a> {
    pub(crate) ident: Option<&'a Ident>,
    pub(crate) ty: &'a Type,
    /// Its `#[serde(…)]` attributes: they hold for the message's JSON too.
    pub(crate) serde: Vec<&'a Attribute>,
}

pub(crate) enum Kind {
    /// A role of the type's own.
    Own(Box<Own>),
    /// The roles of another type, which the message holds.
    Extend,
}

/// A role of the type's own.
pub(crate) struct Own {
    pub(crate) role: Role,
    pub(crate) projection: Projection,
    pub(crate) skip_if: Option<Condition>,
    pub(crate) timestamp: Option<Place>,
}

pub(crate) struct Role {
    pub(crate) name: String,
    /// Where it is written, or the name it is made from.
    pub(crate) span: Span,
}

pub(crate) enum Projection {
    Skip,
    User { text: Template, content: Vec<Place> },
    System(Template),
    Function(Call),
}

/// The rules for names that a type gives to all its messages.
#[derive(Clone, Copy)]
struct Cases {
    roles: Case,
    fields: Case,
}

impl<'a> Input<'a> {
    /// Reads a type and its attributes. What is wrong is reported and left out.
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Self {
        let serde = SerdeAttrs::read(&input.attrs);
        let (krate, messages) = match &input.data {
            Data::Struct(data) => {
                let mut attrs = Attrs::read(&input.attrs, Owner::Struct, errors);
                let krate = attrs.krate.take();
                let cases = Cases::of(&attrs, None, serde.rename_all);
                let message = Message::read(&input.ident, true, (attrs, serde), &data.fields, cases, errors);
                (krate, Vec::from_iter(message))
            }
            Data::Enum(data) => {
                let attrs = Attrs::read(&input.attrs, Owner::Enum, errors);
                let cases = Cases::of(&attrs, serde.rename_all, serde.rename_all_fields);
                let messages = data.variants.iter().filter_map(|variant| {
                    let attrs = Attrs::read(&variant.attrs, Owner::Variant, errors);
                    let own = (attrs, SerdeAttrs::read(&variant.attrs));
                    let mut message =
                        Message::read(&variant.ident, false, own, &variant.fields, cases, errors)?;
                    message.denies_unknown_fields |= serde.deny_unknown_fields.is_some();
                    Some(message)
                });
                (attrs.krate, messages.collect())
            }
            Data::Union(data) => {
                errors.at(data.union_token, "a custom message is an enum of roles, or a struct of one role");
                (None, Vec::new())
            }
        };
        let krate = krate.map_or_else(|| parse_quote!(::turnstate), |given| given.value);
        let is_union = matches!(input.data, Data::Union(_));
        let input = Self { ident: &input.ident, generics: &input.generics, is_union, krate, messages };
        check::check(&input, errors);
        input
    }
}

impl Cases {
    /// `message(…)` decides, then serde's attributes, then camel case.
    fn of(attrs: &Attrs, serde_roles: Option<Case>, serde_fields: Option<Case>) -> Self {
        let roles = attrs.rename_all.as_ref().map(|given| given.value);
        let fields = attrs.rename_all_fields.as_ref().map(|given| given.value);
        Self {
            roles: roles.or(serde_roles).unwrap_or(Case::Camel),
            fields: fields.or(serde_fields).unwrap_or(Case::Camel),
        }
    }
}

impl<'a> Message<'a> {
    fn read(
        ident: &'a Ident,
        is_struct: bool,
        (attrs, serde): (Attrs, SerdeAttrs),
        fields: &'a Fields,
        cases: Cases,
        errors: &mut Errors,
    ) -> Option<Self> {
        let own_case = attrs.rename_all_fields.as_ref().map(|given| given.value).or(serde.rename_all);
        let field_case = own_case.unwrap_or(cases.fields);
        let mut marks = Marks::default();
        let shape = Shape::read(ident, fields, &mut marks, errors);
        let role = Role::of(ident, &attrs, &serde, cases.roles);
        let kind = Kind::read(ident, role, attrs, marks, fields, errors);
        let denies_unknown_fields = serde.deny_unknown_fields.is_some();
        Some(Self { ident, is_struct, shape: shape?, field_case, denies_unknown_fields, serde, kind: kind? })
    }

    /// The named fields; none of the other shapes.
    pub(crate) fn named_fields(&self) -> &[Field<'a>] {
        if let Shape::Named(fields) = &self.shape { fields } else { &[] }
    }
}

impl<'a> Shape<'a> {
    fn read(ident: &Ident, fields: &'a Fields, marks: &mut Marks, errors: &mut Errors) -> Option<Self> {
        let mut read = Vec::new();
        for field in fields {
            marks.read(field, errors);
            let serde = field.attrs.iter().filter(|attribute| attribute.path().is_ident("serde")).collect();
            read.push(Field { ident: field.ident.as_ref(), ty: &field.ty, serde });
        }
        match fields {
            Fields::Named(_) => Some(Self::Named(read)),
            Fields::Unit => Some(Self::Unit),
            Fields::Unnamed(_) if read.len() == 1 => read.pop().map(Self::Newtype),
            Fields::Unnamed(_) => {
                let message = format!(
                    "a message is an object of fields: give the fields of `{ident}` names, or put them into a \
                     struct of their own"
                );
                errors.at(fields, message);
                None
            }
        }
    }
}

/// The fields that are marked, in order.
#[derive(Default)]
struct Marks {
    timestamp: Vec<(Ident, Place)>,
    content: Vec<(Ident, Place)>,
}

impl Marks {
    fn read(&mut self, field: &syn::Field, errors: &mut Errors) {
        let attrs = Attrs::read(&field.attrs, Owner::Field, errors);
        let root = match &field.ident {
            Some(name) => Root::Field(name.clone()),
            None => Root::Whole(field.ty.span()),
        };
        let marked = |given: Given<Option<Place>>| (given.key, Place::root(root.clone()));
        self.timestamp.extend(attrs.timestamp.map(marked));
        self.content.extend(attrs.content.map(marked));
    }

    /// Takes in the places that the message's own attributes name.
    fn add(&mut self, attrs: &mut Attrs) {
        let named = |given: Given<Option<Place>>| given.value.map(|place| (given.key, place));
        self.timestamp.extend(attrs.timestamp.take().and_then(named));
        self.content.extend(attrs.content.take().and_then(named));
    }
}

impl Role {
    fn of(ident: &Ident, attrs: &Attrs, serde: &SerdeAttrs, case: Case) -> Self {
        let written = attrs.role.as_ref().map(|given| &given.value).or(serde.rename.as_ref());
        match written {
            Some(role) => Self { name: role.value(), span: role.span() },
            None => Self { name: case.of_type(&ident.unraw().to_string()), span: ident.span() },
        }
    }
}

impl Kind {
    fn read(
        ident: &Ident,
        role: Role,
        mut attrs: Attrs,
        mut marks: Marks,
        fields: &Fields,
        errors: &mut Errors,
    ) -> Option<Self> {
        marks.add(&mut attrs);
        let Some(shown) = attrs.shown.take() else {
            if !attrs.unreadable {
                let message = format!(
                    "`{ident}` does not say what the model sees of it: add `#[message(…)]` with {PROJECTIONS}"
                );
                errors.at(ident, message);
            }
            return None;
        };
        check::fits(&shown, &attrs, fields, errors);
        check::marks_fit(&shown, &marks.timestamp, &marks.content, errors);
        let projection = match shown.value {
            Shown::Extend => return Some(Self::Extend),
            Shown::Skip => Projection::Skip,
            Shown::System(text) => Projection::System(text),
            Shown::Project(call) => Projection::Function(call),
            Shown::User(text) => {
                let content = marks.content.into_iter().map(|(_, place)| place).collect();
                Projection::User { text, content }
            }
        };
        let timestamp = marks.timestamp.into_iter().next().map(|(_, place)| place);
        Some(Self::Own(Box::new(Own {
            role,
            projection,
            skip_if: attrs.skip_if.map(|given| given.value),
            timestamp: timestamp.or_else(|| field_called_timestamp(fields)),
        })))
    }
}

/// The time of a message is its field of this name, if no other is marked.
fn field_called_timestamp(fields: &Fields) -> Option<Place> {
    let names = fields.iter().filter_map(|field| field.ident.as_ref());
    names.into_iter().find(|name| name.unraw() == "timestamp").cloned().map(Root::Field).map(Place::root)
}
