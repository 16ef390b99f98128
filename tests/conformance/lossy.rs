//! Which values lose information when they are made to fit a schema. The reference converts them; here they are refused.

use serde_json::Value;

/// Whether something in `value` can only be made to fit by saying something else than it says.
pub(crate) fn loses_information(value: &Value, schema: &Value) -> bool {
    for branches in ["anyOf", "oneOf"] {
        if let Some(branches) = schema[branches].as_array() {
            return branches.iter().all(|branch| loses_information(value, branch));
        }
    }
    match value {
        Value::Object(fields) => fields.iter().any(|(key, field)| {
            let declared = schema["properties"].get(key).unwrap_or(&schema["additionalProperties"]);
            !is_absent(key, field, schema) && loses_information(field, declared)
        }),
        Value::Array(items) => items.iter().any(|item| loses_information(item, &schema["items"])),
        leaf => leaf_loses(leaf, schema),
    }
}

/// A `null` for a property that need not be there says that it is not.
fn is_absent(key: &str, value: &Value, schema: &Value) -> bool {
    let required = schema["required"].as_array().is_some_and(|names| names.iter().any(|name| name == key));
    value.is_null() && !required
}

fn leaf_loses(value: &Value, schema: &Value) -> bool {
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => name.as_str().into_iter().collect(),
    };
    !types.is_empty() && types.iter().all(|name| leaf_loses_as(value, name, schema))
}

fn leaf_loses_as(value: &Value, name: &str, schema: &Value) -> bool {
    match (name, value) {
        // A single value for a list is an item.
        ("array", value) => leaf_loses(value, &schema["items"]) || value.is_null(),
        ("null", value) => !value.is_null(),
        (_, Value::Null) => true,
        ("integer", Value::Number(number)) => number.as_f64().is_none_or(|number| number.fract() != 0.0),
        ("integer", Value::String(text)) => spelled(text).is_none_or(|number| number.fract() != 0.0),
        ("number", Value::String(text)) => spelled(text).is_none(),
        ("boolean", Value::String(text)) => !["true", "false"].contains(&text.trim().to_lowercase().as_str()),
        ("boolean", Value::Number(number)) => !matches!(number.as_f64(), Some(0.0 | 1.0)),
        _ => false,
    }
}

/// The number that a text spells, in decimal digits.
fn spelled(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_decimal = text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    if is_decimal { text.parse().ok() } else { None }
}
