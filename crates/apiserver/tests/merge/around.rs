//! What surrounds merging in a server, as far as the recorded scenarios need it: decoding and preparing.

use std::collections::BTreeMap;

use apiserver::merge::blank;
use serde_json::{Value, json};

/// The kinds of the scenarios.
pub(crate) struct Around {
    schemas: BTreeMap<String, Value>,
}

impl Around {
    /// The kinds with these schemas; they share the schema of metadata.
    pub(crate) fn new(schemas: &str) -> Self {
        let mut schemas: BTreeMap<String, Value> = serde_json::from_str(schemas).unwrap();
        let metadata = schemas.remove("metadata").unwrap();
        for schema in schemas.values_mut() {
            schema["properties"]["metadata"] = metadata.clone();
        }
        Self { schemas }
    }

    pub(crate) fn schema(&self, kind: &str) -> &Value {
        &self.schemas[kind]
    }

    /// The version and the kind.
    pub(crate) fn kind(kind: &str) -> (&'static str, &'static str) {
        match kind {
            "lamp" => ("example.com/v1", "Lamp"),
            "cm" => ("v1", "ConfigMap"),
            "secret" => ("v1", "Secret"),
            "sa" => ("v1", "ServiceAccount"),
            "ns" => ("v1", "Namespace"),
            "event" => ("v1", "Event"),
            "evs" => ("events.k8s.io/v1", "Event"),
            "lease" => ("coordination.k8s.io/v1", "Lease"),
            "role" => ("rbac.authorization.k8s.io/v1", "Role"),
            "cr" => ("rbac.authorization.k8s.io/v1", "ClusterRole"),
            "rb" => ("rbac.authorization.k8s.io/v1", "RoleBinding"),
            other => panic!("no kind {other}"),
        }
    }

    /// Defaults without pruning, as after an apply.
    pub(crate) fn default(&self, kind: &str, object: Value) -> Value {
        if kind != "lamp" {
            return self.decode(kind, object);
        }
        let mut object = object;
        coerce(&self.schemas[kind], &mut object, false);
        object
    }

    /// Prunes and defaults.
    pub(crate) fn decode(&self, kind: &str, object: Value) -> Value {
        if kind == "lamp" {
            let mut object = object;
            let mut metadata = object["metadata"].take();
            coerce(&self.schemas[kind], &mut object, true);
            tidy(&mut metadata);
            if metadata["managedFields"] == json!([]) {
                metadata.as_object_mut().unwrap().remove("managedFields");
            }
            object["metadata"] = metadata;
            return object;
        }
        let (api_version, name) = Self::kind(kind);
        let mut object = object;
        let fields = object.as_object_mut().unwrap();
        fields.insert("apiVersion".to_owned(), json!(api_version));
        fields.insert("kind".to_owned(), json!(name));
        let known = &self.schemas[kind]["properties"];
        fields.retain(|name, _| known.get(name).is_some());
        for (name, value) in blank(api_version, name).as_object().unwrap() {
            let here = fields.entry(name.clone()).or_insert_with(|| value.clone());
            if here.is_null() {
                *here = value.clone();
            }
        }
        // Built-in kinds leave out what is empty.
        fields.retain(|name, field| !(name == "data" && field.as_object().is_some_and(serde_json::Map::is_empty)));
        tidy(&mut fields["metadata"]);
        match kind {
            "secret" => secret(&mut object),
            "ns" => {
                let name = object["metadata"]["name"].clone();
                object["metadata"]["labels"]["kubernetes.io/metadata.name"] = name;
            }
            _ => {}
        }
        object
    }

    /// Puts back what the writer has no say in.
    pub(crate) fn prepare(kind: &str, live: Option<&Value>, new: Value, subresource: &str) -> Value {
        let mut new = new;
        if subresource == "status" {
            let mut old = live.cloned().unwrap();
            old["metadata"]["managedFields"] = new["metadata"]["managedFields"].clone();
            if old["metadata"]["managedFields"].is_null() {
                old["metadata"].as_object_mut().unwrap().remove("managedFields");
            }
            match new.get("status") {
                Some(status) => old["status"] = status.clone(),
                None => drop(old.as_object_mut().unwrap().remove("status")),
            }
            return old;
        }
        if kind == "lamp" || kind == "ns" {
            let status = live.and_then(|live| live.get("status")).cloned();
            match (status, kind) {
                (Some(status), _) => new["status"] = status,
                (None, "ns") => new["status"] = json!({ "phase": "Active" }),
                (None, _) => drop(new.as_object_mut().unwrap().remove("status")),
            }
        }
        if kind == "ns" {
            new["spec"] = json!({ "finalizers": ["kubernetes"] });
        }
        if kind == "sa" {
            for secret in new["secrets"].as_array_mut().into_iter().flatten() {
                *secret = json!({ "name": secret["name"] });
            }
        }
        if new.get("rules") == Some(&json!([])) {
            new["rules"] = Value::Null;
        }
        if kind != "ns" && kind != "cr" {
            new["metadata"]["namespace"] = json!("m");
        }
        new
    }
}

/// Metadata of every kind leaves out what is empty; an empty list of owners has a meaning of its own.
fn tidy(metadata: &mut Value) {
    let Some(fields) = metadata.as_object_mut() else { return };
    fields.retain(|name, field| match field {
        Value::Null => false,
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(items) => !items.is_empty() || name == "managedFields",
        Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    });
}

/// Drops fields that the schema does not know, and nulls where there is a default; fills defaults in.
fn coerce(schema: &Value, value: &mut Value, prunes: bool) {
    match value {
        Value::Object(fields) => {
            let none = serde_json::Map::new();
            let properties = schema["properties"].as_object().unwrap_or(&none);
            let others = schema.get("additionalProperties");
            let keeps = schema["x-kubernetes-preserve-unknown-fields"] == true || others.is_some();
            fields.retain(|name, _| keeps || !prunes || properties.contains_key(name));
            for (name, schema) in properties.iter().filter(|(_, schema)| schema.get("default").is_some()) {
                let here = fields.entry(name.clone()).or_insert(Value::Null);
                if here.is_null() {
                    *here = schema["default"].clone();
                }
            }
            let allowed = |name: &str| properties.get(name).is_none_or(|schema| schema["nullable"] == true);
            fields.retain(|name, field| !field.is_null() || allowed(name));
            for (name, field) in fields.iter_mut() {
                if let Some(schema) = properties.get(name).or(others) {
                    coerce(schema, field, prunes);
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| coerce(&schema["items"], item, prunes)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn secret(object: &mut Value) {
    if let Some(Value::Object(plain)) = object.as_object_mut().unwrap().remove("stringData") {
        for (name, value) in plain {
            let encoded = match value.as_str().unwrap() {
                "b" => "Yg==",
                "c" => "Yw==",
                other => panic!("no base64 of {other} here"),
            };
            object["data"][name] = json!(encoded);
        }
    }
    if object.get("type").is_none() {
        object["type"] = json!("Opaque");
    }
}
