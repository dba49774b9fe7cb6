//! Good objects with something changed at random: what no table thinks of.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// One change to an object: a place, and what to put there; nothing means that the value is removed.
pub(crate) type Change = (Index, Option<Value>);

/// A choice of a good object and one to three changes to it.
pub(crate) fn mutations() -> impl Strategy<Value = (Index, Vec<Change>)> {
    let change = (any::<Index>(), proptest::option::weighted(0.7, strange_value()));
    (any::<Index>(), proptest::collection::vec(change, 1..4))
}

/// The chosen object with the changes made.
pub(crate) fn mutated(good: &[Value], (which, changes): (Index, Vec<Change>)) -> Value {
    let mut object = which.get(good).clone();
    for (place, replacement) in changes {
        change(&mut object, place, replacement);
    }
    object
}

/// Every good fleet object we know, defaulted, so that changes reach the fields that have defaults too.
pub(crate) fn good_objects() -> Vec<Value> {
    let examples = api::examples().into_iter().flat_map(|story| story.objects).map(|(_, object)| object);
    let ours = examples.filter(|object| object["apiVersion"] == api::registry::API_VERSION);
    let all = ours.chain(crate::rows::rows().into_iter().map(|row| row.good));
    all.map(|object| api::admit(&object, None).expect("the examples and the rows' good objects are good")).collect()
}

/// Values of every type, at and beyond the edges that schemas and parsers disagree on.
fn strange_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (0_i32..5000).prop_map(Value::from),
        (0_i32..5000).prop_map(|whole| json!(f64::from(whole))),
        (0_i32..5000).prop_map(|whole| json!(f64::from(whole) + 0.5)),
        "[ -~]{0,12}".prop_map(Value::from),
        "[^\\p{C}]{0,6}".prop_map(Value::from),
        "[0-9]{0,4}[hmsGTMi]{0,2}".prop_map(Value::from),
        "([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,7}s)?".prop_map(Value::from),
        "[1-9][0-9]{0,6}(Mi|Gi|Ti|M|G|T)".prop_map(Value::from),
        "[0-9]{4}-[0-1][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]([.][0-9]{1,9})?Z".prop_map(Value::from),
        "[0-9a-f:.]{2,12}(/[0-9]{1,3})?".prop_map(Value::from),
        "([0-9]{1,3}[.]){3}[0-9]{1,3}(/[0-9]{1,2})?".prop_map(Value::from),
        "https?://[a-z.:0-9-]{1,12}(/[a-z]{0,3})?".prop_map(Value::from),
        (0_usize..9000).prop_map(|length| json!("a".repeat(length))),
        Just(json!([])),
        Just(json!({})),
        proptest::collection::vec("[a-z]{1,2}", 0..4).prop_map(|texts| json!(texts)),
        proptest::collection::vec(Just(Value::Null), 1..2).prop_map(|nulls| json!(nulls)),
    ]
}

/// Replaces or removes one value somewhere in spec or status.
fn change(object: &mut Value, place: Index, replacement: Option<Value>) {
    let mut found = Vec::new();
    for part in ["spec", "status"] {
        if let Some(below) = object.get(part) {
            pointers(below, &format!("/{part}"), &mut found);
        }
    }
    if found.is_empty() {
        return;
    }
    let pointer = place.get(&found).clone();
    if let Some(value) = replacement {
        *object.pointer_mut(&pointer).expect("the pointer was found in the object") = value;
        return;
    }
    let (parent, key) = pointer.rsplit_once('/').expect("every pointer has a slash");
    match object.pointer_mut(parent).expect("the pointer was found in the object") {
        Value::Object(fields) => drop(fields.remove(&key.replace("~1", "/"))),
        Value::Array(items) => drop(items.remove(key.parse().expect("the place in a list is a number"))),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The pointers of a value and of everything inside it.
fn pointers(value: &Value, here: &str, found: &mut Vec<String>) {
    found.push(here.to_owned());
    match value {
        Value::Object(fields) => {
            for (key, below) in fields {
                // A pointer writes `/` in a key as `~1`; no key of ours has a tilde.
                pointers(below, &format!("{here}/{}", key.replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (index, below) in items.iter().enumerate() {
                pointers(below, &format!("{here}/{index}"), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
