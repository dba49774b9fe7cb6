//! The shapes of kinds and of their lists, and of everything that they refer to.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::kind::{Kind, Nature};
use crate::kinds::definition::{ROOT, definitions};
use crate::kinds::definition_of;

const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";
const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const PATCH: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Patch";

/// Every shape that the kinds of one version need, by name.
pub(super) fn of(kinds: &[&Kind]) -> Map<String, Value> {
    let mut schemas = Map::new();
    for kind in kinds {
        schemas.insert(name(kind), shape(kind));
        schemas.insert(list_name(kind), list(kind));
    }
    schemas.insert(LIST_META.to_owned(), list_meta());
    schemas.insert(PATCH.to_owned(), patch());
    let mut wanted: Vec<String> = schemas.values().flat_map(references).collect();
    let mut seen = BTreeSet::new();
    while let Some(name) = wanted.pop() {
        if let Some(found) =
            definitions().get(&name).filter(|_| seen.insert(name.clone()) && !schemas.contains_key(&name))
        {
            wanted.extend(references(found));
            schemas.insert(name, found.clone());
        }
    }
    schemas
}

/// The name of a kind's shape: of custom kinds their group backwards, the version and the kind.
pub(super) fn name(kind: &Kind) -> String {
    match &kind.nature {
        Nature::BuiltIn(_) => definition_of(kind),
        Nature::Custom(_) => {
            let group: Vec<&str> = kind.group.split('.').rev().collect();
            format!("{}.{}.{}", group.join("."), kind.version, kind.kind)
        }
    }
}

fn list_name(kind: &Kind) -> String {
    let name = name(kind);
    let package = name.strip_suffix(&kind.kind).unwrap_or(&name);
    format!("{package}{}", kind.list_kind)
}

fn shape(kind: &Kind) -> Value {
    let mut shape = match &kind.nature {
        Nature::BuiltIn(_) => definitions().get(&definition_of(kind)).cloned().unwrap_or_default(),
        Nature::Custom(_) => {
            let mut shape = kind.schema.as_ref().clone();
            let said = shape.pointer("/properties/metadata/description").cloned().unwrap_or_default();
            shape["properties"]["metadata"] =
                json!({ "description": said, "allOf": [{ "$ref": format!("{ROOT}{OBJECT_META}") }] });
            say_int_or_string(&mut shape);
            shape
        }
    };
    shape["x-kubernetes-group-version-kind"] = json!([of_kind(kind, &kind.kind)]);
    shape
}

pub(super) fn of_kind(kind: &Kind, name: &str) -> Value {
    json!({ "group": kind.group, "version": kind.version, "kind": name })
}

/// What has no type in a definition is said to be one of two here.
fn say_int_or_string(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("x-kubernetes-int-or-string") == Some(&json!(true)) && !fields.contains_key("anyOf") {
                fields.insert("anyOf".to_owned(), json!([{ "type": "integer" }, { "type": "string" }]));
            }
            fields.values_mut().for_each(say_int_or_string);
        }
        Value::Array(items) => items.iter_mut().for_each(say_int_or_string),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn list(kind: &Kind) -> Value {
    let types = definitions().get("io.k8s.api.core.v1.ConfigMap");
    let of =
        |field: &str| types.and_then(|it| it.pointer(&format!("/properties/{field}"))).cloned().unwrap_or_default();
    json!({
        "description": format!("{} is a list of {}", kind.list_kind, kind.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": of("apiVersion"),
            "kind": of("kind"),
            "items": {
                "description": format!("List of {}", kind.plural), "type": "array",
                "items": { "$ref": format!("{ROOT}{}", name(kind)) },
            },
            "metadata": { "description": "Standard list metadata.", "allOf": [{ "$ref": format!("{ROOT}{LIST_META}") }] },
        },
        "x-kubernetes-group-version-kind": [of_kind(kind, &kind.list_kind)],
    })
}

fn list_meta() -> Value {
    let text = |description: &str| json!({ "description": description, "type": "string" });
    json!({
        "description": "The metadata of a list: where it is in the history, and how it goes on.",
        "type": "object",
        "properties": {
            "continue": text("Set if there is more: the next request passes it on and gets the rest."),
            "remainingItemCount": {
                "description": "How many more items there are, if it is known.", "type": "integer", "format": "int64",
            },
            "resourceVersion": text("The version of the list; a watch can start from it."),
            "selfLink": text("Not used any more."),
        },
    })
}

fn patch() -> Value {
    json!({ "description": "A patch: what it may say depends on its media type.", "type": "object" })
}

fn references(schema: &Value) -> Vec<String> {
    match schema {
        Value::Object(fields) => {
            let own = fields.get("$ref").and_then(Value::as_str).and_then(|name| name.strip_prefix(ROOT));
            own.map(str::to_owned).into_iter().chain(fields.values().flat_map(references)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
    }
}
