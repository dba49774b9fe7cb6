//! As much of JSON Schema as the published descriptions use, in its OpenAPI 3.0 form and in draft 7.

use serde_json::{Map, Value};

/// What a reference stands for.
pub(crate) fn resolve<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let mut schema = schema;
    while let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let pointer = reference.trim_start_matches('#');
        schema = document.pointer(pointer).unwrap_or_else(|| panic!("{reference} leads nowhere"));
    }
    schema
}

/// What is wrong with a value, and where.
pub(crate) fn complaints(document: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    let schema = resolve(document, schema);
    let Some(rules) = schema.as_object() else { return Vec::new() };
    if value.is_null() && rules.get("nullable") == Some(&Value::Bool(true)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if let Some(wanted) = rules.get("type")
        && !is_of_type(wanted, value)
    {
        return vec![format!("{at}: {value} is not of type {wanted}")];
    }
    if let Some(Value::Array(allowed)) = rules.get("enum")
        && !allowed.contains(value)
    {
        found.push(format!("{at}: {value} is not one of {allowed:?}"));
    }
    for schema in list(rules, "allOf") {
        found.extend(complaints(document, schema, value, at));
    }
    for choice in ["anyOf", "oneOf"] {
        let choices = list(rules, choice);
        let fits = |schema: &&Value| complaints(document, schema, value, at).is_empty();
        if !choices.is_empty() && !choices.iter().any(fits) {
            found.push(format!("{at}: fits none of {} choices: {value}", choices.len()));
        }
    }
    match value {
        Value::Array(items) => {
            if let Some(schema) = rules.get("items") {
                let each = items.iter().enumerate();
                found.extend(
                    each.flat_map(|(index, item)| complaints(document, schema, item, &format!("{at}/{index}"))),
                );
            }
        }
        Value::Object(members) => found.extend(members_of(document, rules, members, at)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}

fn list<'a>(rules: &'a Map<String, Value>, name: &str) -> Vec<&'a Value> {
    rules.get(name).and_then(Value::as_array).into_iter().flatten().collect()
}

fn members_of(document: &Value, rules: &Map<String, Value>, members: &Map<String, Value>, at: &str) -> Vec<String> {
    let required = list(rules, "required").into_iter().filter_map(Value::as_str);
    let mut found: Vec<String> =
        required.filter(|name| !members.contains_key(*name)).map(|name| format!("{at}: {name} is missing")).collect();
    let known = rules.get("properties").and_then(Value::as_object);
    for (name, member) in members {
        let place = format!("{at}/{name}");
        match (known.and_then(|known| known.get(name)), rules.get("additionalProperties")) {
            (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => {
                found.extend(complaints(document, schema, member, &place));
            }
            (None, Some(Value::Bool(false))) => found.push(format!("{place}: is not allowed")),
            (None, _) => {}
        }
    }
    found
}

fn is_of_type(wanted: &Value, value: &Value) -> bool {
    match wanted {
        Value::Array(several) => several.iter().any(|wanted| is_of_type(wanted, value)),
        Value::String(name) => match name.as_str() {
            "null" => value.is_null(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            "number" => value.is_number(),
            "string" => value.is_string(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other} is no type"),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => panic!("{wanted} is no type"),
    }
}
