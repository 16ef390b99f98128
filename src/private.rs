//! What the expansion of `#[derive(CustomMessage)]` names, and nothing else does: it may change in any release.
//!
//! An expansion stands in the user's scope, where every name may mean something else; so it names all it needs by a
//! path through this module.

pub use std::default::Default;
pub use std::marker::PhantomData;
pub use std::option::Option::{self, None, Some};
pub use std::primitive::str;
pub use std::result::Result::{self, Ok};
pub use std::{concat, format, module_path, unreachable};

pub use serde::{self, Deserialize, Deserializer, Serialize, Serializer};

pub use crate::message::{CustomMessage, Projection, Role, Roles, Timestamp};

use crate::message::{Content, ContentField, IntoProjection, SystemMessage, TimestampField, UserMessage};

/// A user message of the text, then the blocks of the fields marked `content`. An empty text beside blocks is left
/// out.
pub fn user(text: String, fields: &[&dyn ContentField]) -> Projection {
    let mut blocks = Vec::with_capacity(1 + fields.len());
    for field in fields {
        field.append_to(&mut blocks);
    }
    if !text.is_empty() || blocks.is_empty() {
        blocks.insert(0, Content::text(text));
    }
    Projection::one(UserMessage::new(blocks))
}

/// A field that goes to the model as content blocks.
pub fn content<T: ContentField>(field: &T) -> &dyn ContentField {
    field
}

/// A system message of the text.
pub fn system(text: String) -> Projection {
    Projection::one(SystemMessage::new(text))
}

/// What a function that makes the projection returned.
pub fn projection<T: IntoProjection>(returned: T) -> Projection {
    returned.into_projection()
}

/// Gives the custom message's time to the messages made from it.
pub fn at<T: TimestampField>(projection: Projection, field: &T) -> Projection {
    match field.timestamp() {
        Some(timestamp) => projection.at(timestamp),
        None => projection,
    }
}

/// The time that a field holds.
pub fn timestamp<T: TimestampField>(field: &T) -> Option<Timestamp> {
    field.timestamp()
}

/// Which of the extended types reads this role: the one that declares it, otherwise the one that takes any.
#[must_use]
pub fn extension_for(role: &str, extended: &[Roles]) -> Option<usize> {
    let declares = |roles: &Roles| roles.names(role);
    let takes = |roles: &Roles| roles.contains(role);
    extended.iter().position(declares).or_else(|| extended.iter().position(takes))
}

/// The answer to a role that the type does not have.
///
/// # Errors
/// Always.
pub fn unknown_role<T: CustomMessage, E: serde::de::Error>(role: &str) -> Result<T, E> {
    let roles = T::ROLES.all();
    let known: Vec<_> = roles.iter().map(|role| role.name).collect();
    Err(crate::message::unknown_tag("role", role, &known))
}

/// Reads past the fields of a message that has none.
///
/// # Errors
/// Those of the deserializer.
pub fn no_fields<'de, D: Deserializer<'de>>(fields: D) -> Result<(), D::Error> {
    serde::de::IgnoredAny::deserialize(fields).map(drop)
}

/// Refuses the fields of a message that has none and denies those it does not know.
///
/// # Errors
/// If there is a field; it is named.
pub fn denied_fields<'de, D: Deserializer<'de>>(fields: D) -> Result<(), D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct NoFields {}
    NoFields::deserialize(fields).map(|NoFields {}| ())
}
