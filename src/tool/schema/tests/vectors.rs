//! The reference's recorded answers. Where they lose information, or the two recorded versions disagree, the
//! rule of the [module](super::super) decides; every difference must be of a kind that is listed here with its
//! reason.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{check, schema};
use crate::tool::schema::scalar::parse_exactly;

/// One place where we refuse a value that the reference took.
struct Refusal<'v> {
    /// What the schema wants there, all alternatives.
    types: Vec<&'v str>,
    value: &'v Value,
}

/// A kind of difference: its reason, and whether a refusal is of it.
type Kind = (&'static str, fn(&Refusal<'_>) -> bool);

const KINDS: [Kind; 5] = [
    ("null says nothing, and is no 0, false or text", |refusal| refusal.value.is_null()),
    ("only null is null: an empty text or 0 says something else", |refusal| refusal.types == ["null"]),
    ("a decimal is not cut to an integer", |refusal| {
        let number = match refusal.value {
            Value::Number(number) => Some(number.clone()),
            Value::String(text) => parse_exactly(text),
            _ => None,
        };
        refusal.types == ["integer"] && number.is_some_and(|number| number.is_f64())
    }),
    (
        "a text that spells no number is none: empty, in another base, with a suffix, or the word `true`",
        |refusal| {
            let is_number = |text: &str| parse_exactly(text.trim()).is_some();
            let wants_number = refusal.types.iter().all(|name| ["integer", "number"].contains(name));
            wants_number && refusal.value.as_str().is_some_and(|text| !is_number(text))
        },
    ),
    ("the texts of booleans are `true` and `false`, and not those of numbers", |refusal| {
        refusal.types == ["boolean"]
            && refusal.value.as_str().is_some_and(|text| parse_exactly(text).is_some())
    }),
];

#[test]
fn the_recorded_answers_are_given_or_lose_information() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conformance/vectors/validate.json");
    let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    let mut used = BTreeSet::new();
    let mut same = 0;
    for vector in vectors {
        let ours = answer(vector);
        if ours == vector["expect"] {
            same += 1;
        } else {
            used.extend(explain(vector, &ours));
        }
    }
    assert_eq!(used.len(), KINDS.len() + 2, "a kind of difference that does not occur must go: {used:?}");
    assert!(same * 10 >= vectors.len() * 8, "only {same} of {} are the same", vectors.len());
}

fn answer(vector: &Value) -> Value {
    match check(&schema(vector["schema"].clone()), &vector["args"]) {
        Ok(value) => json!({ "ok": value }),
        Err(error) => json!({ "invalid": error.paths().collect::<BTreeSet<_>>() }),
    }
}

/// The kinds of the differences between our answer and the recorded one.
#[track_caller]
fn explain(vector: &Value, ours: &Value) -> Vec<&'static str> {
    let recorded = &vector["expect"];
    if let (Some(_), Some(ours)) = (recorded.get("ok"), ours.get("ok")) {
        // `"true"` for number or boolean: the reference makes it 1.
        assert_eq!(vector["v1_4"]["ok"], *ours, "{vector}");
        return vec!["a boolean's text becomes the boolean, where both are allowed"];
    }
    let refused = paths(ours);
    let recorded = paths(recorded);
    let mut kinds = Vec::new();
    for path in recorded.difference(&refused) {
        // The reference wraps a single value also when it does not fit then, and complains about the item.
        assert!(refused.iter().any(|outer| *path == format!("{outer}.0")), "{path} passed: {vector}");
        kinds.push("a value is wrapped only when it then fits");
    }
    for path in refused.difference(&recorded) {
        if recorded.contains(&format!("{path}.0")) {
            continue;
        }
        let refusal = look_up(vector, path);
        let kind = KINDS.iter().find(|(_, applies)| applies(&refusal));
        kinds.push(kind.unwrap_or_else(|| panic!("{path} refused: {vector}")).0);
    }
    kinds
}

fn paths(answer: &Value) -> BTreeSet<String> {
    answer["invalid"].as_array().into_iter().flatten().map(|path| path.as_str().unwrap().to_owned()).collect()
}

/// The value at a path, and what its schema wants. A single value for an array stands for its item.
fn look_up<'v>(vector: &'v Value, path: &str) -> Refusal<'v> {
    let mut value = &vector["args"];
    let mut subschema = &vector["schema"];
    for segment in path.split('.') {
        value = value.get(segment).unwrap_or_else(|| &value[segment.parse::<usize>().unwrap()]);
        let declared = subschema["properties"].get(segment);
        subschema = declared.or_else(|| subschema.get("items")).unwrap_or(&subschema["additionalProperties"]);
    }
    if subschema["type"] == "array" && !value.is_array() {
        subschema = &subschema["items"];
    }
    let types = match &subschema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => name.as_str().into_iter().collect(),
    };
    Refusal { types, value }
}
