//! JSON values as the real server sees them: equal, sorted and printed as Go does.

use std::cmp::Ordering;
use std::fmt::Write as _;

use serde_json::{Number, Value};

/// Whether two values are equal; `1` and `1.0` are.
pub(crate) fn equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right) == Ordering::Equal,
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, field)| right.get(name).is_some_and(|other| equal(field, other)))
        }
        _ => left == right,
    }
}

/// A total order: numbers, strings, booleans, lists, maps, null.
pub(crate) fn compare(left: &Value, right: &Value) -> Ordering {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right),
        (Value::String(left), Value::String(right)) => left.cmp(right),
        (Value::Bool(left), Value::Bool(right)) => left.cmp(right),
        (Value::Array(left), Value::Array(right)) => {
            let unequal = left.iter().zip(right).map(|(left, right)| compare(left, right)).find(|order| order.is_ne());
            unequal.unwrap_or_else(|| left.len().cmp(&right.len()))
        }
        (Value::Object(_), Value::Object(_)) => json(left).cmp(&json(right)),
        _ => rank(left).cmp(&rank(right)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (left.as_i64(), right.as_i64()) {
        (Some(left), Some(right)) => left.cmp(&right),
        _ => float(left).total_cmp(&float(right)),
    }
}

fn float(number: &Number) -> f64 {
    // Adding zero makes the negative zero positive, which sorts elsewhere otherwise.
    number.as_f64().unwrap_or_default() + 0.0
}

/// The value in a path that people read.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => plain(value),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(",")),
        Value::Object(_) => joined(value, "", |name, field| format!("{name}={}", shown(field))),
    }
}

/// The value as Go's `%v` prints it.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(flag) => flag.to_string(),
        Value::Number(number) => {
            number.as_i64().map_or_else(|| exponential(float(number), 6), |whole| whole.to_string())
        }
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(plain).collect::<Vec<_>>().join(" ")),
        Value::Object(_) => format!("map[{}]", joined(value, " ", |name, field| format!("{name}:{}", plain(field)))),
    }
}

/// The value as Go's `%#v` prints it.
pub(crate) fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(_) | Value::Number(_) => plain(value),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            format!("[]interface {{}}{{{}}}", items.iter().map(syntax).collect::<Vec<_>>().join(", "))
        }
        Value::Object(_) => {
            let fields = joined(value, ", ", |name, field| format!("{}:{}", quoted(name), syntax(field)));
            format!("map[string]interface {{}}{{{fields}}}")
        }
    }
}

/// The name of the Go type that holds the value.
pub(crate) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() || !number.is_i64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// The value as JSON with sorted keys, escaped as Go escapes.
pub(crate) fn json(value: &Value) -> String {
    match value {
        Value::Number(number) if number.is_f64() => exponential(float(number), 21),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(_) => escape_html(&value.to_string()),
        Value::Array(items) => format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(",")),
        Value::Object(_) => {
            let fields = joined(value, ",", |name, field| format!("{}:{}", json(&Value::from(name)), json(field)));
            format!("{{{fields}}}")
        }
    }
}

fn joined(map: &Value, separator: &str, show: impl Fn(&str, &Value) -> String) -> String {
    let mut fields: Vec<(&String, &Value)> = map.as_object().into_iter().flatten().collect();
    fields.sort_by_key(|(name, _)| *name);
    fields.into_iter().map(|(name, field)| show(name, field)).collect::<Vec<_>>().join(separator)
}

fn escape_html(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            }
            other => escaped.push(other),
        }
    }
    escaped
}

/// Go's shortest form: `1e+06` from the given exponent on, plain digits below.
fn exponential(number: f64, from: i32) -> String {
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // Go's JSON keeps plain digits for smaller fractions than `%v` does.
    let least = if from > 6 { -6 } else { -4 };
    if (least..from).contains(&exponent) {
        return format!("{number}");
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// Go's `%q`.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            control if control < ' ' || control == '\u{7f}' => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(control));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
