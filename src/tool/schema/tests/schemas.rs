//! Which schemas a tool can have, and what is found wrong with others when the tool is made.

use serde_json::{Map, Value, json};

use super::{check, schema};
use crate::tool::schema::{MAX_DEPTH, Schema, SchemaError};

#[track_caller]
fn fault(json: Value) -> String {
    Schema::from_json(json).expect_err("an unusable schema").to_string()
}

/// A value below `levels` objects.
fn nested(levels: usize, mut value: Value) -> Value {
    for _ in 0..levels {
        value = Value::Object(Map::from_iter([("not".to_owned(), value)]));
    }
    value
}

#[test]
fn a_schema_is_an_object_that_describes_an_object() {
    for (json, found) in [
        (json!(null), "null"),
        (json!(true), "a boolean"),
        (json!(5), "a number"),
        (json!("object"), "a string"),
        (json!([]), "an array"),
        (json!({ "type": "string" }), r#"one of the type "string""#),
        (json!({ "type": ["array", "null"] }), r#"one of the type ["array","null"]"#),
    ] {
        assert_eq!(
            fault(json),
            format!("a tool's schema is a JSON object that describes an object, not {found}")
        );
    }
    for json in [
        json!({}),
        json!({ "type": "object" }),
        json!({ "type": ["object", "null"] }),
        json!({ "properties": {} }),
    ] {
        assert!(Schema::from_json(json.clone()).is_ok(), "{json}");
    }
}

#[test]
fn a_schema_that_nests_too_deep_is_an_error_and_is_dropped_without_recursion() {
    let error = SchemaError::TooDeep { limit: MAX_DEPTH };
    assert_eq!(Schema::from_json(nested(100_000, json!({}))), Err(error.clone()));
    assert_eq!(Schema::from_json(nested(MAX_DEPTH, json!({}))), Err(error.clone()));
    let mut arrays = json!([]);
    for _ in 0..100_000 {
        arrays = Value::Array(vec![arrays]);
    }
    let listed = Map::from_iter([("enum".to_owned(), arrays)]);
    assert_eq!(Schema::from_json(Value::Object(listed)), Err(error.clone()));
    assert_eq!(error.to_string(), "the schema nests, or its references lead on, deeper than 128 levels");
    assert!(Schema::from_json(nested(MAX_DEPTH - 1, json!({}))).is_ok());
}

#[test]
fn every_object_fits_the_schema_of_any_arguments() {
    let anything = schema(json!({ "type": "object" }));
    assert_eq!(anything.as_json(), &json!({ "type": "object" }));
    for arguments in [json!({}), json!({ "a": [1.0, null] })] {
        assert_eq!(check(&anything, &arguments).unwrap(), arguments);
    }
}

#[cfg(not(feature = "validate"))]
#[test]
fn without_validation_arguments_pass_through() {
    let closed = schema(
        json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "additionalProperties": false }),
    );
    let arguments = json!({ "a": "5", "zz": 2.0 });
    assert_eq!(check(&closed, &arguments).unwrap(), arguments);
}

#[cfg(feature = "validate")]
mod validated {
    use super::*;
    use crate::tool::schema::Coercion;

    fn paths(schema: &Schema, arguments: &Value) -> Vec<String> {
        check(schema, arguments).unwrap_err().paths().map(str::to_owned).collect()
    }

    #[test]
    fn only_the_empty_object_fits_a_schema_without_properties_that_is_closed() {
        let none = schema(json!({ "type": "object", "properties": {}, "additionalProperties": false }));
        for coercion in [Coercion::Lenient, Coercion::Strict] {
            assert_eq!(none.check("t", Map::new(), coercion).unwrap(), Map::new());
        }
        assert_eq!(paths(&none, &json!({ "a": 1 })), ["a"]);
    }

    #[test]
    fn nothing_is_fetched() {
        for reference in [
            "https://example.com/s.json",
            "http://localhost:1/s",
            "file:///etc/passwd",
            "other.json",
            "urn:x:y",
        ] {
            let told =
                format!("the schema refers to another document, `{reference}`, and nothing is fetched");
            assert_eq!(fault(json!({ "$ref": reference })), told);
            assert_eq!(fault(json!({ "properties": { "a": { "items": { "$ref": reference } } } })), told);
            assert_eq!(fault(json!({ "$defs": { "unused": { "$ref": reference } } })), told);
        }
    }

    #[test]
    fn a_reference_that_leads_nowhere_is_an_error() {
        assert_eq!(
            fault(json!({ "$ref": "#/$defs/a" })),
            "the schema refers to `/$defs/a`, which is not in it"
        );
        assert_eq!(
            fault(json!({ "items": { "$ref": "#a" } })),
            "the schema refers to `a`, which is not in it"
        );
    }

    #[test]
    fn a_reference_that_comes_back_without_data_is_an_error() {
        for (json, path) in [
            (json!({ "$ref": "#" }), "#"),
            (json!({ "allOf": [{ "$ref": "#" }] }), "#"),
            (json!({ "anyOf": [{ "type": "object" }, { "$ref": "#" }] }), "#"),
            (json!({ "oneOf": [{ "type": "object" }, { "$ref": "#" }] }), "#"),
            (json!({ "not": { "$ref": "#" } }), "#"),
            (json!({ "if": { "$ref": "#" } }), "#"),
            (json!({ "if": true, "then": { "$ref": "#" } }), "#"),
            (json!({ "dependentSchemas": { "a": { "$ref": "#" } } }), "#"),
            (json!({ "$dynamicAnchor": "a", "$dynamicRef": "#a" }), "#"),
            (json!({ "properties": { "a": { "$ref": "#/properties/a" } } }), "#/properties/a"),
            (
                json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "allOf": [{ "$ref": "#/$defs/a" }] } } }),
                "#/$defs/a",
            ),
            (
                json!({ "$schema": "http://json-schema.org/draft-07/schema#", "definitions": { "a": { "$ref": "#/definitions/a" } },
                    "properties": { "a": { "$ref": "#/definitions/a" } } }),
                "#/definitions/a",
            ),
        ] {
            let told = format!("the schema refers to itself at `{path}` without descending into the data");
            assert_eq!(fault(json.clone()), told, "{json}");
        }
    }

    #[test]
    fn a_reference_that_follows_the_data_down_is_checked_and_coerced_at_each_level() {
        let node = |definitions: &str| {
            json!({
                "type": "object",
                "properties": {
                    "value": { "type": "integer" },
                    "children": { "type": "array", "items": { "$ref": format!("#/{definitions}/Node") } },
                },
                "required": ["value"],
            })
        };
        let root = json!({
            "type": "object",
            "properties": { "value": { "type": "integer" }, "children": { "items": { "$ref": "#" } } },
            "required": ["value"],
        });
        let dynamic = json!({
            "$dynamicAnchor": "node",
            "type": "object",
            "properties": { "value": { "type": "integer" }, "children": { "items": { "$dynamicRef": "#node" } } },
            "required": ["value"],
        });
        let recursive = json!({
            "$schema": "https://json-schema.org/draft/2019-09/schema",
            "$recursiveAnchor": true,
            "type": "object",
            "properties": { "value": { "type": "integer" }, "children": { "items": { "$recursiveRef": "#" } } },
            "required": ["value"],
        });
        for json in [
            json!({ "$ref": "#/$defs/Node", "$defs": { "Node": node("$defs") } }),
            json!({ "$ref": "#/definitions/Node", "definitions": { "Node": node("definitions") } }),
            root,
            dynamic,
            recursive,
        ] {
            let schema = schema(json);
            let tree = |leaf: Value| json!({ "value": "1", "children": [{ "value": "2", "children": [{ "value": leaf }] }] });
            assert_eq!(
                check(&schema, &tree(json!("3"))).unwrap(),
                json!({ "value": 1, "children": [{ "value": 2, "children": [{ "value": 3 }] }] })
            );
            assert_eq!(paths(&schema, &tree(json!("x"))), ["children.0.children.0.value"]);
            assert_eq!(
                paths(&schema, &json!({ "value": 1, "children": [{ "children": [] }] })),
                ["children.0.value"]
            );
        }
    }

    #[test]
    fn each_schema_is_read_by_its_own_draft() {
        let drafts = [
            ("http://json-schema.org/draft-04/schema#", json!({ "minimum": 5, "exclusiveMinimum": true })),
            ("http://json-schema.org/draft-06/schema#", json!({ "exclusiveMinimum": 5 })),
            ("http://json-schema.org/draft-07/schema#", json!({ "if": { "maximum": 5 }, "then": false })),
            (
                "https://json-schema.org/draft/2019-09/schema",
                json!({ "allOf": [{ "$ref": "#/$defs/m" }], "not": { "const": 5 } }),
            ),
            ("https://json-schema.org/draft/2020-12/schema", json!({ "exclusiveMinimum": 5 })),
        ];
        for (draft, value) in drafts {
            let schema = schema(json!({
                "$schema": draft,
                "$id": "https://example.com/same",
                "id": "https://example.com/same",
                "properties": { "v": value },
                "$defs": { "m": { "minimum": 5 } },
            }));
            assert_eq!(check(&schema, &json!({ "v": 6 })).unwrap(), json!({ "v": 6 }), "{draft}");
            assert_eq!(paths(&schema, &json!({ "v": 5 })), ["v"], "{draft}");
        }
    }

    #[test]
    fn in_draft_4_a_decimal_that_is_integral_becomes_the_integer_that_fits() {
        let schema = schema(json!({
            "$schema": "http://json-schema.org/draft-04/schema#",
            "properties": { "v": { "type": "integer" } },
        }));
        assert_eq!(check(&schema, &json!({ "v": 5.0 })).unwrap(), json!({ "v": 5 }));
        assert!(schema.check("t", Map::from_iter([("v".to_owned(), json!(5.0))]), Coercion::Strict).is_err());
    }

    #[test]
    fn beside_a_reference_nothing_counts_up_to_draft_7() {
        let json = |draft: &str| {
            json!({ "$schema": draft, "properties": { "v": { "$ref": "#/definitions/t", "maxLength": 1 } },
                "definitions": { "t": { "type": "string" } } })
        };
        let old = schema(json("http://json-schema.org/draft-07/schema#"));
        assert_eq!(check(&old, &json!({ "v": 12 })).unwrap(), json!({ "v": "12" }));
        let new = schema(json("https://json-schema.org/draft/2020-12/schema"));
        assert_eq!(paths(&new, &json!({ "v": 12 })), ["v"]);
    }

    #[test]
    fn two_schemas_with_the_same_id_do_not_meet() {
        let of = |kind: &str| {
            schema(
                json!({ "$id": "https://example.com/x", "properties": { "v": { "$ref": "#/$defs/v" } }, "$defs": { "v": { "type": kind } } }),
            )
        };
        let (text, number) = (of("string"), of("integer"));
        assert_eq!(check(&text, &json!({ "v": 1 })).unwrap(), json!({ "v": "1" }));
        assert_eq!(check(&number, &json!({ "v": "1" })).unwrap(), json!({ "v": 1 }));
    }

    #[test]
    fn an_embedded_resource_resolves_its_own_references() {
        let schema = schema(json!({
            "$id": "https://example.com/outer",
            "properties": { "inner": { "$id": "inner", "properties": { "n": { "$ref": "#/$defs/x" } }, "$defs": { "x": { "type": "integer" } } } },
            "$defs": { "x": { "type": "boolean" } },
        }));
        assert_eq!(
            check(&schema, &json!({ "inner": { "n": "1" } })).unwrap(),
            json!({ "inner": { "n": 1 } })
        );
    }

    #[test]
    fn an_unknown_draft_is_an_error() {
        for uri in ["https://example.com/my-draft", "#", ""] {
            let told = format!("the schema's draft `{uri}` is unknown");
            assert_eq!(fault(json!({ "$schema": uri, "const": "a" })), told);
        }
    }

    #[test]
    fn without_a_draft_both_forms_of_tuples_are_understood() {
        for json in [
            json!({ "properties": { "v": { "type": "array", "prefixItems": [{ "type": "number" }, { "type": "string" }] } } }),
            json!({ "properties": { "v": { "type": "array", "items": [{ "type": "number" }, { "type": "string" }] } } }),
        ] {
            let schema = schema(json);
            assert_eq!(check(&schema, &json!({ "v": [1, "a"] })).unwrap(), json!({ "v": [1, "a"] }));
            assert_eq!(check(&schema, &json!({ "v": ["1", 2] })).unwrap(), json!({ "v": [1, "2"] }));
            assert_eq!(paths(&schema, &json!({ "v": ["a", 1] })), ["v.0"]);
        }
    }

    #[test]
    fn what_a_draft_forbids_is_an_error_with_its_place() {
        for (json, told) in [
            (
                json!({ "properties": { "a": { "type": "strin" } } }),
                r##"the schema is invalid at `#/properties/a/type`: "strin" is not one of "array", "boolean" or 5 other candidates"##,
            ),
            (
                json!({ "required": "a" }),
                r##"the schema is invalid at `#/required`: "a" is not of type "array""##,
            ),
            (
                json!({ "properties": [] }),
                r##"the schema is invalid at `#/properties`: [] is not of type "object""##,
            ),
            (
                json!({ "properties": { "a": { "pattern": "(" } } }),
                r##"the schema is invalid at `#/properties/a/pattern`: "(" is no regular expression that can be used"##,
            ),
            (
                json!({ "patternProperties": { "[": {} } }),
                r##"the schema is invalid at `#/patternProperties/%5B`: "[" is no regular expression that can be used"##,
            ),
        ] {
            assert_eq!(fault(json), told);
        }
    }

    #[test]
    fn patterns_may_look_ahead_and_use_classes_in_sets() {
        let schema = schema(json!({ "properties": {
            "ahead": { "type": "string", "pattern": "^(?!eo:)" },
            "set": { "type": "string", "pattern": "^[\\w\\-\\.\\+]+$" },
        } }));
        assert!(check(&schema, &json!({ "ahead": "x", "set": "CC-BY-4.0" })).is_ok());
        assert_eq!(paths(&schema, &json!({ "ahead": "eo:x", "set": "CC BY" })), ["ahead", "set"]);
    }

    #[test]
    fn formats_that_nobody_knows_are_ignored() {
        let formats = ["uint64", "double", "int32", "no-such-format"];
        for draft in
            ["http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"]
        {
            let properties: Map<String, Value> =
                formats.iter().map(|format| ((*format).to_owned(), json!({ "format": format }))).collect();
            let schema = schema(json!({ "$schema": draft, "properties": properties }));
            let arguments: Map<String, Value> =
                formats.iter().map(|format| ((*format).to_owned(), json!("x"))).collect();
            assert!(check(&schema, &Value::Object(arguments)).is_ok());
        }
    }

    #[test]
    fn arguments_that_nest_too_deep_are_refused_and_dropped_without_recursion() {
        let schema = schema(json!({ "type": "object", "properties": {} }));
        let mut deep = Map::new();
        deep.insert("a".to_owned(), nested(100_000, json!({})));
        assert_eq!(
            schema.check("t", deep, Coercion::Lenient).unwrap_err().to_string(),
            "invalid arguments for the tool `t`:\n- root: expected at most 128 levels of nested arrays and objects, got more"
        );
        let mut bearable = Map::new();
        bearable.insert("a".to_owned(), nested(MAX_DEPTH - 2, json!({})));
        assert!(schema.check("t", bearable, Coercion::Lenient).is_ok());
    }

    #[test]
    fn unions_inside_recursion_do_not_multiply_the_work() {
        // Naive explanation asks every branch on every level: 2^100 answers.
        let schema = schema(json!({
            "$ref": "#/$defs/n",
            "$defs": { "n": { "anyOf": [
                { "type": "object", "properties": { "c": { "$ref": "#/$defs/n" } }, "required": ["x"] },
                { "type": "object", "properties": { "c": { "$ref": "#/$defs/n" } }, "required": ["y"] },
            ] } },
        }));
        let mut value = json!({ "n": "5" });
        for _ in 0..100 {
            value = json!({ "c": value });
        }
        assert_eq!(check(&schema, &value).unwrap_err().problems().len(), 1);
        // The same for coercion: each branch of each level takes the text as a number.
        let schema = super::schema(json!({
            "$ref": "#/$defs/n",
            "$defs": { "n": { "anyOf": [
                { "type": "object", "properties": { "c": { "$ref": "#/$defs/n" }, "i": { "type": "integer" } }, "required": ["x"] },
                { "type": "object", "properties": { "c": { "$ref": "#/$defs/n" }, "i": { "type": "integer" } }, "required": ["y"] },
            ] } },
        }));
        let mut value = json!({ "i": "5" });
        for _ in 0..100 {
            value = json!({ "c": value, "i": "5" });
        }
        assert!(check(&schema, &value).is_err());
    }

    /// A schema of `links` definitions, each of which is `link` of a reference to the next, the last leading to
    /// `end`.
    fn chain(links: usize, link: fn(Value) -> Value, end: Value) -> Value {
        let mut definitions = Map::new();
        for position in 0..links {
            let next = json!({ "$ref": format!("#/$defs/d{}", position + 1) });
            definitions.insert(format!("d{position}"), link(next));
        }
        definitions.insert(format!("d{links}"), end);
        json!({ "$ref": "#/$defs/d0", "$defs": definitions })
    }

    fn nested_arguments(levels: usize) -> Value {
        let mut value = json!({ "i": "5" });
        for _ in 0..levels {
            value = Value::Object(Map::from_iter([("c".to_owned(), value), ("i".to_owned(), json!("5"))]));
        }
        value
    }

    #[test]
    fn a_long_chain_of_references_is_an_error_instead_of_a_stack_overflow() {
        let links: [fn(Value) -> Value; 5] = [
            |next| next,
            |next| json!({ "allOf": [next] }),
            |next| json!({ "anyOf": [next, { "type": "null" }] }),
            |next| json!({ "not": { "not": next } }),
            |next| json!({ "if": next }),
        ];
        for link in links {
            let error = Schema::from_json(chain(5_000, link, json!({ "type": "object" }))).unwrap_err();
            assert_eq!(error, SchemaError::TooDeep { limit: MAX_DEPTH });
            let schema = schema(chain(20, link, json!({ "type": "object", "required": ["x"] })));
            let _ = check(&schema, &nested_arguments(100));
        }
    }

    #[test]
    fn references_that_part_and_meet_again_are_an_error_instead_of_endless_work() {
        let same_value: [fn(Value) -> Value; 3] = [
            |next| json!({ "anyOf": [next.clone(), { "allOf": [next] }] }),
            |next| json!({ "oneOf": [{ "maxLength": 9, "allOf": [next] }, { "allOf": [next] }] }),
            |next| json!({ "allOf": [next.clone(), next.clone(), { "if": true, "then": next }] }),
        ];
        for link in same_value {
            let error = Schema::from_json(chain(40, link, json!({ "type": "object" }))).unwrap_err();
            assert_eq!(
                error.to_string(),
                "the schema has more than 10000 subschemas, counted as often as references lead to them"
            );
            // A few are borne, and explained without asking all of them.
            let mut json = chain(6, link, json!({ "type": "integer" }));
            let start = json["$ref"].take();
            json = json!({ "properties": { "v": { "$ref": start } }, "$defs": json["$defs"], "required": ["v"] });
            let schema = schema(json);
            assert_eq!(paths(&schema, &json!({ "v": "x" })), ["v"]);
            assert_eq!(paths(&schema, &json!({})), ["v"]);
        }
        let with_the_data: [fn(Value) -> Value; 2] = [
            |next| json!({ "anyOf": [{ "properties": { "c": next }, "required": ["x"] }, { "properties": { "c": next } }] }),
            |next| json!({ "properties": { "c": next }, "patternProperties": { "c": next } }),
        ];
        for link in with_the_data {
            let error = Schema::from_json(chain(40, link, json!({ "type": "object" }))).unwrap_err();
            assert_eq!(error, SchemaError::TooLarge { limit: 1_000_000 });
            let schema = schema(chain(15, link, json!({ "type": "integer" })));
            let _ = check(&schema, &nested_arguments(20));
        }
    }

    #[test]
    fn chains_of_references_leave_less_depth_to_the_arguments() {
        let again = json!({ "properties": { "c": { "$ref": "#/$defs/d0" } }, "required": ["c", "x"] });
        let links: [fn(Value) -> Value; 2] =
            [|next| json!({ "allOf": [next] }), |next| json!({ "anyOf": [next] })];
        for (link, length) in links.into_iter().flat_map(|link| [(link, 5), (link, 20), (link, 60)]) {
            let schema = schema(chain(length, link, again.clone()));
            for depth in [10, 100, 126] {
                assert!(!check(&schema, &nested_arguments(depth)).unwrap_err().problems().is_empty());
            }
        }
    }

    #[test]
    fn a_long_chain_of_properties_is_followed_as_far_as_the_data_goes() {
        let schema = schema(chain(
            300,
            |next| json!({ "properties": { "c": next, "i": { "type": "integer" } } }),
            json!({}),
        ));
        let coerced = check(&schema, &nested_arguments(50)).unwrap();
        assert_eq!(coerced["c"]["c"]["i"], json!(5));
    }
}
