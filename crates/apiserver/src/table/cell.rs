//! One cell of a custom resource: what stands at a path, as the type of its column wants it.

use jiff::Timestamp;
use serde_json::{Number, Value, json};

use super::duration::since;
use super::json_path::find;
use crate::kind::Column;

/// The cell; null where there is nothing that fits.
pub(super) fn of(column: &Column, object: &Value, now: Timestamp) -> Value {
    let found = find(&column.json_path, object).unwrap_or_default();
    let Some(value) = found.first() else { return Value::Null };
    match (column.of.as_str(), value) {
        ("string", value) => json!(printed(value)),
        ("integer", Value::Number(number)) => whole(number),
        ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => (*value).clone(),
        ("date", Value::String(text)) => json!(age(text, now)),
        _ => Value::Null,
    }
}

fn whole(number: &Number) -> Value {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => json!(whole),
        #[expect(clippy::cast_possible_truncation, reason = "the server cuts off what does not fit, too")]
        (None, Some(fraction)) => json!(fraction as i64),
        (None, None) => Value::Null,
    }
}

fn age(text: &str, now: Timestamp) -> String {
    if text.is_empty() {
        return "<unknown>".to_owned();
    }
    match text.parse::<Timestamp>() {
        Ok(_) => since(Some(&json!(text)), now),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// A value as Go prints it: texts bare, fractions in its own notation, the rest as JSON.
fn printed(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(fraction) => shortest(fraction),
            None => number.to_string(),
        },
        Value::Bool(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// Go's `%v` of a fraction: the fewest digits that tell it apart, with an exponent outside 1e-4 … 1e21, or where the
/// digits before the point alone would not.
fn shortest(fraction: f64) -> String {
    let scientific = format!("{fraction:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (-4..21).contains(&exponent) && (exponent < 6 || !fraction.to_string().contains('.')) {
        return fraction.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}
