//! What holds for every schema and all arguments.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Map, Value, json};

use super::{check, object, schema};
use crate::tool::schema::scalar::{as_integer, parse_container, parse_exactly};
use crate::tool::schema::{Coercion, InvalidArguments, Schema, SchemaError};

const KEYS: [&str; 4] = ["a", "b", "c", "zz"];

fn config() -> ProptestConfig {
    let persistence = FileFailurePersistence::WithSource("regressions");
    ProptestConfig {
        cases: 4096,
        failure_persistence: Some(Box::new(persistence)),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_validator_decides_and_nothing_that_fits_is_changed((json, arguments) in schema_and_arguments()) {
        let oracle = jsonschema::options().offline().build(&json).unwrap();
        let schema = match Schema::from_json(json) {
            Ok(schema) => schema,
            Err(error) => {
                prop_assert!(matches!(error, SchemaError::SelfReference { .. }), "{}", error);
                return Ok(());
            }
        };
        let fits = oracle.is_valid(&arguments);
        let strict = schema.check("t", object(&arguments), Coercion::Strict).map(Value::Object);
        prop_assert_eq!(strict.is_ok(), fits);
        if let Ok(unchanged) = &strict {
            prop_assert_eq!(unchanged.to_string(), arguments.to_string());
        }
        match check(&schema, &arguments) {
            Ok(coerced) => {
                prop_assert!(oracle.is_valid(&coerced), "{} passed as {}", arguments, coerced);
                prop_assert_eq!(meaning(&coerced), meaning(&arguments), "information is kept");
                if fits {
                    prop_assert_eq!(by_value(&coerced), by_value(&arguments), "what fits is not changed");
                }
                let again = check(&schema, &coerced).unwrap();
                prop_assert_eq!(again.to_string(), coerced.to_string(), "coercing twice is coercing once");
            }
            Err(error) => {
                prop_assert!(!fits, "{} fits and is refused: {}", arguments, error);
                prop_assert!(!error.problems().is_empty() && error.problems().len() <= InvalidArguments::MOST_PROBLEMS);
                prop_assert!(error.to_string().len() <= 16 * 1024);
                prop_assert!(!error.to_string().contains("got \n") && !error.to_string().contains("expected ,"));
            }
        }
    }

    #[test]
    fn every_misspelling_of_the_table_is_undone(case in misspelled()) {
        let Misspelled { schema: value_schema, value, spelled } = case;
        let schema = schema(json!({ "properties": { "v": value_schema }, "required": ["v"] }));
        let coerced = check(&schema, &json!({ "v": spelled })).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(coerced, json!({ "v": value }));
    }

    #[test]
    fn no_json_makes_a_schema_or_a_check_panic((json, arguments) in (schema_like(), any_arguments())) {
        match Schema::from_json(json) {
            Ok(schema) => {
                let _ = check(&schema, &arguments);
                let _ = schema.check("t", object(&arguments), Coercion::Strict);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// What a value says, whatever its representation: equal before and after every step of the coercion table.
fn meaning(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Bool(truth) => json!(if *truth { "1" } else { "0" }),
        Value::Number(number) => json!(as_integer(number).as_ref().unwrap_or(number).to_string()),
        Value::String(text) => {
            if let Some(container) = parse_container(text) {
                meaning(&container)
            } else if let Some(number) = parse_exactly(text.trim()) {
                meaning(&Value::Number(number))
            } else if text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false") {
                meaning(&json!(text.eq_ignore_ascii_case("true")))
            } else {
                value.clone()
            }
        }
        Value::Array(items) => match items.as_slice() {
            [single] => meaning(single),
            items => items.iter().map(meaning).collect(),
        },
        Value::Object(members) => {
            let present = members.iter().filter(|(_, member)| !member.is_null());
            present.map(|(key, member)| (key.clone(), meaning(member))).collect()
        }
    }
}

/// A value with its numbers in one spelling each.
fn by_value(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(as_integer(number).unwrap_or_else(|| number.clone())),
        Value::Array(items) => items.iter().map(by_value).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, member)| (key.clone(), by_value(member))).collect()
        }
        other => other.clone(),
    }
}

fn scalar() -> impl Strategy<Value = Value> {
    let texts = [
        "",
        "a",
        "x1",
        "1",
        " 2 ",
        "2.0",
        "1.5",
        "true",
        "FALSE",
        "null",
        "[1]",
        "[\"1\", 2.0]",
        "{\"a\": \"1\"}",
        "[",
        "{}",
    ];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec![
            json!(0),
            json!(1),
            json!(5),
            json!(-1),
            json!(2.0),
            json!(1.5),
            json!(1e30),
            json!(u64::MAX)
        ]),
        prop::sample::select(texts.to_vec()).prop_map(Value::from),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 16, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(&KEYS[..]), inner.clone(), 0..4)
                .prop_map(|map| json!(map)),
            inner.prop_map(|value| json!(value.to_string())),
        ]
    })
}

fn any_arguments() -> impl Strategy<Value = Value> {
    prop::collection::btree_map(prop::sample::select(&KEYS[..]), any_value(), 0..4).prop_map(|map| json!(map))
}

/// A schema with arguments that have nothing to do with it, or with ones that nearly fit.
fn schema_and_arguments() -> impl Strategy<Value = (Value, Value)> {
    let near = (any_schema(), prop::collection::vec(any::<u8>(), 64)).prop_map(|(schema, choices)| {
        let mut near = Near { root: &schema, choices: choices.into_iter() };
        let arguments = near.object(&schema, 0);
        (schema, arguments)
    });
    prop_oneof![1 => (any_schema(), any_arguments()), 4 => near]
}

/// Makes values that nearly fit a schema: of the right kind, often in another spelling.
struct Near<'s> {
    root: &'s Value,
    choices: std::vec::IntoIter<u8>,
}

impl Near<'_> {
    fn choose(&mut self, from: usize) -> usize {
        usize::from(self.choices.next().unwrap_or(0)) % from.max(1)
    }

    fn value(&mut self, schema: &Value, level: usize) -> Value {
        let level = level + 1;
        if let Some(reference) = schema["$ref"].as_str().filter(|_| level < 8) {
            let target = self.root.pointer(reference.trim_start_matches('#')).unwrap().clone();
            return self.value(&target, level);
        }
        for union in ["anyOf", "oneOf", "allOf"] {
            if let Some(branches) = schema[union].as_array() {
                let branch = self.choose(branches.len());
                return self.value(&branches[branch], level);
            }
        }
        if let Some(when) = schema.get("if") {
            let branch = self.choose(2);
            return self.value([&schema["then"], when][branch], level);
        }
        let plain = self.plain(schema, level);
        match self.choose(6) {
            0 if !plain.is_string() => json!(plain.to_string()),
            1 => plain.as_i64().map_or(plain, |number| json!(number as f64)),
            2 => plain.as_str().and_then(|text| text.parse::<i64>().ok()).map_or(plain, Value::from),
            _ => plain,
        }
    }

    fn plain(&mut self, schema: &Value, level: usize) -> Value {
        if let Some(listed) = schema["enum"].as_array() {
            return listed[self.choose(listed.len())].clone();
        }
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            Value::String(kind) => vec![kind],
            _ if schema.get("prefixItems").is_some() => vec!["array"],
            _ => vec!["null", "string", "integer"],
        };
        match kinds[self.choose(kinds.len())] {
            "null" => Value::Null,
            "boolean" => json!(self.choose(2) == 0),
            "integer" => json!(self.choose(5)),
            "number" => json!([0.5, 2.0, 1e30][self.choose(3)]),
            "string" => json!(["x", "5", "xx"][self.choose(3)]),
            "array" => self.array(schema, level),
            _ => self.object(schema, level),
        }
    }

    fn array(&mut self, schema: &Value, level: usize) -> Value {
        let any = json!({});
        let prefix = schema["prefixItems"].as_array().cloned().unwrap_or_default();
        let count = if level < 6 { self.choose(4) } else { 0 };
        let rest = schema.get("items").or_else(|| schema.get("contains")).unwrap_or(&any);
        let items: Vec<Value> =
            (0..count).map(|position| self.value(prefix.get(position).unwrap_or(rest), level)).collect();
        match items.as_slice() {
            [single] if self.choose(2) == 0 => single.clone(),
            _ => Value::Array(items),
        }
    }

    fn object(&mut self, schema: &Value, level: usize) -> Value {
        let mut members = Map::new();
        for (key, member) in schema["properties"].as_object().into_iter().flatten() {
            match self.choose(8) {
                0 => {}
                1 => drop(members.insert(key.clone(), Value::Null)),
                _ if level > 6 => {}
                _ => drop(members.insert(key.clone(), self.value(member, level))),
            }
        }
        if self.choose(8) == 0 {
            members.insert("zz".to_owned(), json!(1));
        }
        Value::Object(members)
    }
}

/// Valid schemas of arguments with every part that coercion walks through, and some that it does not.
fn any_schema() -> impl Strategy<Value = Value> {
    let drafts = [
        None,
        Some("https://json-schema.org/draft/2020-12/schema"),
        Some("https://json-schema.org/draft/2019-09/schema"),
        Some("http://json-schema.org/draft-07/schema#"),
    ];
    let parts = (object_schema(subschema()), subschema(), object_schema(subschema()));
    (parts, prop::sample::select(drafts.to_vec())).prop_map(|((mut root, part, other), draft)| {
        let properties = json!({ "a": { "$ref": "#/$defs/node" }, "b": part });
        let node = json!({ "type": "object", "properties": properties });
        root["$defs"] = json!({ "node": node, "part": { "allOf": [part, {}] }, "other": other });
        if let Some(draft) = draft {
            root["$schema"] = json!(draft);
        }
        root
    })
}

fn subschema() -> BoxedStrategy<Value> {
    let kinds = ["null", "boolean", "integer", "number", "string", "array", "object"];
    let leaf = prop_oneof![
        4 => prop::sample::select(kinds.to_vec()).prop_map(|kind| json!({ "type": kind })),
        2 => prop::sample::subsequence(kinds.to_vec(), 1..4).prop_shuffle().prop_map(|kinds| json!({ "type": kinds })),
        2 => prop::collection::vec(scalar(), 1..4).prop_map(|values| json!({ "enum": values })),
        1 => scalar().prop_map(|value| json!({ "const": value })),
        1 => Just(json!({ "type": "integer", "minimum": 1, "maximum": 3 })),
        1 => Just(json!({ "type": "string", "pattern": "^x", "maxLength": 3 })),
        1 => prop::sample::select(vec![json!({}), json!(true), json!(false)]),
        1 => prop::sample::select(vec![json!({ "$ref": "#/$defs/node" }), json!({ "$ref": "#/$defs/part", "title": "t" })]),
    ];
    leaf.prop_recursive(3, 24, 3, |inner| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            3 => object_schema(inner.clone()),
            2 => (inner.clone(), 0..3_u8).prop_map(|(items, least)| json!({ "type": "array", "items": items, "minItems": least })),
            1 => (some.clone(), inner.clone()).prop_map(|(prefix, rest)| json!({ "prefixItems": prefix, "items": rest })),
            2 => some.clone().prop_map(|branches| json!({ "anyOf": branches })),
            1 => some.clone().prop_map(|branches| json!({ "oneOf": branches })),
            1 => some.prop_map(|all| json!({ "allOf": all })),
            1 => (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(when, then, otherwise)| json!({ "if": when, "then": then, "else": otherwise })),
            1 => inner.clone().prop_map(|not| json!({ "not": not })),
            1 => inner.prop_map(|contained| json!({ "type": "array", "contains": contained })),
        ]
    })
    .boxed()
}

fn object_schema(member: impl Strategy<Value = Value> + Clone) -> impl Strategy<Value = Value> {
    let properties = prop::collection::btree_map(prop::sample::select(&KEYS[..3]), member.clone(), 0..4);
    let required = prop::sample::subsequence(&KEYS[..3], 0..3);
    let closed = prop::option::weighted(0.4, prop_oneof![Just(json!(false)), member]);
    (properties, required, closed, any::<bool>()).prop_map(|(properties, required, closed, unevaluated)| {
        let mut json = json!({ "type": "object", "properties": properties, "required": required });
        if let Some(closed) = closed {
            json[if unevaluated { "unevaluatedProperties" } else { "additionalProperties" }] = closed;
        }
        json
    })
}

/// JSON that uses the words of schemas in any place and order.
fn schema_like() -> impl Strategy<Value = Value> {
    let words = [
        "type",
        "properties",
        "required",
        "items",
        "prefixItems",
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "then",
        "else",
        "enum",
        "const",
        "$ref",
        "$id",
        "$anchor",
        "$defs",
        "$schema",
        "pattern",
        "patternProperties",
        "additionalProperties",
        "a",
        "object",
        "integer",
        "#",
        "#/$defs/a",
        "#a",
        "#/properties/a",
        "http://json-schema.org/draft-07/schema#",
        "dependencies",
        "minimum",
    ];
    let leaf = prop_oneof![prop::sample::select(words.to_vec()).prop_map(Value::from), any_value()];
    leaf.prop_recursive(4, 32, 4, move |inner| {
        prop_oneof![
            4 => prop::collection::btree_map(prop::sample::select(words.to_vec()), inner.clone(), 0..5).prop_map(|map| json!(map)),
            1 => prop::collection::vec(inner, 0..3).prop_map(Value::from),
        ]
    })
}

/// A schema, a value that fits it, and the same value as a careless model might spell it.
#[derive(Debug, Clone)]
struct Misspelled {
    schema: Value,
    value: Value,
    spelled: Value,
}

fn misspelled() -> impl Strategy<Value = Misspelled> {
    let case = |kind: &str, value: Value, spelled: Value| Misspelled {
        schema: json!({ "type": kind }),
        value,
        spelled,
    };
    let leaf = prop_oneof![
        (any::<i64>(), 0..3_u8).prop_map(move |(number, spelling)| {
            let spelled = match spelling {
                0 => json!(format!(" {number}")),
                1 => json!(format!("{number}.0")),
                _ => json!(number),
            };
            case("integer", json!(number), spelled)
        }),
        (-1_000_000..1_000_000_i64).prop_map(move |number| case(
            "integer",
            json!(number),
            json!(number as f64)
        )),
        prop::num::f64::NORMAL.prop_map(move |number| {
            let number = if number.fract() == 0.0 { 0.5 } else { number };
            case("number", json!(number), json!(json!(number).to_string()))
        }),
        any::<(bool, bool)>().prop_map(move |(truth, as_text)| {
            let text = if truth { "True" } else { "FALSE" };
            case("boolean", json!(truth), if as_text { json!(text) } else { json!(u8::from(truth)) })
        }),
        any::<u64>().prop_map(move |number| case("string", json!(number.to_string()), json!(number))),
        any::<String>().prop_map(move |text| case("string", json!(text), json!(text))),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            (inner.clone(), 1..4_usize, 0..3_u8)
                .prop_map(|(item, count, spelling)| misspelled_array(item, count, spelling)),
            (prop::collection::vec((inner, any::<bool>()), 0..4), any::<bool>())
                .prop_map(|(members, as_text)| misspelled_object(members, as_text)),
        ]
    })
}

fn misspelled_array(item: Misspelled, count: usize, spelling: u8) -> Misspelled {
    let value = Value::Array(vec![item.value.clone(); count]);
    let is_text = item.schema["type"] == "string";
    let spelled = match spelling {
        // A single array is not told from its items, and neither is a text that holds one.
        0 if count == 1 && !item.value.is_array() && !item.spelled.is_string() => item.spelled,
        // Of texts, a text is one more before it is JSON of numbers.
        1 if is_text => json!(value.to_string()),
        1 => json!(Value::Array(vec![item.spelled; count]).to_string()),
        _ => Value::Array(vec![item.spelled; count]),
    };
    Misspelled { schema: json!({ "type": "array", "items": item.schema }), value, spelled }
}

/// Members with whether they are there; those that are not are spelled `null`.
fn misspelled_object(members: Vec<(Misspelled, bool)>, as_text: bool) -> Misspelled {
    let mut properties = Map::new();
    let mut value = Map::new();
    let mut spelled = Map::new();
    for (position, (member, present)) in members.into_iter().enumerate() {
        let key = format!("k{position}");
        properties.insert(key.clone(), member.schema);
        if present {
            value.insert(key.clone(), member.value);
        }
        spelled.insert(key, if present { member.spelled } else { Value::Null });
    }
    let spelled = Value::Object(spelled);
    Misspelled {
        schema: json!({ "type": "object", "properties": properties, "additionalProperties": false }),
        value: Value::Object(value),
        spelled: if as_text { json!(spelled.to_string()) } else { spelled },
    }
}
