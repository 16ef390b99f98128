//! The application's own roles.

use std::fmt;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{Serialize, Serializer};
use serde_json::{Map, Value};

use super::{Projection, Roles, Timestamp};

/// The application's own message roles, and what the model sees of each.
///
/// Derive it: `#[derive(CustomMessage)]` demands for every variant that it says what the model sees, so a role
/// cannot be forgotten. A run is generic over one such type; runs that need none use [`NoCustom`].
///
/// ```
/// use turnstate::CustomMessage;
///
/// #[derive(Debug, CustomMessage)]
/// enum AppMessage {
///     /// Shown to the person only.
///     #[message(skip)]
///     Notification { text: String, timestamp: u64 },
///     /// Reaches the model as a user message, unless it is left out.
///     #[message(user = "Ran `{command}`:\n{output}", skip_if = exclude_from_context)]
///     BashExecution { command: String, output: String, exclude_from_context: bool, timestamp: u64 },
/// }
///
/// let notification = AppMessage::Notification { text: "hi".into(), timestamp: 1 };
/// assert_eq!(notification.role(), "notification");
/// assert!(notification.project().messages().is_empty());
/// ```
///
/// The [guide](crate::guide::custom_roles) goes through it step by step; the derive's own page lists the attributes.
/// The trait may be implemented by hand too, for roles that are known at run time only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a custom message",
    label = "not a custom message",
    note = "add `#[derive(turnstate::CustomMessage)]` to the type, and say for each role what the model sees of it"
)]
pub trait CustomMessage: fmt::Debug + Send + Sync + Sized + 'static {
    /// Every role of this type and of the types it extends.
    const ROLES: Roles;

    /// The role of this message: the value of `role` in its JSON.
    fn role(&self) -> &str;

    /// What the model sees of this message: no message, one, or several.
    ///
    /// It must give the same answer each time: the loop keeps what was projected and extends it.
    fn project(&self) -> Projection;

    /// When the message was made, if it has a field that says so.
    fn timestamp(&self) -> Option<Timestamp> {
        None
    }

    /// Writes the message's fields as one object, without `role`: [`AgentMessage`](super::AgentMessage) puts that
    /// before them, and refuses a field of that name. A message without fields may be written as a unit.
    ///
    /// # Errors
    /// Those of the serializer.
    fn serialize_fields<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads the message of this role from the object's other fields. Called only for roles in [`Self::ROLES`].
    ///
    /// # Errors
    /// Those of the deserializer: a missing field, a field of another type.
    fn deserialize_fields<'de, D: Deserializer<'de>>(role: &str, fields: D) -> Result<Self, D::Error>;
}

/// The message type of runs without roles of their own: it has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoCustom {}

impl CustomMessage for NoCustom {
    const ROLES: Roles = Roles::of(&[]);

    fn role(&self) -> &str {
        match *self {}
    }

    fn project(&self) -> Projection {
        match *self {}
    }

    fn serialize_fields<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match *self {}
    }

    fn deserialize_fields<'de, D: Deserializer<'de>>(role: &str, _: D) -> Result<Self, D::Error> {
        Err(serde::de::Error::custom(format_args!("unknown role `{role}`")))
    }
}

/// A message of a role that the host does not know: kept as it came, saved as it came, skipped for the model.
///
/// Use it as a run's message type, or as one variant (`#[message(extend)]`) of it, to load transcripts that hold
/// such messages.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Unknown {
    /// The role.
    pub role: String,
    /// All other fields.
    pub fields: Map<String, Value>,
}

impl CustomMessage for Unknown {
    const ROLES: Roles = Roles::any();

    fn role(&self) -> &str {
        &self.role
    }

    fn project(&self) -> Projection {
        Projection::none()
    }

    fn timestamp(&self) -> Option<Timestamp> {
        self.fields.get("timestamp")?.as_u64()
    }

    fn serialize_fields<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }

    fn deserialize_fields<'de, D: Deserializer<'de>>(role: &str, fields: D) -> Result<Self, D::Error> {
        Ok(Self { role: role.to_owned(), fields: Map::deserialize(fields)? })
    }
}

/// A message behind a box: keeps the variant of a large extended type small.
impl<M: CustomMessage> CustomMessage for Box<M> {
    const ROLES: Roles = M::ROLES;

    fn role(&self) -> &str {
        (**self).role()
    }

    fn project(&self) -> Projection {
        (**self).project()
    }

    fn timestamp(&self) -> Option<Timestamp> {
        (**self).timestamp()
    }

    fn serialize_fields<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize_fields(serializer)
    }

    fn deserialize_fields<'de, D: Deserializer<'de>>(role: &str, fields: D) -> Result<Self, D::Error> {
        M::deserialize_fields(role, fields).map(Box::new)
    }
}
