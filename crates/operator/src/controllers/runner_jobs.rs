//! Looks after `RunnerJobs`: each gets a pool, says the one thing it waits for, and goes an hour after its end.
//!
//! What is decided stands in [`fleet::job`]; which pools fit, the platform's own rules say.

mod wiring;

use std::sync::Arc;
use std::time::Duration;

use api::registry::label::RUNNER_JOB;
use api::{
    Condition, HypervisorCluster, JobState, MachineClaim, Reason, RunnerJob, RunnerJobStatus, RunnerPool, RunnerSource,
};
use chassis::Clock;
use fleet::job::{self, Asked, CONDITIONS, Candidate, Observed, Step};
use jiff::Timestamp;
use providers::platform::{Error, JobKey};
use reconcile::{Class, Fault, Plan, Violation};
use runtime::host::Host;
use runtime::rbac::{Rule, Scope};
use runtime::{Cache, Controller, Key, Severity, Writer};

pub use self::wiring::wire;
use super::hypervisor_clusters::target;
use super::runner_pools::source_of;
use crate::Duty;
use crate::departed::Departed;
use crate::index::Index;
use crate::outpost::{Outpost, Outposts, runner_of};

/// Its entry in the roster.
pub const DUTY: Duty = Duty {
    name: RunnerJobs::NAME,
    summary: "gives each job its pool, says what it waits for, and forgets it an hour after its end",
    rules: &[
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerjobs"],
            verbs: &["get", "list", "watch", "delete"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerjobs/status"],
            verbs: &["update"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerpools", "runnersources", "machineclaims", "hypervisorclusters"],
            verbs: &["list", "watch"],
            scope: Scope::Watched,
        },
    ],
};

/// How long a platform that did not say whose code a job is is left alone.
const PAUSE: Duration = Duration::from_secs(15);

/// What it reads beside its jobs.
#[derive(Clone)]
pub struct Sources {
    /// The pools that may serve them.
    pub pools: Cache<RunnerPool>,
    /// Where they come from.
    pub sources: Cache<RunnerSource>,
    /// The claims that were made for them, or have them.
    pub claims: Cache<MachineClaim>,
    /// The clusters that claims have their machines on.
    pub clusters: Cache<HypervisorCluster>,
}

/// Starts it.
pub fn spawn(host: &Host, outposts: &Outposts, jobs: &Cache<RunnerJob>, sources: &Sources) {
    let controller = RunnerJobs::new(outposts, sources, host.parts.clock);
    wire(host.driver(controller, jobs), outposts, jobs, sources).spawn();
}

/// The controller.
pub struct RunnerJobs {
    outposts: Outposts,
    sources: Sources,
    /// Pools by their source, claims by the job they were made for, and claims by the name of their runner.
    pools_of: Index,
    claims_for: Index,
    claims_as: Index,
    /// Claims that went: a short job's may, before anybody has read whose runner it named.
    departed: Departed,
}

impl RunnerJobs {
    /// A controller of jobs that the platforms of `outposts` have.
    pub fn new(outposts: &Outposts, sources: &Sources, clock: Clock) -> Self {
        let pools_of = Index::of(&sources.pools, |pool| Some(source_of(pool)));
        let claims_for = Index::of(&sources.claims, made_for);
        let claims_as = Index::of(&sources.claims, runner_of);
        let departed = Departed::of(&sources.claims, clock);
        Self { outposts: outposts.clone(), sources: sources.clone(), pools_of, claims_for, claims_as, departed }
    }

    /// The pools of a job's source, with what the job asks for and each of them has not. Only the platform can tell that:
    /// without it there is the pool that the job has.
    fn candidates(&self, job: &RunnerJob, outpost: Option<&Outpost>) -> Vec<Candidate> {
        let wanted: Vec<String> = job.spec.labels.iter().map(|label| label.as_str().to_owned()).collect();
        let pools = self.pools_of.under(&job_source(job));
        let pools = pools.iter().filter_map(|key| self.sources.pools.get(key));
        // What the platform has put into the queue of a pool is for nobody else.
        let queue = job::queue_of(job);
        let pools = pools.filter(|pool| queue.is_none_or(|queue| pool.metadata.name.as_deref() == Some(queue)));
        let candidate = |pool: Arc<RunnerPool>| {
            if let Some(outpost) = outpost {
                let offered = outpost.offered(&labels(&pool));
                let missing = if queue.is_some() { Vec::new() } else { missing(outpost, &wanted, &offered) };
                return Some(Candidate { missing, pool });
            }
            let own = job::pool_of(job).is_some_and(|own| pool.metadata.name.as_deref() == Some(own));
            own.then_some(Candidate { pool, missing: Vec::new() })
        };
        pools.filter_map(candidate).collect()
    }

    /// The claims made for a job, and the one that has it.
    fn claims(&self, job: &RunnerJob) -> Vec<Arc<MachineClaim>> {
        let made = self.claims_for.under(&Key::of(&job.metadata));
        let mut claims: Vec<_> = made.iter().filter_map(|key| self.sources.claims.get(key)).collect();
        claims.extend(self.holder(job));
        claims.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        claims.dedup_by(|a, b| a.metadata.name == b.metadata.name);
        claims
    }

    /// The claim that has a job, or whose runner is said to have it; one that is gone only until the job has its name.
    fn holder(&self, job: &RunnerJob) -> Option<Arc<MachineClaim>> {
        if let Some(claim) = claim_of(job) {
            return self.sources.claims.get(&claim);
        }
        let runner = unplaced(job)?;
        let there = self.claims_as.under(&runner).iter().find_map(|key| self.sources.claims.get(key));
        there.or_else(|| self.departed.with_runner(&runner))
    }

    /// Whose code a job is, asked of the platform if a pool has to know.
    async fn ask(&self, job: &RunnerJob, pools: &[Candidate], outpost: Option<&Outpost>) -> Asked {
        let Some(outpost) = outpost.filter(|outpost| job::is_unsure(job, pools, outpost.tells())) else {
            return Asked::Nothing;
        };
        let silent = |why: &str, pause| Asked::Silent { why: why.to_owned(), pause };
        match outpost.origin(&JobKey::new(&job.spec.key)).await {
            Ok(Some(origin)) => Asked::Told { public_repository: origin.public, fork: origin.fork },
            Ok(None) => silent("it has no such job", PAUSE),
            Err(Error::RateLimited { wait, .. }) => silent("its request limit is used up", wait.max(PAUSE)),
            Err(error) => silent(&error.to_string(), PAUSE),
        }
    }

    async fn rerun(&self, job: &RunnerJob, key: &JobKey, ended: Timestamp) -> Result<(), Fault> {
        let away = || Fault::new(Class::Unavailable, "rerun", "the job's source is not connected");
        let outpost = self.outposts.get(&job_source(job)).ok_or_else(away)?;
        outpost.rerun(key, ended).await.map_err(|error| error.fault("rerun"))
    }

    /// Whether the node is gone that has the VM of a job's claim, as its cluster says.
    fn is_node_gone(&self, job: &RunnerJob) -> bool {
        let Some(claim) = self.holder(job) else { return false };
        let Some(held) = claim.status.as_ref().and_then(|status| status.allocation.as_ref()) else { return false };
        let cluster = self.sources.clusters.get(&target(&held.cluster_ref, &claim.metadata));
        let nodes = cluster.as_ref().and_then(|cluster| cluster.status.as_ref()).map(|status| status.nodes.as_slice());
        nodes.unwrap_or_default().iter().any(|node| node.name == held.node && !node.online)
    }
}

/// What a runner would lack to be given a job.
fn missing(outpost: &Outpost, wanted: &[String], offered: &[String]) -> Vec<String> {
    if outpost.matches(wanted, offered) {
        return Vec::new();
    }
    let lacks = |label: &&String| !outpost.matches(std::slice::from_ref(*label), offered);
    let lacking: Vec<String> = wanted.iter().filter(lacks).cloned().collect();
    // What fits one by one and not together is missing as a whole.
    if lacking.is_empty() { wanted.to_vec() } else { lacking }
}

/// The labels of a pool's runners, whatever its platform calls them.
pub(super) fn labels(pool: &RunnerPool) -> Vec<String> {
    let labels = pool.spec.labels.iter().map(api::RunnerLabel::as_str);
    labels.chain(pool.spec.tags.iter().map(api::RunnerTag::as_str)).map(str::to_owned).collect()
}

/// The source that a job came from.
pub(super) fn job_source(job: &RunnerJob) -> Key {
    Key::new(job.metadata.namespace.clone().unwrap_or_default(), job.spec.source_ref.name.as_str())
}

/// The claim whose runner has a job.
pub(super) fn claim_of(job: &RunnerJob) -> Option<Key> {
    let claim = job.status.as_ref()?.claim_ref.as_ref()?;
    Some(Key::new(job.metadata.namespace.clone().unwrap_or_default(), claim.name.as_str()))
}

/// The runner that has a job, while nobody knows whose it is.
fn unplaced(job: &RunnerJob) -> Option<Key> {
    let status = job.status.as_ref().filter(|status| status.claim_ref.is_none())?;
    Some(Key::new(job.metadata.namespace.clone().unwrap_or_default(), status.runner.as_ref()?))
}

fn is_open(job: &RunnerJob) -> bool {
    job.status.as_ref().and_then(|status| status.state) != Some(JobState::Completed)
}

/// The job that a claim was made for.
fn made_for(claim: &MachineClaim) -> Option<Key> {
    let job = claim.metadata.labels.as_ref()?.get(RUNNER_JOB)?;
    Some(Key::new(claim.metadata.namespace.clone().unwrap_or_default(), job))
}

impl Controller for RunnerJobs {
    type Object = RunnerJob;
    /// None while nothing can be said of a job: its source is there and not connected yet, and it has no pool.
    type Observed = Option<Observed>;
    type Step = Step;
    type Status = RunnerJobStatus;

    const NAME: &'static str = "runner-jobs";
    const FINALIZER: Option<&'static str> = None;
    const CONDITIONS: &'static [&'static str] = CONDITIONS;

    async fn observe(&self, job: Arc<RunnerJob>) -> Result<Option<Observed>, Fault> {
        let key = job_source(&job);
        let (outpost, source) = (self.outposts.get(&key), self.sources.sources.get(&key));
        if outpost.is_none() && source.is_some() && is_open(&job) && job::pool_of(&job).is_none() {
            return Ok(None);
        }
        let pools = self.candidates(&job, outpost.as_ref());
        let asked = self.ask(&job, &pools, outpost.as_ref()).await;
        Ok(Some(Observed {
            pools,
            tells: outpost.as_ref().map(Outpost::tells).unwrap_or_default(),
            asked,
            source,
            claims: self.claims(&job),
            node_gone: self.is_node_gone(&job),
            can_rerun: outpost.is_some_and(|outpost| outpost.capabilities().reruns),
            job,
        }))
    }

    fn plan(&self, observed: &Option<Observed>, now: Timestamp) -> Plan<Step, RunnerJobStatus> {
        observed.as_ref().map_or_else(Plan::rest, |observed| job::plan(observed, now))
    }

    fn audit(&self, observed: &Option<Observed>, plan: &Plan<Step, RunnerJobStatus>) -> Vec<Violation> {
        observed.as_ref().map(|observed| job::audit(observed, plan)).unwrap_or_default()
    }

    async fn execute(&self, observed: &Option<Observed>, step: Step, writer: &Writer) -> Result<(), Fault> {
        let Some(Observed { job, .. }) = observed else { return Ok(()) };
        match step {
            Step::Forget => writer.delete(&**job).await,
            Step::Rerun { key, ended } => {
                // Nobody asks twice because of an old view: what it is decided on must still be true.
                writer.confirm(&**job).await?;
                self.rerun(job, &JobKey::new(key), ended).await
            }
        }
    }

    fn severity(&self, condition: &Condition) -> Severity {
        let alarms = [
            Reason::NoMatchingPool,
            Reason::TrustDenied,
            Reason::TrustUnknown,
            Reason::SourceNotReady,
            Reason::TemplateNotReady,
            Reason::ClusterNotReady,
            Reason::MachinesFailing,
            Reason::HostDied,
            Reason::VmGone,
            Reason::OutOfMemory,
            Reason::DiskFull,
            Reason::AgentLost,
            Reason::RunnerDied,
        ];
        let alarm = alarms.iter().any(|reason| reason.as_str() == condition.reason);
        if alarm { Severity::Warning } else { Severity::Normal }
    }
}
