//! Defaults must themselves be what their schema allows.

use api::{Judge, Violation};
use serde_json::{Value, json};

use crate::kinds::field::{entries, invalid};

/// What is wrong with the defaults of a schema and of all below it.
pub(super) fn violations(schema: &Value, path: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    if let Some(default) = schema.get("default") {
        found.extend(of_default(schema, default, &format!("{path}.default")));
    }
    if let Some(items) = schema.get("items") {
        found.extend(violations(items, &format!("{path}.items")));
    }
    for (name, property) in entries(schema, "/properties") {
        found.extend(violations(property, &format!("{path}.properties[{name}]")));
    }
    if let Some(rest) = schema.get("additionalProperties").filter(|rest| rest.is_object()) {
        found.extend(violations(rest, &format!("{path}.additionalProperties")));
    }
    found
}

/// Judged as the only field of an object, because only objects can be judged.
fn of_default(schema: &Value, default: &Value, path: &str) -> Vec<Violation> {
    const FIELD: &str = "field";
    let mut schema = schema.clone();
    schema.as_object_mut().map(|fields| fields.remove("default"));
    let holder = json!({ "type": "object", "properties": { FIELD: schema } });
    let Ok(judge) = Judge::new(holder) else { return Vec::new() };
    let (coerced, unknown) = judge.coerce(&json!({ FIELD: default }));
    if !unknown.is_empty() {
        return vec![invalid(path, default, "must not have unknown fields")];
    }
    let moved = |violation: Violation| {
        let rest = violation.field.strip_prefix(FIELD).unwrap_or_default();
        let message = violation.message.replace(&format!("{FIELD} in body"), " in body");
        let message = message.replace(&format!("{FIELD}."), "");
        Violation::at(&format!("{path}{rest}"), violation.cause, message)
    };
    judge.violations(&coerced, None).into_iter().map(moved).collect()
}
