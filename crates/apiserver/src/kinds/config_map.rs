//! Config maps.

use api::Violation;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::built_in::{age_column, column, kind, name_column};
use super::field::{entries, forbidden, invalid_text, text, too_long};
use super::{metadata, names, shape};
use crate::kind::{BuiltIn, Kind};
use crate::table::duration::since;

const DEFINITION: &str = "io.k8s.api.core.v1.ConfigMap";
/// The most that a config map or a secret may hold.
pub(super) const SIZE_LIMIT: usize = 1024 * 1024;
/// What is said of every part of an object that was declared immutable.
pub(super) const FROZEN: &str = "field is immutable when `immutable` is set";

struct ConfigMap;

pub(super) fn config_map() -> Kind {
    let contents = super::description(DEFINITION, "data");
    Kind {
        short_names: vec!["cm".to_owned()],
        columns: vec![name_column(), column("Data", "string", &contents), age_column()],
        ..kind("", "ConfigMap", "configmaps", DEFINITION, &ConfigMap)
    }
}

/// How many bytes a base64 text stands for.
pub(super) fn weight(encoded: &Value) -> usize {
    let text = encoded.as_str().unwrap_or_default().trim_end_matches('=');
    text.len() * 3 / 4
}

/// Whether a map of texts or bytes is the same in both objects: no bytes and none of them are alike, as are a map that
/// is not there and one that is empty.
pub(super) fn same_entries(new: &Value, old: &Value, field: &str) -> bool {
    let of = |object: &Value| object.get(field).and_then(Value::as_object).cloned().unwrap_or_default();
    let (new, old) = (of(new), of(old));
    let alike = |one: &Value, other: &Value| one.as_str().unwrap_or_default() == other.as_str().unwrap_or_default();
    new.len() == old.len() && new.iter().all(|(key, value)| old.get(key).is_some_and(|was| alike(value, was)))
}

impl BuiltIn for ConfigMap {
    fn default(&self, object: &mut Value) {
        shape::settle(DEFINITION, object);
    }

    fn prepare(&self, _: &mut Value, _: Option<&Value>, _: bool) {}

    fn violations(&self, new: &Value, old: Option<&Value>, _: bool) -> Vec<Violation> {
        let mut found: Vec<Violation> = old.into_iter().flat_map(|old| metadata::of_core_step(new, old)).collect();
        if let Some(old) = old.filter(|old| old.get("immutable") == Some(&json!(true))) {
            if new.get("immutable") != Some(&json!(true)) {
                found.push(forbidden("immutable", FROZEN));
            }
            let changed = ["data", "binaryData"].into_iter().filter(|field| !same_entries(new, old, field));
            found.extend(changed.map(|field| forbidden(field, FROZEN)));
        }
        found.extend(metadata::of_core_object(new, true, metadata::subdomain));
        found.extend(contents(new));
        found
    }

    fn selectable(&self, _: &Value) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let count = entries(object, "/data").count() + entries(object, "/binaryData").count();
        let age = since(object.pointer("/metadata/creationTimestamp"), now);
        vec![json!(text(object, "/metadata/name")), json!(count), json!(age)]
    }
}

fn contents(object: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut total = 0;
    for (key, value) in entries(object, "/data") {
        let field = format!("data[{key}]");
        found.extend(names::config_key(key).into_iter().map(|wrong| invalid_text(&field, key, wrong)));
        if object.pointer("/binaryData").is_some_and(|binary| binary.get(key).is_some()) {
            found.push(invalid_text(&field, key, "duplicate of key present in binaryData"));
        }
        total += value.as_str().map_or(0, str::len);
    }
    for (key, value) in entries(object, "/binaryData") {
        let field = format!("binaryData[{key}]");
        found.extend(names::config_key(key).into_iter().map(|wrong| invalid_text(&field, key, wrong)));
        total += weight(value);
    }
    if total > SIZE_LIMIT {
        found.push(too_long("[]", SIZE_LIMIT));
    }
    found
}
