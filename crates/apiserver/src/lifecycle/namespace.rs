//! Namespaces: an account for everybody at the start, and an end that takes everything along.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cluster::{Cluster, namespaces, stamp};
use crate::failure::Failure;
use crate::object;
use crate::store::{Key, Resource};
use crate::verb::delete::{DeleteOptions, end};

/// Gives a namespace its account, or empties one that goes.
pub(super) fn tend(cluster: &mut Cluster, name: &str, now: Timestamp) -> Result<(), Failure> {
    let key = Key::new("", name);
    let Some(namespace) = cluster.read(&namespaces(), &key) else { return Ok(()) };
    if !object::is_going(&namespace) {
        return default_account(cluster, name, now);
    }
    let mut left = 0;
    let resources: Vec<Resource> = cluster.store.resources().cloned().collect();
    for resource in resources {
        for (key, record) in cluster.store.list(&resource, Some(name)) {
            if object::is_going(&record.parse()) {
                left += 1;
                continue;
            }
            let options = DeleteOptions::propagating("Background");
            end(cluster, &resource, &key, &options, now)?;
            left += usize::from(cluster.store.get(&resource, &key).is_some());
        }
    }
    if left > 0 {
        return Ok(());
    }
    finalize(cluster, &key)
}

fn finalize(cluster: &mut Cluster, key: &Key) -> Result<(), Failure> {
    let Some(mut namespace) = cluster.read(&namespaces(), key) else { return Ok(()) };
    let held = namespace.pointer("/spec/finalizers").and_then(Value::as_array).cloned().unwrap_or_default();
    let others: Vec<Value> = held.iter().filter(|name| **name != json!("kubernetes")).cloned().collect();
    if !others.is_empty() || !object::finalizers(&namespace).is_empty() {
        if others.len() < held.len() {
            namespace["spec"] = json!({ "finalizers": others });
            cluster.put(&namespaces(), namespace)?;
        }
        return Ok(());
    }
    cluster.remove(&namespaces(), key).map(|_| ())
}

fn default_account(cluster: &mut Cluster, namespace: &str, now: Timestamp) -> Result<(), Failure> {
    let accounts = Resource::new("", "serviceaccounts");
    if cluster.store.get(&accounts, &Key::new(namespace, "default")).is_some() {
        return Ok(());
    }
    let account = json!({
        "kind": "ServiceAccount", "apiVersion": "v1",
        "metadata": {
            "name": "default", "namespace": namespace, "uid": cluster.entropy.uid(), "creationTimestamp": stamp(now),
        },
    });
    cluster.put(&accounts, account).map(|_| ())
}
