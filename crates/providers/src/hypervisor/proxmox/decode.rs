//! Reading what Perl makes of JSON: a number may be a string, a boolean may be 0, 1, "0", "1", true or missing.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The envelope of every answer.
#[derive(Deserialize)]
pub(super) struct Envelope<T> {
    #[serde(default = "none")]
    pub(super) data: Option<T>,
    /// The error's full text; only newer servers send it.
    #[serde(default)]
    pub(super) message: Option<String>,
    /// What is wrong with which parameter.
    #[serde(default)]
    pub(super) errors: Option<BTreeMap<String, Value>>,
    /// How many entries there are, where the answer holds only some.
    #[serde(default, deserialize_with = "number")]
    pub(super) total: Option<u64>,
}

const fn none<T>() -> Option<T> {
    None
}

/// A number, however it is written; what is none counts as missing.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(number_of(&Value::deserialize(deserializer)?))
}

/// A boolean, however it is written; missing is false.
pub(super) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.as_bool().unwrap_or_else(|| number_of(&value).is_some_and(|number| number != 0)))
}

/// A text, even where a number stands for it; an object or list counts as missing.
pub(super) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(text_of(&Value::deserialize(deserializer)?))
}

pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(u8::from(*flag).to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn number_of(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().or_else(|| number.as_f64().and_then(whole)),
        Value::String(text) => text.trim().parse().ok().or_else(|| text.trim().parse().ok().and_then(whole)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "checked to be in range; fractions of a byte do not matter"
)]
fn whole(number: f64) -> Option<u64> {
    (0.0..=9_007_199_254_740_992.0).contains(&number).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[derive(Deserialize)]
    struct Loose {
        #[serde(default, deserialize_with = "number")]
        number: Option<u64>,
        #[serde(default, deserialize_with = "flag")]
        flag: bool,
        #[serde(default, deserialize_with = "text")]
        text: Option<String>,
    }

    #[rstest]
    #[case(json!({"number": 7, "flag": 1, "text": "a"}), Some(7), true, Some("a"))]
    #[case(json!({"number": "7", "flag": "1", "text": 9000}), Some(7), true, Some("9000"))]
    #[case(json!({"number": 7.9, "flag": true, "text": 1.5}), Some(7), true, Some("1.5"))]
    #[case(json!({"number": "1.5", "flag": "0", "text": null}), Some(1), false, None)]
    #[case(json!({"number": null, "flag": 0, "text": {}}), None, false, None)]
    #[case(json!({"number": "x", "flag": null, "text": true}), None, false, Some("1"))]
    #[case(json!({}), None, false, None)]
    fn perl_is_read_whatever_it_writes(
        #[case] answer: Value,
        #[case] number: Option<u64>,
        #[case] flag: bool,
        #[case] text: Option<&str>,
    ) {
        let read: Loose = serde_json::from_value(answer).unwrap();
        assert_eq!((read.number, read.flag, read.text.as_deref()), (number, flag, text));
    }
}
