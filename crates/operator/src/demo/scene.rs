//! One look at everything: what the API says, what the platform says, what the hypervisor has.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim, RunnerJob, RunnerPool, RunnerSource};
use fleet::trail::claim_of_job;
use jiff::Timestamp;
use serde_json::Value;
use sim::github::JobView;

use super::world::World;

/// What there is at one moment.
pub(super) struct Scene {
    pub(super) at: Timestamp,
    pub(super) clusters: Vec<Arc<HypervisorCluster>>,
    pub(super) templates: Vec<Arc<HypervisorMachineTemplate>>,
    pub(super) sources: Vec<Arc<RunnerSource>>,
    pub(super) pools: Vec<Arc<RunnerPool>>,
    pub(super) jobs: Vec<Arc<RunnerJob>>,
    pub(super) claims: Vec<MachineClaim>,
    /// The last attempt of each run, as the platform has it.
    pub(super) told: Vec<JobView>,
    /// Runners at the platform, and those of them that have a job.
    pub(super) runners: (usize, usize),
    /// VMs on each node, images apart.
    pub(super) machines: BTreeMap<String, usize>,
}

impl Scene {
    /// Looks.
    pub(super) fn look(world: &World) -> Self {
        let known = &world.known;
        let runners = world.github.runners();
        Self {
            at: world.clock.now(),
            clusters: known.clusters.all(),
            templates: known.templates.all(),
            sources: known.sources.all(),
            pools: known.pools.all(),
            jobs: known.jobs.all(),
            claims: known.claims.all().iter().map(|claim| (**claim).clone()).collect(),
            told: last_attempts(world.github.jobs()),
            runners: (runners.len(), runners.iter().filter(|runner| runner.busy).count()),
            machines: by_node(&world.pve.state()),
        }
    }

    /// What we know of a job of the platform's.
    pub(super) fn known(&self, told: &JobView) -> Option<&RunnerJob> {
        // A queue session has a key of its own for it, and tells no page.
        let (page, request) = (format!("/job/{}", told.id), format!("/{}/", told.id));
        let is = |job: &&Arc<RunnerJob>| {
            let of_page = job.spec.url.as_ref().is_some_and(|url| url.ends_with(&page));
            of_page || (job.spec.key.contains("/request/") && job.spec.key.contains(&request))
        };
        self.jobs.iter().find(is).map(|job| &**job)
    }

    /// The claim whose machine runs a job, or is made for it.
    pub(super) fn claim(&self, told: &JobView, known: Option<&RunnerJob>) -> Option<&MachineClaim> {
        match &told.runner {
            None => known.and_then(|job| claim_of_job(job, &self.claims)),
            Some(runner) => self.claims.iter().find(|claim| {
                let own = claim.status.as_ref().and_then(|status| status.runner.as_ref());
                own.is_some_and(|own| own.name == *runner)
            }),
        }
    }
}

/// Of each run the last attempt, in the order in which they were queued.
pub(super) fn last_attempts(jobs: Vec<JobView>) -> Vec<JobView> {
    let mut last: BTreeMap<u64, JobView> = BTreeMap::new();
    for job in jobs {
        let newer = last.get(&job.run).is_none_or(|known| known.attempt <= job.attempt);
        if newer {
            last.insert(job.run, job);
        }
    }
    last.into_values().collect()
}

fn by_node(state: &Value) -> BTreeMap<String, usize> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let nodes = state["nodes"].as_array().into_iter().flatten();
    let mut sums: BTreeMap<String, usize> = nodes.map(|node| (text(&node["node"]), 0)).collect();
    for vm in state["vms"].as_array().into_iter().flatten().filter(|vm| vm["template"] != true) {
        *sums.entry(text(&vm["node"])).or_default() += 1;
    }
    sums
}
