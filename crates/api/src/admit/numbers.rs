//! `2.0` where an integer is asked for: the schema lets it pass, rules stumble over it, and it is stored as `2`.

use serde_json::Value;

use super::field::schema_of;

/// The object with every whole float of an integer field written as the integer it stands for.
pub(super) fn whole(schema: &Value, mut object: Value) -> Value {
    rewrite(schema, &mut object);
    object
}

fn rewrite(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let Some(schema) = schema_of(schema, key) {
                    rewrite(schema, value);
                }
            }
        }
        Value::Array(items) => {
            for item in items {
                if let Some(schema) = schema.get("items") {
                    rewrite(schema, item);
                }
            }
        }
        Value::Number(_) => {
            if let Some(exact) = whole_float(schema, value) {
                *value = Value::from(exact);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// The integer that a float in an integer field stands for, within the range in which floats name every integer.
fn whole_float(schema: &Value, value: &Value) -> Option<i64> {
    const LARGEST: f64 = 9_007_199_254_740_992.0;
    let float = value.as_f64().filter(|_| value.is_f64() && schema.get("type").is_some_and(|of| of == "integer"))?;
    #[expect(clippy::cast_possible_truncation, reason = "the value is whole and within 2^53")]
    (float.fract() == 0.0 && float.abs() <= LARGEST).then_some(float as i64)
}
