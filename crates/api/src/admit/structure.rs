//! Types, bounds, patterns, required fields: what a structural schema says, in the server's words and order.
//!
//! ```text
//!   type ─▶ choices (anyOf, oneOf, allOf, not) ─▶ text or number or items ─▶ enum ─▶ fields
//! ```
//!
//! A value with faults that was the same before an update passes; only choices are judged without regard to the past.

mod choice;
mod format;
mod found;
mod number;
mod pattern;
mod text;
mod types;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use self::found::{Fault, Found};
use super::field::{Place, flag, property, values};
use super::go;
use super::past::Past;
use super::refusal::Violation;

/// What is ready to judge the structure of one kind.
pub(super) struct Structure {
    /// Every pattern of the schema.
    patterns: BTreeMap<String, Regex>,
}

impl Structure {
    pub(super) fn compile(schema: &Value) -> Result<Self, String> {
        let mut patterns = BTreeMap::new();
        pattern::collect(schema, &mut patterns)?;
        Ok(Self { patterns })
    }

    /// What is wrong with a value and all below it. Messages name places from the value on, fields from the root.
    pub(super) fn violations(
        &self,
        schema: &Value,
        root: &Place,
        value: &Value,
        old: Option<&Value>,
    ) -> Vec<Violation> {
        let past = old.map(|old| Past::new(schema, value, old));
        self.judge(schema, value, "", past).into_violations(root)
    }

    fn judge(&self, schema: &Value, value: &Value, path: &str, past: Option<Past<'_>>) -> Found {
        let mut found = self.strict(schema, value, path, past);
        if !found.is_clean() && past.is_some_and(Past::unchanged) {
            found.forgive();
        }
        found
    }

    /// What is wrong, though it may have been so before.
    fn strict(&self, schema: &Value, value: &Value, path: &str, past: Option<Past<'_>>) -> Found {
        let mut found = Found::default();
        if value.is_null() {
            found.merge(types::check(schema, value, path));
            found.merge(of_words(schema, value, path));
            return found;
        }
        if types::applies(schema) {
            found.take(types::check(schema, value, path));
        }
        found.take(self.choices(schema, value, path));
        match value {
            Value::String(text) => {
                found.take(self.text(schema, text, path));
                if let Some(format) = types::format(schema) {
                    found.take(text::of_format(format, text, path));
                }
            }
            Value::Number(number) => found.take(number::check(schema, number, path)),
            Value::Array(items) => found.take(self.items(schema, items, path, past)),
            Value::Null | Value::Bool(_) | Value::Object(_) => {}
        }
        found.take(of_words(schema, value, path));
        if let Value::Object(fields) = value {
            found.take(self.fields(schema, fields, path, past));
        }
        found.matched();
        found
    }

    fn items(&self, schema: &Value, items: &[Value], path: &str, past: Option<Past<'_>>) -> Found {
        let mut found = Found::default();
        if let Some(of) = schema.get("items") {
            for (index, item) in items.iter().enumerate() {
                let past = past.and_then(|past| past.index(index));
                found.merge(self.judge(of, item, &format!("{path}[{index}]"), past));
            }
        }
        let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        let count = items.len() as u64;
        if let Some(least) = limit("minItems").filter(|least| count < *least) {
            let text = format!("{path} in body should have at least {least} items");
            found.add(Fault::invalid(path, &count.to_string(), text));
        }
        if let Some(most) = limit("maxItems").filter(|most| count > *most) {
            found.add(Fault::too_many(path, count, most, "items"));
        }
        let twice = items.iter().enumerate().any(|(index, item)| items[..index].contains(item));
        if flag(schema, "uniqueItems") && twice {
            found.add(Fault::invalid(path, "\"\"", format!("{path} in body shouldn't contain duplicates")));
        }
        found.matched();
        found
    }

    fn fields(
        &self,
        schema: &Value,
        fields: &serde_json::Map<String, Value>,
        path: &str,
        past: Option<Past<'_>>,
    ) -> Found {
        let mut found = Found::default();
        let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        let count = fields.len() as u64;
        if let Some(least) = limit("minProperties").filter(|least| count < *least) {
            let text = format!("{path} in body should have at least {least} properties");
            found.add(Fault::invalid(path, &count.to_string(), text));
        }
        if let Some(most) = limit("maxProperties").filter(|most| count > *most) {
            found.add(Fault::too_many(path, count, most, "properties"));
        }
        for (key, value) in fields {
            // The server sees types and versions only after conversion: what they were is not known.
            let is_type = path.is_empty() && (key == "kind" || key == "apiVersion");
            let past = past.filter(|_| !is_type).and_then(|past| past.key(key));
            if let Some(schema) = property(schema, key) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                found.merge(self.judge(schema, value, &path, past));
            } else if let Some(schema) = values(schema) {
                found.merge(self.judge(schema, value, &format!("{path}.{key}"), past));
            }
        }
        let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
        for key in required.filter_map(Value::as_str).filter(|key| !fields.contains_key(*key)) {
            found.add(Fault::required(&format!("{path}.{key}")));
        }
        found
    }
}

/// A value must be one of the words, if there are any.
fn of_words(schema: &Value, value: &Value, path: &str) -> Found {
    let words = schema.get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut found = Found::default();
    if !words.is_empty() && !words.iter().any(|word| is_word(value, word)) {
        let known: Vec<String> =
            words.iter().map(|word| go::quoted(&word.as_str().map_or_else(|| go::json(word), str::to_owned))).collect();
        found.add(Fault::not_supported(path, &go::shown(value), &known.join(", ")));
    }
    found
}

/// Go converts before it compares: numbers to numbers, and an integer to the letter that it stands for.
fn is_word(value: &Value, word: &Value) -> bool {
    match (value, word) {
        (Value::Null, _) | (_, Value::Null) => false,
        (Value::Number(value), Value::Number(word)) => value.as_f64() == word.as_f64(),
        (Value::Number(value), Value::String(word)) => {
            let letter = value.as_u64().and_then(|code| u32::try_from(code).ok()).and_then(char::from_u32);
            letter.is_some_and(|letter| word.chars().eq([letter]))
        }
        (value, word) => value == word,
    }
}

#[cfg(test)]
mod tests;
