//! Bodies in protobuf: kubectl writes the kinds that it was compiled with in no other way. They become the JSON that
//! the same object would be; everything after that is the same. Answers are JSON, which every such client takes, too.
//!
//! ```text
//!   "k8s\0" ─ envelope { apiVersion, kind, bytes } ─▶ message by apiVersion and kind ─▶ fields by number ─▶ JSON
//! ```

mod messages;
mod wire;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::kinds::metadata;
use crate::kinds::moment::{Precision, write};
use messages::{Field, Often, Type, message};
use wire::{Wire, fields};

const MAGIC: &[u8] = b"k8s\0";

/// The object that a body says, or what is wrong with the body.
pub(crate) fn read(body: &[u8]) -> Result<Value, String> {
    let envelope = body.strip_prefix(MAGIC).ok_or("provided data does not appear to be a protobuf message")?;
    let envelope = fields(envelope)?;
    let part = |number: u64| envelope.iter().find(|(at, _)| *at == number).and_then(|(_, wire)| wire.bytes());
    let types = fields(part(1).unwrap_or_default())?;
    let word = |number: u64| {
        let found = types.iter().find(|(at, _)| *at == number).and_then(|(_, wire)| wire.bytes());
        String::from_utf8_lossy(found.unwrap_or_default()).into_owned()
    };
    let (api_version, kind) = (word(1), word(2));
    let name = message_name(&api_version, &kind);
    if message(&name).is_none() {
        return Err(format!("no kind {kind:?} is registered for version {api_version:?}"));
    }
    let mut object = decode(&name, part(2).unwrap_or_default())?;
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    let mut object = Value::Object(object);
    // Go writes what is empty, too.
    metadata::settle(&mut object);
    Ok(object)
}

/// The table knows messages by the first word of their group.
fn message_name(api_version: &str, kind: &str) -> String {
    let package = match api_version.split_once('/') {
        _ if kind == "DeleteOptions" => "meta",
        None => "core",
        Some((group, _)) => group.split('.').next().unwrap_or(group),
    };
    format!("{package}.{kind}")
}

fn decode(name: &str, bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let Some(known) = message(name) else { return Err(format!("{name} is not known")) };
    let mut object = Map::new();
    for (number, wire) in fields(bytes)? {
        let Some(field) = known.get(&number) else { continue };
        match field.often {
            Often::Once => {
                object.insert(field.name.to_owned(), value(field.of, &wire)?);
            }
            Often::List => {
                let item = value(field.of, &wire)?;
                if let Value::Array(list) = object.entry(field.name).or_insert_with(|| json!([])) {
                    list.push(item);
                }
            }
            Often::Map => {
                let (key, item) = entry(field, &wire)?;
                let map = object.entry(field.name).or_insert_with(|| json!({}));
                map[key] = item;
            }
        }
    }
    Ok(object)
}

fn entry(field: &Field, wire: &Wire<'_>) -> Result<(String, Value), String> {
    let parts = fields(wire.bytes().unwrap_or_default())?;
    let part = |number: u64| parts.iter().find(|(at, _)| *at == number).map(|(_, wire)| wire);
    let key = part(1).map(text).transpose()?.unwrap_or_default();
    let item = value(field.of, part(2).unwrap_or(&Wire::Bytes(&[])))?;
    Ok((key, item))
}

fn value(of: Type, wire: &Wire<'_>) -> Result<Value, String> {
    let bytes = wire.bytes().unwrap_or_default();
    match of {
        Type::Text => Ok(json!(text(wire)?)),
        Type::Bytes => Ok(json!(STANDARD.encode(bytes))),
        Type::Bool => Ok(json!(wire.number() != 0)),
        Type::Int => Ok(json!(wire.number())),
        Type::Time => time(bytes, Precision::Seconds),
        Type::MicroTime => time(bytes, Precision::Microseconds),
        Type::Json => {
            let inner = fields(bytes)?.into_iter().find_map(|(_, wire)| wire.bytes()).unwrap_or_default();
            serde_json::from_slice(inner).map_err(|error| error.to_string())
        }
        Type::Texts => {
            let texts: Result<Vec<String>, String> = fields(bytes)?.iter().map(|(_, wire)| text(wire)).collect();
            Ok(json!(texts?))
        }
        Type::Message(name) => decode(name, bytes).map(Value::Object),
    }
}

fn text(wire: &Wire<'_>) -> Result<String, String> {
    String::from_utf8(wire.bytes().unwrap_or_default().to_vec()).map_err(|error| error.to_string())
}

/// Seconds and nanoseconds; nothing at all is no time.
fn time(bytes: &[u8], precision: Precision) -> Result<Value, String> {
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let parts = fields(bytes)?;
    let number = |at: u64| parts.iter().find(|(number, _)| *number == at).map_or(0, |(_, wire)| wire.number());
    let nanoseconds = i32::try_from(number(2)).map_err(|error| error.to_string())?;
    let time = Timestamp::new(number(1), nanoseconds).map_err(|error| error.to_string())?;
    Ok(json!(write(time, precision)))
}

#[cfg(test)]
mod tests;
