//! Lists that are sets or maps: no value, and no key, may stand in them twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::field::{Place, property, values, word};
use super::go;
use super::refusal::{Cause, Violation};

/// Every first repetition in a list that is a set or a map.
pub(super) fn violations(schema: &Value, object: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    walk(schema, object, &Place::default(), &mut found);
    found
}

fn walk(schema: &Value, value: &Value, place: &Place, found: &mut Vec<Violation>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let Some(schema) = values(schema) {
                    walk(schema, value, &place.key(key), found);
                }
                if let Some(schema) = property(schema, key) {
                    walk(schema, value, &place.child(key), found);
                }
            }
        }
        Value::Array(items) => {
            repetitions(schema, items, place, found);
            for (index, item) in items.iter().enumerate() {
                if let Some(schema) = schema.get("items") {
                    walk(schema, item, &place.index(index), found);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn repetitions(schema: &Value, items: &[Value], place: &Place, found: &mut Vec<Violation>) {
    let is_map = match word(schema, "x-kubernetes-list-type") {
        Some("set") => false,
        Some("map") => true,
        Some(_) | None => return,
    };
    if is_map && let Some(stranger) = items.iter().position(|item| !item.is_object() && !item.is_null()) {
        let shown = go::shown(&items[stranger]);
        let message = format!("Invalid value: {shown}: must be an object for an array of list-type map");
        found.push(Violation::new(&place.index(stranger), Cause::Invalid, message));
        return;
    }
    let mut seen = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let identity = if is_map { key_of(schema, item) } else { item.clone() };
        let times = seen.entry(identity.to_string()).or_insert(0_u32);
        *times += 1;
        if *times == 2 {
            let message = format!("Duplicate value: {}", go::shown(&identity));
            found.push(Violation::new(&place.index(index), Cause::Duplicate, message));
        }
    }
}

/// The part of a map list's item by which it is known.
fn key_of(schema: &Value, item: &Value) -> Value {
    let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array).into_iter().flatten();
    let known: Map<String, Value> = keys
        .filter_map(Value::as_str)
        .filter_map(|key| item.get(key).map(|value| (key.to_owned(), value.clone())))
        .collect();
    Value::Object(known)
}
