//! Where a reference inside a schema leads.
//!
//! The validator resolves references on its own and has refused those that lead nowhere. Coercion walks the
//! schema beside it and resolves them here: by JSON pointer, anchor or embedded `$id`. One that it cannot
//! follow (an `$id` relative to another) costs only the coercion behind it.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use serde_json::Value;

/// The places of a document that references can name.
pub(super) struct References<'d> {
    document: &'d Value,
    /// JSON pointers of the embedded resources, by their `$id` as written.
    resources: HashMap<&'d str, String>,
    /// The same pointers: where the meaning of `#` changes.
    roots: HashSet<String>,
    /// JSON pointers of the anchored places, by the pointer of their resource and the anchor.
    anchors: HashMap<(String, &'d str), String>,
}

impl<'d> References<'d> {
    /// `id` is the keyword that names a resource: `$id`, or `id` in draft 4.
    pub(super) fn of(document: &'d Value, id: &str) -> Self {
        let mut references = References {
            document,
            resources: HashMap::new(),
            roots: HashSet::new(),
            anchors: HashMap::new(),
        };
        let mut rest = vec![(document, String::new(), String::new())];
        while let Some((value, pointer, resource)) = rest.pop() {
            let resource = references.index(value, id, &pointer, resource);
            match value {
                Value::Object(members) => {
                    for (key, member) in members {
                        rest.push((member, child(&pointer, key), resource.clone()));
                    }
                }
                Value::Array(items) => {
                    for (position, item) in items.iter().enumerate() {
                        rest.push((item, child(&pointer, &position.to_string()), resource.clone()));
                    }
                }
                _ => {}
            }
        }
        references
    }

    /// Notes the names a place has, and gives the pointer of the resource it belongs to.
    fn index(&mut self, value: &'d Value, id: &str, pointer: &str, mut resource: String) -> String {
        match value.get(id).and_then(Value::as_str) {
            Some(id) if id.starts_with('#') => self.anchor(&resource, id.trim_start_matches('#'), pointer),
            Some(id) => {
                pointer.clone_into(&mut resource);
                self.resources.insert(id.trim_end_matches('#'), pointer.to_owned());
                self.roots.insert(pointer.to_owned());
            }
            None => {}
        }
        for key in ["$anchor", "$dynamicAnchor"] {
            if let Some(name) = value.get(key).and_then(Value::as_str) {
                self.anchor(&resource, name, pointer);
            }
        }
        resource
    }

    fn anchor(&mut self, resource: &str, name: &'d str, pointer: &str) {
        self.anchors.insert((resource.to_owned(), name), pointer.to_owned());
    }

    /// The JSON pointer of the place that `reference`, standing at the pointer `from`, leads to.
    pub(super) fn resolve(&self, reference: &str, from: &str) -> Option<String> {
        let (uri, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = if uri.is_empty() { self.resource_of(from) } else { self.resources.get(uri)?.clone() };
        if !fragment.is_empty() && !fragment.starts_with('/') {
            return self.anchors.get(&(resource, fragment)).cloned();
        }
        let pointer = format!("{resource}{}", percent_decoded(fragment)?);
        self.document.pointer(&pointer).map(|_| pointer)
    }

    /// The pointer of the innermost resource around the place at `pointer`.
    fn resource_of(&self, pointer: &str) -> String {
        let mut around = pointer;
        while !self.roots.contains(around) {
            match around.rsplit_once('/') {
                Some((outer, _)) => around = outer,
                None => return String::new(),
            }
        }
        around.to_owned()
    }
}

/// The JSON pointer of the member `key` of the place at `pointer`.
pub(super) fn child(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// A JSON pointer as the fragment of a URI.
pub(super) fn as_fragment(pointer: &str) -> String {
    let mut fragment = String::with_capacity(pointer.len() + 1);
    fragment.push('#');
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/$".contains(&byte) {
            fragment.push(char::from(byte));
        } else {
            // Writing into a string does not fail.
            let _ = write!(fragment, "%{byte:02X}");
        }
    }
    fragment
}

fn percent_decoded(fragment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            let digits = std::str::from_utf8(&digits).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_reference_leads_to_a_pointer_an_anchor_or_an_embedded_resource() {
        let document = json!({
            "$id": "https://example.com/root",
            "properties": { "a b": {}, "x/y": {}, "n": { "$anchor": "n" } },
            "$defs": {
                "inner": { "$id": "inner.json", "$defs": { "deep": { "$dynamicAnchor": "d" } } },
                "old": { "$id": "#old" },
            },
        });
        let references = References::of(&document, "$id");
        let inside = "/$defs/inner/$defs/deep";
        for (reference, from, to) in [
            ("#", "/properties/n", Some("")),
            ("#/properties/a%20b", "", Some("/properties/a b")),
            ("#/properties/x~1y", "", Some("/properties/x~1y")),
            ("#n", "", Some("/properties/n")),
            ("#old", "", Some("/$defs/old")),
            ("https://example.com/root#/$defs/old", inside, Some("/$defs/old")),
            ("#", inside, Some("/$defs/inner")),
            ("#/$defs/deep", inside, Some(inside)),
            ("#d", inside, Some(inside)),
            ("inner.json#d", "", Some(inside)),
            ("inner.json", "", Some("/$defs/inner")),
            ("#d", "", None),
            ("#/nowhere", "", None),
            ("#/%zz", "", None),
            ("#/%f", "", None),
            ("#/%ff", "", None),
            ("other.json", "", None),
        ] {
            assert_eq!(references.resolve(reference, from).as_deref(), to, "{reference} from {from:?}");
        }
    }

    #[test]
    fn a_pointer_survives_the_way_through_a_uri() {
        for pointer in ["", "/a b/~0~1/ü/%25", "/properties/x\"\\"] {
            let fragment = as_fragment(pointer);
            assert!(fragment.is_ascii() && !fragment.contains(' '), "{fragment}");
            assert_eq!(percent_decoded(fragment.trim_start_matches('#')).unwrap(), pointer);
        }
    }
}
