//! The reference's own readings. Where ours differ, the difference is of a kind that is written down here.

use std::{fs, path::Path};

use serde::{Deserialize, de::DeserializeOwned};

use super::*;

#[derive(Deserialize)]
struct Vectors<E> {
    vectors: Vec<Vector<E>>,
}

#[derive(Deserialize)]
struct Vector<E> {
    input: String,
    expect: E,
}

#[track_caller]
fn vectors<E: DeserializeOwned>(name: &str) -> Vec<Vector<E>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance/vectors").join(name);
    let text = fs::read_to_string(&path).unwrap();
    serde_json::from_str::<Vectors<E>>(&text).unwrap().vectors
}

#[derive(Deserialize)]
struct Salvaged {
    value: Value,
}

#[test]
fn streaming_text_reads_as_in_the_reference_but_for_the_kinds_of_difference() {
    let mut unexplained = Vec::new();
    let mut met = vec![0; DIFFERENCES.len()];
    for Vector { input, expect } in vectors::<Salvaged>("salvage.json") {
        // A block without any certain arguments has an empty object for arguments.
        let (reference, ours) = (by_value(expect.value), by_value(shown(&input).unwrap_or(json!({}))));
        if ours == reference {
            continue;
        }
        match DIFFERENCES.iter().position(|(_, is_kind)| is_kind(&input, &reference, &ours)) {
            Some(kind) => met[kind] += 1,
            None => unexplained.push(format!("{input}\n  reference {reference}\n  ours      {ours}")),
        }
    }
    assert!(
        unexplained.is_empty(),
        "{} differences of no known kind:\n{}",
        unexplained.len(),
        unexplained.join("\n")
    );
    let unmet: Vec<_> =
        DIFFERENCES.iter().zip(met).filter(|(_, met)| *met == 0).map(|((name, _), _)| name).collect();
    assert!(unmet.is_empty(), "kinds that no vector needs: {unmet:?}");
}

/// Whether a text, the reference's value and ours differ in this way.
type IsKind = fn(&str, &Value, &Value) -> bool;

const DIFFERENCES: [(&str, IsKind); 5] = [
    // It can only become an argument error, so there is nothing to show.
    ("a top-level value that is no object reads as an empty object", |_, reference, ours| {
        !reference.is_object() && *ours == json!({})
    }),
    // More digits may follow, and `tru` is not yet `true`.
    ("a number or word at the very end is not certain yet", |input, reference, ours| {
        ends_within_scalar(input) && grows_into(ours, reference) && leaves(reference) == leaves(ours) + 1
    }),
    // `1` may become `12`, and until then the earlier value is the best one known.
    ("of a repeated key the earlier value stays until the later is certain", |input, reference, ours| {
        ends_within_scalar(input) && keys(reference) == keys(ours) && repeats_a_key(input)
    }),
    // The reference reads nothing of a string with a mistake in it before the end, and trims one that is not closed.
    ("a string is shown sooner, or with the blanks at its end", |input, reference, ours| {
        matches!(parse_arguments(input), Err(ArgumentsError::Incomplete { .. }))
            && grows_into(reference, ours)
    }),
    // The reference goes on, or goes back, by guessing. The call will be an error in any case.
    ("from a mistake on that is not repaired the value stands still", |input, reference, ours| {
        let error = parse_arguments(input).err();
        let is_mistake = error.is_some_and(|error| !matches!(error, ArgumentsError::Incomplete { .. }));
        is_mistake && (grows_into(ours, reference) || grows_into(reference, ours))
    }),
];

/// A value whose numbers compare by value: the reference knows one kind of number, and writes `-3e2` as `-300`.
fn by_value(value: Value) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(by_value).collect(),
        Value::Object(object) => object.into_iter().map(|(key, value)| (key, by_value(value))).collect(),
        Value::Number(number) => json!(number.as_f64()),
        other => other,
    }
}

fn ends_within_scalar(input: &str) -> bool {
    input.ends_with(|last: char| last.is_ascii_alphanumeric() || ".-+".contains(last))
}

/// How many numbers, words and strings a value has.
fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(leaves).sum(),
        Value::Object(object) => object.values().map(leaves).sum(),
        _ => 1,
    }
}

fn keys(value: &Value) -> Vec<&String> {
    value.as_object().into_iter().flat_map(|object| object.keys()).collect()
}

fn repeats_a_key(input: &str) -> bool {
    let mut keys: Vec<_> = input.split('"').skip(1).step_by(2).collect();
    let all = keys.len();
    keys.sort_unstable();
    keys.dedup();
    keys.len() < all
}

#[derive(Deserialize)]
struct Finished {
    /// Absent when the reference refuses the text.
    arguments: Option<Value>,
}

#[test]
fn complete_text_reads_as_in_the_reference() {
    for Vector { input, expect } in vectors::<Finished>("final_args.json") {
        assert_eq!(finished(&input).ok().map(by_value), expect.arguments.map(by_value), "for {input}");
    }
}
