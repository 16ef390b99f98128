//! JSON Schemas, with arguments that fit and arguments that do not.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::text;

/// A tool's schema, with arguments that fit it and arguments that do not.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SchemaCase {
    /// The JSON Schema: always one of an object.
    pub schema: Value,
    /// Arguments that fit as they are: no coercion is needed.
    pub fitting: Value,
    /// Arguments that do not fit, and cannot be made to without loss.
    pub unfitting: Value,
}

/// Schemas of objects, nested up to three deep.
pub fn schema() -> impl Strategy<Value = SchemaCase> + Clone {
    object(part()).prop_map(|part| SchemaCase {
        schema: part.schema,
        fitting: part.fitting,
        unfitting: part.unfitting,
    })
}

/// The schema of one value, a value that fits, and one that does not.
#[derive(Debug, Clone)]
struct Part {
    schema: Value,
    fitting: Value,
    unfitting: Value,
}

impl Part {
    fn new(schema: Value, fitting: impl Into<Value>, unfitting: impl Into<Value>) -> Self {
        Self { schema, fitting: fitting.into(), unfitting: unfitting.into() }
    }
}

fn part() -> impl Strategy<Value = Part> + Clone {
    let leaf = prop_oneof![
        text().prop_map(|text| Part::new(json!({ "type": "string" }), text, json!({ "no": "text" }))),
        any::<i32>().prop_map(|n| Part::new(json!({ "type": "integer" }), n, "no number")),
        (-100..100_i8).prop_map(|n| Part::new(json!({ "type": "number" }), f64::from(n) + 0.5, "no number")),
        any::<bool>().prop_map(|is| Part::new(json!({ "type": "boolean" }), is, "maybe")),
        Just(Part::new(json!({ "enum": ["red", "green"] }), "red", "blue")),
        Just(Part::new(json!({ "type": ["string", "null"] }), Value::Null, json!({ "no": "text" }))),
        (0..9_u8).prop_map(|n| Part::new(json!({ "type": "integer", "maximum": 9 }), n, 10)),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| prop_oneof![object(inner.clone()), array(inner)])
}

fn array(item: impl Strategy<Value = Part> + Clone + 'static) -> BoxedStrategy<Part> {
    (item, 0..3_usize)
        .prop_map(|(item, count)| {
            let schema = json!({ "type": "array", "items": item.schema });
            Part::new(schema, vec![item.fitting; count], Value::Array(vec![item.unfitting]))
        })
        .boxed()
}

/// An object of required and optional properties. One required property that does not fit makes it unfitting, and so
/// does a missing one.
fn object(property: impl Strategy<Value = Part> + Clone + 'static) -> BoxedStrategy<Part> {
    let optional = vec((property.clone(), any::<bool>()), 0..3);
    (property, optional, any::<bool>())
        .prop_map(|(required, optional, missing)| {
            let mut properties = Map::new();
            let mut fitting = Map::new();
            properties.insert("must".to_owned(), required.schema);
            fitting.insert("must".to_owned(), required.fitting);
            for (at, (part, present)) in optional.into_iter().enumerate() {
                let name = format!("may{at}");
                properties.insert(name.clone(), part.schema);
                if present {
                    fitting.insert(name, part.fitting);
                }
            }
            let mut unfitting = fitting.clone();
            if missing {
                unfitting.remove("must");
            } else {
                unfitting.insert("must".to_owned(), required.unfitting);
            }
            let schema = json!({ "type": "object", "properties": properties, "required": ["must"] });
            Part::new(schema, fitting, unfitting)
        })
        .boxed()
}
