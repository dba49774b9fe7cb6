//! What a client takes that does nothing but the writes of a burst: whoever has to write as much cannot be faster here.
//!
//! The yardstick is creation, and what an operator does to claims is mostly change, which costs the server more: it reads
//! and checks what was there too. How much of a burst's distance from the yardstick is that, and how much is ours, is seen
//! by comparing the two.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use api::{MachineClaim, MachineClaimStatus};
use futures::stream::{self, StreamExt, TryStreamExt};
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::json;
use testenv::Stopwatch;

use super::MACHINES;
use super::burst::{count, create};
use super::town::read;
use crate::world::{PARALLEL, World};

/// How long both writes that come before each clone take, for as many claims as a burst has, next to what the server takes
/// to create as many objects.
pub(super) async fn over_ceiling(creates: f64) -> Result<f64> {
    let world = World::new().await?;
    let claims: Api<MachineClaim> = Api::namespaced(world.plane.client(), &world.namespace);
    create(&claims).await?;
    let (names, status) = (names(&claims).await?, status()?);
    let (claims, status) = (&claims, &status);

    let watch = Stopwatch::start();
    let finalizer = |name: String| async move {
        let finalizers = json!({ "metadata": { "finalizers": [api::registry::finalizer::VM_CLEANUP] } });
        let kept = claims.patch(&name, &PatchParams::default(), &Patch::Merge(finalizers)).await?;
        anyhow::Ok((name, kept))
    };
    let kept: BTreeMap<String, MachineClaim> =
        stream::iter(names).map(finalizer).buffer_unordered(PARALLEL).try_collect().await?;
    let allocate = |(name, mut claim): (String, MachineClaim)| async move {
        claim.status = Some(status.clone());
        claim.metadata.managed_fields = None;
        claims.replace_status(&name, &PostParams::default(), &claim).await.map(|_| ()).context("write a status")
    };
    stream::iter(kept).map(allocate).buffer_unordered(PARALLEL).try_collect::<()>().await?;
    Ok(watch.elapsed().as_secs_f64() / (count(2 * MACHINES)? / creates))
}

async fn names(claims: &Api<MachineClaim>) -> Result<Vec<String>> {
    Ok(claims.list(&ListParams::default()).await?.iter().map(ResourceExt::name_any).collect())
}

/// What a claim says before its clone is asked for.
fn status() -> Result<MachineClaimStatus> {
    let (now, later) = ("2027-01-15T08:00:00Z", "2027-01-15T09:00:00Z");
    read(json!({
        "phase": "Provisioning",
        "step": "allocated",
        "observedGeneration": 1,
        "allocation": {
            "id": "5d1d9be8-aaaa-4000-8000-000000000001", "clusterRef": { "name": "pve" }, "vmId": 100_000, "node": "pve1",
            "templateGeneration": 1, "allocatedAt": now,
        },
        "bootstrap": {
            "id": "5d1d9be8-bbbb-4000-8000-000000000002", "tokenHash": "a".repeat(64), "seedHash": "b".repeat(64),
            "state": "Pending", "notAfter": later,
        },
        "conditions": [{
            "type": "Provisioning", "status": "True", "reason": "Cloning", "observedGeneration": 1,
            "lastTransitionTime": now, "message": "VM 100000 on node pve1 is being made from image 9000",
        }],
    }))
}
