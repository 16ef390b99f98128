//! Tests of the whole module, by theme.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[cfg(feature = "validate")]
mod coercion;
#[cfg(feature = "schema")]
mod from_type;
#[cfg(feature = "validate")]
mod laws;
#[cfg(feature = "validate")]
mod messages;
mod schemas;
#[cfg(feature = "validate")]
mod vectors;

use serde_json::{Map, Value};

use super::{Coercion, InvalidArguments, Schema};

/// The schema `json`, which must be usable.
#[track_caller]
fn schema(json: Value) -> Schema {
    Schema::from_json(json).expect("a usable schema")
}

#[track_caller]
fn object(json: &Value) -> Map<String, Value> {
    json.as_object().expect("arguments are an object").clone()
}

/// Checks `arguments` of a tool `t` with the default coercion.
#[track_caller]
fn check(schema: &Schema, arguments: &Value) -> Result<Value, InvalidArguments> {
    schema.check("t", object(arguments), Coercion::default()).map(Value::Object)
}
