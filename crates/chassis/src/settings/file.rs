//! The settings file: YAML, nested or with dotted keys, as a list of (key, text).

use serde_json::Value;

/// Reads the file. Only its shape is judged here: scalars and lists of scalars at the end of every path.
pub(super) fn flatten(text: &str) -> Result<Vec<(String, String)>, String> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let value: Value = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
    let mut entries = Vec::new();
    match &value {
        Value::Null => {}
        Value::Object(_) => walk("", &value, &mut entries)?,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err("expected keys and values at the top".into());
        }
    }
    Ok(entries)
}

/// A key without a value is not set.
fn walk(path: &str, value: &Value, entries: &mut Vec<(String, String)>) -> Result<(), String> {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, value) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(&path, value, entries)?;
            }
        }
        Value::Array(items) => {
            let words: Option<Vec<String>> = items.iter().map(scalar).collect();
            let words = words.ok_or_else(|| format!("{path}: a list may hold only plain values"))?;
            entries.push((path.into(), words.join(",")));
        }
        Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            entries.extend(scalar(value).map(|text| (path.into(), text)));
        }
    }
    Ok(())
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}
