//! Whether a schema is structural: every field has one type, and conditions add none.

use api::Violation;
use serde_json::{Value, json};

use crate::kinds::field::{entries, forbidden, invalid, invalid_text, list, required, text};

/// Where a schema stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// What keeps a schema from being structural, in the order of its text.
pub(super) fn violations(schema: &Value, path: &str) -> Vec<Violation> {
    let mut found = invariants(schema, Level::Root, path);
    found.extend(incomplete(schema, path));
    found.sort_by_key(ToString::to_string);
    found
}

/// Whether the schema uses what no structural schema can hold; then only that is said.
pub(super) fn unsupported(schema: &Value) -> bool {
    const NEVER: [&str; 6] = ["$ref", "id", "patternProperties", "dependencies", "additionalItems", "definitions"];
    let here = NEVER.iter().any(|key| schema.get(key).is_some())
        || is_true(schema, "uniqueItems")
        || schema.get("items").is_some_and(Value::is_array);
    here || below(schema).any(unsupported)
}

fn below(schema: &Value) -> impl Iterator<Item = &Value> {
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|key| list(schema, &format!("/{key}")));
    let single = ["items", "not", "additionalProperties"].into_iter().filter_map(|key| schema.get(key));
    entries(schema, "/properties").map(|(_, schema)| schema).chain(lists).chain(single.filter(|it| it.is_object()))
}

pub(super) fn is_true(schema: &Value, key: &str) -> bool {
    schema.get(key) == Some(&json!(true))
}

fn invariants(schema: &Value, level: Level, path: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let at = |child: &str| format!("{path}.{child}");
    let of = text(schema, "/type");
    if of == "array" && schema.get("items").is_none() {
        found.push(required(&at("items"), "must be specified"));
    }
    if let Some(items) = schema.get("items") {
        found.extend(invariants(items, Level::Item, &at("items")));
    }
    for (name, property) in entries(schema, "/properties") {
        found.extend(invariants(property, Level::Field, &at(&format!("properties[{name}]"))));
    }
    if let Some(rest) = schema.get("additionalProperties") {
        if level == Level::Root {
            found.push(forbidden(&at("additionalProperties"), "must not be used at the root"));
        }
        if rest.is_object() {
            found.extend(invariants(rest, Level::Field, &at("additionalProperties")));
        }
    }
    found.extend(extensions(schema, path));
    found.extend(conditions(schema, path, is_int_or_string(schema), first_is_int_or_string(schema)));
    found.extend(types(schema, level, path));
    found.extend(resource(schema, level, path));
    found
}

fn extensions(schema: &Value, path: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    if is_true(schema, "x-kubernetes-int-or-string") {
        for key in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
            if is_true(schema, key) {
                let detail = "must be false if x-kubernetes-int-or-string is true";
                found.push(invalid(&format!("{path}.{key}"), &json!(true), detail));
            }
        }
    }
    found
}

fn types(schema: &Value, level: Level, path: &str) -> Vec<Violation> {
    let field = format!("{path}.type");
    let of = text(schema, "/type");
    let embedded = is_true(schema, "x-kubernetes-embedded-resource");
    let free = is_true(schema, "x-kubernetes-int-or-string") || is_true(schema, "x-kubernetes-preserve-unknown-fields");
    let mut found = Vec::new();
    if embedded && of != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        found.push(if of.is_empty() { required(&field, detail) } else { invalid_text(&field, of, detail) });
    } else if of.is_empty() && !free {
        found.push(required(
            &field,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        ));
    }
    if embedded && schema.get("additionalProperties").is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        found.push(forbidden(&format!("{path}.additionalProperties"), detail));
    }
    if level == Level::Root && !of.is_empty() && of != "object" {
        found.push(invalid_text(&field, of, "must be object at the root"));
    }
    found
}

/// What a schema says about the parts that every resource has.
fn resource(schema: &Value, level: Level, path: &str) -> Vec<Violation> {
    let embedded = is_true(schema, "x-kubernetes-embedded-resource");
    let checked = level == Level::Root || embedded;
    let mut found = Vec::new();
    for name in ["kind", "apiVersion"] {
        if let Some(property) = schema.pointer(&format!("/properties/{name}")).filter(|_| checked) {
            let of = text(property, "/type");
            if of != "string" {
                found.push(invalid_text(&format!("{path}.properties[{name}].type"), of, "must be string"));
            }
        }
    }
    if let Some(metadata) = schema.pointer("/properties/metadata") {
        let of = text(metadata, "/type");
        if checked && of != "object" {
            found.push(invalid_text(&format!("{path}.properties[metadata].type"), of, "must be object"));
        }
        if level == Level::Root && !only_names(metadata) {
            let detail = "must not specify anything other than name and generateName, but metadata is implicitly \
                          specified";
            found.push(forbidden(&format!("{path}.properties[metadata]"), detail));
        }
    }
    if embedded
        && !is_true(schema, "x-kubernetes-preserve-unknown-fields")
        && entries(schema, "/properties").next().is_none()
    {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                      x-kubernetes-preserve-unknown-fields";
        found.push(required(&format!("{path}.properties"), detail));
    }
    found
}

/// Of metadata only rules for names may be given.
fn only_names(metadata: &Value) -> bool {
    let plain = metadata.as_object().into_iter().flatten();
    plain.map(|(key, _)| key.as_str()).all(|key| match key {
        "type" | "default" => true,
        "properties" => {
            entries(metadata, "/properties").all(|(name, _)| matches!(name.as_str(), "name" | "generateName"))
        }
        _ => false,
    })
}

fn is_int_or_string(schema: &Value) -> bool {
    schema.get("anyOf") == Some(&json!([{ "type": "integer" }, { "type": "string" }]))
}

fn first_is_int_or_string(schema: &Value) -> bool {
    schema.pointer("/allOf/0").is_some_and(is_int_or_string)
}

/// Conditions inside `anyOf` and its like, and patterns.
fn conditions(schema: &Value, path: &str, skip_any: bool, skip_first_all: bool) -> Vec<Violation> {
    let mut found = Vec::new();
    let each = |key: &str| list(schema, &format!("/{key}")).iter().enumerate().collect::<Vec<_>>();
    for (index, nested) in each("anyOf").into_iter().filter(|_| !skip_any) {
        found.extend(condition(nested, &format!("{path}.anyOf[{index}]"), false));
    }
    for (index, nested) in each("allOf") {
        found.extend(condition(nested, &format!("{path}.allOf[{index}]"), skip_first_all && index == 0));
    }
    for (index, nested) in each("oneOf") {
        found.extend(condition(nested, &format!("{path}.oneOf[{index}]"), false));
    }
    found.extend(schema.get("not").into_iter().flat_map(|nested| condition(nested, &format!("{path}.not"), false)));
    let pattern = text(schema, "/pattern");
    if !pattern.is_empty()
        && let Err(error) = regex::Regex::new(pattern)
    {
        let error = error.to_string();
        let last = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        let detail =
            format!("must be a valid regular expression, but isn't: error parsing regexp: {last}: `{pattern}`");
        found.push(invalid_text(&format!("{path}.pattern"), pattern, detail));
    }
    found
}

/// What a condition may not say, because it says what there is.
const FORBIDDEN: [(&str, &str); 12] = [
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
];

fn condition(schema: &Value, path: &str, skip_any: bool) -> Vec<Violation> {
    let mut found = conditions(schema, path, skip_any, false);
    if let Some(items) = schema.get("items") {
        found.extend(condition(items, &format!("{path}.items"), false));
    }
    for (name, property) in entries(schema, "/properties") {
        found.extend(condition(property, &format!("{path}.properties[{name}]"), false));
    }
    let present = FORBIDDEN.iter().filter(|(key, _)| schema.get(key).is_some_and(|value| *value != json!(false)));
    found.extend(present.map(|(key, detail)| forbidden(&format!("{path}.{key}"), detail)));
    if !list(schema, "/x-kubernetes-validations").is_empty() {
        found.push(forbidden(&format!("{path}.x-kubernetes-validations"), "must be empty to be structural"));
    }
    if schema.pointer("/properties/metadata").is_some() {
        let detail = "must not be specified in a nested context";
        found.push(forbidden(&format!("{path}.properties[metadata]"), detail));
    }
    found
}

/// A field that a condition speaks of must be specified outside of it. Only conditions at the root are looked at.
fn incomplete(schema: &Value, path: &str) -> Vec<Violation> {
    let all = nested(schema).into_iter();
    all.flat_map(|(key, nested)| missing(schema, nested, path, &format!("{path}.{key}"))).collect()
}

fn nested(schema: &Value) -> Vec<(String, &Value)> {
    let lists = ["allOf", "anyOf", "oneOf"].into_iter().flat_map(|key| {
        let all = list(schema, &format!("/{key}")).iter().enumerate();
        all.map(move |(index, nested)| (format!("{key}[{index}]"), nested))
    });
    lists.chain(schema.get("not").map(|nested| ("not".to_owned(), nested))).collect()
}

fn missing(schema: &Value, condition: &Value, path: &str, shown: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let because = |at: &str| format!("because it is defined in {at}");
    for (name, below) in entries(condition, "/properties") {
        let at = format!("{shown}.properties[{name}]");
        let known = schema.pointer("/properties").and_then(|properties| properties.get(name));
        match known {
            Some(known) => found.extend(missing(known, below, &format!("{path}.properties[{name}]"), &at)),
            None => found.push(required(&format!("{path}.properties[{name}]"), because(&at))),
        }
    }
    if let Some(below) = condition.get("items") {
        let at = format!("{shown}.items");
        match schema.get("items") {
            Some(known) => found.extend(missing(known, below, &format!("{path}.items"), &at)),
            None => found.push(required(&format!("{path}.items"), because(&at))),
        }
    }
    for (key, deeper) in nested(condition) {
        found.extend(missing(schema, deeper, path, &format!("{shown}.{key}")));
    }
    found
}
