//! What makes the controller look at a pool, beside the pool itself.

use api::{HypervisorCluster, MachineClaim, RunnerPool};
use runtime::{Cache, Driver, Key};

use super::super::hypervisor_clusters::target;
use super::super::machine_templates::obstacle;
use super::super::runner_jobs::job_source;
use super::{RunnerPools, Sources, is_doubtful, pool_of, pool_of_job, source_of};
use crate::index::Index;
use crate::outpost::Outposts;

/// Looks again at a pool when one of its claims or jobs moves, when the platform tells another level, or when what it
/// refers to changes.
pub fn wire(
    driver: Driver<RunnerPools>,
    outposts: &Outposts,
    pools: &Cache<RunnerPool>,
    sources: &Sources,
) -> Driver<RunnerPools> {
    let by_source = Index::of(pools, |pool| Some(source_of(pool)));
    let by_template = Index::of(pools, |pool| Some(target(&pool.spec.template_ref, &pool.metadata)));
    let (all, concerned) = (by_source.clone(), by_source.clone());
    driver
        .heeds(outposts.pools())
        .watches_changes(&sources.claims, |before, after| {
            let moved = before.map(essence) != after.map(essence);
            after.or(before).filter(|_| moved).and_then(pool_of).into_iter().collect()
        })
        .watches_changes(&sources.jobs, move |before, after| {
            let mut pools: Vec<Key> = before.into_iter().chain(after).filter_map(pool_of_job).collect();
            // One that must not run keeps every pool from making machines that could get it.
            if let Some(job) = [before, after].into_iter().flatten().find(|job| is_doubtful(job)) {
                pools.extend(concerned.under(&job_source(job)));
                pools.sort_unstable();
            }
            pools.dedup();
            pools
        })
        .watches(&sources.sources, move |source| by_source.under(&Key::of(&source.metadata)))
        .watches(&sources.templates, move |template| by_template.under(&Key::of(&template.metadata)))
        .watches_changes(&sources.clusters, move |before, after| {
            let usable = |cluster: Option<&HypervisorCluster>| cluster.map(obstacle);
            if usable(before) == usable(after) { Vec::new() } else { all.all() }
        })
}

/// What of a claim its pool goes by.
fn essence(claim: &MachineClaim) -> impl PartialEq + use<> {
    let status = claim.status.clone().unwrap_or_default();
    (
        claim.metadata.deletion_timestamp.is_some(),
        status.phase,
        status.drain,
        status.teardown,
        status.outcome,
        status.ready_time,
        status.runner.is_some(),
        status.allocation.map(|allocation| allocation.template_generation),
    )
}
