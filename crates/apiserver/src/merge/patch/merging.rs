//! JSON merge patch: what the patch has replaces what the object has, null removes.

use serde_json::{Map, Value};

use super::{kind_of, read_json};
use crate::failure::Failure;

const NO_PATCH: &str = "Invalid JSON Patch";

/// `object` with `patch` merged in.
pub fn merge_patch(object: &Value, patch: &[u8]) -> Result<Value, Failure> {
    let wrong = |why: String| Failure::bad_request(format!("error decoding patch: {why}"));
    let patch = match read_json(patch).map_err(wrong)? {
        Value::Object(patch) => patch,
        Value::Null => return Err(Failure::bad_request(NO_PATCH)),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            let what = kind_of(&other);
            return Err(wrong(format!(
                "json: cannot unmarshal {what} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    Ok(merged(object, patch))
}

/// `object` with `patch` merged in, where unknown fields are nobody's concern: the patch is not decoded before it is
/// merged, so that a list takes the place of the whole object.
pub fn merge_patch_unseen(object: &Value, patch: &[u8]) -> Result<Value, Failure> {
    let refused = || Failure::bad_request(NO_PATCH);
    match read_json(patch).map_err(|_| refused())? {
        Value::Object(patch) => Ok(merged(object, patch)),
        mut list @ Value::Array(_) => {
            prune(&mut list);
            Ok(list)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Err(refused()),
    }
}

fn merged(object: &Value, patch: Map<String, Value>) -> Value {
    let mut fields = object.as_object().cloned().unwrap_or_default();
    merge_fields(&mut fields, patch);
    Value::Object(fields)
}

fn merge_fields(fields: &mut Map<String, Value>, patch: Map<String, Value>) {
    for (name, new) in patch {
        if new.is_null() {
            fields.remove(&name);
            continue;
        }
        match (fields.get_mut(&name), new) {
            (Some(Value::Object(old)), Value::Object(new)) => merge_fields(old, new),
            // A map that gives way to something else keeps the nulls of what comes, as in the real server.
            (Some(old @ Value::Object(_)), new) => *old = new,
            (_, mut new) => {
                prune(&mut new);
                fields.insert(name, new);
            }
        }
    }
}

/// Removes the nulls from maps, at any depth; lists keep theirs.
fn prune(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(prune);
        }
        Value::Array(items) => items.iter_mut().for_each(prune),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
