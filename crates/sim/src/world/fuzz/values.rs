//! Values that a schema allows, allows just so, and refuses.

use serde_json::{Map, Value, json};

fn number(schema: &Value, name: &str) -> Option<i64> {
    // Bounds of derived definitions are written as 100.0.
    schema[name].as_i64().or_else(|| format!("{:.0}", schema[name].as_f64()?).parse().ok())
}

fn size(schema: &Value, name: &str) -> Option<usize> {
    schema[name].as_u64().and_then(|size| usize::try_from(size).ok())
}

/// Texts and lists are not made longer than this to reach a bound.
const LONGEST: usize = 20_000;

/// Up to two different values that the field may have.
pub(super) fn ordinary(schema: &Value) -> [Option<Value>; 2] {
    if let Some(listed) = schema["enum"].as_array() {
        return [listed.first().cloned(), listed.get(1).cloned()];
    }
    match schema["type"].as_str() {
        Some("string") => [text(schema, 'a'), text(schema, 'b')],
        Some("integer" | "number") => {
            let low = number(schema, "minimum").unwrap_or(0);
            let high = number(schema, "maximum").unwrap_or(low + 10);
            [Some(json!((low + 1).min(high))), Some(json!((low + 2).min(high)))]
        }
        Some("boolean") => [Some(json!(true)), Some(json!(false))],
        Some("array") => {
            let items = ordinary(&schema["items"]);
            items.map(|item| item.map(|item| json!(vec![item; size(schema, "minItems").unwrap_or(1).max(1)])))
        }
        Some("object") if schema["additionalProperties"].is_object() => {
            let [one, other] = ordinary(&schema["additionalProperties"]);
            [one.map(|value| json!({ "a": value })), other.map(|value| json!({ "b": value }))]
        }
        Some("object") => [complete(schema, 0), complete(schema, 1)],
        _ => [None, None],
    }
}

/// Texts for fields with a pattern, two of each kind.
const TRIES: &[&str] = &[
    "a",
    "b",
    "a1",
    "b2",
    "10s",
    "1m",
    "1",
    "2",
    "10Gi",
    "20Gi",
    "https://a.example",
    "https://b.example",
    "A",
    "B",
    "a/one",
    "b/two",
    "2026-01-01T00:00:00Z",
    "2027-01-01T00:00:00Z",
    "0000000a-0000-4000-8000-000000000000",
    "0000000b-0000-4000-8000-000000000000",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb",
    "AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA:AA",
    "BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB:BB",
];

/// The same for addresses, without and with the length of their network.
const ADDRESSES: &[&str] = &["10.0.0.1", "10.0.0.2", "10.0.0.1/24", "10.0.0.2/24"];

/// The least there may be where something is not there: an object with all it must have, or an empty list.
pub(super) fn least(schema: &Value) -> Value {
    if schema["type"] == "array" {
        return json!([]);
    }
    complete(schema, 0).unwrap_or_else(|| json!({}))
}

/// A text that fits; nothing if it must have a form that cannot be guessed.
fn text(schema: &Value, letter: char) -> Option<Value> {
    match schema["format"].as_str() {
        Some("date-time") => {
            return Some(json!(if letter == 'a' { "2026-01-01T00:00:00Z" } else { "2027-01-01T00:00:00Z" }));
        }
        Some("duration") => return Some(json!(if letter == 'a' { "10s" } else { "1m" })),
        _ => {}
    }
    if let Some(pattern) = schema["pattern"].as_str() {
        let pattern = regex::Regex::new(pattern).ok()?;
        // Where a word does not fit, an address is meant by what fits.
        let first: &[&str] = if pattern.is_match("z") { &[] } else { ADDRESSES };
        let mut fitting = first.iter().chain(TRIES).filter(|text| pattern.is_match(text));
        return if letter == 'a' { fitting.next() } else { fitting.nth(1) }.map(|text| json!(text));
    }
    let length = size(schema, "minLength").unwrap_or(1).max(3).min(size(schema, "maxLength").unwrap_or(3));
    Some(json!(letter.to_string().repeat(length)))
}

/// An object with everything that it must have.
fn complete(schema: &Value, which: usize) -> Option<Value> {
    let mut object = Map::new();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        let [one, other] = ordinary(&schema["properties"][name]);
        let value = if which == 0 { one } else { other.or(one) };
        object.insert(name.to_owned(), value?);
    }
    Some(Value::Object(object))
}

/// Values at the bounds of the field.
pub(super) fn boundary(schema: &Value) -> Vec<Value> {
    let mut values = Vec::new();
    match schema["type"].as_str() {
        Some("integer" | "number") => {
            values.extend(
                ["minimum", "maximum"].iter().filter_map(|bound| number(schema, bound)).map(|bound| json!(bound)),
            );
        }
        Some("string") if schema["enum"].is_null() && schema["pattern"].is_null() && schema["format"].is_null() => {
            let lengths = ["minLength", "maxLength"].iter().filter_map(|bound| size(schema, bound));
            values.extend(lengths.filter(|length| *length <= LONGEST).map(|length| json!("x".repeat(length))));
        }
        Some("array") => {
            let lengths = ["minItems", "maxItems"].iter().filter_map(|bound| size(schema, bound));
            let [item, _] = ordinary(&schema["items"]);
            values.extend(
                item.into_iter()
                    .flat_map(|item| lengths.clone().map(move |length| json!(vec![item.clone(); length.min(64)]))),
            );
        }
        _ => values.extend(schema["enum"].as_array().and_then(|listed| listed.last()).cloned()),
    }
    values
}

/// Values that the schema refuses.
pub(super) fn invalid(schema: &Value) -> Vec<Value> {
    let mut values = Vec::new();
    match schema["type"].as_str() {
        Some("integer" | "number") => {
            values.push(json!("a word"));
            values.extend(number(schema, "minimum").map(|bound| json!(bound - 1)));
            values.extend(number(schema, "maximum").map(|bound| json!(bound + 1)));
        }
        Some("string") => {
            values.push(json!(17));
            let longer = size(schema, "maxLength").filter(|longest| *longest < LONGEST);
            values.extend(longer.map(|longest| json!("y".repeat(longest + 1))));
            values.extend(schema["enum"].as_array().map(|_| json!("no such word")));
        }
        Some("boolean") => values.push(json!("yes")),
        Some("array" | "object") => values.push(json!("neither a list nor an object")),
        _ => {}
    }
    values
}
