//! Whether an object can be read as its kind at all: what Go's decoder says of wrong types, and the fields it does not
//! know.
//!
//! Go names the first wrong field of the text; here it is the first in the order of their names.

use serde_json::Value;

use super::definition::{OBJECT_META, definition, referred};
use super::moment;
use super::shape::{Union, precision, union};
use super::{definition_of, go};
use crate::failure::Failure;
use crate::kind::{Kind, Nature};

/// The paths of fields that the kind does not know; a refusal if a value is of a type that it cannot hold.
///
/// Of a custom resource only `metadata` is looked at: the rest is its schema's business.
pub fn decode_check(kind: &Kind, object: &Value) -> Result<Vec<String>, Failure> {
    let mut check = Check { unknown: Vec::new() };
    let outcome = match &kind.nature {
        Nature::BuiltIn(_) => check.reference(&definition_of(kind), object, &Place::root(&kind.kind)),
        Nature::Custom(_) => match object.get("metadata") {
            Some(metadata) => check.reference(OBJECT_META, metadata, &Place::metadata()),
            None => Ok(()),
        },
    };
    let unreadable = |complaint: String| {
        let Kind { kind, version, .. } = kind;
        Failure::bad_request(format!("{kind} in version {version:?} cannot be handled as a {kind}: {complaint}"))
    };
    outcome.map_err(unreadable)?;
    Ok(check.unknown)
}

struct Check {
    unknown: Vec<String>,
}

/// Where a value stands, as Go says it: the struct that holds it, the path of keys, and the path with indices.
#[derive(Clone)]
struct Place {
    holder: String,
    keys: Vec<String>,
    path: String,
    field: String,
}

impl Place {
    fn root(kind: &str) -> Self {
        Self { holder: kind.to_owned(), keys: Vec::new(), path: String::new(), field: String::new() }
    }

    /// Custom resources have their metadata decoded alone, but unknown fields are named in full.
    fn metadata() -> Self {
        Self { path: "metadata".to_owned(), ..Self::root("ObjectMeta") }
    }

    fn key(&self, holder: &str, key: &str) -> Self {
        let mut keys = self.keys.clone();
        keys.push(key.to_owned());
        let dot = if self.path.is_empty() { "" } else { "." };
        Self { holder: holder.to_owned(), keys, path: format!("{}{dot}{key}", self.path), field: key.to_owned() }
    }

    fn index(&self, index: usize) -> Self {
        Self { path: format!("{}[{index}]", self.path), ..self.clone() }
    }

    /// An entry of a map: Go's complaint does not name its key.
    fn entry(&self, key: &str) -> Self {
        Self { path: format!("{}.{key}", self.path), ..self.clone() }
    }

    fn complain(&self, value: &Value, wanted: &str) -> String {
        let got = match value {
            Value::Null => "null".to_owned(),
            Value::Bool(_) => "bool".to_owned(),
            Value::Number(number) if wanted.starts_with("int") => format!("number {number}"),
            Value::Number(_) => "number".to_owned(),
            Value::String(_) => "string".to_owned(),
            Value::Array(_) => "array".to_owned(),
            Value::Object(_) => "object".to_owned(),
        };
        if self.keys.is_empty() {
            return format!("json: cannot unmarshal {got} into Go value of type {wanted}");
        }
        let place = format!("{}.{}", self.holder, self.keys.join("."));
        format!("json: cannot unmarshal {got} into Go struct field {place} of type {wanted}")
    }
}

impl Check {
    fn reference(&mut self, name: &str, value: &Value, place: &Place) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        match union(name) {
            Some(Union::Anything) => return Ok(()),
            Some(Union::SchemaOr) => return self.schema_or(name, value, place),
            None => {}
        }
        if let Some(precision) = precision(name) {
            let Value::String(text) = value else { return Err(place.complain(value, "string")) };
            return moment::complaint(text, precision).map_or(Ok(()), Err);
        }
        let Value::Object(fields) = value else { return Err(place.complain(value, &struct_name(name))) };
        let schema = definition(name).and_then(|schema| schema.get("properties")).and_then(Value::as_object);
        let short = name.rsplit('.').next().unwrap_or(name);
        for (key, value) in fields {
            let place = place.key(short, key);
            match schema.and_then(|schema| schema.get(key)) {
                Some(schema) => self.value(name, schema, value, &place)?,
                None => self.unknown.push(place.path),
            }
        }
        Ok(())
    }

    fn schema_or(&mut self, name: &str, value: &Value, place: &Place) -> Result<(), String> {
        let props = format!("{}JSONSchemaProps", super::definition::EXTENSIONS);
        match value {
            Value::Object(_) => self.reference(&props, value, place),
            Value::Array(items) if name.ends_with("OrArray") => {
                items.iter().enumerate().try_for_each(|(at, item)| self.reference(&props, item, &place.index(at)))
            }
            Value::Bool(_) if name.ends_with("OrBool") => Ok(()),
            Value::Array(_) if name.ends_with("OrStringArray") => Ok(()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Err(if name.ends_with("OrBool") {
                    "boolean or JSON schema expected".to_owned()
                } else {
                    place.complain(value, &struct_name(name))
                })
            }
        }
    }

    fn value(&mut self, holder: &str, schema: &Value, value: &Value, place: &Place) -> Result<(), String> {
        if value.is_null() {
            return Ok(());
        }
        if let Some(name) = referred(schema) {
            return self.reference(name, value, place);
        }
        let named = go::of(holder).type_of(&place.field);
        match (schema.get("type").and_then(Value::as_str), value) {
            (Some("array"), Value::Array(items)) => {
                let schema = &schema["items"];
                let mut entries = items.iter().enumerate();
                entries.try_for_each(|(at, item)| self.value(holder, schema, item, &place.index(at)))
            }
            (Some("object"), Value::Object(fields)) => match schema.get("additionalProperties") {
                Some(schema) => {
                    fields.iter().try_for_each(|(key, item)| self.value(holder, schema, item, &place.entry(key)))
                }
                None => Ok(()),
            },
            (Some("string"), Value::String(text)) => {
                if schema.get("format").is_some_and(|format| format == "byte") {
                    bytes(text)
                } else {
                    Ok(())
                }
            }
            (Some("boolean"), Value::Bool(_)) | (Some("number"), Value::Number(_)) | (None, _) => Ok(()),
            (Some("integer"), Value::Number(number)) if fits(number, schema) => Ok(()),
            (Some(_), _) => Err(place.complain(value, &type_name(schema, named))),
        }
    }
}

fn fits(number: &serde_json::Number, schema: &Value) -> bool {
    let Some(whole) = number.as_i64() else { return false };
    schema.get("format").is_none_or(|format| format != "int32") || i32::try_from(whole).is_ok()
}

fn bytes(text: &str) -> Result<(), String> {
    use base64::Engine;
    let packed: String = text.chars().filter(|letter| !matches!(letter, '\r' | '\n')).collect();
    let wrong = |at: usize| format!("illegal base64 data at input byte {at}");
    match base64::engine::general_purpose::STANDARD.decode(&packed) {
        Ok(_) => Ok(()),
        Err(base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _)) => Err(wrong(at)),
        Err(base64::DecodeError::InvalidLength(length)) => Err(wrong(length - length % 4)),
        Err(base64::DecodeError::InvalidPadding) => Err(wrong(packed.len())),
    }
}

/// The Go type of a value with such a schema.
fn type_name(schema: &Value, named: Option<&str>) -> String {
    if let Some(name) = referred(schema) {
        return struct_name(name);
    }
    let format = schema.get("format").and_then(Value::as_str).unwrap_or_default();
    match (schema.get("type").and_then(Value::as_str), format) {
        (Some("array"), _) => format!("[]{}", type_name(&schema["items"], named)),
        (Some("object"), _) => {
            let of =
                schema.get("additionalProperties").map_or_else(|| "interface {}".to_owned(), |of| type_name(of, None));
            format!("map[string]{of}")
        }
        (Some("string"), "byte") => "[]uint8".to_owned(),
        (Some("integer"), format) if !format.is_empty() => format.to_owned(),
        (Some("integer"), _) => "int64".to_owned(),
        (Some("number"), _) => "float64".to_owned(),
        (Some("boolean"), _) => "bool".to_owned(),
        (Some("string"), _) => named.unwrap_or("string").to_owned(),
        (Some(other), _) => other.to_owned(),
        (None, _) => "interface {}".to_owned(),
    }
}

/// The Go type of a definition: its package, which for all of ours is `v1`, and its name.
fn struct_name(definition: &str) -> String {
    format!("v1.{}", definition.rsplit('.').next().unwrap_or(definition))
}
