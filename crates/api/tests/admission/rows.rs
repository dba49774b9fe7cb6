//! The table of bad objects: one row per rule, each a sentence, a good object, what is done to it, and the field that the
//! refusal must name. Two tests read it: one asks `admit`, one asks a real API server, and both must say the same.

mod claims;
mod clusters;
mod jobs;
mod pools;
mod sources;
mod templates;

use serde_json::{Value, json};

/// How an object reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It is new.
    Create,
    /// It replaces a stored one.
    Update,
    /// Its status replaces that of a stored one.
    Status,
}

/// One bad object.
pub(crate) struct Row {
    /// What is wrong, as a sentence.
    pub(crate) name: &'static str,
    /// How it arrives.
    pub(crate) way: Way,
    /// The good object.
    pub(crate) good: Value,
    /// The bad one.
    pub(crate) bad: Value,
    /// The field the refusal must name.
    pub(crate) field: &'static str,
}

impl Row {
    fn new(name: &'static str, way: Way, good: Value, change: fn(&mut Value), field: &'static str) -> Self {
        let mut bad = good.clone();
        change(&mut bad);
        Self { name, way, good, bad, field }
    }
}

/// Every row of every kind.
pub(crate) fn rows() -> Vec<Row> {
    [clusters::rows(), templates::rows(), sources::rows(), pools::rows(), jobs::rows(), claims::rows()]
        .into_iter()
        .flatten()
        .collect()
}

/// A fleet object of an example story, the only one of its kind there.
pub(crate) fn example(story: &str, kind: &str) -> Value {
    let story = api::examples().into_iter().find(|found| found.name == story).expect("the story exists");
    let (_, mut object) =
        story.objects.into_iter().find(|(_, object)| object["kind"] == kind).expect("the kind exists");
    object["metadata"].as_object_mut().expect("metadata is an object").remove("namespace");
    object
}

/// Sets the value at a JSON pointer; missing objects on the way are made.
fn put(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for key in pointer.split('/').skip(1) {
        place = match key.parse::<usize>() {
            Ok(index) if place.is_array() => &mut place[index],
            Ok(_) | Err(_) => &mut place[key],
        };
    }
    *place = value;
}

/// Removes the field at a JSON pointer.
fn drop_field(object: &mut Value, pointer: &str) {
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer has a slash");
    let parent = object.pointer_mut(parent).expect("the parent exists");
    parent.as_object_mut().expect("the parent is an object").remove(key).expect("the field exists");
}

/// A text of so many characters.
fn long(length: usize) -> Value {
    json!("a".repeat(length))
}

/// Where a value stands in a Secret.
fn entry() -> Value {
    json!({ "name": "credentials", "key": "value" })
}
