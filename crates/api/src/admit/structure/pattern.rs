//! Patterns, which are written in Go's dialect: its classes know only ASCII.

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::super::field::word;

/// Compiles every pattern of the schema and of all below it.
pub(super) fn collect(schema: &Value, patterns: &mut BTreeMap<String, Regex>) -> Result<(), String> {
    // Many fields of a schema share a few patterns, and compiling is what a definition's admission takes longest for.
    if let Some(pattern) = word(schema, "pattern").filter(|pattern| !patterns.contains_key(*pattern)) {
        let compiled = Regex::new(&translate(pattern)).map_err(|error| error.to_string())?;
        patterns.insert(pattern.to_owned(), compiled);
    }
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|fields| fields.values());
    let single = ["items", "additionalProperties", "not"].into_iter().filter_map(|keyword| schema.get(keyword));
    let choices = ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
    for below in properties.chain(single).chain(choices.flatten()) {
        collect(below, patterns)?;
    }
    Ok(())
}

fn translate(pattern: &str) -> String {
    let mut translated = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            translated.push(letter);
            continue;
        }
        match letters.next() {
            Some('d') => translated.push_str("[0-9]"),
            Some('D') => translated.push_str("[^0-9]"),
            Some('w') => translated.push_str("[0-9A-Za-z_]"),
            Some('W') => translated.push_str("[^0-9A-Za-z_]"),
            Some('s') => translated.push_str(r"[\t\n\f\r ]"),
            Some('S') => translated.push_str(r"[^\t\n\f\r ]"),
            Some(other) => translated.extend(['\\', other]),
            None => translated.push('\\'),
        }
    }
    translated
}
