//! Definitions: served once their names are accepted, and gone once their objects are.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::garbage::release;
use crate::cluster::{Cluster, definitions};
use crate::failure::Failure;
use crate::object;
use crate::store::{Key, Resource};
use crate::verb::delete::{DeleteOptions, end};

/// Keeps a definition that still has objects.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Brings a definition's status up to date, or empties one that goes.
pub(super) fn tend(cluster: &mut Cluster, name: &str, now: Timestamp) -> Result<(), Failure> {
    let key = Key::new("", name);
    let Some(crd) = cluster.read(&definitions(), &key) else { return Ok(()) };
    if object::is_going(&crd) {
        return if object::finalizers(&crd).contains(&CLEANUP) { empty(cluster, &crd, &key, now) } else { Ok(()) };
    }
    let others = cluster.store.list(&definitions(), None);
    let others: Vec<Value> =
        others.iter().filter(|(other, _)| *other != key).map(|(_, record)| record.parse()).collect();
    let mut tended = crd.clone();
    tended["status"] = crate::kinds::crd::crd_status(&crd, &others, now);
    if !object::finalizers(&tended).contains(&CLEANUP) {
        let mut finalizers: Vec<String> = object::finalizers(&tended).into_iter().map(str::to_owned).collect();
        finalizers.push(CLEANUP.to_owned());
        object::set(&mut tended, "finalizers", json!(finalizers));
    }
    if tended == crd { Ok(()) } else { cluster.put(&definitions(), tended).map(|_| ()) }
}

fn empty(cluster: &mut Cluster, crd: &Value, key: &Key, now: Timestamp) -> Result<(), Failure> {
    let text = |path: &str| object::at(crd, path).and_then(Value::as_str).unwrap_or_default();
    let resource = Resource::new(text("spec.group"), text("spec.names.plural"));
    for (place, record) in cluster.store.list(&resource, None) {
        if !object::is_going(&record.parse()) {
            end(cluster, &resource, &place, &DeleteOptions::default(), now)?;
        }
    }
    if cluster.store.count(&resource) > 0 { Ok(()) } else { release(cluster, &definitions(), key, CLEANUP, now) }
}
