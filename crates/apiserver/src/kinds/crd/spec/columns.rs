//! What versions say about paths into their objects: columns, scale and selectable fields.

use std::collections::BTreeSet;

use api::Violation;
use serde_json::Value;

use crate::kinds::field::{duplicate_text, entries, invalid_text, required, text, too_many};

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const MOST_SELECTABLE: usize = 8;

/// What is wrong with printer columns.
pub(super) fn columns(columns: &Value, path: &str) -> Vec<Violation> {
    let columns = columns.as_array().map_or(&[][..], Vec::as_slice).iter().enumerate();
    columns.flat_map(|(index, column)| of_column(column, &format!("{path}[{index}]"))).collect()
}

fn of_column(column: &Value, path: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    if text(column, "/name").is_empty() {
        found.push(required(&format!("{path}.name"), ""));
    }
    let types = format!("must be one of {}", TYPES.join(","));
    match text(column, "/type") {
        "" => found.push(required(&format!("{path}.type"), types)),
        known if TYPES.contains(&known) => {}
        other => found.push(invalid_text(&format!("{path}.type"), other, types)),
    }
    let format = text(column, "/format");
    if !format.is_empty() && !FORMATS.contains(&format) {
        let detail = format!("must be one of {}", FORMATS.join(","));
        found.push(invalid_text(&format!("{path}.format"), format, detail));
    }
    let field = format!("{path}.JSONPath");
    match text(column, "/jsonPath") {
        "" => found.push(required(&field, "")),
        json_path => found.extend(simple(json_path, &field)),
    }
    found
}

fn simple(json_path: &str, field: &str) -> Option<Violation> {
    let detail = "must be a simple json path starting with .";
    (!json_path.starts_with('.')).then(|| invalid_text(field, json_path, detail))
}

/// What is wrong with subresources.
pub(super) fn subresources(subresources: &Value, path: &str) -> Vec<Violation> {
    let Some(scale) = subresources.get("scale") else { return Vec::new() };
    let mut found = Vec::new();
    for (field, root) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let at = format!("{path}.scale.{field}");
        match text(scale, &format!("/{field}")) {
            "" => found.push(required(&at, "")),
            json_path => found.extend(simple(json_path, &at).or_else(|| {
                let detail = format!("should be a json path under {root}");
                (!json_path.starts_with(&format!("{root}."))).then(|| invalid_text(&at, json_path, detail))
            })),
        }
    }
    let selector = text(scale, "/labelSelectorPath");
    if !selector.is_empty() {
        let at = format!("{path}.scale.labelSelectorPath");
        let within = [".spec.", ".status."].iter().any(|root| selector.starts_with(root));
        let detail = "should be a json path under either .spec or .status";
        let elsewhere = || (!within).then(|| invalid_text(&at, selector, detail));
        found.extend(simple(selector, &at).or_else(elsewhere));
    }
    found
}

/// What is wrong with the fields that selectors may name.
pub(super) fn selectable(fields: &Value, version: &Value, path: &str) -> Vec<Violation> {
    let schema = version.pointer("/schema/openAPIV3Schema");
    let Some(schema) = schema else {
        let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
        return vec![invalid_text(path, "", detail)];
    };
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, field) in fields.as_array().map_or(&[][..], Vec::as_slice).iter().enumerate() {
        let at = format!("{path}[{index}].jsonPath");
        let json_path = text(field, "/jsonPath");
        if json_path.is_empty() {
            found.push(required(&at, ""));
            continue;
        }
        let Some(pointed) = walk(schema, json_path) else {
            found.push(invalid_text(&at, json_path, "is an invalid path: does not refer to a valid field"));
            continue;
        };
        if json_path.starts_with(".metadata") {
            found.push(invalid_text(&at, json_path, "must not point to fields in metadata"));
        }
        if !matches!(text(pointed, "/type"), "string" | "boolean" | "integer") {
            let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                          formats are allowed.";
            found.push(invalid_text(&at, json_path, detail));
        }
        if !seen.insert(json_path) {
            found.push(duplicate_text(&at, json_path));
        }
    }
    if seen.len() > MOST_SELECTABLE {
        found.push(too_many(path, seen.len(), MOST_SELECTABLE));
    }
    found
}

/// The schema that a path of dots and plain names points to.
fn walk<'a>(schema: &'a Value, path: &str) -> Option<&'a Value> {
    let mut schema = schema;
    for part in path.strip_prefix('.')?.split('.') {
        let named = entries(schema, "/properties").find(|(name, _)| *name == part).map(|(_, below)| below);
        schema = named.or_else(|| schema.get("additionalProperties").filter(|below| below.is_object()))?;
    }
    Some(schema)
}
