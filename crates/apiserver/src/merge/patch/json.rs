//! JSON patch, as the library that the real server uses does it: positions may be negative, replacing what is not there
//! adds it, and what is not there equals null.

use http::StatusCode;
use serde_json::Value;

use super::{does_not_apply, kind_of, read_json};
use crate::failure::Failure;

const MOST_OPERATIONS: usize = 10_000;

/// Why an operation does not apply; the real server does not tell, so neither do we.
struct Misfit;

/// `object` after the operations of `patch`.
pub fn json_patch(object: &Value, patch: &[u8]) -> Result<Value, Failure> {
    let operations = decode(patch)?;
    if operations.len() > MOST_OPERATIONS {
        let got = operations.len();
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MOST_OPERATIONS}, got {got}"
        );
        return Err(Failure::new(StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge", message));
    }
    let mut result = object.clone();
    for operation in &operations {
        perform(&mut result, operation).map_err(|Misfit| does_not_apply())?;
    }
    Ok(result)
}

fn decode(patch: &[u8]) -> Result<Vec<Value>, Failure> {
    let wrong = |why: String| Failure::bad_request(format!("error decoding patch: {why}"));
    let mismatch = |what: &Value, into: &str| wrong(format!("json: cannot unmarshal {} into Go {into}", kind_of(what)));
    let operations = match read_json(patch).map_err(wrong)? {
        Value::Array(operations) => operations,
        Value::Null => Vec::new(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            return Err(mismatch(&other, "value of type []handlers.jsonPatchOp"));
        }
    };
    for operation in &operations {
        let Value::Object(fields) = operation else {
            if operation.is_null() {
                continue;
            }
            return Err(mismatch(operation, "value of type handlers.jsonPatchOp"));
        };
        for name in ["op", "path", "from"] {
            if let Some(field) = fields.get(name).filter(|field| !field.is_string() && !field.is_null()) {
                return Err(mismatch(field, &format!("struct field jsonPatchOp.{name} of type string")));
            }
        }
    }
    Ok(operations)
}

fn perform(object: &mut Value, operation: &Value) -> Result<(), Misfit> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str).ok_or(Misfit);
    let value = || operation.get("value").cloned().unwrap_or_default();
    match text("op")? {
        "add" => add(object, text("path")?, value()),
        "remove" => take(object, text("path")?).map(drop),
        "replace" => replace(object, text("path")?, value()),
        "move" => {
            let moved = take(object, text("from")?)?;
            add(object, text("path")?, moved)
        }
        "copy" => {
            let copied = get(object, text("from")?)?.cloned().unwrap_or_default();
            add(object, text("path")?, copied)
        }
        "test" => {
            let path = text("path")?;
            let found = if path.is_empty() { Some(&*object) } else { get(object, path)? };
            (*found.unwrap_or(&Value::Null) == value()).then_some(()).ok_or(Misfit)
        }
        _ => Err(Misfit),
    }
}

/// The map or list that holds the last step of `path`, and that step.
fn parent<'a>(object: &'a mut Value, path: &str) -> Result<(&'a mut Value, String), Misfit> {
    let (way, last) = path.rsplit_once('/').ok_or(Misfit)?;
    let mut here = object;
    // What stands before the first slash is ignored.
    for step in way.split('/').skip(1) {
        let step = unescape(step);
        here = match here {
            Value::Object(fields) => fields.get_mut(&step).ok_or(Misfit)?,
            Value::Array(items) => {
                let at = position(&step, items.len())?;
                &mut items[at]
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return Err(Misfit),
        };
    }
    Ok((here, unescape(last)))
}

fn unescape(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// The position of an item that is there; negative ones count from the end.
fn position(step: &str, length: usize) -> Result<usize, Misfit> {
    let at: i64 = step.strip_prefix('+').unwrap_or(step).parse().map_err(|_| Misfit)?;
    let length = i64::try_from(length).map_err(|_| Misfit)?;
    let at = if at < 0 { at + length } else { at };
    if at >= length { Err(Misfit) } else { usize::try_from(at).map_err(|_| Misfit) }
}

fn get<'a>(object: &'a mut Value, path: &str) -> Result<Option<&'a Value>, Misfit> {
    match parent(object, path)? {
        (Value::Object(fields), name) => Ok(fields.get(&name)),
        (Value::Array(items), step) => {
            let at = position(&step, items.len())?;
            Ok(items.get(at))
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => Err(Misfit),
    }
}

fn add(object: &mut Value, path: &str, value: Value) -> Result<(), Misfit> {
    match parent(object, path)? {
        (Value::Object(fields), name) => {
            fields.insert(name, value);
        }
        (Value::Array(items), step) if step == "-" => items.push(value),
        (Value::Array(items), step) => {
            let at = position(&step, items.len() + 1)?;
            items.insert(at, value);
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => return Err(Misfit),
    }
    Ok(())
}

fn take(object: &mut Value, path: &str) -> Result<Value, Misfit> {
    match parent(object, path)? {
        (Value::Object(fields), name) => fields.remove(&name).ok_or(Misfit),
        (Value::Array(items), step) => {
            let at = position(&step, items.len())?;
            Ok(items.remove(at))
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => Err(Misfit),
    }
}

fn replace(object: &mut Value, path: &str, value: Value) -> Result<(), Misfit> {
    if path.is_empty() {
        if !value.is_object() && !value.is_array() {
            return Err(Misfit);
        }
        *object = value;
        return Ok(());
    }
    match parent(object, path)? {
        (Value::Object(fields), name) => {
            fields.insert(name, value);
        }
        (Value::Array(items), step) => {
            let at = position(&step, items.len())?;
            items[at] = value;
        }
        (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => return Err(Misfit),
    }
    Ok(())
}
