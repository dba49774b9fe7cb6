//! The true state: what a destination holds, however stale anybody's view of it is.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::Commit;
use crate::world::deed::Object;

/// Every object there is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State(BTreeMap<Object, Arc<Value>>);

impl State {
    /// The object, if it exists.
    pub fn get(&self, object: &Object) -> Option<&Value> {
        self.0.get(object).map(|value| &**value)
    }

    /// Every object of a resource (`plural.group`).
    pub fn of<'a>(&'a self, resource: &'a str) -> impl Iterator<Item = (&'a Object, &'a Value)> {
        self.all().filter(move |(object, _)| object.resource == resource)
    }

    /// Everything.
    pub fn all(&self) -> impl Iterator<Item = (&Object, &Value)> {
        self.0.iter().map(|(object, value)| (object, &**value))
    }

    pub(crate) fn apply(&mut self, commit: &Commit) {
        match &commit.after {
            Some(after) => drop(self.0.insert(commit.object.clone(), Arc::clone(after))),
            None => drop(self.0.remove(&commit.object)),
        }
    }
}

/// What of an object depends on when and how often it was written, but not on what was asked for.
const INCIDENTAL: &[&str] = &[
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "managedFields",
    "selfLink",
    "observedGeneration",
    "lastTransitionTime",
];

/// An object without what depends on when and how often it was written.
pub fn essence(object: &Value) -> Value {
    match object {
        Value::Object(fields) => {
            let kept = fields.iter().filter(|(name, _)| !INCIDENTAL.contains(&name.as_str()));
            Value::Object(kept.map(|(name, value)| (name.clone(), essence(value))).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(essence).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => object.clone(),
    }
}
