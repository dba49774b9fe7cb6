//! What a cluster does by itself: garbage collection, the end of namespaces and definitions, roles made of other roles.
//!
//! On a real cluster these are controllers; here they are chores that a change leaves behind. [`settle`] does them until
//! none is left. When it is called is the server's choice: at once, or some time later, as a controller would.

mod definition;
mod family;
mod garbage;
mod namespace;
mod roles;

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::object;
use crate::store::{Key, Resource};

pub(crate) use family::Family;

/// Something that a change has called for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Chore {
    /// Look whether a definition can be served, or can go.
    Definition(String),
    /// Look whether a namespace has what it should, or can go.
    Namespace(String),
    /// Look whether an object's owners are still there.
    Dependent(Resource, Key),
    /// Look whether an object on its way out has settled with those it owns.
    Owner(Resource, Key),
    /// Put together the roles that are made of others.
    Roles,
}

/// How many chores one call does at most: each leads to few others, so that reaching it would be a loop.
const LIMIT: usize = 1_000_000;

/// Does chores until none is left but those that the storage did not take: they are done once it has taken something again.
pub(crate) fn settle(cluster: &mut Cluster, now: Timestamp) {
    if cluster.may_retry() {
        cluster.chores.append(&mut cluster.put_off.0);
    }
    let mut left = BTreeSet::new();
    for _ in 0..LIMIT {
        let Some(chore) = cluster.chores.pop_first() else { break };
        let done = match &chore {
            Chore::Definition(name) => definition::tend(cluster, name, now),
            Chore::Namespace(name) => namespace::tend(cluster, name, now),
            Chore::Dependent(resource, key) => garbage::tend_dependent(cluster, resource, key, now),
            Chore::Owner(resource, key) => garbage::tend_owner(cluster, resource, key, now),
            Chore::Roles => roles::tend(cluster),
        };
        if let Err(Failure { code, message, .. }) = done {
            tracing::warn!(?chore, message, "a chore could not be done");
            if code.is_server_error() {
                left.insert(chore);
            }
        }
    }
    let (put_off, then) = &mut cluster.put_off;
    put_off.extend(left);
    *then = cluster.store.revision();
}

/// Whether a definition's kinds are served.
pub(crate) fn is_established(crd: &Value) -> bool {
    let conditions = object::at(crd, "status.conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Established" && condition["status"] == "True")
}
