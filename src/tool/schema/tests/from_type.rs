//! Schemas of Rust types.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::tool::schema::order::keeps_order;
use crate::tool::schema::{Schema, SchemaError};

#[derive(JsonSchema, Serialize, Deserialize)]
#[allow(dead_code, reason = "only the schema is looked at")]
struct Edit {
    path: String,
    /// What to look for.
    old: String,
    new: String,
    #[serde(default)]
    all: bool,
}

#[derive(JsonSchema, Serialize, Deserialize)]
#[allow(dead_code, reason = "only the schema is looked at")]
struct Args {
    /// Why this is done.
    reason: String,
    edits: Vec<Edit>,
    limit: Option<u32>,
    big: u64,
    ratio: f64,
    count: usize,
}

#[derive(JsonSchema, Serialize, Deserialize)]
struct Node {
    value: i64,
    #[serde(default)]
    children: Vec<Node>,
}

#[test]
fn a_type_is_inlined_without_the_words_that_providers_refuse() {
    let json = Schema::of::<Args>().unwrap().as_json().to_string();
    for word in ["$schema", "$defs", "$ref", "\"title\""] {
        assert!(!json.contains(word), "{word} in {json}");
    }
}

#[test]
fn only_a_type_that_contains_itself_keeps_a_reference() {
    let schema = Schema::of::<Node>().unwrap();
    let json = schema.as_json().to_string();
    assert!(json.contains("$ref") && !json.contains("$schema"), "{json}");
}

#[test]
fn required_fields_are_written_in_the_order_of_declaration() {
    let text = serde_json::to_string(&Schema::of::<Args>().unwrap()).unwrap();
    let position = |field: &str| text.find(&format!("\"{field}\":")).unwrap();
    let declared = ["reason", "edits", "path", "old", "new", "big", "ratio", "count"].map(position);
    assert!(declared.is_sorted(), "{text}");
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&text).unwrap(),
        *Schema::of::<Args>().unwrap().as_json()
    );
}

#[test]
fn a_schema_as_written_by_hand_keeps_the_order_of_its_required_keys() {
    let json = json!({
        "type": "object",
        "properties": { "a": {}, "b": { "properties": { "y": {}, "x": {} }, "required": ["y", "gone"] }, "c": {} },
        "required": ["c", "b"],
    });
    let text = serde_json::to_string(&Schema::from_json(json).unwrap()).unwrap();
    let expected = if keeps_order() {
        r#"{"type":"object","properties":{"a":{},"b":{"properties":{"y":{},"x":{}},"required":["y","gone"]},"c":{}},"required":["c","b"]}"#
    } else {
        r#"{"properties":{"c":{},"b":{"properties":{"y":{},"x":{}},"required":["y","gone"]},"a":{}},"required":["c","b"],"type":"object"}"#
    };
    assert_eq!(text, expected);
}

#[test]
fn equal_types_have_equal_schemas() {
    assert_eq!(Schema::of::<Args>(), Schema::of::<Args>());
    assert_ne!(Schema::of::<Args>(), Schema::of::<Node>());
    let any = Schema::from_json(json!({ "type": "object" })).unwrap();
    assert_eq!(format!("{any:?}"), r#"Schema({"type":"object"})"#);
}

#[test]
fn a_type_that_is_no_object_has_no_schema() {
    let fault = SchemaError::NotAnObject { found: r#"one of the type "string""#.to_owned() };
    assert_eq!(Schema::of::<String>(), Err(fault));
}

#[cfg(feature = "validate")]
mod validated {
    use serde_json::{Value, json};

    use super::*;
    use crate::tool::schema::tests::check;

    #[derive(JsonSchema, Deserialize)]
    #[allow(dead_code, reason = "only the schema is looked at")]
    struct BadPattern {
        #[schemars(regex(pattern = "(unclosed"))]
        name: String,
    }

    #[derive(JsonSchema, Serialize, Deserialize)]
    #[serde(tag = "op", rename_all = "snake_case")]
    enum Operation {
        /// Puts a line in.
        Insert {
            line: u32,
            text: String,
        },
        Delete {
            line: u32,
        },
    }

    #[derive(JsonSchema, Serialize, Deserialize)]
    struct Operations {
        operations: Vec<Operation>,
    }

    #[test]
    fn number_formats_of_rust_types_are_ignored_and_options_may_be_absent_or_null() {
        let schema = Schema::of::<Args>().unwrap();
        let least = json!({ "reason": "r", "edits": [], "big": u64::MAX, "ratio": 0.5, "count": 3 });
        assert_eq!(check(&schema, &least).unwrap(), least);
        let mut with_null = least;
        with_null["limit"] = Value::Null;
        assert_eq!(check(&schema, &with_null).unwrap(), with_null);
        serde_json::from_value::<Args>(with_null).unwrap();
    }

    #[test]
    fn a_type_that_contains_itself_is_coerced_and_refused_at_each_level() {
        let schema = Schema::of::<Node>().unwrap();
        let tree = |leaf: Value| json!({ "value": "1", "children": [{ "value": 2.0, "children": [{ "value": leaf }] }] });
        let read: Node = serde_json::from_value(check(&schema, &tree(json!("3"))).unwrap()).unwrap();
        assert_eq!((read.value, read.children[0].value, read.children[0].children[0].value), (1, 2, 3));
        let error = check(&schema, &tree(json!("x"))).unwrap_err();
        assert_eq!(error.paths().collect::<Vec<_>>(), ["children.0.children.0.value"]);
    }

    #[test]
    fn a_tagged_enum_is_coerced_in_its_branch_and_told_by_its_tag() {
        let schema = Schema::of::<Operations>().unwrap();
        let arguments = json!({ "operations": [{ "op": "insert", "line": "5", "text": 7 }, "{\"op\":\"delete\",\"line\":1}"] });
        let read: Operations = serde_json::from_value(check(&schema, &arguments).unwrap()).unwrap();
        let expected = json!({ "operations": [{ "op": "insert", "line": 5, "text": "7" }, { "op": "delete", "line": 1 }] });
        assert_eq!(serde_json::to_value(read).unwrap(), expected);
        let error =
            check(&schema, &json!({ "operations": [{ "op": "move" }, { "op": "delete" }] })).unwrap_err();
        assert_eq!(
            error.to_string(),
            "invalid arguments for the tool `t`:\n\
             - operations.0.op: expected one of \"insert\", \"delete\", got the string \"move\"\n\
             - operations.1.line: expected an integer, got nothing (the key is missing)"
        );
    }

    #[test]
    fn a_pattern_that_cannot_be_used_is_told_with_its_place() {
        let error = Schema::of::<BadPattern>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "the schema is invalid at `#/properties/name/pattern`: \"(unclosed\" is no regular expression that can be used"
        );
    }
}
