//! Garbage collection: what is owned goes when its last owner is gone.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::merge::fields::Set;
use crate::merge::track::{Writer, track};
use crate::object;
use crate::store::{Key, Resource};
use crate::verb::delete::{DeleteOptions, FOREGROUND, ORPHAN, end};

/// Removes an object whose owners are all gone, and takes away references to those that are.
pub(super) fn tend_dependent(
    cluster: &mut Cluster,
    resource: &Resource,
    key: &Key,
    now: Timestamp,
) -> Result<(), Failure> {
    let Some(object) = cluster.read(resource, key) else { return Ok(()) };
    let owners = object::owners(&object);
    if owners.is_empty() || object::is_going(&object) {
        return Ok(());
    }
    if owners.iter().any(|owner| is_beyond_us(cluster, owner)) {
        return Ok(());
    }
    let (mut solid, mut waiting, mut absent) = (Vec::new(), Vec::new(), Vec::new());
    for owner in owners {
        match found(cluster, key, owner) {
            None => absent.push(owner.clone()),
            Some(owner_object) if waits_for_dependents(&owner_object) && blocks(owner) => waiting.push(owner.clone()),
            Some(_) => solid.push(owner.clone()),
        }
    }
    if solid.is_empty() {
        // Who waits for this object waits for those it owns, too.
        let owns = !cluster.family.dependents(object::uid(&object)).is_empty();
        let options = DeleteOptions::propagating(if owns && !waiting.is_empty() { "Foreground" } else { "Background" });
        return end(cluster, resource, key, &options, now).map(|_| ());
    }
    if absent.is_empty() && waiting.is_empty() {
        return Ok(());
    }
    let mut freed = object.clone();
    object::set(&mut freed, "ownerReferences", json!(solid));
    write(cluster, resource, &object, freed, now)
}

/// Lets an object go that has settled with those it owns, as it was asked to.
pub(super) fn tend_owner(cluster: &mut Cluster, resource: &Resource, key: &Key, now: Timestamp) -> Result<(), Failure> {
    let Some(object) = cluster.read(resource, key) else { return Ok(()) };
    if !object::is_going(&object) {
        return Ok(());
    }
    let uid = object::uid(&object).to_owned();
    let dependents = cluster.family.dependents(&uid);
    if object::finalizers(&object).contains(&ORPHAN) {
        for (dependent, place) in dependents {
            orphan(cluster, &dependent, &place, &uid, now)?;
        }
        return release(cluster, resource, key, ORPHAN, now);
    }
    if !object::finalizers(&object).contains(&FOREGROUND) {
        return Ok(());
    }
    let mut blocked = false;
    for (dependent, place) in dependents {
        tend_dependent(cluster, &dependent, &place, now)?;
        let left = cluster.read(&dependent, &place);
        blocked |= left
            .is_some_and(|left| object::owners(&left).iter().any(|owner| owner["uid"] == json!(uid) && blocks(owner)));
    }
    if blocked { Ok(()) } else { release(cluster, resource, key, FOREGROUND, now) }
}

/// The owner, if it is there: of the same uid, where the reference says.
fn found(cluster: &Cluster, dependent: &Key, owner: &Value) -> Option<Value> {
    let uid = owner.get("uid").and_then(Value::as_str)?;
    let (resource, key) = cluster.family.place(uid)?;
    let here = key.namespace.is_empty() || key.namespace == dependent.namespace;
    let named = owner.get("name").and_then(Value::as_str) == Some(key.name.as_str());
    if here && named { cluster.read(resource, key) } else { None }
}

/// Whether nobody here can tell if an owner exists: its kind is not served, and it was never seen to go. What a real
/// collector cannot look up it leaves alone, and everything that belongs to it.
fn is_beyond_us(cluster: &Cluster, owner: &Value) -> bool {
    let text = |key: &str| owner.get(key).and_then(Value::as_str).unwrap_or_default();
    let (group, version) = text("apiVersion").rsplit_once('/').unwrap_or(("", text("apiVersion")));
    let served = cluster.kinds.all().any(|served| {
        let kind = &served.kind;
        kind.group == group && kind.version == version && kind.kind == text("kind")
    });
    !served && !cluster.family.has_departed(text("uid"))
}

fn waits_for_dependents(owner: &Value) -> bool {
    object::is_going(owner) && object::finalizers(owner).contains(&FOREGROUND)
}

fn blocks(owner: &Value) -> bool {
    owner.get("blockOwnerDeletion").and_then(Value::as_bool).unwrap_or(false)
}

fn orphan(cluster: &mut Cluster, resource: &Resource, key: &Key, owner: &str, now: Timestamp) -> Result<(), Failure> {
    let Some(object) = cluster.read(resource, key) else { return Ok(()) };
    let left: Vec<Value> =
        object::owners(&object).iter().filter(|reference| reference["uid"] != *owner).cloned().collect();
    let mut freed = object.clone();
    object::set(&mut freed, "ownerReferences", json!(left));
    write(cluster, resource, &object, freed, now)
}

/// Takes a finalizer off; an object that waited for nothing else is gone.
pub(super) fn release(
    cluster: &mut Cluster,
    resource: &Resource,
    key: &Key,
    finalizer: &str,
    now: Timestamp,
) -> Result<(), Failure> {
    let Some(object) = cluster.read(resource, key) else { return Ok(()) };
    let left: Vec<&str> = object::finalizers(&object).into_iter().filter(|held| *held != finalizer).collect();
    if left.is_empty() {
        return cluster.remove(resource, key).map(|_| ());
    }
    let mut freed = object.clone();
    object::set(&mut freed, "finalizers", json!(left));
    write(cluster, resource, &object, freed, now)
}

/// Writes as the collector does on a real cluster: under a name of its own.
fn write(cluster: &mut Cluster, resource: &Resource, old: &Value, new: Value, now: Timestamp) -> Result<(), Failure> {
    let Some(stored) = cluster.stored(resource) else { return cluster.put(resource, new).map(|_| ()) };
    let writer = Writer {
        name: "kube-controller-manager",
        subresource: "",
        api_version: &stored.kind.api_version(),
        kind: &stored.kind.kind,
        kin: &[],
        reset: &Set::new(),
        blank: stored.blank.as_deref(),
        now,
    };
    let new = track(&stored.kind.schema, Some(old), new, &writer);
    cluster.put(resource, new).map(|_| ())
}
