//! Ownership after a write through `scale`, which is an object of its own and owns one field of its parent.
//!
//! The real server looks at the parent's ownership through the eyes of a Scale and carries the result back. On the way
//! updaters change their version, so that they come back as newcomers without a time, even beside themselves.

use serde_json::Value;

use super::fields::{Set, Step};
use super::managed::{Holding, Managed, Operation, Owner};
use super::track::Writer;

/// The version of Scale.
const SCALE: &str = "autoscaling/v1";

/// `new` with the ownership it has once `writer` has written the number of replicas at `path` through `scale`.
///
/// `writer` names the parent's version. As with any update, an object that nobody owns stays so.
pub fn track_scale(old: &Value, new: Value, path: &[&str], writer: &Writer<'_>) -> Value {
    let mut new = new;
    let steps: Vec<Step> = path.iter().map(|name| Step::Field((*name).to_owned())).collect();
    let mut field = Set::new();
    field.insert(steps.iter().cloned());

    let managed = Managed::of(old).unwrap_or_default();
    let as_scale = |owner: &Owner| Owner {
        api_version: match owner.operation {
            Operation::Apply => String::new(),
            Operation::Update => SCALE.to_owned(),
        },
        ..owner.clone()
    };
    let holders = managed.holdings().iter().filter(|holding| holding.fields.has(&steps));
    let mut owners: Vec<Owner> = holders.map(|holding| as_scale(&holding.owner)).collect();
    let (before, after) = (replicas(old, path), replicas(&new, path));
    if before != after && !owners.is_empty() {
        owners.clear();
        owners.extend(after.map(|_| as_scale(&writer.owner(Operation::Update))));
    }

    let mut result = Managed::default();
    for holding in managed.holdings() {
        let mut holding = holding.clone();
        if holding.fields.has(&steps) {
            match owners.iter().position(|owner| *owner == holding.owner) {
                Some(kept) => drop(owners.remove(kept)),
                None => holding.fields = holding.fields.difference(&field),
            }
        }
        if !holding.fields.is_empty() {
            result.put(holding);
        }
    }
    for owner in owners {
        let api_version = writer.api_version.to_owned();
        result.put(Holding { owner, api_version, time: None, fields: field.clone() });
    }
    result.write(&mut new);
    new
}

/// The number of replicas; none and zero are the same to a Scale.
fn replicas<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    let found = path.iter().try_fold(object, |object, name| object.get(name))?;
    (found.as_i64() != Some(0)).then_some(found)
}
