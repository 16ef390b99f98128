//! What a tool accepts: its JSON Schema, and the check every call's arguments go through.
//!
//! A [`Schema`] is made once per tool, from a Rust type ([`Schema::of`], feature `schema`) or from JSON
//! ([`Schema::from_json`]). Everything that can be wrong with it is found there: a schema that names another
//! document, that refers to itself without descending into the data, that nests without end, or that is no
//! schema of its draft is a [`SchemaError`] and never a surprise in the middle of a run.
//!
//! [`Schema::check`] then decides about the arguments of one call. Models are careless about spelling, so by
//! default arguments that do not fit are first *coerced*, and what the coercion gives is *validated*. Only the
//! validation decides: nothing gets through that the schema refuses.
//!
//! # Coercion
//!
//! One rule stands behind every step: **coercion changes the representation of a value, never its information,
//! and only where no branch of the schema takes the value as it is.** All steps are on with
//! [`Coercion::Lenient`] (the default) and all are off with [`Coercion::Strict`].
//!
//! | the schema wants | what came | becomes |
//! |---|---|---|
//! | integer | an integral number in any spelling, `120000.0`, `6e4` | the integer, `120000`; also where the number already fits, since a Rust integer reads no other spelling |
//! | integer, number | text that is a JSON number, blanks around it allowed: `"5"`, `" 20.0 "`, `"6e4"` | that number, if it can be held exactly; an integer must be integral |
//! | integer, number | `true`, `false` | `1`, `0` |
//! | boolean | the texts `true` and `false` in any case | `true`, `false` |
//! | boolean | the numbers `1` and `0` | `true`, `false` |
//! | string | a number or a boolean | its JSON text; integral numbers without a fraction |
//! | array, object | JSON text of one that repeats no key, and no branch takes the text | the array or object, if it then fits |
//! | array | a single value that is not `null` | an array of that value, if it then fits |
//! | a listed value (`enum`, `const`) | another spelling of it by the rows above | the listed value |
//! | a property that is declared, optional and not nullable | `null` | absent, at every depth |
//!
//! Everything else stays as it is and is refused: `null` where a value is required, `null` for a key that is
//! not declared, `1.5` or `"abc"` for an integer, `"yes"` or `"1"` for a boolean, `0x10` and the empty text for
//! a number, a number in text that would be rounded, JSON text in which an object repeats a key (only the last value
//! would be left), anything but `null` for the type `null`.
//!
//! Where the schema leaves a choice, these rules apply.
//!
//! * Of a list of types and of the branches of a union, the first in the schema's order for which the coerced value
//!   fits is taken.
//! * JSON text goes before wrapping, and a candidate that fits as it is before one that needs further coercion.
//! * Coercion reaches as deep as the schema describes the data, through references, unions, conditions, tuples and
//!   maps. It does not look into `not`, `contains`, `propertyNames` and `unevaluated…`.
//! * Its work is bounded. Arguments that would need more (only schemas built to be expensive get there) are left as
//!   they are, and validated as such.
//!
//! Coercing twice is the same as coercing once, and a value that fits is not changed, but for the spelling of
//! integers.
//!
//! # Validation
//!
//! Each schema is validated by the draft its `$schema` names; without one it is 2020-12, or 2019-09 when it
//! spells tuples in the old way (`items` as a list). Formats that nobody knows are ignored. Equal `$id`s of two
//! tools do not meet, because every schema is compiled on its own.
//!
//! [`InvalidArguments`] is written for the model: the tool, and for each problem the path, what was expected
//! and what came, with allowed values listed once. A union that refuses a value is looked into: the problem is
//! told for the branch the value was meant for, or as one line of choices. What is echoed is cut on a character
//! border, and the text says so; the whole text stays below 16 KiB.
//!
//! # Without the feature `validate`
//!
//! Nothing can tell then whether a value fits, so nothing is coerced either: [`Schema::check`] passes arguments
//! through, and [`Schema::from_json`] refuses only what is no object schema and what nests too deep. A typed
//! tool still reads its arguments by serde.

#[cfg(feature = "validate")]
mod budget;
#[cfg(feature = "validate")]
mod coerce;
#[cfg(feature = "validate")]
mod compile;
mod depth;
#[cfg(feature = "validate")]
mod descent;
#[cfg(feature = "validate")]
mod describe;
mod error;
#[cfg(feature = "validate")]
mod explain;
#[cfg(feature = "schema")]
mod from_type;
mod order;
#[cfg(feature = "validate")]
mod plan;
#[cfg(feature = "validate")]
mod reference;
#[cfg(feature = "validate")]
mod scalar;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub use self::error::{InvalidArguments, Problem, SchemaError};
pub(crate) use self::order::Ordered;

#[cfg(feature = "validate")]
use self::compile::Compiled;

/// How many levels arrays and objects may nest, in a schema and in arguments: what `serde_json` itself reads. A
/// JSON value that a program builds can be deeper, and would overflow the stack of whatever recurses into it.
pub(crate) const MAX_DEPTH: usize = 128;

/// The JSON Schema of a tool's arguments, as the model is shown it and as calls are checked by it.
///
/// Cheap to clone: the JSON and what is compiled from it are shared. Two schemas are equal when they are equal
/// as JSON values.
///
/// A schema serializes as its JSON, with the properties in a useful order: the required ones in the order of
/// `required` (which for a Rust type is the order of its fields), then the others. [`Schema::as_json`] gives
/// the JSON as a value, whose objects sort their keys unless `serde_json`'s feature `preserve_order` is on;
/// with that feature, both keep the order of declaration.
#[derive(Clone)]
pub struct Schema {
    inner: Arc<Inner>,
}

struct Inner {
    json: Arc<Value>,
    #[cfg(feature = "validate")]
    compiled: Compiled,
}

/// Whether arguments that do not fit are coerced before they are validated. Each tool chooses for itself; see
/// the [module](self#coercion) for the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Coercion {
    /// All steps of the table. The default, since models misspell values far more often than they mean others.
    #[default]
    Lenient,
    /// None: arguments fit as they are, or are refused.
    Strict,
}

impl Schema {
    /// The schema of the Rust type that a typed tool reads its arguments into.
    ///
    /// It is written for providers: draft 2020-12 without `$schema`, all types inlined; `$defs` and `$ref`
    /// appear only for types that contain themselves. A title that only repeats the type's name is left out.
    ///
    /// # Errors
    ///
    /// When the type's schema does not describe an object, or when one of its attributes makes it invalid, such
    /// as a pattern that is no regular expression.
    #[cfg(feature = "schema")]
    pub fn of<T: schemars::JsonSchema>() -> Result<Self, SchemaError> {
        Self::from_json(from_type::describe::<T>())
    }

    /// A schema from its JSON, by the draft that its `$schema` names, or else by 2020-12.
    ///
    /// # Errors
    ///
    /// When the JSON is no object schema, names an unknown draft, refers to another document (nothing is ever
    /// fetched), to a place that does not exist, or to itself without descending into the data, nests deeper
    /// than 128 levels, grows beyond measure when its references are followed, or is invalid by its draft. A
    /// regular expression that cannot be compiled is such a case.
    pub fn from_json(schema: Value) -> Result<Self, SchemaError> {
        if depth::survey(&schema, MAX_DEPTH).too_deep {
            depth::dismantle(schema);
            return Err(SchemaError::TooDeep { limit: MAX_DEPTH });
        }
        describes_objects(&schema)?;
        let json = Arc::new(schema);
        let inner = Inner {
            #[cfg(feature = "validate")]
            compiled: Compiled::new(&json)?,
            json,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The schema as a JSON value, with sorted keys (see [`Schema`]).
    #[must_use]
    pub fn as_json(&self) -> &Value {
        &self.inner.json
    }

    /// The same, shared: a tool's declaration holds it.
    pub(crate) fn to_shared_json(&self) -> Arc<Value> {
        self.inner.json.clone()
    }

    /// Coerces the arguments of one call as `coercion` says, validates what that gives, and returns it.
    ///
    /// `tool` is only named in the error. Arguments that fit are moved through; the empty object costs no more
    /// than looking at it.
    ///
    /// # Errors
    ///
    /// When the arguments do not fit, also after coercion. The error's text is for the model. Arguments that nest
    /// deeper than 128 levels do not fit, fewer where a schema hands each value on unusually often: checking them
    /// could exhaust the stack.
    #[cfg_attr(not(feature = "validate"), allow(unused_variables, reason = "nothing is checked then"))]
    pub fn check(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        coercion: Coercion,
    ) -> Result<Map<String, Value>, InvalidArguments> {
        #[cfg(feature = "validate")]
        let arguments = self.inner.compiled.check(tool, arguments, coercion)?;
        Ok(arguments)
    }
}

/// Arguments are an object, so a schema that says it takes none fits no tool.
fn describes_objects(schema: &Value) -> Result<(), SchemaError> {
    let found = match schema {
        Value::Object(members) if takes_objects(members) => return Ok(()),
        Value::Object(members) => {
            format!("one of the type {}", members.get("type").map(ToString::to_string).unwrap_or_default())
        }
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
    };
    Err(SchemaError::NotAnObject { found })
}

/// Whether a schema's `type` lets objects through. Without one it does, and one that is no type at all is for
/// the validator to refuse.
fn takes_objects(schema: &Map<String, Value>) -> bool {
    const OTHERS: [&str; 6] = ["null", "boolean", "integer", "number", "string", "array"];
    let is_other = |name: &Value| name.as_str().is_some_and(|name| OTHERS.contains(&name));
    match schema.get("type") {
        Some(Value::Array(names)) => names.is_empty() || !names.iter().all(is_other),
        Some(name) => !is_other(name),
        None => true,
    }
}

impl PartialEq for Schema {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner) || self.inner.json == other.inner.json
    }
}

impl Eq for Schema {}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Schema({})", self.inner.json)
    }
}

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Ordered(&self.inner.json).serialize(serializer)
    }
}
