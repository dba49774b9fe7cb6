//! Manifests as people write them: block style, keys in Kubernetes' order, long texts folded.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

/// Keys that come first wherever they appear, in this order.
const FIRST: &[&str] = &["apiVersion", "kind", "metadata", "name", "namespace", "type"];

/// Objects as one YAML text, a document each.
pub fn yaml(objects: &[Value]) -> String {
    objects.iter().map(document).collect::<Vec<_>>().join("---\n")
}

fn document(value: &Value) -> String {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: 110 };
    serde_saphyr::to_string_with_options(&Ordered(value), options).expect("every JSON value has a YAML form")
}

/// A JSON value that is serialised with its keys in reading order.
struct Ordered<'a>(&'a Value);

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Ordered)),
            Value::Object(fields) => {
                let mut keys: Vec<&String> = fields.keys().collect();
                keys.sort_by_key(|key| (rank(key), *key));
                let mut map = serializer.serialize_map(Some(keys.len()))?;
                for key in keys {
                    map.serialize_entry(key, &Ordered(&fields[key]))?;
                }
                map.end()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => self.0.serialize(serializer),
        }
    }
}

fn rank(key: &str) -> usize {
    match key {
        "spec" => FIRST.len() + 1,
        "status" => FIRST.len() + 2,
        other => FIRST.iter().position(|first| *first == other).unwrap_or(FIRST.len()),
    }
}
