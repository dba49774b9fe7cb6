//! Whether a namespace that is exported alone is a fleet of its own.
//!
//! Clusters and templates may be shared between namespaces, and the ownership key is for all of them. Where the fleet goes,
//! machines of claims that stayed behind would carry valid marks that no claim knows: those are orphans, and removed. So
//! nothing may refer from one side of the border to the other. And since a hold is on all that the key is for, nothing that has
//! a machine may stay behind at all: nobody would look after it any more.

use std::collections::BTreeSet;

use kube::Client;
use serde_json::Value;

use super::TransferError;
use super::export::has_machine;
use super::object::Place;
use super::server::Server;
use crate::site::OWNERSHIP;

/// Kinds that refer across namespaces, or are referred to.
const KINDS: &[&str] = &["HypervisorCluster", "HypervisorMachineTemplate", "RunnerPool", "MachineClaim"];

/// Where an object says what it uses of another namespace, and what kind that is.
const REFERENCES: &[(&str, &str)] = &[
    ("/spec/hypervisorClusterRef", "HypervisorCluster"),
    ("/spec/templateRef", "HypervisorMachineTemplate"),
    ("/status/allocation/clusterRef", "HypervisorCluster"),
];

/// Crossings that are named in a message; the others are counted.
const SHOWN: usize = 3;

/// Refuses to export a namespace that uses what is in others, or the other way round; what to say if the caller may not look
/// everywhere. All namespaces together are always whole.
pub async fn alone(client: &Client, namespace: Option<&str>) -> Result<Option<String>, TransferError> {
    let Some(namespace) = namespace else { return Ok(None) };
    let (server, mut objects) = (Server(client.clone()), Vec::new());
    for kind in KINDS {
        match server.list(kind, None).await {
            Ok(found) => objects.extend(found.unwrap_or_default()),
            Err(error) if error.is_forbidden() => {
                return Ok(Some(format!(
                    "It was not checked whether other namespaces use what is in {namespace}, since you may not list {kind}s \
                     everywhere. If some do, do not import the file: their machines would be destroyed. Export with \
                     --all-namespaces then, as somebody who may."
                )));
            }
            Err(error) => return Err(error),
        }
    }
    let crossings = crossings(&objects, namespace);
    if !crossings.is_empty() {
        return Err(split(namespace, &crossings));
    }
    let others = others(&objects, namespace);
    if others.is_empty() {
        return Ok(None);
    }
    match server.homes(OWNERSHIP).await {
        Ok(homes) if homes.len() < 2 => Err(split(namespace, &others)),
        Err(error) if !error.is_forbidden() => Err(error),
        // They may be another operator's.
        Ok(_) | Err(_) => Ok(Some(format!(
            "Claims of other namespaces have machines, too, and it was not checked whose they are: if the operator of {namespace} \
             looks after them, do not import the file, and export with --all-namespaces."
        ))),
    }
}

/// Claims outside of a namespace that have a machine, in words.
fn others(objects: &[Value], namespace: &str) -> Vec<String> {
    let claims = objects.iter().filter(|object| object["kind"] == "MachineClaim" && has_machine(object));
    let places = claims.filter_map(Place::of).filter(|place| place.namespace != namespace);
    places.map(|place| format!("{place} has a machine under the same key")).collect()
}

/// Why a namespace is not exported alone.
fn split(namespace: &str, crossings: &[String]) -> TransferError {
    let more = crossings.len().saturating_sub(SHOWN);
    let more = if more == 0 { String::new() } else { format!(", and {more} more do the like") };
    let shown: Vec<&str> = crossings.iter().take(SHOWN).map(String::as_str).collect();
    TransferError::refused(format!(
        "namespace {namespace} is only a part of its fleet: {}{more}. Machines of the part that stays would be looked after by \
         nobody, or taken for forsaken where the other goes, and destroyed: export all of it with --all-namespaces",
        shown.join(", ")
    ))
}

/// Who refers across the border of a namespace to what is there, in words.
fn crossings(objects: &[Value], namespace: &str) -> Vec<String> {
    let there: BTreeSet<Place> = objects.iter().filter_map(Place::of).collect();
    let mut found = Vec::new();
    for object in objects {
        let Some(holder) = Place::of(object) else { continue };
        let inside = holder.namespace == namespace;
        let across = used(object, &holder).into_iter().filter(|target| (target.namespace == namespace) != inside);
        // What does not exist is not left behind by anybody.
        found.extend(across.filter(|target| there.contains(target)).map(|target| format!("{holder} uses {target}")));
    }
    found
}

/// What an object uses that may be in another namespace.
fn used(object: &Value, holder: &Place) -> BTreeSet<Place> {
    let target = |(pointer, kind): &(&str, &str)| {
        let reference = object.pointer(pointer)?;
        let mut target = holder.beside(kind, reference["name"].as_str()?);
        if let Some(namespace) = reference.get("namespace").and_then(Value::as_str) {
            namespace.clone_into(&mut target.namespace);
        }
        Some(target)
    };
    REFERENCES.iter().filter_map(target).collect()
}

#[cfg(test)]
mod tests;
