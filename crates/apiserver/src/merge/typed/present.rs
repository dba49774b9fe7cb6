//! Which fields an object has.

use serde_json::Value;

use super::step_to;
use crate::merge::fields::{Set, Step};
use crate::merge::shape::{Form, ListForm, MapForm, Shape};

/// The fields that `object` has: leaves, items of lists, and fields that no schema names.
pub(crate) fn present(shape: Shape<'_>, object: &Value) -> Set {
    visit(shape, object).1
}

/// Whether the value itself is a field, and the fields below it.
fn visit(shape: Shape<'_>, value: &Value) -> (bool, Set) {
    match shape.form(Some(value)) {
        Form::Scalar(_) => (true, Set::new()),
        Form::Map(map) if map.whole => (true, Set::new()),
        Form::List(list) if list.by.is_whole() => (true, Set::new()),
        Form::Map(map) => (false, visit_map(map, value)),
        Form::List(list) => (false, visit_list(&list, value)),
    }
}

fn visit_map(map: MapForm<'_>, value: &Value) -> Set {
    let mut set = Set::new();
    for (name, field) in value.as_object().into_iter().flatten() {
        let (shape, named) = map.field(name).unwrap_or((Shape::whole(), false));
        let (member, below) = visit(shape, field);
        let hollow = field.is_null() || field.as_object().is_some_and(serde_json::Map::is_empty);
        set.attach(Step::Field(name.clone()), member || hollow || !named, below);
    }
    set
}

fn visit_list(list: &ListForm<'_>, value: &Value) -> Set {
    let items = value.as_array().into_iter().flatten();
    let mut steps: Vec<(Step, &Value)> =
        items.filter_map(|item| step_to(list, item).ok().map(|step| (step, item))).collect();
    steps.sort_by(|left, right| left.0.cmp(&right.0));
    let mut set = Set::new();
    for same in steps.chunk_by(|left, right| left.0 == right.0) {
        // Nobody can own a part of an item that is there twice.
        let below = if let [(_, only)] = same { visit(list.items, only).1 } else { Set::new() };
        set.attach(same[0].0.clone(), true, below);
    }
    set
}

/// The set with every field that the schema names and that has fields of the set below it.
pub(crate) fn with_named(set: &Set, shape: Option<Shape<'_>>) -> Set {
    let map = shape.and_then(Shape::map);
    let list = shape.and_then(Shape::list);
    let mut all = Set::new();
    for node in set.nodes() {
        let (named, below) = match &node.step {
            Step::Field(name) => {
                let named = map.is_some_and(|map| map.names(name)) && !node.below.is_empty();
                (named, map.and_then(|map| map.field(name)).map(|(shape, _)| shape))
            }
            Step::Key(_) => (false, list.map(|list| list.items)),
            Step::Value(_) | Step::Index(_) => (false, None),
        };
        all.attach(node.step.clone(), node.member || named, with_named(&node.below, below));
    }
    all
}
