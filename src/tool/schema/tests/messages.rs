//! The texts that a model reads when its arguments are refused.

use serde_json::{Value, json};

use super::{check, schema};

/// The lines after the first, which names the tool.
#[track_caller]
fn told(schema_json: Value, arguments: Value) -> Vec<String> {
    let text = check(&schema(schema_json), &arguments).unwrap_err().to_string();
    let mut lines = text.lines().map(str::to_owned);
    assert_eq!(lines.next().as_deref(), Some("invalid arguments for the tool `t`:"));
    lines.collect()
}

#[test]
fn a_missing_key_is_named_with_what_belongs_there() {
    let told = told(
        json!({
            "properties": {
                "path": { "type": "string" },
                "mode": { "enum": ["r", "w"] },
                "edit": { "type": "object", "required": ["old", "new"] },
                "any": {},
            },
            "required": ["path", "mode", "edit", "any", "free"],
        }),
        json!({}),
    );
    assert_eq!(
        told,
        [
            "- path: expected a string, got nothing (the key is missing)",
            r#"- mode: expected one of "r", "w", got nothing (the key is missing)"#,
            "- edit: expected an object with `old` and `new`, got nothing (the key is missing)",
            "- any: expected a value, got nothing (the key is missing)",
            "- free: expected a value, got nothing (the key is missing)",
        ]
    );
}

#[test]
fn a_wrong_type_is_told_with_the_path_to_it() {
    let item = json!({ "type": "object", "properties": { "b": { "type": "integer" } } });
    let told = told(
        json!({ "properties": { "a": { "type": "array", "items": item }, "t": { "type": ["integer", "null"] } } }),
        json!({ "a": [{ "b": "abc" }, { "b": 1 }, { "b": [1, "x"] }], "t": true, "u": 1 }),
    );
    assert_eq!(
        told,
        [
            r#"- a.0.b: expected an integer, got the string "abc""#,
            r#"- a.2.b: expected an integer, got the array [1,"x"]"#,
        ]
    );
}

#[test]
fn an_unknown_key_of_a_closed_object_is_named_with_the_allowed_ones() {
    let closed = |keys: Value| json!({ "type": "object", "properties": keys, "additionalProperties": false });
    let unknown = json!({ "zz": 1 });
    assert_eq!(
        told(json!({ "properties": { "o": closed(json!({ "a": {}, "b": {} })) } }), json!({ "o": unknown })),
        ["- o.zz: expected one of the keys `a`, `b`, got an unknown key"]
    );
    assert_eq!(
        told(closed(json!({ "a": {} })), unknown.clone()),
        ["- zz: expected no other key than `a`, got an unknown key"]
    );
    assert_eq!(told(closed(json!({})), unknown), ["- zz: expected no key at all, got an unknown key"]);
}

#[test]
fn an_unknown_key_is_named_where_several_schemas_close_an_object_together() {
    let told = told(
        json!({
            "allOf": [{ "properties": { "a": {} } }],
            "anyOf": [{ "properties": { "b": {} } }],
            "unevaluatedProperties": false,
        }),
        json!({ "a": 1, "b": 1, "zz": 1 }),
    );
    assert_eq!(told, ["- zz: expected one of the keys `a`, `b`, got an unknown key"]);
}

#[test]
fn an_open_object_passes_unknown_keys_on() {
    let schema = schema(json!({ "type": "object", "properties": { "a": { "type": "integer" } } }));
    let arguments = json!({ "a": 1, "zz": { "deep": [1.0, "2"] } });
    assert_eq!(check(&schema, &arguments).unwrap(), arguments);
}

#[test]
fn allowed_values_are_listed_once_and_in_one_line() {
    let literals = ["a", "b", "c", "d", "e", "f"];
    let line = r#"- v: expected one of "a", "b", "c", "d", "e", "f", got the string "x""#;
    let consts: Vec<Value> = literals.iter().map(|literal| json!({ "const": literal })).collect();
    let typed: Vec<Value> =
        literals.iter().map(|literal| json!({ "type": "string", "const": literal })).collect();
    for union in [
        json!({ "enum": literals }),
        json!({ "type": "string", "enum": literals }),
        json!({ "anyOf": consts }),
        json!({ "oneOf": consts }),
        json!({ "anyOf": typed }),
        json!({ "oneOf": [{ "enum": ["a", "b", "c"] }, { "description": "more", "enum": ["d", "e"] }, { "const": "f" }] }),
    ] {
        assert_eq!(told(json!({ "properties": { "v": union } }), json!({ "v": "x" })), [line], "{union}");
    }
    assert_eq!(
        told(json!({ "properties": { "v": { "const": { "k": 1 } } } }), json!({ "v": 5 })),
        [r#"- v: expected {"k":1}, got the integer 5"#]
    );
}

#[test]
fn many_allowed_values_are_counted_instead() {
    let values: Vec<usize> = (0..1000).collect();
    let told = told(json!({ "properties": { "v": { "enum": values } } }), json!({ "v": "x" }));
    let shown = (0..24).map(|number| number.to_string()).collect::<Vec<_>>().join(", ");
    assert_eq!(told, [format!(r#"- v: expected one of {shown}, … (1000 in all), got the string "x""#)]);
}

#[test]
fn a_union_of_kinds_is_one_line_of_choices() {
    let union = json!({ "anyOf": [
        { "type": "integer" },
        { "type": "null" },
        { "type": "object", "properties": { "k": {} }, "required": ["k"] },
        { "enum": ["auto", "off"] },
    ] });
    let properties = json!({ "v": union });
    let choices = r#"an integer, null, an object with `k` or one of "auto", "off""#;
    for (came, got) in [(json!("x"), r#"the string "x""#), (json!([null]), "the array [null]")] {
        let told = told(json!({ "properties": properties, "required": ["v"] }), json!({ "v": came }));
        assert_eq!(told, [format!("- v: expected {choices}, got {got}")]);
    }
    let missing = told(json!({ "properties": properties, "required": ["v"] }), json!({}));
    assert_eq!(missing, [format!("- v: expected {choices}, got nothing (the key is missing)")]);
}

#[test]
fn a_union_of_objects_is_told_for_the_branch_that_the_tag_names() {
    let union = json!({ "oneOf": [
        {
            "type": "object",
            "properties": { "kind": { "const": "line" }, "at": { "type": "integer" } },
            "required": ["kind", "at"],
        },
        {
            "type": "object",
            "properties": { "kind": { "const": "text" }, "at": { "type": "string" }, "old": { "type": "string" } },
            "required": ["kind", "at", "old"],
        },
        { "allOf": [{ "$ref": "#/$defs/end" }] },
    ] });
    let schema = json!({
        "properties": { "edits": { "type": "array", "items": union } },
        "$defs": { "end": { "type": "object", "properties": { "kind": { "enum": ["start", "end"] } }, "required": ["kind"] } },
    });
    let edits = json!([
        { "kind": "line", "at": "first" },
        { "kind": "text", "at": "x" },
        { "kind": "other" },
        { "at": 5 },
        { "kind": "end" },
    ]);
    assert_eq!(
        told(schema, json!({ "edits": edits })),
        [
            r#"- edits.0.at: expected an integer, got the string "first""#,
            "- edits.1.old: expected a string, got nothing (the key is missing)",
            r#"- edits.2.kind: expected one of "line", "text", "start", "end", got the string "other""#,
            r#"- edits.3.kind: expected one of "line", "text", "start", "end", got nothing (the key is missing)"#,
        ]
    );
}

#[test]
fn a_union_of_objects_without_a_tag_is_told_for_the_closest_branch() {
    let branch = |key: &str| json!({ "type": "object", "properties": { key: { "type": "array", "items": { "type": "integer" } } }, "required": [key] });
    let schema = json!({ "properties": { "v": { "anyOf": [branch("Insert"), branch("Delete")] } } });
    assert_eq!(
        told(schema.clone(), json!({ "v": { "Delete": [1, "x"] } })),
        [r#"- v.Delete.1: expected an integer, got the string "x""#]
    );
    assert_eq!(
        told(schema, json!({ "v": { "Move": 1 } })),
        [r#"- v: expected an object with `Insert` or an object with `Delete`, got the object {"Move":1}"#]
    );
}

#[test]
fn a_union_inside_recursion_is_told_at_its_leaf() {
    let schema = json!({
        "properties": { "tree": { "$ref": "#/$defs/tree" } },
        "$defs": { "tree": { "anyOf": [
            { "type": "object", "properties": { "leaf": { "type": "integer" } }, "required": ["leaf"] },
            {
                "type": "object",
                "properties": { "kids": { "type": "array", "items": { "$ref": "#/$defs/tree" } } },
                "required": ["kids"],
            },
        ] } },
    });
    assert_eq!(
        told(schema, json!({ "tree": { "kids": [{ "leaf": 1 }, { "kids": [{ "leaf": "x" }] }] } })),
        [r#"- tree.kids.1.kids.0.leaf: expected an integer, got the string "x""#]
    );
}

#[test]
fn alternatives_of_one_kind_are_told_together() {
    let union =
        json!({ "anyOf": [{ "type": "string", "maxLength": 1 }, { "type": "string", "pattern": "^x" }] });
    assert_eq!(
        told(json!({ "properties": { "v": union } }), json!({ "v": "abc" })),
        [
            "- v: expected a string of at most 1 character, or a string that matches the pattern `^x`, got the string \"abc\""
        ]
    );
}

#[test]
fn every_keyword_about_a_value_has_words() {
    for (schema, value, expected) in [
        (json!({ "minimum": 5 }), json!(4), "at least 5"),
        (json!({ "maximum": 5.5 }), json!(6), "at most 5.5"),
        (json!({ "exclusiveMinimum": 5 }), json!(5), "more than 5"),
        (json!({ "exclusiveMaximum": 5 }), json!(5), "less than 5"),
        (json!({ "multipleOf": 5 }), json!(7), "a multiple of 5"),
        (json!({ "minLength": 2 }), json!("é"), "a string of at least 2 characters"),
        (json!({ "maxLength": 1 }), json!("ab"), "a string of at most 1 character"),
        (json!({ "pattern": "^x" }), json!("y"), "a string that matches the pattern `^x`"),
        (json!({ "minItems": 2 }), json!([1]), "an array of at least 2 items"),
        (json!({ "maxItems": 1 }), json!([1, 2]), "an array of at most 1 item"),
        (json!({ "uniqueItems": true }), json!([1, 1]), "an array whose items all differ"),
        (json!({ "minProperties": 1 }), json!({}), "an object of at least 1 key"),
        (json!({ "maxProperties": 0 }), json!({ "a": 1 }), "an object of at most 0 keys"),
        (json!({ "not": { "const": 1 } }), json!(1), "a value that fits `not` of the schema"),
        (json!({ "contains": { "const": 1 } }), json!([]), "a value that fits `contains` of the schema"),
        (
            json!({ "propertyNames": { "maxLength": 1 } }),
            json!({ "ab": 1 }),
            "a value that fits `propertyNames` of the schema",
        ),
        (
            json!({ "unevaluatedItems": false }),
            json!([1]),
            "a value that fits `unevaluatedItems` of the schema",
        ),
        (json!({ "dependentRequired": { "a": ["b"] } }), json!({ "a": 1 }), ""),
        (json!(false), json!(1), "nothing here"),
    ] {
        let told = told(json!({ "properties": { "v": schema } }), json!({ "v": value }));
        match expected {
            "" => assert_eq!(told, ["- v.b: expected a value, got nothing (the key is missing)"]),
            expected => {
                let [line] = told.as_slice() else { panic!("one problem: {told:?}") };
                assert!(line.starts_with(&format!("- v: expected {expected}, got the ")), "{line}");
            }
        }
    }
    let exclusive = json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] });
    assert_eq!(
        told(json!({ "properties": { "v": exclusive } }), json!({ "v": 1 })),
        [
            "- v: expected a value that fits exactly one of the schema's alternatives, got one that fits 2 of them, the integer 1"
        ]
    );
    let format = json!({ "$schema": "http://json-schema.org/draft-07/schema#", "properties": { "v": { "format": "email" } } });
    assert_eq!(
        told(format, json!({ "v": "x" })),
        [r#"- v: expected a string in the format `email`, got the string "x""#]
    );
}

#[test]
fn a_tuple_is_told_with_the_index() {
    let pair = json!([{ "type": "number" }, { "type": "string" }]);
    let old = "http://json-schema.org/draft-07/schema#";
    for schema in [
        json!({ "properties": { "v": { "prefixItems": pair } } }),
        json!({ "properties": { "v": { "type": "array", "items": pair, "additionalItems": false } } }),
        json!({ "$schema": old, "properties": { "v": { "items": pair } } }),
    ] {
        assert_eq!(
            told(schema, json!({ "v": ["a", null] })),
            [r#"- v.0: expected a number, got the string "a""#, "- v.1: expected a string, got null",]
        );
    }
    let closed = json!({ "properties": { "v": { "prefixItems": pair, "items": false } } });
    assert_eq!(
        told(closed, json!({ "v": [1, "a", 2] })),
        ["- v.2: expected nothing here, got the integer 2"]
    );
}

#[test]
fn what_is_echoed_of_a_megabyte_is_cut_on_a_character_border_and_says_so() {
    let emoji = "😀".repeat(250_000);
    let told = told(json!({ "properties": { "n": { "type": "integer" } } }), json!({ "n": emoji }));
    let kept = "😀".repeat(29);
    assert_eq!(
        told,
        [format!("- n: expected an integer, got the string \"{kept}… (cut, 1000002 bytes in all)")]
    );
}

#[test]
fn the_whole_text_stays_below_sixteen_kibibytes() {
    let long = "😀".repeat(100);
    let mut schema = json!({ "enum": (0..500).map(|n| format!("{long}{n}")).collect::<Vec<_>>() });
    let mut value = json!(long);
    for _ in 0..20 {
        schema = json!({ "properties": { long.clone(): schema } });
        value = json!({ long.clone(): value });
    }
    let schema = super::schema(json!({ "additionalProperties": schema }));
    let many = (0..100).map(|n| (format!("{n}{long}"), value.clone())).collect::<serde_json::Map<_, _>>();
    let error = check(&schema, &Value::Object(many)).unwrap_err();
    let text = error.to_string();
    assert!(text.len() <= 16 * 1024, "{}", text.len());
    assert_eq!(error.problems().len(), 16);
    assert!(text.ends_with("\n- and more problems of this kind"), "{text}");
}

#[test]
fn the_same_problem_is_told_once() {
    let twice = json!({ "allOf": [{ "type": "integer" }, { "$ref": "#/$defs/n" }, { "$ref": "#/$defs/n" }] });
    let schema = json!({ "properties": { "v": twice }, "$defs": { "n": { "type": "integer" } } });
    assert_eq!(told(schema, json!({ "v": "x" })), [r#"- v: expected an integer, got the string "x""#]);
}
