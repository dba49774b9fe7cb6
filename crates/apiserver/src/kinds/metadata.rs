//! The rules of `metadata`, the same for every kind.

use api::Violation;
use serde_json::{Value, json};

use super::definition::{OBJECT_META, expanded};
use super::field::{
    entries, forbidden, immutable, immutable_text, invalid, invalid_shown, invalid_text, list, ordered, required, text,
    too_long,
};
use super::{names, shape};
use crate::kind::Kind;

/// The most that all annotations of an object may weigh.
const ANNOTATIONS_LIMIT: usize = 256 * 1024;
/// The fields of an owner reference in the order that they are shown.
const OWNER: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
const WRITER_LIMIT: usize = 128;
const SUBRESOURCE_LIMIT: usize = 256;

/// What a kind demands of the names of its objects.
pub(crate) type NameRule = fn(&str, Shape) -> Vec<String>;

/// Whether a whole name is judged, or the beginning of one that will be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A name.
    Whole,
    /// What stands in `generateName`.
    Beginning,
}

/// Names that are DNS subdomains.
pub(crate) fn subdomain(name: &str, shape: Shape) -> Vec<String> {
    match shape {
        Shape::Whole => names::subdomain(name),
        Shape::Beginning => names::subdomain(&names::as_prefix(name)),
    }
}

/// Names that are DNS labels.
pub(crate) fn label(name: &str, shape: Shape) -> Vec<String> {
    match shape {
        Shape::Whole => names::label(name),
        Shape::Beginning => names::label(&names::as_prefix(name)),
    }
}

/// Names that are anything a path can hold.
pub(crate) fn path_segment(name: &str, shape: Shape) -> Vec<String> {
    match shape {
        Shape::Whole => names::path_segment(name),
        Shape::Beginning => names::path_segment_start(name),
    }
}

/// Names that are anything a path can hold, also at their beginning.
pub(crate) fn strict_path_segment(name: &str, _: Shape) -> Vec<String> {
    names::path_segment(name)
}

/// What is wrong with the metadata of any object, or with the step from `old`, whatever its kind demands beyond.
pub fn violations(kind: &Kind, new: &Value, old: Option<&Value>) -> Vec<Violation> {
    let mut found = of_object(new, kind.namespaced, path_segment);
    if let Some(old) = old {
        found.extend(of_step(new, old));
    }
    found
}

/// Writes metadata as the server does: unknown fields go, empty ones too, times are in UTC.
pub fn settle(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata") {
        shape::settle(OBJECT_META, metadata);
    }
}

/// The schema of metadata, in full.
pub fn schema() -> Value {
    expanded(OBJECT_META).as_ref().clone()
}

/// What is wrong with the metadata of an object by itself.
pub(crate) fn of_object(object: &Value, namespaced: bool, rule: NameRule) -> Vec<Violation> {
    let mut found = Vec::new();
    let (name, prefix) = (text(object, "/metadata/name"), text(object, "/metadata/generateName"));
    if !prefix.is_empty() {
        let wrong = rule(prefix, Shape::Beginning);
        found.extend(wrong.into_iter().map(|wrong| invalid_text("metadata.generateName", prefix, wrong)));
    }
    if name.is_empty() {
        found.push(required("metadata.name", "name or generateName is required"));
    } else {
        let wrong = rule(name, Shape::Whole);
        found.extend(wrong.into_iter().map(|wrong| invalid_text("metadata.name", name, wrong)));
    }
    found.extend(namespace(text(object, "/metadata/namespace"), namespaced));
    if let Some(generation) = object.pointer("/metadata/generation").filter(|it| it.as_i64().is_some_and(|it| it < 0)) {
        found.push(invalid("metadata.generation", generation, "must be greater than or equal to 0"));
    }
    found.extend(labels(object, "/metadata/labels", "metadata.labels"));
    found.extend(annotations(object));
    found.extend(owners(object));
    found.extend(finalizers(object));
    found.extend(writers(object));
    found
}

/// What is wrong with the step from the metadata of `old` to that of `new`.
pub(crate) fn of_step(new: &Value, old: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    if old.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null()) {
        found.extend(no_new_finalizers(new, old));
    }
    if text(new, "/metadata/resourceVersion").is_empty() {
        found.push(invalid_text("metadata.resourceVersion", "", "must be specified for an update"));
    }
    let generation =
        |object: &Value| object.pointer("/metadata/generation").and_then(Value::as_i64).unwrap_or_default();
    if generation(new) < generation(old) {
        found.push(invalid("metadata.generation", &json!(generation(new)), "must not be decremented"));
    }
    for field in ["name", "namespace", "uid"] {
        let pointer = format!("/metadata/{field}");
        found.extend(immutable_text(&format!("metadata.{field}"), text(new, &pointer), text(old, &pointer)));
    }
    for field in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let pointer = format!("/metadata/{field}");
        found.extend(immutable(&format!("metadata.{field}"), new.pointer(&pointer), old.pointer(&pointer)));
    }
    found.extend(labels(new, "/metadata/labels", "metadata.labels"));
    found.extend(annotations(new));
    found.extend(owners(new));
    found.extend(writers(new));
    found
}

/// The same as [`of_object`], for kinds whose finalizers must say who they belong to.
pub(crate) fn of_core_object(object: &Value, namespaced: bool, rule: NameRule) -> Vec<Violation> {
    let mut found = of_object(object, namespaced, rule);
    found.extend(nobodys_finalizers(object));
    found
}

/// The same as [`of_step`], for kinds whose finalizers must say who they belong to.
pub(crate) fn of_core_step(new: &Value, old: &Value) -> Vec<Violation> {
    let mut found = of_step(new, old);
    found.extend(nobodys_finalizers(new));
    found
}

fn nobodys_finalizers(object: &Value) -> impl Iterator<Item = Violation> {
    let finalizers = list(object, "/metadata/finalizers").iter().filter_map(Value::as_str).enumerate();
    finalizers.filter_map(|(index, name)| nobodys_finalizer(name, &format!("metadata.finalizers[{index}]")))
}

/// A finalizer is well known, or says in a prefix whose it is.
pub(crate) fn nobodys_finalizer(name: &str, field: &str) -> Option<Violation> {
    let known = name.contains('/') || matches!(name, "kubernetes" | "orphan" | "foregroundDeletion");
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    (!known).then(|| invalid_text(field, name, detail))
}

/// What is wrong with the labels at a pointer.
pub(crate) fn labels(object: &Value, pointer: &str, field: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (key, value) in entries(object, pointer) {
        let value = value.as_str().unwrap_or_default();
        found.extend(names::qualified(key).into_iter().map(|wrong| invalid_text(field, key, wrong)));
        found.extend(names::label_value(value).into_iter().map(|wrong| invalid_text(field, value, wrong)));
    }
    found
}

fn namespace(namespace: &str, namespaced: bool) -> Vec<Violation> {
    const FIELD: &str = "metadata.namespace";
    match (namespaced, namespace) {
        (true, "") => vec![required(FIELD, "")],
        (true, name) => names::label(name).into_iter().map(|wrong| invalid_text(FIELD, name, wrong)).collect(),
        (false, "") => Vec::new(),
        (false, _) => vec![forbidden(FIELD, "not allowed on this type")],
    }
}

fn annotations(object: &Value) -> Vec<Violation> {
    const FIELD: &str = "metadata.annotations";
    let mut found = Vec::new();
    let mut weight = 0;
    for (key, value) in entries(object, "/metadata/annotations") {
        weight += key.len() + value.as_str().map_or(0, str::len);
        let wrong = names::qualified(&key.to_lowercase());
        found.extend(wrong.into_iter().map(|wrong| invalid_text(FIELD, key, wrong)));
    }
    if weight > ANNOTATIONS_LIMIT {
        found.push(too_long(FIELD, ANNOTATIONS_LIMIT));
    }
    found
}

fn owners(object: &Value) -> Vec<Violation> {
    const FIELD: &str = "metadata.ownerReferences";
    let mut found = Vec::new();
    let mut controller: Option<String> = None;
    let owners = list(object, "/metadata/ownerReferences");
    for owner in owners {
        found.extend(owner_parts(owner));
        if owner.get("controller") == Some(&json!(true)) {
            let named = format!("{}/{}", text(owner, "/kind"), text(owner, "/name"));
            match &controller {
                Some(first) => {
                    let detail = format!(
                        "Only one reference can have Controller set to true. Found \"true\" in references for {first} and \
                         {named}"
                    );
                    let all: Vec<String> = owners.iter().map(|owner| ordered(owner, &OWNER)).collect();
                    found.push(invalid_shown(FIELD, &format!("[{}]", all.join(",")), detail));
                }
                None => controller = Some(named),
            }
        }
    }
    found
}

fn owner_parts(owner: &Value) -> Vec<Violation> {
    const FIELD: &str = "metadata.ownerReferences";
    let mut found = Vec::new();
    let api_version = text(owner, "/apiVersion");
    // More than one slash makes no version at all.
    let version = match api_version.split('/').collect::<Vec<_>>().as_slice() {
        [version] | [_, version] => *version,
        _ => "",
    };
    if version.is_empty() {
        found.push(invalid_text(&format!("{FIELD}.apiVersion"), api_version, "version must not be empty"));
    }
    for field in ["kind", "name", "uid"] {
        if text(owner, &format!("/{field}")).is_empty() {
            found.push(invalid_text(&format!("{FIELD}.{field}"), "", "must not be empty"));
        }
    }
    if api_version == "v1" && text(owner, "/kind") == "Event" {
        found.push(invalid_shown(FIELD, &ordered(owner, &OWNER), "/v1, Kind=Event is disallowed from being an owner"));
    }
    found
}

fn finalizers(object: &Value) -> Vec<Violation> {
    const FIELD: &str = "metadata.finalizers";
    let finalizers = list(object, "/metadata/finalizers");
    let mut found = Vec::new();
    for finalizer in finalizers.iter().filter_map(Value::as_str) {
        found.extend(names::qualified(finalizer).into_iter().map(|wrong| invalid_text(FIELD, finalizer, wrong)));
    }
    let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
    if has("orphan") && has("foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        found.push(invalid(FIELD, &json!(finalizers), detail));
    }
    found
}

fn no_new_finalizers(new: &Value, old: &Value) -> Option<Violation> {
    let old = list(old, "/metadata/finalizers");
    let mut added: Vec<&str> = list(new, "/metadata/finalizers")
        .iter()
        .filter(|finalizer| !old.contains(finalizer))
        .filter_map(Value::as_str)
        .collect();
    added.sort_unstable();
    added.dedup();
    let shown: Vec<String> = added.iter().map(|finalizer| super::field::quoted(finalizer)).collect();
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
        shown.join(", ")
    );
    (!added.is_empty()).then(|| forbidden("metadata.finalizers", detail))
}

fn writers(object: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, entry) in list(object, "/metadata/managedFields").iter().enumerate() {
        let field = |name: &str| format!("metadata.managedFields[{index}].{name}");
        let operation = text(entry, "/operation");
        if !matches!(operation, "Apply" | "Update") {
            found.push(invalid_text(&field("operation"), operation, "must be `Apply` or `Update`"));
        }
        let kind = text(entry, "/fieldsType");
        if !matches!(kind, "" | "FieldsV1") {
            found.push(invalid_text(&field("fieldsType"), kind, "must be `FieldsV1`"));
        }
        found.extend(writer(text(entry, "/manager"), &field("manager")));
        if text(entry, "/subresource").len() > SUBRESOURCE_LIMIT {
            found.push(too_long(&field("subresource"), SUBRESOURCE_LIMIT));
        }
    }
    found
}

/// What is wrong with the name of a field owner.
pub fn writer(name: &str, field: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    if name.len() > WRITER_LIMIT {
        found.push(too_long(field, WRITER_LIMIT));
    }
    for (at, letter) in name.char_indices().filter(|(_, letter)| letter.is_control()) {
        let detail = format!("invalid character U+{:04X} (at position {at})", u32::from(letter));
        found.push(invalid_text(field, name, detail));
    }
    found
}
