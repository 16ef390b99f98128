//! Everything that an expansion may name means something else here.
//!
//! Two hostile names are missing, which serde's own expansions do not bear: a type called `str`, and a constant with the
//! name of a field.

#![allow(dead_code, unused_macros, non_camel_case_types, reason = "hostile names are there to be in the way")]

macro_rules! concat {
    ($($any:tt)*) => {
        compile_error!("an expansion calls `concat!` by its bare name")
    };
}
macro_rules! format {
    ($($any:tt)*) => {
        compile_error!("an expansion calls `format!` by its bare name")
    };
}
macro_rules! module_path {
    ($($any:tt)*) => {
        compile_error!("an expansion calls `module_path!` by its bare name")
    };
}

/// Hostile modules.
mod std {}
mod core {}
mod serde {}
mod turnstate {}
mod renamed {}

/// Hostile types.
struct Option;
struct Result;
struct Some;
struct None;
struct Ok;
struct Err;
struct Vec;
struct Role;
struct Roles;
struct Projection;
struct Serialize;
struct Deserialize;
struct Serializer;
struct Deserializer;
struct Fields;

/// A trait with the methods that an expansion calls, for all types.
trait Hostile {
    fn role(&self) {}
    fn project(&self) {}
    fn timestamp(&self) {}
    fn at(&self) {}
    fn serialize<S>(&self, _: S) {}
    fn serialize_fields<S>(&self, _: S) {}
    fn deserialize_fields() {}
    fn deserialize<D>(_: D) {}
    fn serialize_unit(&self) {}
    fn none() {}
    fn of() {}
    fn extending(&self) {}
    fn check_extension(&self) {}
    fn map(&self) {}
}
impl<T: ?Sized> Hostile for T {}

/// A plugin's roles.
#[derive(Debug, ::renamed::CustomMessage)]
#[message(crate = ::renamed)]
pub enum S {
    /// A variant with the name of a type of the prelude.
    #[message(user = "{text}")]
    Some {
        /// A field.
        text: String,
    },
}

/// The application's roles, whose parameters have the names that are usual for serde's traits.
#[derive(Debug, ::renamed::CustomMessage)]
#[message(crate = ::renamed)]
pub enum Message<D, T, const N: usize>
where
    D: ::renamed::CustomMessage,
    T: ::std::fmt::Debug + ::std::fmt::Display + Send + Sync + 'static,
    T: ::renamed::__private::serde::Serialize + ::renamed::__private::serde::de::DeserializeOwned,
{
    /// Fields with the names of the expansion's own variables.
    #[message(user = "{role}{serializer}{fields}{field0}{command}{type}", skip_if = hidden)]
    Locals {
        /// Not the role in JSON.
        #[serde(rename = "part")]
        role: T,
        /// A field.
        serializer: String,
        /// A field.
        fields: String,
        /// A field.
        field0: String,
        /// A field.
        command: String,
        /// A field.
        r#type: String,
        /// A field.
        hidden: bool,
        /// A field.
        field1: u8,
    },
    /// A variant with the name of a type.
    #[message(skip)]
    Result,
    /// A variant with the name of a type.
    #[message(system = "{self_}{type}")]
    Option {
        /// A field.
        self_: T,
        /// A field.
        r#type: String,
        /// When it was made.
        timestamp: u64,
    },
    /// A number that only the type knows.
    #[message(skip)]
    Numbers {
        /// Numbers.
        #[serde(skip)]
        numbers: [u8; 1],
        /// Itself.
        #[serde(skip)]
        it: ::std::marker::PhantomData<[Self; N]>,
    },
    /// A variant with the name of the crate.
    #[message(extend)]
    turnstate(D),
    /// The plugin's.
    #[message(extend)]
    S(S),
}
