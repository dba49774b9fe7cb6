//! The paths to kinds: what can be done at each, to what, and with which parameters.

use serde_json::{Map, Value, json};

use super::schemas::{name, of_kind};
use crate::kind::{Kind, Nature};
use crate::kinds::definition::ROOT;

const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
const PATCH: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];
const DELETE: &[&str] = &["dryRun", "gracePeriodSeconds", "orphanDependents", "propagationPolicy"];
const LIST: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];

/// All paths of the kinds of one version.
pub(super) fn of(kinds: &[&Kind]) -> Map<String, Value> {
    kinds.iter().flat_map(|kind| of_one(kind)).collect()
}

fn of_one(kind: &Kind) -> Vec<(String, Value)> {
    let root = if kind.group.is_empty() { "/api".to_owned() } else { format!("/apis/{}", kind.group) };
    let root = format!("{root}/{}", kind.version);
    let place = if kind.namespaced { "/namespaces/{namespace}" } else { "" };
    let all = format!("{root}{place}/{}", kind.plural);
    let one = format!("{all}/{{name}}");
    let mut paths = vec![(all, collection(kind)), (one.clone(), object(kind, false))];
    if kind.namespaced {
        let mut everywhere = json!({ "get": operation(kind, "list", LIST) });
        everywhere["parameters"] = json!([]);
        paths.push((format!("{root}/{}", kind.plural), everywhere));
    }
    if kind.status {
        paths.push((format!("{one}/status"), object(kind, true)));
    }
    paths
}

fn collection(kind: &Kind) -> Value {
    let mut item = json!({
        "get": operation(kind, "list", LIST),
        "post": body(kind, operation(kind, "post", WRITE)),
        "parameters": held_in(kind),
    });
    if kind.verbs.contains(&"deletecollection") {
        item["delete"] = operation(kind, "deletecollection", &[DELETE, &LIST[1..]].concat());
    }
    item
}

fn object(kind: &Kind, part: bool) -> Value {
    let mut patch = operation(kind, "patch", PATCH);
    let types = ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
    // Custom kinds have no strategy to merge by.
    let strategic = matches!(kind.nature, Nature::BuiltIn(_)).then_some("application/strategic-merge-patch+json");
    let schema = json!({ "schema": { "$ref": format!("{ROOT}io.k8s.apimachinery.pkg.apis.meta.v1.Patch") } });
    let content: Map<String, Value> =
        types.into_iter().chain(strategic).map(|media| (media.to_owned(), schema.clone())).collect();
    patch["requestBody"] = json!({ "content": content, "required": true });
    let mut parameters = held_in(kind);
    parameters.insert(0, in_path("name", &format!("name of the {}", kind.kind)));
    let mut item = json!({
        "get": operation(kind, "get", &[]),
        "put": body(kind, operation(kind, "put", WRITE)),
        "patch": patch,
        "parameters": parameters,
    });
    if !part {
        item["delete"] = operation(kind, "delete", DELETE);
    }
    item
}

fn operation(kind: &Kind, action: &str, parameters: &[&str]) -> Value {
    let parameters: Vec<Value> = parameters.iter().map(|name| in_query(name)).collect();
    json!({
        "parameters": parameters,
        "responses": { "200": { "description": "OK", "content": content(kind) } },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": of_kind(kind, &kind.kind),
    })
}

fn body(kind: &Kind, mut operation: Value) -> Value {
    operation["requestBody"] = json!({ "content": content(kind), "required": true });
    operation
}

fn content(kind: &Kind) -> Value {
    json!({ "application/json": { "schema": { "$ref": format!("{ROOT}{}", name(kind)) } } })
}

fn held_in(kind: &Kind) -> Vec<Value> {
    let namespace = || in_path("namespace", "object name and auth scope, such as for teams and projects");
    kind.namespaced.then(namespace).into_iter().collect()
}

fn in_path(name: &str, description: &str) -> Value {
    json!({
        "name": name, "in": "path", "description": description, "required": true,
        "schema": { "type": "string", "uniqueItems": true },
    })
}

fn in_query(name: &str) -> Value {
    let of = match name {
        "allowWatchBookmarks" | "force" | "orphanDependents" | "sendInitialEvents" | "watch" => "boolean",
        "gracePeriodSeconds" | "limit" | "timeoutSeconds" => "integer",
        _ => "string",
    };
    json!({ "name": name, "in": "query", "schema": { "type": of, "uniqueItems": true } })
}
