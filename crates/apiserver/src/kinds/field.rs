//! Violations in the words of the server's field errors.

use api::{Cause, Violation};
use serde_json::Value;

/// The value breaks a rule; it is shown as Go prints it.
pub(crate) fn invalid(field: &str, value: &Value, detail: impl AsRef<str>) -> Violation {
    Violation::at(field, Cause::Invalid, with_detail(&format!("Invalid value: {value}"), detail.as_ref()))
}

/// The text breaks a rule.
pub(crate) fn invalid_text(field: &str, text: &str, detail: impl AsRef<str>) -> Violation {
    let shown = quoted(text);
    Violation::at(field, Cause::Invalid, with_detail(&format!("Invalid value: {shown}"), detail.as_ref()))
}

/// The value breaks a rule, and is shown in this way.
pub(crate) fn invalid_shown(field: &str, shown: &str, detail: impl AsRef<str>) -> Violation {
    Violation::at(field, Cause::Invalid, with_detail(&format!("Invalid value: {shown}"), detail.as_ref()))
}

/// An object with its keys in the order of its struct.
pub(crate) fn ordered(object: &Value, keys: &[&str]) -> String {
    let present = keys.iter().filter_map(|key| Some((key, object.get(key)?)));
    let fields: Vec<String> = present.map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
    format!("{{{}}}", fields.join(","))
}

/// An object as its internal struct is shown: the names of Go, and every field. Null is null.
pub(crate) fn internal(object: &Value, names: &[(&str, &str)]) -> String {
    if object.is_null() {
        return "null".to_owned();
    }
    let value = |key: &str| object.get(key).map_or_else(|| "\"\"".to_owned(), Value::to_string);
    let fields: Vec<String> = names.iter().map(|(name, key)| format!("{}:{}", quoted(name), value(key))).collect();
    format!("{{{}}}", fields.join(","))
}

/// The field must be there.
pub(crate) fn required(field: &str, detail: impl AsRef<str>) -> Violation {
    Violation::at(field, Cause::Required, with_detail("Required value", detail.as_ref()))
}

/// The field must not be there, or not change.
pub(crate) fn forbidden(field: &str, detail: impl AsRef<str>) -> Violation {
    Violation::at(field, Cause::Forbidden, with_detail("Forbidden", detail.as_ref()))
}

/// The text is none of the known words.
pub(crate) fn not_supported(field: &str, text: &str, known: &[&str]) -> Violation {
    let known: Vec<String> = known.iter().map(|word| quoted(word)).collect();
    let message = format!("Unsupported value: {}: supported values: {}", quoted(text), known.join(", "));
    Violation::at(field, Cause::NotSupported, message)
}

/// The value is larger than `limit` bytes.
pub(crate) fn too_long(field: &str, limit: usize) -> Violation {
    let unit = if limit == 1 { "byte" } else { "bytes" };
    Violation::at(field, Cause::TooLong, format!("Too long: may not be more than {limit} {unit}"))
}

/// The list has more than `limit` entries.
pub(crate) fn too_many(field: &str, count: usize, limit: usize) -> Violation {
    let unit = if limit == 1 { "item" } else { "items" };
    Violation::at(field, Cause::TooMany, format!("Too many: {count}: must have at most {limit} {unit}"))
}

/// The text stands there twice.
pub(crate) fn duplicate_text(field: &str, text: &str) -> Violation {
    Violation::at(field, Cause::Duplicate, format!("Duplicate value: {}", quoted(text)))
}

/// The value must not change.
pub(crate) fn immutable(field: &str, new: Option<&Value>, old: Option<&Value>) -> Option<Violation> {
    let empty = |value: Option<&Value>| value.is_none_or(Value::is_null);
    let same = new == old || (empty(new) && empty(old));
    (!same).then(|| invalid(field, new.unwrap_or(&Value::Null), "field is immutable"))
}

/// The text must not change; absent is empty.
pub(crate) fn immutable_text(field: &str, new: &str, old: &str) -> Option<Violation> {
    (new != old).then(|| invalid_text(field, new, "field is immutable"))
}

/// A text as JSON and Go's `%q` both write it.
pub(crate) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

fn with_detail(head: &str, detail: &str) -> String {
    if detail.is_empty() { head.to_owned() } else { format!("{head}: {detail}") }
}

/// The text at a JSON pointer; absent is empty.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The entries of the list at a JSON pointer; absent is empty.
pub(crate) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The entries of the map at a JSON pointer, by key; absent is empty.
pub(crate) fn entries<'a>(object: &'a Value, pointer: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.pointer(pointer).and_then(Value::as_object).into_iter().flatten()
}
