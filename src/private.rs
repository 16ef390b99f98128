//! What the expansion of `#[derive(CustomMessage)]` names, and nothing else does: it may change in any release.
//!
//! An expansion stands in the user's scope, where every name may mean something else; so it names all it needs by a
//! path through this module.

use std::sync::Arc;

pub use std::marker::PhantomData;
pub use std::option::Option::{self, None, Some};
pub use std::result::Result::{self, Err, Ok};
pub use std::{concat, default::Default, format, module_path, primitive::bool, primitive::str, unreachable};

pub use serde;
pub use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use crate::message::{CustomMessage, Projection, Role, Roles, Timestamp};

use crate::message::{Content, Image, IntoProjection, SystemMessage, Text, UserMessage};

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

/// A field that says when the message was made.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say when a message was made",
    label = "not a timestamp",
    note = "the field of the message's time is a `turnstate::message::Timestamp` (`u64`, milliseconds since the Unix epoch), or an `Option` of it",
    note = "a field that only has this name in JSON gets another name in Rust, and `#[serde(rename = \"timestamp\")]`"
)]
pub trait TimestampField {
    /// The time, if there is one.
    fn timestamp(&self) -> Option<Timestamp>;
}

impl TimestampField for Timestamp {
    fn timestamp(&self) -> Option<Timestamp> {
        Some(*self)
    }
}

impl<T: TimestampField> TimestampField for Option<T> {
    fn timestamp(&self) -> Option<Timestamp> {
        self.as_ref()?.timestamp()
    }
}

/// A field that goes to the model as content blocks.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not content for a model",
    label = "neither content blocks nor an image",
    note = "a field marked `content` is a `turnstate::message::Content`, `Image` or `Text`, or an `Option` or a `Vec` of one"
)]
pub trait ContentField {
    /// Appends the field's blocks.
    fn append_to(&self, blocks: &mut Vec<Content>);
}

impl ContentField for Content {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        blocks.push(self.clone());
    }
}

impl ContentField for Image {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        blocks.push(self.clone().into());
    }
}

impl ContentField for Text {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        blocks.push(self.clone().into());
    }
}

impl<T: ContentField> ContentField for Option<T> {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        self.iter().for_each(|content| content.append_to(blocks));
    }
}

impl<T: ContentField> ContentField for Vec<T> {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        self.iter().for_each(|content| content.append_to(blocks));
    }
}

impl<T: ContentField + ?Sized> ContentField for Box<T> {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        (**self).append_to(blocks);
    }
}

impl<T: ContentField + ?Sized> ContentField for Arc<T> {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        (**self).append_to(blocks);
    }
}

impl<T: ContentField> ContentField for [T] {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        self.iter().for_each(|content| content.append_to(blocks));
    }
}
