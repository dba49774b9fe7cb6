//! What a fresh cluster has before anybody has asked for anything.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::access;
use crate::cluster::{Cluster, RBAC, namespaces, stamp};
use crate::failure::Failure;
use crate::object;
use crate::store::{Key, Resource};

/// The namespaces every cluster has.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Adds what is missing.
pub(super) fn furnish(cluster: &mut Cluster, now: Timestamp) -> Result<(), Failure> {
    for name in NAMESPACES {
        let namespace = json!({
            "kind": "Namespace", "apiVersion": "v1",
            "metadata": { "name": name, "labels": { "kubernetes.io/metadata.name": name } },
            "spec": { "finalizers": ["kubernetes"] }, "status": { "phase": "Active" },
        });
        add(cluster, &namespaces(), namespace, now)?;
    }
    for role in access::bootstrap() {
        let plural = match role.get("kind").and_then(Value::as_str) {
            Some("ClusterRole") => "clusterroles",
            Some("ClusterRoleBinding") => "clusterrolebindings",
            Some("Role") => "roles",
            Some(_) | None => "rolebindings",
        };
        add(cluster, &Resource::new(RBAC, plural), role, now)?;
    }
    Ok(())
}

fn add(cluster: &mut Cluster, resource: &Resource, mut object: Value, now: Timestamp) -> Result<(), Failure> {
    if cluster.store.get(resource, &Key::new(object::namespace(&object), object::name(&object))).is_some() {
        return Ok(());
    }
    let uid = cluster.entropy.uid();
    object::set(&mut object, "uid", json!(uid));
    object::set(&mut object, "creationTimestamp", stamp(now));
    cluster.put(resource, object).map(|_| ())
}
