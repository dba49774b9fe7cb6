//! How one object differs from another.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{fields_of, items_of, step_to};
use crate::merge::fields::{Set, Step};
use crate::merge::shape::{Form, ListForm, MapForm, Shape};
use crate::merge::value::equal;

/// The fields in which an object differs from an earlier one.
///
/// Each is in at most one of the sets, apart from an item of a list that was there twice and is there once, or the other
/// way round: the pair goes and the item comes.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Those it does not have any more.
    pub(crate) removed: Set,
    /// Those it has with another value.
    pub(crate) modified: Set,
    /// Those it has in addition.
    pub(crate) added: Set,
}

/// What a walk finds about one value: how it is a difference itself, and the differences below.
#[derive(Default)]
struct Difference {
    below: Comparison,
    removed: bool,
    modified: bool,
    added: bool,
}

/// Compares two objects of the same shape.
pub(crate) fn compare(shape: Shape<'_>, old: &Value, new: &Value) -> Comparison {
    visit(shape, Some(old), Some(new)).below
}

impl Comparison {
    /// The comparison without the fields of `set` and all below them.
    pub(crate) fn without(mut self, set: &Set) -> Self {
        let Self { removed, modified, added } = &mut self;
        for changed in [removed, modified, added] {
            changed.subtract_recursively(set);
        }
        self
    }

    /// The fields that got a value, and those that went.
    pub(crate) fn set_and_removed(self) -> (Set, Set) {
        let Self { removed, modified, mut added } = self;
        added.add(modified);
        (added, removed)
    }

    fn attach(&mut self, step: Step, part: Difference) {
        let Difference { below, removed, modified, added } = part;
        if removed || !below.removed.is_empty() {
            self.removed.attach(step.clone(), removed, below.removed);
        }
        if modified || !below.modified.is_empty() {
            self.modified.attach(step.clone(), modified, below.modified);
        }
        self.added.attach(step, added, below.added);
    }
}

fn visit(shape: Shape<'_>, old: Option<&Value>, new: Option<&Value>) -> Difference {
    let (before, after) = (old.map(|_| shape.form(old)), new.map(|_| shape.form(new)));
    let mut found = match (before, after) {
        (None, None) => Difference::default(),
        (Some(before), None) => visit_form(before, old, new),
        (None, Some(after)) => visit_form(after, old, new),
        (Some(before), Some(after)) if before.is_like(&after) => visit_form(after, old, new),
        (Some(before), Some(after)) => reshaped(visit_form(before, old, new), visit_form(after, old, new)),
    };
    found.added = old.is_none();
    found.removed = old.is_some() && new.is_none();
    found
}

/// The difference between values of different forms: what the one had below goes, what the other has below comes.
fn reshaped(gone: Difference, come: Difference) -> Difference {
    let mut all = gone;
    all.modified |= come.modified;
    all.below.removed.add(come.below.removed);
    all.below.modified.add(come.below.modified);
    all.below.added.add(come.below.added);
    all
}

fn visit_form(form: Form<'_>, old: Option<&Value>, new: Option<&Value>) -> Difference {
    match form {
        Form::Scalar(_) => leaf(old, new),
        Form::Map(map) => {
            let hollow = |value| fields_of(value).is_none_or(serde_json::Map::is_empty);
            if map.whole || (hollow(old) && hollow(new)) { leaf(old, new) } else { visit_map(map, old, new) }
        }
        Form::List(list) => {
            let hollow = |value| items_of(value).is_none_or(Vec::is_empty);
            if list.by.is_whole() || (hollow(old) && hollow(new)) {
                leaf(old, new)
            } else {
                visit_list(&list, old, new)
            }
        }
    }
}

fn leaf(old: Option<&Value>, new: Option<&Value>) -> Difference {
    let modified = matches!((old, new), (Some(old), Some(new)) if !equal(old, new));
    Difference { modified, ..Difference::default() }
}

fn visit_map(map: MapForm<'_>, old: Option<&Value>, new: Option<&Value>) -> Difference {
    let (old, new) = (fields_of(old), fields_of(new));
    let mut found = Comparison::default();
    let mut field = |name: &String, old: Option<&Value>, new: Option<&Value>| {
        let (shape, _) = map.field(name).unwrap_or((Shape::whole(), false));
        let part = visit(shape, old, new);
        if !part.is_empty() {
            found.attach(Step::Field(name.clone()), part);
        }
    };
    for (name, value) in old.into_iter().flatten() {
        field(name, Some(value), new.and_then(|new| new.get(name)));
    }
    for (name, value) in new.into_iter().flatten() {
        if old.is_none_or(|old| !old.contains_key(name)) {
            field(name, None, Some(value));
        }
    }
    Difference { below: found, ..Difference::default() }
}

fn visit_list(list: &ListForm<'_>, old: Option<&Value>, new: Option<&Value>) -> Difference {
    let mut all: BTreeMap<Step, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    for item in items_of(old).into_iter().flatten() {
        if let Ok(step) = step_to(list, item) {
            all.entry(step).or_default().0.push(item);
        }
    }
    for item in items_of(new).into_iter().flatten() {
        if let Ok(step) = step_to(list, item) {
            all.entry(step).or_default().1.push(item);
        }
    }
    let mut found = Comparison::default();
    for (step, (old, new)) in all {
        let part = visit_item(list, &old, &new);
        if !part.is_empty() {
            found.attach(step, part);
        }
    }
    Difference { below: found, ..Difference::default() }
}

/// Items that are there twice are one field together; a single item is a field with parts.
fn visit_item(list: &ListForm<'_>, old: &[&Value], new: &[&Value]) -> Difference {
    match (old, new) {
        ([] | [_], [] | [_]) => visit(list.items, old.first().copied(), new.first().copied()),
        ([_, _, ..], [_, _, ..]) => {
            let same = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| equal(old, new));
            Difference { modified: !same, ..Difference::default() }
        }
        ([_, _, ..], _) => {
            let mut part = new.first().map(|new| visit(list.items, None, Some(new))).unwrap_or_default();
            part.removed = true;
            part
        }
        (_, [_, _, ..]) => {
            let mut part = old.first().map(|old| visit(list.items, Some(old), None)).unwrap_or_default();
            part.added = true;
            part
        }
    }
}

impl Difference {
    fn is_empty(&self) -> bool {
        let Comparison { removed, modified, added } = &self.below;
        let itself = self.removed || self.modified || self.added;
        !itself && removed.is_empty() && modified.is_empty() && added.is_empty()
    }
}
