//! What a server does to an object before it judges it: unknown fields and nulls go, defaults come.

use serde_json::{Map, Value};

use super::field::{Place, flag, schema_of};

/// Fields of the root that the server keeps whatever the schema says.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The object pruned, without nulls that may not be, and the paths of the fields that were unknown.
pub(super) fn pruned(schema: &Value, object: &Value) -> (Value, Vec<String>) {
    let mut unknown = Vec::new();
    let mut object = object.clone();
    if let Value::Object(fields) = &mut object {
        prune_fields(schema, fields, &Place::default(), &mut unknown, &META);
    }
    drop_nulls(schema, &mut object);
    unknown.sort();
    (object, unknown)
}

/// The object with its defaults.
pub(super) fn defaulted(schema: &Value, mut object: Value) -> Value {
    default(schema, &mut object);
    object
}

fn prune(schema: &Value, value: &mut Value, place: &Place, unknown: &mut Vec<String>) {
    match value {
        Value::Object(fields) => prune_fields(schema, fields, place, unknown, &[]),
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if let Some(schema) = schema.get("items") {
                    prune(schema, item, &place.index(index), unknown);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn prune_fields(
    schema: &Value,
    fields: &mut Map<String, Value>,
    place: &Place,
    unknown: &mut Vec<String>,
    kept: &[&str],
) {
    fields.retain(|key, value| {
        if kept.contains(&key.as_str()) {
            return true;
        }
        let place = place.child(key);
        if let Some(schema) = schema_of(schema, key) {
            prune(schema, value, &place, unknown);
            true
        } else if flag(schema, "x-kubernetes-preserve-unknown-fields") {
            true
        } else {
            unknown.push(place.field());
            false
        }
    });
}

/// An explicit null in a field that may not be null counts as a field that was left out.
fn drop_nulls(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, value| {
                let schema = schema_of(schema, key);
                !value.is_null() || schema.is_none_or(|schema| is_nullable(schema) || schema.get("default").is_some())
            });
            for (key, value) in fields {
                if let Some(schema) = schema_of(schema, key) {
                    drop_nulls(schema, value);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                if let Some(schema) = schema.get("items") {
                    drop_nulls(schema, item);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_nullable(schema: &Value) -> bool {
    flag(schema, "nullable")
}

fn default(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => default_fields(schema, fields),
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for item in items {
                default_null(schema, item);
                default(schema, item);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn default_fields(schema: &Value, fields: &mut Map<String, Value>) {
    for (key, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        if let Some(default) = property.get("default")
            && fields.get(key).is_none_or(|value| value.is_null() && !is_nullable(property))
        {
            fields.insert(key.clone(), default.clone());
        }
    }
    for (key, value) in fields {
        if let Some(schema) = schema_of(schema, key) {
            default_null(schema, value);
            default(schema, value);
        }
    }
}

fn default_null(schema: &Value, value: &mut Value) {
    if value.is_null()
        && !is_nullable(schema)
        && let Some(default) = schema.get("default")
    {
        *value = default.clone();
    }
}
