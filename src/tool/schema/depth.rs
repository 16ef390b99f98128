//! Values that nest too deep: finding them, and getting rid of them, without recursing into them.

use serde_json::Value;

/// What a check needs to know of a value before it looks at the meaning.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Survey {
    /// Arrays and objects nest deeper than the limit. The survey stopped there.
    pub(super) too_deep: bool,
    /// A number that is integral but spelled as a fraction occurs, such as `120000.0`.
    pub(super) whole_fraction: bool,
}

/// Surveys a value that may nest at most `limit` levels of arrays and objects, itself included.
pub(super) fn survey(value: &Value, limit: usize) -> Survey {
    let mut found = Survey::default();
    visit(value, limit, &mut found);
    found
}

fn visit(value: &Value, levels: usize, found: &mut Survey) {
    match value {
        Value::Array(_) | Value::Object(_) if levels == 0 => found.too_deep = true,
        Value::Array(items) => items.iter().for_each(|item| visit(item, levels - 1, found)),
        Value::Object(members) => members.values().for_each(|member| visit(member, levels - 1, found)),
        Value::Number(number) if number.is_f64() => {
            found.whole_fraction |= number.as_f64().is_some_and(|number| number.fract() == 0.0);
        }
        _ => {}
    }
}

/// Drops a value however deep it nests. The drop of a [`Value`] recurses once for each level, and a deep one
/// would overflow the stack.
pub(super) fn dismantle(value: Value) {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(items) => rest.extend(items),
            Value::Object(members) => rest.extend(members.into_iter().map(|(_, member)| member)),
            _ => {}
        }
    }
}
