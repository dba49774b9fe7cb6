//! What is left of an object without some of its fields.

use serde_json::{Map, Value};

use super::step_to;
use crate::merge::fields::{Set, Step};
use crate::merge::shape::{Form, ListForm, MapForm, Shape};

/// `value` without the fields of `gone`; null where nothing is left.
pub(crate) fn remove(shape: Shape<'_>, value: &Value, gone: &Set) -> Value {
    match (shape.form(Some(value)), value) {
        (Form::Scalar(_), _) => value.clone(),
        (Form::Map(map), Value::Object(fields)) if !map.whole => remove_fields(map, fields, gone),
        (Form::List(list), Value::Array(items)) if !list.by.is_whole() => remove_items(&list, items, gone),
        (Form::Map(_) | Form::List(_), _) => Value::Null,
    }
}

fn remove_fields(map: MapForm<'_>, fields: &Map<String, Value>, gone: &Set) -> Value {
    let mut left = Map::new();
    for (name, field) in fields {
        let rest = match gone.node(&Step::Field(name.clone())) {
            None => field.clone(),
            Some(node) if node.member => continue,
            Some(node) => {
                let (shape, _) = map.field(name).unwrap_or((Shape::whole(), false));
                remove(shape, field, &node.below)
            }
        };
        left.insert(name.clone(), rest);
    }
    if left.is_empty() { Value::Null } else { Value::Object(left) }
}

fn remove_items(list: &ListForm<'_>, items: &[Value], gone: &Set) -> Value {
    let mut left = Vec::new();
    for item in items {
        let node = step_to(list, item).ok().and_then(|step| gone.node(&step));
        match node {
            None => left.push(item.clone()),
            Some(node) if node.member => {}
            Some(node) => left.push(remove(list.items, item, &node.below)),
        }
    }
    if left.is_empty() { Value::Null } else { Value::Array(left) }
}
