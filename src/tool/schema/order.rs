//! The order in which a schema's properties are written.
//!
//! A model writes arguments in the order in which it reads the properties, so the order is worth keeping:
//! reasons before the verdict, the path before the content. `serde_json`'s objects sort their keys, unless its
//! feature `preserve_order` is on somewhere in the program. What is left of the order then is the list of
//! required keys, which is in the order of declaration. So required properties are written first, in that
//! order, and the optional ones after them, sorted.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};

/// The JSON of a schema, serialized with its properties in order as a [`Schema`](super::Schema) is: for
/// adapters that hold only the JSON. Wherever the text is built from it directly, the model reads the
/// properties in that order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ordered<'s>(pub(crate) &'s Value);

/// The `properties` of an object schema, with its `required`.
struct Properties<'s> {
    members: &'s Map<String, Value>,
    required: &'s [Value],
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Ordered)),
            Value::Object(members) => {
                let required =
                    members.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, member) in members {
                    match member {
                        Value::Object(members) if key == "properties" && !keeps_order() => {
                            map.serialize_entry(key, &Properties { members, required })?;
                        }
                        member => map.serialize_entry(key, &Ordered(member))?,
                    }
                }
                map.end()
            }
            scalar => scalar.serialize(serializer),
        }
    }
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let is_required = |key: &str| self.required.iter().any(|required| required == key);
        let first = self.required.iter().filter_map(|key| self.members.get_key_value(key.as_str()?));
        let last = self.members.iter().filter(|(key, _)| !is_required(key));
        serializer.collect_map(first.chain(last).map(|(key, member)| (key, Ordered(member))))
    }
}

/// Whether `serde_json`'s objects keep the order in which keys are put in.
pub(super) fn keeps_order() -> bool {
    let object: Map<String, Value> =
        ["b", "a"].map(|key| (key.to_owned(), Value::Null)).into_iter().collect();
    object.keys().next().is_some_and(|first| first == "b")
}
