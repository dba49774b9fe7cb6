//! `2.0` where an integer is asked for: the schema lets it pass, rules stumble over it, and it is stored as `2`.

use serde_json::Value;

use super::field::{FieldPath, schema_of};

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

/// A rule that cannot be evaluated because it reads a float where the schema promises it an integer.
pub(super) struct Misread {
    /// Where the rule sits.
    pub(super) seat: FieldPath,
    /// The rule's text.
    pub(super) rule: String,
}

/// Every rule that reads a whole float; rules about change count only if there was something before.
pub(super) fn misread(schema: &Value, object: &Value, is_update: bool) -> Vec<Misread> {
    let mut found = Vec::new();
    walk(schema, object, &FieldPath::default(), is_update, &mut found);
    found
}

fn walk(schema: &Value, value: &Value, path: &FieldPath, is_update: bool, found: &mut Vec<Misread>) {
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten();
    for rule in rules.filter_map(|rule| rule.get("rule").and_then(Value::as_str)) {
        let judged = is_update || !rule.contains("oldSelf");
        if judged && reads_float(schema, value, "self", rule) {
            found.push(Misread { seat: path.clone(), rule: rule.to_owned() });
        }
    }
    for (key, below) in value.as_object().into_iter().flatten() {
        if let Some(schema) = schema_of(schema, key) {
            walk(schema, below, &path.key(key), is_update, found);
        }
    }
    for (index, below) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(schema) = schema.get("items") {
            walk(schema, below, &path.index(index), is_update, found);
        }
    }
}

/// Whether the rule names a field at or below the value, as `self.a.b`, that holds a whole float.
fn reads_float(schema: &Value, value: &Value, name: &str, rule: &str) -> bool {
    let fields = value.as_object().into_iter().flatten();
    let below = fields.filter_map(|(key, below)| Some((format!("{name}.{key}"), schema_of(schema, key)?, below)));
    let mut below = below.filter(|(name, ..)| names(rule, name));
    below.any(|(name, schema, value)| whole_float(schema, value).is_some() || reads_float(schema, value, &name, rule))
}

fn names(rule: &str, name: &str) -> bool {
    rule.match_indices(name).any(|(start, _)| {
        let next = rule[start + name.len()..].chars().next();
        next.is_none_or(|next| !next.is_alphanumeric() && next != '_')
    })
}
