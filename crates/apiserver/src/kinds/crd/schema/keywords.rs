//! Keywords that may not be used, or not like that.

use api::Violation;
use serde_json::{Value, json};

use super::Context;
use crate::kinds::crd::structural::is_true;
use crate::kinds::field::{
    entries, forbidden, invalid, invalid_shown, invalid_text, list, not_supported, required, text,
};

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// What is wrong with the keywords of one schema by themselves.
pub(super) fn own(schema: &Value, path: &str, context: &Context) -> Vec<Violation> {
    let at = |key: &str| format!("{path}.{key}");
    let mut found = Vec::new();
    let of = text(schema, "/type");
    if !of.is_empty() && !TYPES.contains(&of) {
        found.push(not_supported(&at("type"), of, &TYPES));
    }
    if let Some(why) = context.no_default.as_ref().filter(|_| schema.get("default").is_some()) {
        found.push(forbidden(&at("default"), format!("must not be set {why}")));
    }
    for key in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        if schema.get(key).is_some() {
            found.push(forbidden(&at(key), format!("{key} is not supported")));
        }
    }
    if of == "null" {
        found.push(forbidden(&at("type"), "type cannot be set to null, use nullable as an alternative"));
    }
    if schema.get("items").is_some_and(Value::is_array) {
        found.push(forbidden(&at("items"), "items must be a schema object and not an array"));
    }
    if context.inside_meta && is_true(schema, "x-kubernetes-embedded-resource") {
        found.push(forbidden(&at("x-kubernetes-embedded-resource"), "must not be used inside of resource meta"));
    }
    if is_true(schema, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        found.push(forbidden(&at("uniqueItems"), detail));
    }
    found
}

/// Fields are named or free, not both.
pub(super) fn both_kinds_of_properties(schema: &Value, rest: &Value, path: &str) -> Option<Violation> {
    let named = entries(schema, "/properties").next().is_some();
    let detail = "additionalProperties and properties are mutual exclusive";
    (named && *rest != json!(true)).then(|| forbidden(&format!("{path}.additionalProperties"), detail))
}

/// What is wrong with the way a schema's lists and maps merge.
pub(super) fn merging(schema: &Value, path: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&json!(false)) {
        let field = format!("{path}.x-kubernetes-preserve-unknown-fields");
        found.push(invalid(&field, &json!(false), "must be true or undefined"));
    }
    if let Some(map_type) = schema.get("x-kubernetes-map-type").and_then(Value::as_str) {
        found.extend(typed(schema, path, "object", "x-kubernetes-map-type"));
        if !matches!(map_type, "atomic" | "granular") {
            let field = format!("{path}.x-kubernetes-map-type");
            found.push(not_supported(&field, map_type, &["atomic", "granular"]));
        }
    }
    found.extend(list_type(schema, path));
    if text(schema, "/x-kubernetes-list-type") == "map" {
        found.extend(map_list(schema, path));
    }
    found.extend(keys_always_there(schema, path));
    found
}

fn typed(schema: &Value, path: &str, wanted: &str, key: &str) -> Option<Violation> {
    let (of, field) = (text(schema, "/type"), format!("{path}.type"));
    let detail = format!("must be {wanted} if {key} is specified");
    match of {
        "" => Some(required(&field, detail)),
        fine if fine == wanted => None,
        other => Some(invalid_text(&field, other, detail)),
    }
}

fn list_type(schema: &Value, path: &str) -> Vec<Violation> {
    const KEY: &str = "x-kubernetes-list-type";
    let mut found = Vec::new();
    let list_type = schema.get(KEY).and_then(Value::as_str);
    if let Some(list_type) = list_type {
        let wrong = typed(schema, path, "array", KEY);
        let right = wrong.is_none();
        found.extend(wrong);
        if right && list_type == "set" {
            found.extend(schema.get("items").and_then(|items| whole_items(items, path)));
        }
        if !matches!(list_type, "atomic" | "set" | "map") {
            found.push(not_supported(&format!("{path}.{KEY}"), list_type, &["atomic", "set", "map"]));
        }
    }
    if !list(schema, "/x-kubernetes-list-map-keys").is_empty() {
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            None => found.push(required(&format!("{path}.{KEY}"), detail)),
            Some("map") => {}
            Some(other) => found.push(invalid_text(&format!("{path}.{KEY}"), other, detail)),
        }
    }
    found
}

/// The entries of a set are compared as wholes.
fn whole_items(items: &Value, path: &str) -> Option<Violation> {
    let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let (list_type, map_type) = (items.get("x-kubernetes-list-type"), text(items, "/x-kubernetes-map-type"));
    let shown = list_type.map_or_else(|| "null".to_owned(), Value::to_string);
    match text(items, "/type") {
        "array" if list_type.is_some_and(|it| it != "atomic") => {
            Some(invalid_shown(&format!("{path}.items.x-kubernetes-list-type"), &shown, detail))
        }
        "object" if map_type != "atomic" => {
            Some(invalid_shown(&format!("{path}.items.x-kubernetes-map-type"), &shown, detail))
        }
        _ => None,
    }
}

fn map_list(schema: &Value, path: &str) -> Vec<Violation> {
    let keys = list(schema, "/x-kubernetes-list-map-keys");
    let field = format!("{path}.x-kubernetes-list-map-keys");
    let mut found = Vec::new();
    if keys.is_empty() {
        found.push(required(&field, "must not be empty if x-kubernetes-list-type is map"));
    }
    let Some(items) = schema.get("items") else {
        found.push(required(&format!("{path}.items"), "must have a schema if x-kubernetes-list-type is map"));
        return found;
    };
    let of = text(items, "/type");
    if items.is_object() && of != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        found.push(invalid_text(&format!("{path}.items.type"), of, detail));
    }
    for (index, key) in keys.iter().enumerate().filter(|_| of == "object") {
        let name = key.as_str().unwrap_or_default();
        match entries(items, "/properties").find(|(property, _)| *property == name) {
            Some((_, property)) if matches!(text(property, "/type"), "array" | "object") => {
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                found.push(invalid_text(&format!("{path}.items.properties[{name}].type"), of, detail));
            }
            Some(_) => {}
            None => found.push(invalid(&field, &json!(keys), "entries must all be names of item properties")),
        }
        if keys[..index].contains(key) {
            found.push(invalid(&field, &json!(keys), "must not contain duplicate entries"));
        }
    }
    found
}

/// Keys of a list are in every entry.
fn keys_always_there(schema: &Value, path: &str) -> Vec<Violation> {
    let list_type = text(schema, "/x-kubernetes-list-type");
    let Some(items) = schema.get("items").filter(|_| matches!(list_type, "set" | "map")) else { return Vec::new() };
    let mut found = Vec::new();
    if is_true(items, "nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        found.push(forbidden(&format!("{path}.items.nullable"), detail));
    }
    let keys = list(schema, "/x-kubernetes-list-map-keys").iter().filter(|_| list_type == "map");
    for key in keys.filter_map(Value::as_str) {
        let Some((_, property)) = entries(items, "/properties").find(|(name, _)| *name == key) else { continue };
        let at = format!("{path}.items.properties[{key}]");
        if !list(items, "/required").contains(&json!(key)) && property.get("default").is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required \
                          property";
            found.push(required(&format!("{at}.default"), detail));
        }
        if is_true(property, "nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            found.push(forbidden(&format!("{at}.nullable"), detail));
        }
    }
    found
}
