//! The picture from objects, and who gets to see it how often.

mod many;
mod picture;
mod sittings;
mod wire;

use api::MachineClaim;
use serde_json::{Value, json};

/// A claim of a pool, made for job `job-1`.
pub(super) fn claim(name: &str, phase: &str, more: Option<Value>) -> MachineClaim {
    let mut status = json!({ "phase": phase });
    status.as_object_mut().unwrap().extend(more.and_then(|more| more.as_object().cloned()).unwrap_or_default());
    serde_json::from_value(json!({
        "apiVersion": api::registry::API_VERSION, "kind": "MachineClaim",
        "metadata": {
            "name": name, "namespace": "ci", "creationTimestamp": "2026-01-01T00:00:02Z",
            "labels": { "hyperfleet.io/runner-job": "job-1", "hyperfleet.io/runner-pool": "small" },
        },
        "spec": {
            "templateRef": { "name": "ubuntu" }, "poolRef": { "name": "small" },
            "workload": { "runner": { "sourceRef": { "name": "github" }, "labels": ["linux"], "jobRef": { "name": "job-1" } } },
        },
        "status": status,
    }))
    .unwrap()
}
