//! The coercion table and its rules.

use serde_json::{Value, json};

use super::{check, object, schema};
use crate::tool::schema::{Coercion, Schema};

/// A schema of one required value.
#[track_caller]
fn of_value(json: Value) -> Schema {
    schema(json!({ "type": "object", "properties": { "v": json }, "required": ["v"] }))
}

/// What a single required value becomes. `None`: it is refused.
#[track_caller]
fn coerced(value_schema: &Value, value: &Value) -> Option<Value> {
    check(&of_value(value_schema.clone()), &json!({ "v": value }))
        .ok()
        .map(|arguments| arguments["v"].clone())
}

/// Runs one table: a schema for the value, and what becomes of which value.
#[track_caller]
fn table(value_schema: Value, rows: &[(Value, Option<Value>)]) {
    for (came, becomes) in rows {
        assert_eq!(coerced(&value_schema, came), *becomes, "{came} for {value_schema}");
        let strict =
            of_value(value_schema.clone()).check("t", object(&json!({ "v": came })), Coercion::Strict);
        let fits = jsonschema::is_valid(&value_schema, came);
        assert_eq!(strict.is_ok(), fits, "strict: {came} for {value_schema}");
        if let Ok(unchanged) = strict {
            assert_eq!(
                unchanged.get("v").unwrap().to_string(),
                came.to_string(),
                "strict mode changes nothing"
            );
        }
    }
}

fn stays(value: Value) -> (Value, Option<Value>) {
    (value.clone(), Some(value))
}

fn becomes(came: Value, value: Value) -> (Value, Option<Value>) {
    (came, Some(value))
}

fn refused(came: Value) -> (Value, Option<Value>) {
    (came, None)
}

#[test]
fn an_integer_comes_in_any_spelling_and_is_never_rounded() {
    table(
        json!({ "type": "integer" }),
        &[
            stays(json!(3)),
            stays(json!(-3)),
            stays(json!(i64::MIN)),
            stays(json!(u64::MAX)),
            stays(json!(2_512_292_042_121_000_001_u64)),
            becomes(json!(120_000.0), json!(120_000)),
            becomes(json!(6e4), json!(60_000)),
            becomes(json!(-0.0), json!(0)),
            becomes(json!(-9_223_372_036_854_775_808.0), json!(i64::MIN)),
            becomes(json!("5"), json!(5)),
            becomes(json!(" 20.0\n"), json!(20)),
            becomes(json!("6e4"), json!(60_000)),
            becomes(json!("-7"), json!(-7)),
            becomes(json!("18446744073709551615"), json!(u64::MAX)),
            becomes(json!("2512292042121000001"), json!(2_512_292_042_121_000_001_u64)),
            becomes(json!(true), json!(1)),
            becomes(json!(false), json!(0)),
            // Beyond 64 bits there is no spelling as an integer; the schema takes it all the same.
            stays(json!(1e30)),
            refused(json!(1.5)),
            refused(json!("1.5")),
            refused(json!("abc")),
            refused(json!("")),
            refused(json!(" ")),
            refused(json!("0x10")),
            refused(json!("12n")),
            refused(json!("1_000")),
            refused(json!("1,000")),
            refused(json!("123456789012345678901234567890")),
            refused(json!("true")),
            refused(json!(null)),
            refused(json!([])),
            refused(json!([5])),
            refused(json!({})),
        ],
    );
}

#[test]
fn a_number_comes_as_text_or_boolean() {
    table(
        json!({ "type": "number" }),
        &[
            stays(json!(3)),
            stays(json!(2.5)),
            stays(json!(2.0)),
            becomes(json!("5"), json!(5)),
            becomes(json!(" 2.5 "), json!(2.5)),
            becomes(json!("1e3"), json!(1000)),
            becomes(json!(true), json!(1)),
            becomes(json!(false), json!(0)),
            refused(json!("0x10")),
            refused(json!("")),
            refused(json!("NaN")),
            refused(json!("Infinity")),
            refused(json!("5 apples")),
            refused(json!("3.14159265358979323846")),
            refused(json!("false")),
            refused(json!(null)),
            refused(json!([1])),
        ],
    );
}

#[test]
fn a_boolean_comes_as_its_text_in_any_case_or_as_one_and_zero() {
    table(
        json!({ "type": "boolean" }),
        &[
            stays(json!(true)),
            stays(json!(false)),
            becomes(json!("true"), json!(true)),
            becomes(json!("false"), json!(false)),
            becomes(json!("False"), json!(false)),
            becomes(json!("TRUE"), json!(true)),
            becomes(json!(1), json!(true)),
            becomes(json!(0), json!(false)),
            becomes(json!(1.0), json!(true)),
            refused(json!("no")),
            refused(json!("yes")),
            refused(json!("maybe")),
            refused(json!("1")),
            refused(json!("0")),
            refused(json!("")),
            refused(json!(" true")),
            refused(json!(2)),
            refused(json!(-1)),
            refused(json!(null)),
        ],
    );
}

#[test]
fn a_string_comes_as_a_number_or_a_boolean() {
    table(
        json!({ "type": "string" }),
        &[
            stays(json!("x")),
            stays(json!("")),
            stays(json!("[1]")),
            becomes(json!(5), json!("5")),
            becomes(json!(-5.5), json!("-5.5")),
            becomes(json!(12345.0), json!("12345")),
            becomes(json!(u64::MAX), json!("18446744073709551615")),
            becomes(json!(true), json!("true")),
            becomes(json!(false), json!("false")),
            refused(json!(null)),
            refused(json!([])),
            refused(json!(["x"])),
            refused(json!({})),
        ],
    );
}

#[test]
fn null_comes_only_as_null() {
    table(
        json!({ "type": "null" }),
        &[
            stays(json!(null)),
            refused(json!("null")),
            refused(json!("")),
            refused(json!(0)),
            refused(json!(false)),
            refused(json!([])),
        ],
    );
}

#[test]
fn an_array_comes_as_json_text_or_as_a_single_value_when_it_then_fits() {
    table(
        json!({ "type": "array", "items": { "type": "string" } }),
        &[
            stays(json!(["a"])),
            becomes(json!("[\"a\"]"), json!(["a"])),
            becomes(json!(" [\"a\", \"b\"] "), json!(["a", "b"])),
            becomes(json!("a"), json!(["a"])),
            becomes(json!("[a]"), json!(["[a]"])),
            becomes(json!(5), json!(["5"])),
            becomes(json!(["a", 5]), json!(["a", "5"])),
            // Wrapped, the text fits as it is; parsed, the number would have to become text.
            becomes(json!("[1]"), json!(["[1]"])),
            refused(json!(null)),
            refused(json!({ "a": 1 })),
            refused(json!([null])),
        ],
    );
    table(
        json!({ "type": "array", "items": { "type": "integer" }, "minItems": 2 }),
        &[
            becomes(json!("[1, 2]"), json!([1, 2])),
            becomes(json!("[\"1\", 2.0]"), json!([1, 2])),
            becomes(json!(["1", true]), json!([1, 1])),
            refused(json!("[1]")),
            refused(json!("[1, 2")),
            refused(json!("[1, \"x\"]")),
            refused(json!("[1, 123456789012345678901234567890]")),
            refused(json!(1)),
        ],
    );
    table(
        json!({ "type": "array", "items": { "type": "object", "properties": { "n": { "type": "integer" } } } }),
        &[
            becomes(json!({ "n": "5" }), json!([{ "n": 5 }])),
            becomes(json!("{\"n\": \"5\"}"), json!([{ "n": 5 }])),
            becomes(json!(["{\"n\": 5}"]), json!([{ "n": 5 }])),
            refused(json!("{\"n\": 5, \"n\": 6}")),
            refused(json!(["{\"n\": 5, \"n\": 5}"])),
        ],
    );
}

#[test]
fn an_object_comes_as_json_text_when_it_then_fits() {
    table(
        json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] }),
        &[
            stays(json!({ "n": 1 })),
            becomes(json!("{\"n\": 1}"), json!({ "n": 1 })),
            becomes(json!("{\"n\": \"1\"}"), json!({ "n": 1 })),
            refused(json!("{}")),
            refused(json!("{\"n\": \"x\"}")),
            refused(json!("{n: 1}")),
            refused(json!("[1]")),
            refused(json!(1)),
            refused(json!([])),
            refused(json!([{ "n": 1 }])),
        ],
    );
}

#[test]
fn a_listed_value_comes_in_another_spelling() {
    table(
        json!({ "enum": [1, "a", true, null, [1], { "k": 1 }] }),
        &[
            stays(json!("a")),
            stays(json!(null)),
            becomes(json!("1"), json!(1)),
            becomes(json!(1.0), json!(1)),
            becomes(json!("True"), json!(true)),
            becomes(json!("[1]"), json!([1])),
            becomes(json!("{\"k\":1}"), json!({ "k": 1 })),
            refused(json!("A")),
            refused(json!(" a")),
            refused(json!("null")),
            refused(json!(2)),
            refused(json!("2")),
        ],
    );
    table(
        json!({ "const": 1 }),
        &[becomes(json!("1"), json!(1)), becomes(json!(true), json!(1)), refused(json!("2"))],
    );
    table(
        json!({ "type": "string", "enum": ["1", "2"] }),
        &[becomes(json!(1), json!("1")), refused(json!(3))],
    );
    table(json!({ "enum": ["1"] }), &[becomes(json!(1), json!("1"))]);
}

#[test]
fn null_stays_where_it_is_allowed() {
    for nullable in [
        json!({ "type": ["number", "null"] }),
        json!({ "anyOf": [{ "type": "number" }, { "type": "null" }] }),
        json!({ "oneOf": [{ "type": "string" }, { "type": "null" }] }),
        json!({ "anyOf": [{ "type": "array", "items": {} }, { "type": "null" }] }),
        json!({ "enum": ["a", null] }),
        json!({}),
    ] {
        table(nullable.clone(), &[stays(json!(null))]);
        let optional = schema(json!({ "properties": { "v": nullable } }));
        assert_eq!(check(&optional, &json!({ "v": null })).unwrap(), json!({ "v": null }));
    }
}

#[test]
fn null_for_an_optional_property_counts_as_absent_at_every_depth() {
    let inner = json!({
        "type": "object",
        "properties": {
            "n": { "type": "number", "minimum": 1 },
            "e": { "enum": ["a", "b"] },
            "u": { "anyOf": [{ "type": "number" }, { "type": "string" }] },
            "k": { "type": ["string", "null"] },
            "r": { "type": "string" },
        },
        "required": ["r"],
    });
    let schema = schema(json!({
        "properties": {
            "top": { "type": "integer" },
            "inner": inner,
            "list": { "type": "array", "items": inner },
            "union": { "anyOf": [{ "type": "integer" }, inner] },
        },
    }));
    let nulls = json!({ "n": null, "e": null, "u": null, "k": null, "r": "x" });
    let left = json!({ "k": null, "r": "x" });
    assert_eq!(
        check(&schema, &json!({ "top": null, "inner": nulls, "list": [nulls], "union": nulls })).unwrap(),
        json!({ "inner": left, "list": [left], "union": left }),
    );
    let error = check(&schema, &json!({ "inner": { "r": null } })).unwrap_err();
    assert_eq!(error.paths().collect::<Vec<_>>(), ["inner.r"]);
}

#[test]
fn null_under_a_key_that_is_not_declared_is_an_error_since_the_key_says_something() {
    let map = schema(json!({ "type": "object", "additionalProperties": { "type": "number" } }));
    assert_eq!(check(&map, &json!({ "x": null })).unwrap_err().paths().collect::<Vec<_>>(), ["x"]);
    let patterns = schema(json!({ "type": "object", "patternProperties": { "^x": { "type": "number" } } }));
    assert_eq!(check(&patterns, &json!({ "x": null })).unwrap_err().paths().collect::<Vec<_>>(), ["x"]);
    let closed = schema(json!({ "type": "object", "properties": {}, "additionalProperties": false }));
    assert_eq!(check(&closed, &json!({ "x": null })).unwrap_err().paths().collect::<Vec<_>>(), ["x"]);
}

#[test]
fn a_list_of_types_keeps_what_fits_and_coerces_to_the_first_that_does() {
    table(
        json!({ "type": ["integer", "string"] }),
        &[stays(json!(3)), stays(json!("3")), becomes(json!(1.5), json!("1.5"))],
    );
    table(
        json!({ "type": ["integer", "null"] }),
        &[becomes(json!("42"), json!(42)), stays(json!(null)), refused(json!("x"))],
    );
    table(
        json!({ "type": ["number", "boolean"] }),
        &[becomes(json!("true"), json!(true)), becomes(json!("1"), json!(1))],
    );
    table(
        json!({ "type": ["boolean", "string"] }),
        &[becomes(json!(1), json!(true)), becomes(json!(2), json!("2"))],
    );
    table(json!({ "type": ["string", "boolean"] }), &[becomes(json!(1), json!("1"))]);
    table(json!({ "type": ["array", "string"] }), &[stays(json!("[1]")), becomes(json!(1), json!([1]))]);
}

#[test]
fn a_union_coerces_only_what_no_branch_takes() {
    let number_or_string = json!({ "anyOf": [{ "type": "number" }, { "type": "string" }] });
    table(number_or_string, &[stays(json!("5")), stays(json!(5)), becomes(json!(true), json!(1))]);
    table(json!({ "anyOf": [{ "type": "array" }, { "type": "string" }] }), &[stays(json!("[1]"))]);
    table(
        json!({ "anyOf": [{ "type": "string", "pattern": "^x" }, { "type": "integer" }] }),
        &[stays(json!("x5")), becomes(json!("5"), json!(5)), refused(json!("y"))],
    );
    table(
        json!({ "oneOf": [{ "type": "integer" }, { "type": "boolean" }] }),
        &[becomes(json!("7"), json!(7))],
    );
    table(
        json!({ "oneOf": [{ "type": "integer" }, { "type": "number" }] }),
        // 5 would fit both, and exactly one is wanted.
        &[becomes(json!("5.5"), json!(5.5)), refused(json!("5")), refused(json!(5))],
    );
    table(
        json!({ "anyOf": [
            { "type": "object", "properties": { "k": { "type": "number" } }, "required": ["k"] },
            { "type": "object", "properties": { "j": { "type": "string" } }, "required": ["j"] },
        ] }),
        &[
            becomes(json!({ "j": 5 }), json!({ "j": "5" })),
            becomes(json!("{\"k\": \"5\"}"), json!({ "k": 5 })),
        ],
    );
}

#[test]
fn integers_are_written_as_integers_inside_unions_only_when_no_branch_takes_the_number() {
    table(json!({ "anyOf": [{ "type": "integer" }, { "type": "number" }] }), &[stays(json!(2.0))]);
    table(json!({ "anyOf": [{ "type": "null" }, { "type": "integer" }] }), &[becomes(json!(2.0), json!(2))]);
    let tagged = json!({ "oneOf": [
        { "type": "object", "properties": { "kind": { "const": "a" }, "n": { "type": "integer" } }, "required": ["kind"] },
        { "type": "object", "properties": { "kind": { "const": "b" }, "n": { "type": "number" } }, "required": ["kind"] },
    ] });
    table(
        tagged,
        &[
            becomes(json!({ "kind": "a", "n": 2.0 }), json!({ "kind": "a", "n": 2 })),
            stays(json!({ "kind": "b", "n": 2.0 })),
        ],
    );
}

#[test]
fn integers_are_written_as_integers_wherever_the_schema_describes_them() {
    let schema = schema(json!({
        "properties": {
            "list": { "type": "array", "prefixItems": [{ "type": "number" }], "items": { "type": "integer" } },
            "number": { "type": "number" },
            "free": {},
            "enum": { "enum": [1, 2] },
            "both": { "allOf": [{ "type": "number" }, { "type": "integer" }] },
            "ref": { "$ref": "#/$defs/count" },
        },
        "if": { "required": ["when"] },
        "then": { "properties": { "then": { "type": "integer" } } },
        "else": { "properties": { "else": { "type": "integer" } } },
        "dependentSchemas": { "number": { "properties": { "depends": { "type": "integer" } } } },
        "patternProperties": { "^p": { "type": "integer" } },
        "additionalProperties": { "type": "integer" },
        "$defs": { "count": { "type": "integer" } },
    }));
    let arguments = json!({
        "list": [1.0, 2.0], "number": 3.0, "free": [4.0], "enum": 2.0, "both": 5.0, "ref": 6.0,
        "then": 7.0, "else": 8.0, "depends": 9.0, "p": 10.0, "other": 11.0,
    });
    // `properties` elsewhere in the schema does not shield a key from `additionalProperties`.
    let expected = json!({
        "list": [1.0, 2], "number": 3.0, "free": [4.0], "enum": 2, "both": 5, "ref": 6,
        "then": 7, "else": 8, "depends": 9, "p": 10, "other": 11,
    });
    assert_eq!(check(&schema, &arguments).unwrap(), expected);
}

#[test]
fn coercion_reaches_through_every_part_of_a_schema_that_describes_the_data() {
    let schema = schema(json!({
        "properties": {
            "all": { "allOf": [{ "type": "integer" }, { "minimum": 3 }] },
            "ref": { "$ref": "#/$defs/count" },
            "old": { "$ref": "#/definitions/count" },
            "anchor": { "$ref": "#count" },
            "tuple": { "prefixItems": [{ "type": "integer" }, { "type": "string" }], "items": { "type": "boolean" } },
            "kind": {},
        },
        "if": { "properties": { "kind": { "const": "a" } }, "required": ["kind"] },
        "then": { "properties": { "value": { "type": "integer" } } },
        "else": { "properties": { "value": { "type": "boolean" } } },
        "dependentSchemas": { "kind": { "properties": { "depends": { "type": "integer" } } } },
        "patternProperties": { "^p": { "type": "integer" } },
        "$defs": { "count": { "$anchor": "count", "type": "integer" } },
        "definitions": { "count": { "type": "integer" } },
    }));
    let arguments = json!({
        "all": "5", "ref": "1", "old": "2", "anchor": "3", "tuple": ["1", 2, "true"], "p": "4", "other": "5",
        "kind": "a", "value": "6", "depends": "7",
    });
    let expected = json!({
        "all": 5, "ref": 1, "old": 2, "anchor": 3, "tuple": [1, "2", true], "p": 4, "other": "5",
        "kind": "a", "value": 6, "depends": 7,
    });
    assert_eq!(check(&schema, &arguments).unwrap(), expected);
    assert_eq!(check(&schema, &json!({ "value": "true" })).unwrap(), json!({ "value": true }));
}

#[test]
fn a_coerced_integer_is_read_by_a_typed_tool() {
    #[derive(serde::Deserialize, Debug, PartialEq)]
    struct Args {
        timeout: i64,
        size: u64,
        retries: Option<u32>,
    }
    let types = json!({ "timeout": { "type": "integer" }, "size": { "type": "integer" }, "retries": { "type": ["integer", "null"] } });
    let schema = schema(json!({ "properties": types, "required": ["timeout", "size"] }));
    for (arguments, read) in [
        (
            json!({ "timeout": 120_000.0, "size": 6e4 }),
            Args { timeout: 120_000, size: 60_000, retries: None },
        ),
        (
            json!({ "timeout": "20.0", "size": u64::MAX, "retries": null }),
            Args { timeout: 20, size: u64::MAX, retries: None },
        ),
        (
            json!({ "timeout": -1, "size": "1", "retries": "3" }),
            Args { timeout: -1, size: 1, retries: Some(3) },
        ),
    ] {
        let arguments = check(&schema, &arguments).unwrap();
        assert_eq!(serde_json::from_value::<Args>(arguments).unwrap(), read);
    }
}

#[test]
fn a_scalar_that_fits_in_no_spelling_is_still_spelled_right_for_the_error() {
    let schema = schema(json!({ "properties": { "n": { "type": "integer", "minimum": 5 } } }));
    let error = check(&schema, &json!({ "n": "4" })).unwrap_err();
    assert_eq!(
        error.to_string(),
        "invalid arguments for the tool `t`:\n- n: expected at least 5, got the integer 4"
    );
}
