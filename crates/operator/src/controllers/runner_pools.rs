//! Looks after `RunnerPools`: as many claims as their jobs need.
//!
//! What is decided stands in [`fleet::pool`]. Here it is gathered from caches, so that a pass costs no call while there is
//! nothing to do, and carried out: claims are made several at a time ([`births`]), each after the write that announces it.

mod births;
pub(crate) mod figures;
mod notes;
mod wiring;

use std::sync::Arc;
use std::time::Duration;

use api::registry::finalizer::CLAIMS_CLEANUP;
use api::{
    Condition, HypervisorCluster, HypervisorMachineTemplate, JobState, MachineClaim, Reason, RunnerJob, RunnerPool,
    RunnerPoolStatus, RunnerSource,
};
use chassis::Clock;
use fleet::job::{self, Candidate};
use fleet::pool::{self, CONDITIONS, Gate, Observed, Step};
use jiff::Timestamp;
use kube::Client;
use reconcile::{Fault, Plan, Violation};
use runtime::host::Host;
use runtime::rbac::{Rule, Scope};
use runtime::{Cache, Controller, Key, Severity, Writer};

use self::notes::{Note, Notes};
pub use self::wiring::wire;
use super::runner_jobs::{claim_of, job_source, labels};
use super::stock::Stock;
use crate::Duty;
use crate::index::Index;
use crate::outpost::Outposts;

/// Its entry in the roster.
pub const DUTY: Duty = Duty {
    name: RunnerPools::NAME,
    summary: "makes as many claims as the jobs of a pool need, and lets idle ones go",
    rules: &[
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerpools"],
            verbs: &["list", "watch", "patch"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["machineclaims"],
            verbs: &["list", "watch", "create", "delete"],
            scope: Scope::Watched,
        },
        // A claim is asked to drain by its status; a job is told of its claims by its own.
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerpools/status", "machineclaims/status", "runnerjobs/status"],
            verbs: &["update"],
            scope: Scope::Watched,
        },
        Rule {
            groups: &["hypervisor.hyperfleet.io"],
            resources: &["runnerjobs", "runnersources", "hypervisormachinetemplates", "hypervisorclusters"],
            verbs: &["list", "watch"],
            scope: Scope::Watched,
        },
        // The labels of a namespace decide what is shared with it.
        Rule { groups: &[""], resources: &["namespaces"], verbs: &["get"], scope: Scope::Cluster },
    ],
};

/// The least time between two looks at one pool: every claim that moves asks for one, and a thousand of them move at once.
const SPACING: Duration = Duration::from_millis(20);

/// What it reads beside its pools.
#[derive(Clone)]
pub struct Sources {
    /// The sources whose jobs pools serve.
    pub sources: Cache<RunnerSource>,
    /// The jobs.
    pub jobs: Cache<RunnerJob>,
    /// The claims of pools.
    pub claims: Cache<MachineClaim>,
    /// The templates that pools name.
    pub templates: Cache<HypervisorMachineTemplate>,
    /// The clusters that templates name.
    pub clusters: Cache<HypervisorCluster>,
}

/// Starts it.
pub fn spawn(host: &Host, outposts: &Outposts, pools: &Cache<RunnerPool>, sources: &Sources) {
    let controller = RunnerPools::new(outposts, sources, &host.client, host.parts.clock);
    figures::follow(pools, &host.leadership, &host.parts);
    wire(host.driver(controller, pools), outposts, pools, sources).spawn();
}

/// The controller.
pub struct RunnerPools {
    outposts: Outposts,
    sources: Sources,
    stock: Stock,
    notes: Notes,
    /// Claims by their pool, jobs by theirs, and jobs by the claim that has them.
    claims_of: Index,
    jobs_of: Index,
    jobs_at: Index,
    /// Jobs that wait and of which it is not certain that they are nobody's fork and of no public repository, by source.
    doubtful: Index,
}

impl RunnerPools {
    /// A controller of pools, whose jobs the platforms of `outposts` have.
    pub fn new(outposts: &Outposts, sources: &Sources, client: &Client, clock: Clock) -> Self {
        let Sources { jobs, claims, templates, clusters, .. } = sources;
        Self {
            outposts: outposts.clone(),
            sources: sources.clone(),
            stock: Stock { templates: templates.clone(), clusters: clusters.clone(), client: client.clone() },
            notes: Notes::of(claims, clock),
            claims_of: Index::of(claims, pool_of),
            jobs_of: Index::of(jobs, pool_of_job),
            jobs_at: Index::of(jobs, claim_of),
            doubtful: Index::of(jobs, |job| is_doubtful(job).then(|| job_source(job))),
        }
    }

    async fn gate(&self, pool: &RunnerPool) -> Result<Gate, Fault> {
        Ok(match self.stock.find(&pool.spec.template_ref, &pool.metadata).await? {
            Ok((template, _)) => Gate::Open { generation: template.metadata.generation.unwrap_or(1) },
            Err(obstacle) => Gate::Closed(obstacle),
        })
    }

    fn claims(&self, pool: &Key) -> Vec<Arc<MachineClaim>> {
        self.claims_of.under(pool).iter().filter_map(|key| self.sources.claims.get(key)).collect()
    }

    /// The jobs that wait, that a runner of the pool could be given, and that it must not run.
    fn strangers(&self, pool: &Arc<RunnerPool>) -> Vec<Arc<RunnerJob>> {
        let source = source_of(pool);
        let doubtful = self.doubtful.under(&source);
        let Some(outpost) = self.outposts.get(&source).filter(|_| !doubtful.is_empty()) else { return Vec::new() };
        let (offered, tells) = (outpost.offered(&labels(pool)), outpost.tells());
        let fitting = Candidate { pool: Arc::clone(pool), missing: Vec::new() };
        let danger = |job: &Arc<RunnerJob>| {
            if !job::endangers(job, &fitting, tells) {
                return false;
            }
            let wanted: Vec<String> = job.spec.labels.iter().map(|label| label.as_str().to_owned()).collect();
            let missing = if outpost.matches(&wanted, &offered) { Vec::new() } else { wanted };
            job::endangers(job, &Candidate { missing, ..fitting.clone() }, tells)
        };
        doubtful.iter().filter_map(|key| self.sources.jobs.get(key)).filter(danger).collect()
    }

    /// The jobs that are the pool's, or that its claims have.
    fn jobs(&self, pool: &Key, claims: &[Arc<MachineClaim>]) -> Vec<Arc<RunnerJob>> {
        let mut keys = self.jobs_of.under(pool);
        keys.extend(self.jobs_at.under_any(claims.iter().map(|claim| Key::of(&claim.metadata))));
        keys.sort_unstable();
        keys.dedup();
        keys.iter().filter_map(|key| self.sources.jobs.get(key)).collect()
    }
}

/// The source whose jobs a pool serves.
pub(super) fn source_of(pool: &RunnerPool) -> Key {
    Key::new(pool.metadata.namespace.clone().unwrap_or_default(), pool.spec.source_ref.name.as_str())
}

/// Whether a job waits that somebody's pool may not serve.
pub(super) fn is_doubtful(job: &RunnerJob) -> bool {
    let status = job.status.clone().unwrap_or_default();
    let harmless =
        |spec: Option<bool>, status: Option<bool>| [spec, status].contains(&Some(false)) && status != Some(true);
    let waits = matches!(status.state, None | Some(JobState::Queued));
    let known = harmless(job.spec.fork, status.fork) && harmless(job.spec.public_repository, status.public_repository);
    waits && !known
}

/// The pool that a claim belongs to.
pub(super) fn pool_of(claim: &MachineClaim) -> Option<Key> {
    let pool = claim.spec.pool_ref.as_ref()?;
    Some(Key::new(claim.metadata.namespace.clone().unwrap_or_default(), pool.name.as_str()))
}

/// The pool that a job belongs to.
fn pool_of_job(job: &RunnerJob) -> Option<Key> {
    Some(Key::new(job.metadata.namespace.clone().unwrap_or_default(), fleet::job::pool_of(job)?))
}

impl Controller for RunnerPools {
    type Object = RunnerPool;
    type Observed = Observed;
    type Step = Step;
    type Status = RunnerPoolStatus;

    const NAME: &'static str = "runner-pools";
    const FINALIZER: Option<&'static str> = Some(CLAIMS_CLEANUP);
    const CONDITIONS: &'static [&'static str] = CONDITIONS;

    fn begin(&self) {
        self.notes.begin();
    }

    async fn observe(&self, pool: Arc<RunnerPool>) -> Result<Observed, Fault> {
        let key = Key::of(&pool.metadata);
        tokio::time::sleep_until(self.notes.turn(&key, SPACING)).await;
        let gate = self.gate(&pool).await?;
        // What was made and is not shown is asked before what is shown: in between it may only be counted twice.
        let (began, Note { unseen, met, told, .. }) = self.notes.of_pool(&key);
        let claims = self.claims(&key);
        let jobs = self.jobs(&key, &claims);
        let (level, source) = (self.outposts.level(&key), self.sources.sources.get(&source_of(&pool)));
        let strangers = self.strangers(&pool);
        Ok(Observed { pool, claims, unseen, met, began, jobs, level, strangers, source, gate, told })
    }

    fn plan(&self, observed: &Observed, now: Timestamp) -> Plan<Step, RunnerPoolStatus> {
        let plan = pool::plan(observed, now);
        if plan.status.is_some() && plan.status != observed.pool.status {
            self.notes.told(&Key::of(&observed.pool.metadata), now);
        }
        plan
    }

    fn audit(&self, observed: &Observed, plan: &Plan<Step, RunnerPoolStatus>) -> Vec<Violation> {
        pool::audit(observed, plan)
    }

    async fn execute(&self, observed: &Observed, step: Step, writer: &Writer) -> Result<(), Fault> {
        match step {
            Step::Make(births) => self.make(&Key::of(&observed.pool.metadata), births, writer).await,
            Step::Delete(claim) => writer.delete(&*claim).await,
            Step::Drain { claim, status } => {
                let status = serde_json::to_value(&status).expect("a status is plain and has a form in JSON");
                writer.replace_status(&*claim, &status).await.map(drop)
            }
        }
    }

    fn severity(&self, condition: &Condition) -> Severity {
        let alarms = [
            Reason::SourceNotReady,
            Reason::SourceNotFound,
            Reason::TemplateNotReady,
            Reason::AtMaximum,
            Reason::TooManyTerminating,
            Reason::MachinesFailing,
            Reason::UntrustedJobWaits,
        ];
        let alarm = alarms.iter().any(|reason| reason.as_str() == condition.reason);
        if alarm { Severity::Warning } else { Severity::Normal }
    }
}
