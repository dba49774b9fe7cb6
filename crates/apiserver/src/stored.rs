//! What storing does to an object: it is written one way, and may be read back another.
//!
//! ```text
//!   object ─▶ written, compared with what was written before ─▶ read back: what every answer and every watch shows
//! ```
//!
//! A custom resource is written as it is, nulls and all, and loses them when it is read. Built-in kinds are written in a
//! binary form that has no place for most of that; only bytes that were null are told from bytes of which there are none.
//! A write that leaves what is read as it was but not what is written is a change, with a version and an event.

use serde_json::{Value, json};

use crate::cluster::RBAC;
use crate::kind::{Custom, Kind, Nature};
use crate::kinds;
use crate::merge::managed;
use crate::object;
use crate::served::{Form, Served};

/// An object in its stored form.
pub(crate) struct Stored {
    /// As it is read.
    pub read: Value,
    /// As it is written, if that is not the same.
    pub written: Option<Value>,
}

impl Stored {
    /// The stored form of an object of one version.
    pub(crate) fn new(served: &Served, object: Value, stored_version: &str) -> Self {
        let (read, written) = match &served.kind.nature {
            Nature::Custom(custom) => read_back(custom, object),
            Nature::BuiltIn(_) => unpacked(&served.kind, object),
        };
        // Whatever is kept in another version is read, in effect, before it is written.
        let written = written.filter(|_| served.form == Form::Stored);
        Self { read: served.keep(read, stored_version), written }
    }

    /// The object as it is written.
    pub(crate) fn written(&self) -> &Value {
        self.written.as_ref().unwrap_or(&self.read)
    }
}

/// A custom resource as it is read, and as it is written if that differs.
fn read_back(custom: &Custom, object: Value) -> (Value, Option<Value>) {
    let written = custom.judge.whole(object);
    let mut metadata = json!({ "metadata": written.get("metadata") });
    kinds::metadata::settle(&mut metadata);
    if written.get("metadata") == metadata.get("metadata") && !has_null(&written) {
        return (written, None);
    }
    let mut read = written.clone();
    read["metadata"] = metadata["metadata"].take();
    let read = custom.judge.whole(custom.judge.coerce(&read).0);
    let written = (read != written).then_some(written);
    (read, written)
}

/// A built-in object as it is read, and as it is written if that differs: an empty list of rules is none, bytes that
/// were null are none.
fn unpacked(kind: &Kind, object: Value) -> (Value, Option<Value>) {
    let mut object = object;
    if kind.group == RBAC && object.get("rules") == Some(&json!([])) {
        object["rules"] = Value::Null;
    }
    let fields = kinds::bytes_of(kind);
    let written = fields.iter().any(|field| object.get(field).is_some_and(has_null)).then(|| object.clone());
    for field in fields {
        let entries = object.get_mut(field).and_then(Value::as_object_mut);
        for entry in entries.into_iter().flat_map(serde_json::Map::values_mut).filter(|entry| entry.is_null()) {
            *entry = json!("");
        }
    }
    (object, written)
}

/// Puts the old times back where nothing but times would change. To a custom resource a null is a change; to built-in
/// kinds nothing is that storing takes away.
pub(crate) fn settle_times(kind: &Kind, old: &Value, new: &mut Value) {
    match &kind.nature {
        Nature::Custom(_) => managed::settle_times(old, new),
        Nature::BuiltIn(_) => {
            let (mut read, _) = unpacked(kind, new.clone());
            managed::settle_times(old, &mut read);
            object::copy(new, &read, "managedFields");
        }
    }
}

/// Whether there is a null anywhere.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields.values().any(has_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}
