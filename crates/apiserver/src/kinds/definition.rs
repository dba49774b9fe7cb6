//! The shapes of built-in kinds: named definitions that refer to each other, and the same written out in full.
//!
//! Types and descriptions come from k8s-openapi. What it does not know (how lists and maps merge) stands in a table of
//! [`marks`](super::marks), which a test compares with the real server's `OpenAPI`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Secret, ServiceAccount};
use k8s_openapi::api::events::v1::Event as NewEvent;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::marks;

/// Where definitions are found in a document.
pub const ROOT: &str = "#/components/schemas/";
/// The name of the definition of `metadata`.
pub(crate) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// The beginning of the names of everything about definitions of custom resources.
pub(crate) const EXTENSIONS: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.";

static DEFINITIONS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(generate);

/// Every definition of the built-in kinds by its name, with references between them.
pub fn definitions() -> &'static BTreeMap<String, Value> {
    &DEFINITIONS
}

/// The definition that a schema refers to, if it does, by its name.
pub fn referred(schema: &Value) -> Option<&str> {
    let direct = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref"));
    direct?.as_str()?.strip_prefix(ROOT)
}

/// The definition of that name.
pub(crate) fn definition(name: &str) -> Option<&'static Value> {
    DEFINITIONS.get(name)
}

/// A definition written out in full, as merging and pruning read it.
pub(crate) fn expanded(name: &str) -> Arc<Value> {
    Arc::new(expand(&json!({ "$ref": format!("{ROOT}{name}") }), 0))
}

fn generate() -> BTreeMap<String, Value> {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = false;
        settings.transforms.clear();
    });
    let mut generator = SchemaGenerator::new(settings);
    generator.subschema_for::<Namespace>();
    generator.subschema_for::<Secret>();
    generator.subschema_for::<ConfigMap>();
    generator.subschema_for::<ServiceAccount>();
    generator.subschema_for::<Event>();
    generator.subschema_for::<NewEvent>();
    generator.subschema_for::<Lease>();
    generator.subschema_for::<Role>();
    generator.subschema_for::<ClusterRole>();
    generator.subschema_for::<RoleBinding>();
    generator.subschema_for::<ClusterRoleBinding>();
    generator.subschema_for::<CustomResourceDefinition>();
    let found = generator.take_definitions(true);
    found.into_iter().map(|(name, schema)| (name.clone(), finish(&name, schema))).collect()
}

/// The definition as the server publishes it.
fn finish(name: &str, mut schema: Value) -> Value {
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        // k8s-openapi demands metadata of every kind; the server demands it of one.
        required.retain(|field| field != "metadata" || name == "io.k8s.api.core.v1.Event");
        if required.is_empty() {
            schema.as_object_mut().map(|fields| fields.remove("required"));
        }
    }
    wrap_references(&mut schema);
    for (place, key, value) in marks::of(name) {
        let target =
            if place.is_empty() { Some(&mut schema) } else { schema.pointer_mut(&format!("/properties/{place}")) };
        if let Some(Value::Object(fields)) = target {
            fields.insert(key.to_owned(), value);
        }
    }
    schema
}

/// A reference has no siblings in `OpenAPI`: what has a description refers through `allOf`.
fn wrap_references(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            // A field of that name is a schema, not a reference.
            if fields.len() > 1
                && fields.get("$ref").is_some_and(Value::is_string)
                && let Some(reference) = fields.remove("$ref")
            {
                fields.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
            }
            fields.values_mut().for_each(wrap_references);
        }
        Value::Array(items) => items.iter_mut().for_each(wrap_references),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// How deep schemas inside schemas are written out; below, anything goes. Nothing merges there: versions are atomic.
const DEPTH: usize = 12;

fn expand(schema: &Value, depth: usize) -> Value {
    let Some(fields) = schema.as_object() else { return schema.clone() };
    let mut out = match referred(schema) {
        Some(name) if opaque(name) || depth > DEPTH => free(),
        Some(name) => {
            let definition =
                definition(name).expect("a definition refers only to definitions; a test follows them all");
            expand(definition, depth + 1).as_object().cloned().unwrap_or_default()
        }
        None => Map::new(),
    };
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("$ref" | "allOf", _) => {}
            ("properties", Value::Object(properties)) => {
                let properties = properties.iter().map(|(name, schema)| (name.clone(), expand(schema, depth)));
                out.insert(key.clone(), Value::Object(properties.collect()));
            }
            ("items" | "additionalProperties", value) => {
                out.insert(key.clone(), expand(value, depth));
            }
            (_, value) => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    Value::Object(out)
}

/// What is not looked into: free JSON, and the schemas inside definitions of custom resources.
fn opaque(name: &str) -> bool {
    name.ends_with(".FieldsV1") || name.strip_prefix(EXTENSIONS).is_some_and(|name| name.starts_with("JSON"))
}

fn free() -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert("x-kubernetes-preserve-unknown-fields".to_owned(), json!(true));
    fields
}
