//! The arguments of tool calls: while they stream, and when they are complete.

use serde_json::{Map, Value, json};
use turnstate::model::arguments::{ArgumentsBuilder, ArgumentsError, parse_arguments};

use super::{Verdict, compared};
use crate::compare::{grows_into, leaves};

pub(super) fn complete(vector: &Value) -> Verdict {
    let answer = match parse_arguments(input(vector)) {
        Ok(arguments) => json!({"arguments": arguments}),
        Err(_) => json!({"error": true}),
    };
    compared(&answer, vector)
}

pub(super) fn salvage(vector: &Value) -> Verdict {
    let mut builder = ArgumentsBuilder::new();
    builder.push(input(vector));
    let ours = Value::Object(builder.object().cloned().unwrap_or_default());
    let reference = &vector["expect"]["value"];
    let kind = || DIFFERENCES.iter().find(|(_, is_kind)| is_kind(input(vector), reference, &ours));
    match compared(&json!({"value": ours}), vector) {
        Verdict::Differs(difference) => match kind() {
            Some((reason, _)) => Verdict::Excused(reason),
            None => Verdict::Differs(difference),
        },
        agrees => agrees,
    }
}

fn input(vector: &Value) -> &str {
    vector["input"].as_str().unwrap()
}

/// Whether a text, the reference's value and ours differ in this way.
type IsKind = fn(&str, &Value, &Value) -> bool;

/// The reference guesses while a call streams; here nothing is shown before it is certain, and nothing is taken back.
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

fn ends_within_scalar(input: &str) -> bool {
    input.ends_with(|last: char| last.is_ascii_alphanumeric() || ".-+".contains(last))
}

fn keys(value: &Value) -> Vec<&String> {
    value.as_object().into_iter().flat_map(Map::keys).collect()
}

fn repeats_a_key(input: &str) -> bool {
    let mut keys: Vec<_> = input.split('"').skip(1).step_by(2).collect();
    let all = keys.len();
    keys.sort_unstable();
    keys.dedup();
    keys.len() < all
}

#[test]
fn every_kind_of_difference_is_of_use() {
    let text = include_str!("../vectors/salvage.json");
    let file: crate::record::VectorFile = serde_json::from_str(text).unwrap();
    let met: Vec<_> = file
        .vectors
        .iter()
        .filter_map(|vector| match salvage(vector) {
            Verdict::Excused(reason) => Some(reason),
            _ => None,
        })
        .collect();
    assert!(DIFFERENCES.iter().all(|(reason, _)| met.contains(reason)));
}
