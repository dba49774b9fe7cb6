//! Objects seen through their schema: are they sound, which fields do they have, how do two differ, what is one merged
//! into the other, what is left without some fields.

mod check;
mod compare;
mod join;
mod present;
mod reconcile;
mod remove;

pub(crate) use check::{Duplicates, Problems, check};
pub(crate) use compare::compare;
pub(crate) use join::join;
pub(crate) use present::{present, with_named};
pub(crate) use reconcile::reconcile;
pub(crate) use remove::remove;

use serde_json::{Map, Value};

use super::fields::Step;
use super::shape::{By, ListForm};
use super::value;

/// The step from a list to one of its items.
pub(crate) fn step_to(list: &ListForm<'_>, item: &Value) -> Result<Step, String> {
    match list.by {
        By::Whole => Err("invalid indexing of non-associative list".to_owned()),
        By::Value => match item {
            Value::Object(_) => Err("associative list without keys has an element that's a map type".to_owned()),
            Value::Array(_) => Err("not supported: associative list with lists as elements".to_owned()),
            Value::Null => Err("associative list without keys has an element that's an explicit null".to_owned()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(Step::Value(item.clone())),
        },
        By::Keys(keys) => keyed(list, keys, item),
        By::Key(key) => keyed(list, std::slice::from_ref(key), item),
    }
}

fn keyed(list: &ListForm<'_>, keys: &[Value], item: &Value) -> Result<Step, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err("associative list with keys may not have non-map elements".to_owned());
        }
    };
    let mut found: Vec<(String, Value)> = Vec::with_capacity(keys.len());
    for key in keys.iter().filter_map(Value::as_str) {
        let default = || list.items.map().and_then(|map| map.default(key));
        if let Some(value) = fields.get(key).or_else(default) {
            found.push((key.to_owned(), value.clone()));
        }
    }
    if found.is_empty() {
        let names: Vec<String> = keys.iter().filter_map(Value::as_str).map(value::quoted).collect();
        let names = names.join(" ");
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{names}] (and doesn't have default \
             values for any key fields)"
        ));
    }
    found.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(Step::Key(found))
}

/// The fields of a map; none of anything else.
fn fields_of(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object)
}

/// The items of a list; none of anything else.
fn items_of(value: Option<&Value>) -> Option<&Vec<Value>> {
    value.and_then(Value::as_array)
}
