//! No prelude, and every trait that is in scope in one has a rival whose methods are ambiguous with its own.

#![no_implicit_prelude]

use ::renamed::message::{Content, Message};
use ::std::clone::Clone;
use ::std::prelude::v1::derive;

/// A plugin's roles.
#[derive(::std::fmt::Debug, ::renamed::CustomMessage)]
#[message(crate = ::renamed, role = "pluginNote", user = "{text}")]
pub struct PluginNote {
    /// The text.
    pub text: ::std::string::String,
}

/// The application's roles.
#[derive(::std::fmt::Debug, ::renamed::CustomMessage)]
#[message(crate = ::renamed, rename_all = "snake_case", rename_all_fields = "kebab-case")]
pub enum AppMessage {
    /// Skipped.
    #[message(skip)]
    NotForModels {
        /// The text.
        some_text: ::std::string::String,
        /// When it was made.
        timestamp: u64,
    },
    /// A user message.
    #[message(user = "{text} {parts.len()} {shown()}", skip_if = hidden)]
    ForModels {
        /// The text.
        text: ::std::string::String,
        /// Parts.
        #[message(content)]
        #[serde(default, skip_serializing_if = "::std::vec::Vec::is_empty")]
        parts: ::std::vec::Vec<Content>,
        /// Whether it is hidden.
        hidden: bool,
        /// When it was made.
        #[message(timestamp)]
        at: ::std::option::Option<u64>,
    },
    /// A system message.
    #[message(system = "{text}", skip_if = ::std::string::String::is_empty(text))]
    Instructions {
        /// The text.
        text: ::std::string::String,
    },
    /// Some messages.
    #[message(project = Self::messages)]
    Function,
    /// A struct of its own.
    #[message(user = "{text}")]
    Held(#[serde(with = "held")] Held),
    /// A plugin's.
    #[message(extend)]
    Plugin(PluginNote),
}

impl AppMessage {
    const fn shown(&self) -> u8 {
        match *self {
            Self::ForModels { .. } => 1,
            _ => 0,
        }
    }

    fn messages(&self) -> ::std::vec::Vec<Message> {
        ::std::vec![Message::user(::std::format!("{}", self.shown()))]
    }
}

/// What a message holds.
#[derive(::std::fmt::Debug, Clone)]
pub struct Held {
    /// The text.
    pub text: ::std::string::String,
}

/// The JSON of [`Held`], without a derive of serde.
mod held {
    use ::renamed::__private::serde::de::Deserialize;
    use ::renamed::__private::serde::ser::SerializeMap;
    use ::renamed::__private::serde::{Deserializer, Serializer};
    use ::std::result::Result::{self, Ok};

    use super::Held;

    pub(super) fn serialize<S: Serializer>(held: &Held, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(::std::option::Option::Some(1))?;
        map.serialize_entry("text", &held.text)?;
        map.end()
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Held, D::Error> {
        let mut fields: ::std::collections::BTreeMap<::std::string::String, ::std::string::String> =
            Deserialize::deserialize(deserializer)?;
        Ok(Held { text: fields.remove("text").unwrap_or_default() })
    }
}
