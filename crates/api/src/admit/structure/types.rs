//! Whether a value is of the type, or of one of the two, that the schema asks for.

use serde_json::Value;

use super::super::field::{flag, word};
use super::super::go;
use super::format;
use super::found::{Fault, Found};
use super::number;

/// The types that the schema asks for.
fn wanted(schema: &Value) -> Vec<&str> {
    if flag(schema, "x-kubernetes-int-or-string") {
        return vec!["integer", "string"];
    }
    word(schema, "type").into_iter().collect()
}

/// The type that the schema asks for, if it is one.
pub(super) fn only(schema: &Value) -> Option<&str> {
    match wanted(schema).as_slice() {
        [one] => Some(one),
        _ => None,
    }
}

/// The format that the schema asks for, if the server knows it for such a type.
pub(super) fn format(schema: &Value) -> Option<&str> {
    let format = word(schema, "format")?;
    let known = match only(schema) {
        None | Some("string") => format::is_known(format),
        Some("integer") => matches!(format, "int32" | "int64"),
        Some("number") => matches!(format, "float" | "double"),
        Some(_) => false,
    };
    known.then_some(format)
}

/// Whether the schema says anything about types.
pub(super) fn applies(schema: &Value) -> bool {
    !wanted(schema).is_empty() || format(schema).is_some()
}

pub(super) fn check(schema: &Value, value: &Value, path: &str) -> Found {
    let fault = fault(schema, value, path);
    let clean = fault.is_none();
    let mut found = Found::from(fault);
    if clean {
        found.matched();
    }
    found
}

fn fault(schema: &Value, value: &Value, path: &str) -> Option<Fault> {
    let wanted = wanted(schema);
    if value.is_null() {
        let allowed = wanted.is_empty() || flag(schema, "nullable");
        return (!allowed).then(|| Fault::wrong_type(path, &wanted.join(","), "\"null\""));
    }
    let (of, size) = type_of(value);
    let whole = of == "number" && wanted.contains(&"integer") && value.as_f64().is_some_and(number::is_whole);
    let fits = wanted.contains(&of) || whole || (of == "integer" && wanted.contains(&"number"));
    let is_list_or_text = value.is_string() || value.is_array();
    let numeric = wanted.contains(&"number") || wanted.contains(&"integer");
    match format(schema) {
        Some(format) if !is_list_or_text && !fits && size != format => {
            Some(Fault::wrong_type(path, format, &go::quoted(size)))
        }
        Some(_) if !numeric && is_list_or_text => None,
        Some(_) | None => (!fits).then(|| Fault::wrong_type(path, &wanted.join(","), &go::quoted(of))),
    }
}

/// The type of a value, and the format that Go's own type for it has.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.as_i64().is_some() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}
