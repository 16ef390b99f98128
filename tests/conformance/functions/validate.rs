//! Arguments against a schema: coerced, or refused with the paths that failed.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use turnstate::tool::schema::{Coercion, Schema};

use super::{Verdict, compared};
use crate::lossy::loses_information;

pub(super) fn check(vector: &Value) -> Verdict {
    let schema = Schema::from_json(vector["schema"].clone()).expect("a usable schema");
    let arguments = vector["args"].as_object().cloned().unwrap();
    let ours = match schema.check("t", arguments, Coercion::default()) {
        Ok(arguments) => json!({"ok": arguments}),
        Err(invalid) => json!({"invalid": invalid.paths().collect::<BTreeSet<_>>()}),
    };
    match compared(&ours, vector) {
        Verdict::Differs(_) if refuses_losses(&ours, vector) => {
            Verdict::Excused("coercion never loses information")
        }
        Verdict::Differs(_) if wraps_what_fits(&ours, &vector["expect"]) => {
            Verdict::Excused("a single value is wrapped for a list only when it then fits")
        }
        verdict => verdict,
    }
}

/// Whether we refuse, and everything that the reference took nevertheless loses information.
fn refuses_losses(ours: &Value, vector: &Value) -> bool {
    let (refused, recorded) = (paths(ours), paths(&vector["expect"]));
    let lost = || refused.difference(&recorded);
    !refused.is_empty()
        && recorded.is_subset(&refused)
        && lost().all(|path| {
            let (value, schema) = look_up(vector, path);
            loses_information(value, schema)
        })
}

/// The reference wraps a value also when it does not fit then, and complains about the item.
fn wraps_what_fits(ours: &Value, expect: &Value) -> bool {
    let outer = |paths: BTreeSet<String>| -> BTreeSet<String> {
        paths.iter().map(|path| path.strip_suffix(".0").unwrap_or(path).to_owned()).collect()
    };
    !paths(ours).is_empty() && outer(paths(ours)) == outer(paths(expect))
}

fn paths(answer: &Value) -> BTreeSet<String> {
    let paths = answer["invalid"].as_array().into_iter().flatten();
    paths.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The value at a path, and its schema.
fn look_up<'v>(vector: &'v Value, path: &str) -> (&'v Value, &'v Value) {
    let (mut value, mut schema) = (&vector["args"], &vector["schema"]);
    if path == "root" {
        return (value, schema);
    }
    for segment in path.split('.') {
        value = match segment.parse::<usize>() {
            Ok(index) if value.is_array() => &value[index],
            _ => &value[segment],
        };
        let declared = schema["properties"].get(segment).or_else(|| schema.get("items"));
        schema = declared.unwrap_or(&schema["additionalProperties"]);
    }
    (value, schema)
}
