//! An object as it comes back out of Go: what its struct does not know is gone, what was left out and is always written
//! is there, what is empty and need not be written is not, times are in UTC.
//!
//! The object has been found decodable before ([`decode`](super::decode)).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::definition::{EXTENSIONS, definition, referred};
use super::go::{self, Zero};
use super::moment::{self, Precision};

/// Writes an object as its struct would.
pub(crate) fn settle(name: &str, object: &mut Value) {
    let Some(schema) = definition(name) else { return };
    match union(name) {
        Some(Union::Anything) => return,
        Some(Union::SchemaOr) => {
            if object.is_object() {
                settle(&format!("{EXTENSIONS}JSONSchemaProps"), object);
            } else if let Value::Array(items) = object {
                for item in items {
                    settle(&format!("{EXTENSIONS}JSONSchemaProps"), item);
                }
            }
            return;
        }
        None => {}
    }
    if let Some(precision) = precision(name) {
        *object = moment::rewrite(object, precision);
        return;
    }
    let (Some(properties), Value::Object(fields)) = (schema.get("properties").and_then(Value::as_object), object)
    else {
        return;
    };
    settle_fields(name, properties, fields);
}

fn settle_fields(name: &str, properties: &Map<String, Value>, fields: &mut Map<String, Value>) {
    let go = go::of(name);
    fields.retain(|key, _| properties.contains_key(key));
    for (key, value) in fields.iter_mut() {
        settle_value(&properties[key], value);
    }
    let always = |key: &str| go.always.iter().find(|(name, _)| *name == key).map(|(_, zero)| *zero);
    fields.retain(|key, value| {
        let keeps_zero = go.pointers.contains(&key.as_str()) || referred(&properties[key]).is_some();
        always(key).is_some() || (!value.is_null() && (keeps_zero || !is_zero(value)))
    });
    for (key, zero) in go.always {
        let empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        if fields.get(*key).is_none_or(empty) {
            let mut value = zero.value();
            if *zero == Zero::Struct {
                settle_value(&properties[*key], &mut value);
            }
            fields.insert((*key).to_owned(), value);
        }
    }
}

fn settle_value(schema: &Value, value: &mut Value) {
    if let Some(name) = referred(schema) {
        if !value.is_null() {
            settle(name, value);
        }
        return;
    }
    match value {
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                for item in items {
                    settle_entry(schema, item);
                }
            }
        }
        Value::Object(fields) => {
            if let Some(schema) = schema.get("additionalProperties") {
                for item in fields.values_mut() {
                    settle_entry(schema, item);
                }
            }
        }
        Value::String(text) if is_bytes(schema) => {
            *text = rewrite_bytes(text);
        }
        Value::Number(number) if schema.get("type").is_some_and(|of| of == "integer") => {
            // Decoding made sure that it is whole.
            if let Some(whole) = number.as_f64().filter(|_| number.is_f64()) {
                #[expect(clippy::cast_possible_truncation, reason = "decoding made sure that it is whole and fits")]
                let whole = whole as i64;
                *value = json!(whole);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// An entry of a list or map: null is the zero of its type.
fn settle_entry(schema: &Value, value: &mut Value) {
    if value.is_null() {
        *value = match schema.get("type").and_then(Value::as_str) {
            // No bytes are not the same as bytes of which there are none, until they are stored.
            Some("string") if is_bytes(schema) => Value::Null,
            Some("string") => json!(""),
            Some("boolean") => json!(false),
            Some("integer" | "number") => json!(0),
            None if referred(schema).is_some_and(|name| union(name).is_none()) => json!({}),
            Some(_) | None => Value::Null,
        };
    }
    settle_value(schema, value);
}

fn is_bytes(schema: &Value) -> bool {
    schema.get("format").is_some_and(|format| format == "byte")
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
    }
}

fn rewrite_bytes(text: &str) -> String {
    let packed: String = text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
    STANDARD.decode(&packed).map_or(packed, |bytes| STANDARD.encode(bytes))
}

/// Definitions that are not structs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Union {
    /// Any JSON.
    Anything,
    /// A schema, a list of schemas, or a scalar.
    SchemaOr,
}

/// Whether the definition stands for more than one type.
pub(super) fn union(name: &str) -> Option<Union> {
    if name.ends_with(".FieldsV1") {
        return Some(Union::Anything);
    }
    match name.strip_prefix(EXTENSIONS)? {
        "JSON" => Some(Union::Anything),
        "JSONSchemaPropsOrArray" | "JSONSchemaPropsOrBool" | "JSONSchemaPropsOrStringArray" => Some(Union::SchemaOr),
        _ => None,
    }
}

/// How exact a definition's time is, if it is one.
pub(super) fn precision(name: &str) -> Option<Precision> {
    match name {
        "io.k8s.apimachinery.pkg.apis.meta.v1.Time" => Some(Precision::Seconds),
        "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime" => Some(Precision::Microseconds),
        _ => None,
    }
}

impl Zero {
    fn value(self) -> Value {
        match self {
            Self::Text => json!(""),
            Self::No => json!(false),
            Self::Nought => json!(0),
            Self::Null => Value::Null,
            Self::Struct => json!({}),
        }
    }
}
