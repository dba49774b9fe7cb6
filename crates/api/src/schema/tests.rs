//! What every definition promises, checked field by field.

use serde_json::Value;

use crate::crds;

/// Calls `visit` with the path and schema of every field of every definition.
fn every_field(mut visit: impl FnMut(&str, &Value)) {
    for crd in crds() {
        let kind = &crd.spec.names.kind;
        let root = crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
        walk(kind, &serde_json::to_value(root).unwrap(), &mut visit);
    }
}

fn walk(path: &str, schema: &Value, visit: &mut impl FnMut(&str, &Value)) {
    visit(path, schema);
    for (key, below) in schema["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{key}"), below, visit);
    }
    for (keyword, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(below) = schema.get(keyword) {
            walk(&format!("{path}{suffix}"), below, visit);
        }
    }
}

/// Paths for which `holds` is false.
fn offenders(holds: impl Fn(&str, &Value) -> bool) -> Vec<String> {
    let mut found = Vec::new();
    every_field(|path, schema| {
        if !holds(path, schema) {
            found.push(path.to_owned());
        }
    });
    found
}

fn none() -> Vec<String> {
    Vec::new()
}

#[test]
fn every_field_explains_itself() {
    let explained = |path: &str, schema: &Value| {
        // A definition may not describe metadata itself.
        let is_item = path.ends_with("[]") || path.ends_with("{}") || path.ends_with(".metadata");
        is_item || schema["description"].as_str().is_some_and(|text| text.len() > 10)
    };
    assert_eq!(offenders(explained), none());
}

#[test]
fn every_text_list_map_and_number_is_bounded() {
    let bounded = |_: &str, schema: &Value| match schema["type"].as_str() {
        Some("string") => schema.get("maxLength").is_some() || schema.get("enum").is_some(),
        Some("array") => schema.get("maxItems").is_some(),
        Some("object") => schema.get("additionalProperties").is_none() || schema.get("maxProperties").is_some(),
        Some("integer") => schema.get("minimum").is_some(),
        Some("boolean") => true,
        Some(_) | None => false,
    };
    assert_eq!(offenders(bounded), none());
}

#[test]
fn every_list_says_how_it_merges() {
    let says = |_: &str, schema: &Value| schema["type"] != "array" || schema.get("x-kubernetes-list-type").is_some();
    assert_eq!(offenders(says), none());
}

#[test]
fn condition_lists_are_maps_by_type() {
    let mut lists = 0;
    every_field(|path, schema| {
        if path.ends_with(".status.conditions") {
            assert_eq!(schema["x-kubernetes-list-map-keys"], serde_json::json!(["type"]), "{path}");
            lists += 1;
        }
    });
    assert_eq!(lists, 6);
}

#[test]
fn nothing_is_nullable_and_nothing_has_a_format() {
    let plain = |_: &str, schema: &Value| {
        let nulls = schema["enum"].as_array().is_some_and(|words| words.contains(&Value::Null));
        let absent = ["nullable", "format", "title"].iter().all(|keyword| schema.get(keyword).is_none());
        absent && !nulls && schema.get("default") != Some(&Value::Null)
    };
    assert_eq!(offenders(plain), none());
}

#[test]
fn every_rule_has_a_message_and_none_looks_back_below_a_list() {
    every_field(|path, schema| {
        for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
            assert!(rule["message"].as_str().is_some_and(|text| text.len() > 15), "{path}: {rule}");
            let looks_back = rule["rule"].as_str().unwrap().contains("oldSelf");
            assert!(!(looks_back && path.contains("[]")), "{path}: servers cannot match old and new items");
        }
    });
}

#[test]
fn every_kind_is_namespaced_with_its_short_name_category_and_required_spec() {
    let short: Vec<_> = crds().iter().map(|crd| crd.spec.names.short_names.clone().unwrap().join(",")).collect();
    assert_eq!(short, ["hvc", "hmt", "rsrc", "rpool", "rjob", "mclaim"]);
    for crd in crds() {
        assert_eq!(crd.spec.scope, "Namespaced");
        assert_eq!(crd.spec.group, crate::registry::GROUP);
        assert_eq!(crd.spec.names.categories.as_deref(), Some(&[crate::registry::CATEGORY.to_owned()][..]));
        let version = &crd.spec.versions[0];
        assert_eq!(version.name, crate::registry::VERSION);
        let root = version.schema.as_ref().unwrap().open_api_v3_schema.as_ref().unwrap();
        assert!(root.required.as_ref().unwrap().contains(&"spec".to_owned()));
        assert!(version.subresources.as_ref().unwrap().status.is_some());
        assert!(version.additional_printer_columns.as_ref().unwrap().iter().any(|column| column.name == "Age"));
    }
}
