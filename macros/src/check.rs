//! The rules that several attributes, fields or messages keep together. Each function is one kind of rule.

use std::collections::HashMap;

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;
use syn::{Fields, GenericParam};

use crate::attr::{Attrs, Given, SerdeAttrs, Shown};
use crate::errors::Errors;
use crate::message::{Input, Kind, Message, Own, Projection, Shape};
use crate::place::{Place, Root, Value};

/// The roles that a transcript has already.
const RESERVED: [&str; 4] = ["system", "user", "assistant", "toolResult"];

/// The field that tells a message's role.
const ROLE: &str = "role";

/// Checks a whole type.
pub(crate) fn check(input: &Input<'_>, errors: &mut Errors) {
    owns_its_data(input, errors);
    roles_are_distinct(&input.messages, errors);
    for message in &input.messages {
        no_field_is_called_role(message, errors);
        a_variant_has_no_default(message, errors);
        what_is_held_denies_for_itself(message, errors);
        if let Kind::Own(own) = &message.kind {
            places_exist(message, own, errors);
        }
    }
}

/// Messages are shared between tasks for as long as a transcript lives, so they cannot borrow.
fn owns_its_data(input: &Input<'_>, errors: &mut Errors) {
    for parameter in &input.generics.params {
        if let GenericParam::Lifetime(lifetime) = parameter {
            errors.at(lifetime, "a custom message owns its data: it cannot have a lifetime");
        }
    }
}

fn roles_are_distinct(messages: &[Message<'_>], errors: &mut Errors) {
    let mut seen: HashMap<&str, &Ident> = HashMap::new();
    for message in messages {
        let Kind::Own(own) = &message.kind else { continue };
        let role = &own.role;
        let name = role.name.as_str();
        let mut mistake = |text: String| errors.push(syn::Error::new(role.span, text));
        if name.is_empty() {
            mistake("a role has a name: it cannot be empty".to_owned());
        } else if RESERVED.contains(&name) {
            mistake(format!(
                "the role `{name}` is one of the four standard roles; give this one another name with \
                 `role = \"…\"`"
            ));
        } else if let Some(first) = seen.insert(name, message.ident) {
            mistake(format!(
                "the role `{name}` is declared twice: by `{first}` and by `{}`; give one of them another name \
                 with `role = \"…\"`",
                message.ident
            ));
        }
    }
}

/// A message's JSON has one `role`, which is not one of its fields.
fn no_field_is_called_role(message: &Message<'_>, errors: &mut Errors) {
    for field in message.named_fields() {
        let Some(ident) = field.ident else { continue };
        let attributes: Vec<_> = field.serde.iter().map(|&attribute| attribute.clone()).collect();
        let serde = SerdeAttrs::read(&attributes);
        if serde.skip || serde.flatten {
            continue;
        }
        let text = "a field cannot be called `role` in JSON, where it is the message's role; give it another \
                    name with `#[serde(rename = \"…\")]`";
        match serde.rename {
            Some(name) if name.value() == ROLE => errors.at(name, text),
            None if message.field_case.of_field(&ident.unraw().to_string()) == ROLE => errors.at(ident, text),
            _ => {}
        }
    }
}

/// A struct has a default value from which missing fields can come; a variant has none.
fn a_variant_has_no_default(message: &Message<'_>, errors: &mut Errors) {
    if let (false, Some(from)) = (message.is_struct, &message.serde.default) {
        errors.at(&from.key, "a variant has no default value: mark the fields that may be missing");
    }
}

/// What a variant holds is read by its own attributes. On the whole type the attribute is meant for the other variants.
fn what_is_held_denies_for_itself(message: &Message<'_>, errors: &mut Errors) {
    if let (false, Shape::Newtype(_), Some(key)) =
        (message.is_struct, &message.shape, &message.serde.deny_unknown_fields)
    {
        errors.at(key, "unknown fields are up to the type that the variant holds; write it there");
    }
}

/// The other attributes of a message fit what the model sees of it.
pub(crate) fn fits(shown: &Given<Shown>, attrs: &Attrs, fields: &Fields, errors: &mut Errors) {
    let key = &shown.key;
    match &shown.value {
        Shown::Skip => {
            if let Some(skip_if) = &attrs.skip_if {
                errors.at(&skip_if.key, "`skip` leaves the message out already; remove one of the two");
            }
        }
        Shown::Extend => {
            let holds_one = matches!(fields, Fields::Unnamed(fields) if fields.unnamed.len() == 1);
            if !holds_one {
                errors.at(key, "`extend` goes with one unnamed field: `Plugin(PluginMessage)`");
            }
            let others = [
                attrs.role.as_ref().map(|given| &given.key),
                attrs.skip_if.as_ref().map(|given| &given.key),
                attrs.rename_all_fields.as_ref().map(|given| &given.key),
            ];
            for other in others.into_iter().flatten() {
                errors.at(other, format!("`{other}` is up to the type that is extended; remove it here"));
            }
        }
        Shown::User(_) | Shown::System(_) | Shown::Project(_) => {}
    }
}

/// The marks for time and content fit what the model sees of the message.
pub(crate) fn marks_fit(
    shown: &Given<Shown>,
    timestamp: &[(Ident, Place)],
    content: &[(Ident, Place)],
    errors: &mut Errors,
) {
    for (key, _) in timestamp.iter().skip(1) {
        errors.at(key, "a message has one time; mark one field");
    }
    for (key, _) in timestamp.iter().filter(|_| matches!(shown.value, Shown::Extend)) {
        errors.at(key, "`timestamp` is up to the type that is extended; remove it here");
    }
    for (key, _) in content.iter().filter(|_| !matches!(shown.value, Shown::User(_))) {
        errors.at(key, format!("`content` goes beside the text of `user = \"…\"`, not with `{}`", shown.key));
    }
}

/// Every field that an attribute names is there. Placeholders without a dot are left to the compiler, which
/// underlines them inside the text and knows what else they may mean.
fn places_exist(message: &Message<'_>, own: &Own, errors: &mut Errors) {
    let mut places: Vec<&Place> = own.timestamp.iter().collect();
    if let Some(condition) = &own.skip_if {
        match &condition.value {
            Value::Place(place) => places.push(place),
            Value::Call(call) => places.extend(call.places()),
        }
    }
    let mut template = None;
    match &own.projection {
        Projection::Skip => {}
        Projection::Function(call) => places.extend(call.places()),
        Projection::System(text) => template = Some(text),
        Projection::User { text, content } => {
            places.extend(content);
            template = Some(text);
        }
    }
    for place in places {
        place_exists(message, place, place.span(), errors);
    }
    if let Some(template) = template {
        for place in template.places().filter(|place| place.as_field().is_none()) {
            place_exists(message, place, template.literal.span(), errors);
        }
    }
}

fn place_exists(message: &Message<'_>, place: &Place, span: Span, errors: &mut Errors) {
    let Root::Field(name) = &place.root else { return };
    let known: Vec<_> = match &message.shape {
        Shape::Newtype(_) => return,
        Shape::Unit => Vec::new(),
        Shape::Named(fields) => fields.iter().filter_map(|field| field.ident).collect(),
    };
    if known.iter().any(|field| field.unraw() == name.unraw()) {
        return;
    }
    let known: Vec<_> = known.iter().map(|field| format!("`{field}`")).collect();
    let there =
        if known.is_empty() { "it has none".to_owned() } else { format!("there is {}", known.join(", ")) };
    errors.push(syn::Error::new(span, format!("`{}` has no field `{name}`; {there}", message.ident)));
}
