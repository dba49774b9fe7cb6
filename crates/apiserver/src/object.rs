//! Reads and writes the metadata of an object as JSON.

use serde_json::{Map, Value, json};

use crate::store::Key;

/// A text of `metadata`; empty if it is not there.
pub fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object.get("metadata").and_then(|metadata| metadata.get(field)).and_then(Value::as_str).unwrap_or_default()
}

/// `metadata.name`.
pub fn name(object: &Value) -> &str {
    text(object, "name")
}

/// `metadata.namespace`; empty outside namespaces.
pub fn namespace(object: &Value) -> &str {
    text(object, "namespace")
}

/// `metadata.uid`.
pub fn uid(object: &Value) -> &str {
    text(object, "uid")
}

/// Where the object is among those of its kind.
pub fn key(object: &Value) -> Key {
    Key::new(namespace(object), name(object))
}

/// `metadata.generation`; 0 if it is not counted.
pub fn generation(object: &Value) -> i64 {
    object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or(0)
}

/// Whether the object is on its way out.
pub fn is_going(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// `metadata.finalizers`.
pub fn finalizers(object: &Value) -> Vec<&str> {
    let list = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// `metadata.ownerReferences`.
pub fn owners(object: &Value) -> &[Value] {
    let list = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    list.map_or(&[], Vec::as_slice)
}

/// `metadata.labels`, as pairs.
pub fn labels(object: &Value) -> impl Iterator<Item = (&str, &str)> {
    let map = object.pointer("/metadata/labels").and_then(Value::as_object);
    map.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
}

/// `metadata`, made if it is missing.
pub fn meta_mut(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    metadata.as_object_mut().expect("it was just made an object")
}

/// Sets a field of `metadata`; null, and an empty list, remove it.
pub fn set(object: &mut Value, field: &str, value: Value) {
    let empty = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    let metadata = meta_mut(object);
    if empty {
        metadata.remove(field);
    } else {
        metadata.insert(field.to_owned(), value);
    }
}

/// Makes a field of `metadata` what it is in another object.
pub fn copy(object: &mut Value, from: &Value, field: &str) {
    let value = from.get("metadata").and_then(|metadata| metadata.get(field)).cloned().unwrap_or_default();
    set(object, field, value);
}

/// The value at a dotted path such as `.spec.replicas` or `spec.scaling.minReplicas`.
pub fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').filter(|part| !part.is_empty()).try_fold(object, |value, part| value.get(part))
}

/// Sets the value at a dotted path, making what is missing on the way.
pub fn put(object: &mut Value, path: &str, new: Value) {
    let mut place = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[part];
    }
    *place = new;
}

/// Whether a value is what Go leaves out of JSON: nothing, or something without content.
pub(crate) fn is_hollow(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(entries) => entries.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
