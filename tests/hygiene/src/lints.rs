//! Under all lints that a crate may deny. A role and its fields are as documented as everything else.

use renamed::CustomMessage;
use renamed::message::Message;

/// A struct of one role.
#[derive(Debug, CustomMessage)]
#[message(crate = ::renamed, user = "{first} {second}", skip_if = !shown)]
pub struct Note {
    /// The first part.
    pub first: String,
    /// The second part.
    pub second: String,
    /// Whether the model sees it.
    pub shown: bool,
    /// When it was made.
    pub timestamp: u64,
}

/// A struct without fields.
#[derive(Debug, CustomMessage)]
#[message(crate = ::renamed, system = "The person left.")]
pub struct Left;

/// A type without a role.
#[derive(Debug, CustomMessage)]
#[message(crate = ::renamed)]
pub enum Nothing {}

/// A type that only extends.
#[derive(Debug, CustomMessage)]
#[message(crate = ::renamed)]
pub enum All {
    /// A note.
    #[message(extend)]
    Note(Note),
    /// Behind a box.
    #[message(extend)]
    Left(Box<Left>),
    /// Without a value.
    #[message(extend)]
    Nothing(Nothing),
}

/// Large and small variants, and many flags.
#[derive(Debug, CustomMessage)]
#[message(crate = ::renamed)]
pub enum Mixed {
    /// Small.
    #[message(project = nothing)]
    Small,
    /// Many flags.
    #[message(project = one(*a))]
    Flags {
        /// A flag.
        a: bool,
        /// A flag.
        b: bool,
        /// A flag.
        c: bool,
        /// A flag.
        d: bool,
    },
}

const fn nothing(_: &Mixed) -> Option<Message> {
    None
}

fn one(flag: bool) -> Message {
    Message::user(flag.to_string())
}
