//! The schema of a Rust type, in the form that providers take.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The JSON Schema of `T` as it is read (not as it is written): draft 2020-12 without `$schema`, all types
/// inlined. `$defs` and `$ref` remain for types that contain themselves.
pub(super) fn describe<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut json = settings.into_generator().into_root_schema_for::<T>().to_value();
    // The title is the type's name unless the type says otherwise. A model reads the tool's name already.
    if let Some(members) = json.as_object_mut() {
        if members.get("title").and_then(Value::as_str) == Some(&*T::schema_name()) {
            members.remove("title");
        }
    }
    json
}
