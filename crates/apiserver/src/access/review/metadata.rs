//! The metadata of questions: it comes back in answers, and must often be empty.

use serde_json::{Map, Value};

use crate::object;

/// The order in which the real server writes the fields of metadata, and of managed fields within.
const ORDER: [&str; 22] = [
    "name",
    "generateName",
    "namespace",
    "selfLink",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "ownerReferences",
    "finalizers",
    "managedFields",
    "manager",
    "operation",
    "apiVersion",
    "time",
    "fieldsType",
    "fieldsV1",
    "subresource",
];

/// The metadata of a question, without what is empty.
pub(super) fn of(body: &Value) -> Map<String, Value> {
    let fields = body.get("metadata").and_then(Value::as_object).into_iter().flatten();
    let there = fields.into_iter().filter(|(_, value)| !object::is_hollow(value));
    there.map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Whether there is more than managed fields and the fields named.
pub(super) fn says_more(metadata: &Map<String, Value>, allowed: &[&str]) -> bool {
    metadata.keys().any(|key| key != "managedFields" && !allowed.contains(&key.as_str()))
}

/// The metadata as refusals show it.
pub(super) fn shown(metadata: &Map<String, Value>) -> String {
    // The real server's encoder hides what could be HTML.
    ordered(metadata).replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

fn ordered(fields: &Map<String, Value>) -> String {
    let mut known: Vec<(&String, &Value)> = fields.iter().collect();
    known.sort_by_key(|(key, _)| ORDER.iter().position(|ordered| ordered == key).unwrap_or(ORDER.len()));
    let entries: Vec<String> = known.into_iter().map(|(key, value)| entry(key, value)).collect();
    format!("{{{}}}", entries.join(","))
}

fn entry(key: &str, value: &Value) -> String {
    let value = match (key, value) {
        ("managedFields", Value::Array(entries)) => {
            let entries = entries.iter().filter_map(Value::as_object).map(ordered);
            format!("[{}]", entries.collect::<Vec<_>>().join(","))
        }
        (_, value) => value.to_string(),
    };
    format!("{}:{value}", Value::from(key))
}
