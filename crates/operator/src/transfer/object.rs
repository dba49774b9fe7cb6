//! What of an object goes into the file, and what is made of it on the other side.

use std::fmt;

use api::registry::annotation::{DELETING, EXPORTED, HOLD, IMPORTED, OWNER};
use api::registry::{API_VERSION, GROUP, VERSION};
use kube::api::ApiResource;
use kube::core::GroupVersionKind;
use runtime::STALLED;
use serde_json::{Map, Value, json};

/// The kinds of a fleet, each after those that it refers to.
pub(super) const KINDS: &[&str] =
    &["HypervisorCluster", "HypervisorMachineTemplate", "RunnerSource", "RunnerPool", "RunnerJob", "MachineClaim"];

/// The one other kind that is carried.
pub(super) const SECRET: &str = "Secret";

/// What `kubectl apply` remembers; it is about another server.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// How a kind is reached.
pub(super) fn resource(kind: &str) -> ApiResource {
    if kind == SECRET {
        return ApiResource::erase::<k8s_openapi::api::core::v1::Secret>(&());
    }
    ApiResource::from_gvk_with_plural(
        &GroupVersionKind::gvk(GROUP, VERSION, kind),
        &format!("{}s", kind.to_ascii_lowercase()),
    )
}

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) kind: String,
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Place {
    pub(super) fn secret(namespace: &str, name: &str) -> Self {
        Self { kind: SECRET.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// Where an object says that it is.
    pub(super) fn of(object: &Value) -> Option<Self> {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        Some(Self { kind: text("/kind")?, namespace: text("/metadata/namespace")?, name: text("/metadata/name")? })
    }

    /// Something else of the same namespace.
    pub(super) fn beside(&self, kind: &str, name: &str) -> Self {
        Self { kind: kind.to_owned(), namespace: self.namespace.clone(), name: name.to_owned() }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// An object's annotation.
pub(super) fn annotation<'a>(object: &'a Value, name: &str) -> Option<&'a str> {
    object["metadata"]["annotations"].get(name)?.as_str()
}

/// Which export a hold is about.
pub(super) fn held_for(object: &Value) -> Option<&str> {
    annotation(object, HOLD)?.strip_prefix("export ")?.split(':').next()
}

/// The hold whose file was imported here last, or that was called off here.
pub(super) fn past(key: &Value) -> Option<&str> {
    annotation(key, IMPORTED)?.split('/').next()
}

/// Whether nobody has ever done more about an object than to say that it is on hold.
pub(super) fn is_untouched(object: &Value) -> bool {
    let stalled = |condition: &Value| condition["type"] == STALLED.condition;
    let idle = |(name, value): (&String, &Value)| {
        name == "conditions" && value.as_array().is_some_and(|all| all.iter().all(stalled))
    };
    object["status"].as_object().is_none_or(|fields| fields.iter().all(idle))
}

/// The first field of what was written that was not kept.
pub(super) fn lost(wanted: &Value, kept: &Value, path: &str) -> Option<String> {
    match (wanted, kept) {
        (Value::Object(wanted), Value::Object(kept)) => wanted.iter().find_map(|(name, value)| {
            let path = format!("{path}.{name}");
            match kept.get(name) {
                Some(kept) => lost(value, kept, &path),
                None => Some(path),
            }
        }),
        (Value::Array(wanted), Value::Array(kept)) if wanted.len() == kept.len() => wanted
            .iter()
            .zip(kept)
            .enumerate()
            .find_map(|(at, (wanted, kept))| lost(wanted, kept, &format!("{path}[{at}]"))),
        (wanted, kept) => (wanted != kept).then(|| path.to_owned()),
    }
}

/// The words of a hold.
pub(super) fn hold(id: &str) -> String {
    format!("export {id}: its fleet is being moved; `hyperfleet import` of its file completes that")
}

/// What of an object of ours goes into the file. It is on hold, and its owner has no uid: where it goes, owners have
/// others, and one that does not exist would be the end of it.
pub(super) fn pack(object: &Value, id: &str) -> Value {
    let mut packed = plain(object);
    let notes = &mut packed["metadata"]["annotations"];
    notes[HOLD] = json!(hold(id));
    let owners = object["metadata"]["ownerReferences"].as_array();
    let ours = owners.and_then(|owners| owners.iter().find(|owner| owner["apiVersion"] == API_VERSION));
    if let Some((kind, name)) = ours.and_then(|owner| owner["kind"].as_str().zip(owner["name"].as_str())) {
        notes[OWNER] = json!(format!("{kind}/{name}"));
    }
    if object["metadata"].get("deletionTimestamp").is_some() {
        notes[DELETING] = json!("true");
    }
    packed
}

/// What of a Secret goes into the file.
pub(super) fn pack_secret(secret: &Value) -> Value {
    let mut packed = plain(secret);
    if let Some(notes) = packed["metadata"]["annotations"].as_object_mut() {
        for mark in [HOLD, EXPORTED, IMPORTED] {
            notes.remove(mark);
        }
    }
    packed
}

/// An object without what its server added to it.
fn plain(object: &Value) -> Value {
    let from = &object["metadata"];
    let mut metadata = Map::new();
    for field in ["name", "namespace", "labels", "finalizers", "generation"] {
        if let Some(value) = from.get(field).filter(|value| !value.is_null()) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut notes = from.get("annotations").and_then(Value::as_object).cloned().unwrap_or_default();
    notes.remove(LAST_APPLIED);
    metadata.insert("annotations".to_owned(), Value::Object(notes));
    let mut plain = json!({ "apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": metadata });
    for field in ["type", "immutable", "data", "spec", "status"] {
        if let Some(value) = object.get(field).filter(|value| !value.is_null()) {
            plain[field] = value.clone();
        }
    }
    plain
}

/// What is created on the other side, where its owner has this uid.
pub(super) fn unpack(packed: &Value, owner: Option<Value>) -> Value {
    let mut object = packed.clone();
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("generation");
        if let Some(owner) = owner {
            metadata.insert("ownerReferences".to_owned(), json!([owner]));
        }
    }
    object
}

/// The owner that an exported object names.
pub(super) fn owner_of(packed: &Value) -> Option<(&str, &str)> {
    annotation(packed, OWNER)?.split_once('/')
}

/// A reference to an owner as it is here.
pub(super) fn reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true,
    })
}

/// The Secrets that an object names: whatever in its spec picks an entry of one.
pub(super) fn secrets_of(object: &Value) -> Vec<String> {
    fn walk(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                let text = |name: &str| fields.get(name).and_then(Value::as_str);
                if let (2, Some(name), Some(_)) = (fields.len(), text("name"), text("key")) {
                    found.push(name.to_owned());
                }
                fields.values().for_each(|value| walk(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| walk(value, found)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let mut found = Vec::new();
    // Nothing else names any, and what else looks like it is none.
    if ["HypervisorCluster", "RunnerSource"].iter().any(|kind| object["kind"] == *kind) {
        walk(&object["spec"], &mut found);
    }
    found
}

/// A status that speaks of the generations that objects have here: every server counts them anew. What was about an older
/// one is about none.
pub(super) fn renumber(status: &mut Value, before: &Value, now: &Value) {
    let place = |holder: &mut Value| {
        if let Some(told) = holder.get_mut("observedGeneration").filter(|told| told.is_number()) {
            *told = if *told == *before { now.clone() } else { json!(0) };
        }
    };
    place(status);
    status.get_mut("conditions").and_then(Value::as_array_mut).into_iter().flatten().for_each(place);
}

#[cfg(test)]
mod tests;
