//! Cluster roles that are made of others.

use serde_json::{Value, json};

use crate::access;
use crate::cluster::{Cluster, RBAC};
use crate::failure::Failure;
use crate::store::{Key, Resource};

/// Gives every aggregated role the rules of those it picks.
pub(super) fn tend(cluster: &mut Cluster) -> Result<(), Failure> {
    let resource = Resource::new(RBAC, "clusterroles");
    let roles: Vec<Value> = cluster.store.list(&resource, None).iter().map(|(_, record)| record.parse()).collect();
    for (name, rules) in access::aggregate(&roles) {
        let Some(mut role) = cluster.read(&resource, &Key::new("", name)) else { continue };
        role["rules"] = json!(rules);
        cluster.put(&resource, role)?;
    }
    Ok(())
}
