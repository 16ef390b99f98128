//! The application's own roles.

use std::fmt;

use serde::de::{Deserialize, Deserializer};
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Map, Value};
use smallvec::SmallVec;

use super::{Message, Timestamp};

/// The application's own message roles, and what the model sees of each.
///
/// Derive it: `#[derive(CustomMessage)]` demands for every variant that it says what the model sees, so a role
/// cannot be forgotten. A run is generic over one such type; runs that need none use [`NoCustom`].
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

    /// Writes the message as one flat object: `role`, then its fields.
    ///
    /// # Errors
    /// Those of the serializer.
    fn serialize_flat<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Reads the message of this role from the object's other fields. Called only for roles in [`Self::ROLES`].
    ///
    /// # Errors
    /// Those of the deserializer: a missing field, a field of another type.
    fn deserialize_flat<'de, D: Deserializer<'de>>(role: &str, fields: D) -> Result<Self, D::Error>;
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

    fn serialize_flat<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        match *self {}
    }

    fn deserialize_flat<'de, D: Deserializer<'de>>(role: &str, _: D) -> Result<Self, D::Error> {
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

    fn serialize_flat<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len() + 1))?;
        map.serialize_entry("role", &self.role)?;
        for (name, value) in &self.fields {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }

    fn deserialize_flat<'de, D: Deserializer<'de>>(role: &str, fields: D) -> Result<Self, D::Error> {
        Ok(Self { role: role.to_owned(), fields: Map::deserialize(fields)? })
    }
}

/// One role and the place that declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Role {
    /// The role's name in JSON.
    pub name: &'static str,
    /// Where it is declared, as `my_app::AppMessage::Notification`.
    pub at: &'static str,
}

impl Role {
    /// A role and its place.
    #[must_use]
    pub const fn new(name: &'static str, at: &'static str) -> Self {
        Self { name, at }
    }
}

/// All roles of a [`CustomMessage`] type.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Roles {
    /// The type's own roles.
    pub own: &'static [Role],
    /// The roles of the types it extends.
    pub extended: &'static [Roles],
    /// Whether every other role is accepted too.
    pub any: bool,
}

impl Roles {
    /// The roles that no custom message may take.
    pub const RESERVED: [&'static str; 4] = ["system", "user", "assistant", "toolResult"];

    /// A type's own roles.
    #[must_use]
    pub const fn of(own: &'static [Role]) -> Self {
        Self { own, extended: &[], any: false }
    }

    /// These roles and those of extended types.
    #[must_use]
    pub const fn extending(self, extended: &'static [Roles]) -> Self {
        Self { own: self.own, extended, any: self.any }
    }

    /// Every role that is not reserved.
    #[must_use]
    pub const fn any() -> Self {
        Self { own: &[], extended: &[], any: true }
    }

    /// Whether a message of this role is one of this type's.
    #[must_use]
    pub fn contains(&self, role: &str) -> bool {
        self.any || self.names(role) || self.extended.iter().any(|roles| roles.contains(role))
    }

    /// Whether this role is declared by name, here or in an extended type.
    #[must_use]
    pub fn names(&self, role: &str) -> bool {
        self.own.iter().any(|own| own.name == role) || self.extended.iter().any(|roles| roles.names(role))
    }

    /// Every declared role, own ones first.
    #[must_use]
    pub fn all(&self) -> Vec<Role> {
        let mut all = self.own.to_vec();
        all.extend(self.extended.iter().flat_map(Roles::all));
        all
    }
}

/// What a model sees of one message: none, one, or several messages. One takes no allocation of its own.
#[derive(Debug, Clone, PartialEq, Default)]
#[must_use = "a projection is what the model sees"]
pub struct Projection(SmallVec<[Message; 1]>);

impl Projection {
    /// The model sees nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// The model sees one message.
    pub fn one(message: impl Into<Message>) -> Self {
        Self(SmallVec::from_buf([message.into()]))
    }

    /// The messages, in order.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.0
    }
}

impl IntoIterator for Projection {
    type Item = Message;
    type IntoIter = smallvec::IntoIter<[Message; 1]>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<Message> for Projection {
    fn from_iter<I: IntoIterator<Item = Message>>(messages: I) -> Self {
        Self(messages.into_iter().collect())
    }
}

impl<T: Into<Message>> From<T> for Projection {
    fn from(message: T) -> Self {
        Self::one(message)
    }
}

impl<T: Into<Message>> From<Option<T>> for Projection {
    fn from(message: Option<T>) -> Self {
        message.into_iter().map(Into::into).collect()
    }
}

impl<T: Into<Message>> From<Vec<T>> for Projection {
    fn from(messages: Vec<T>) -> Self {
        messages.into_iter().map(Into::into).collect()
    }
}
