//! What there is to show: rows made from objects.

use std::sync::Arc;

use api::condition::find;
use api::{Condition, ConditionType, JobState, MachineClaim, Phase, Reason, RunnerJob, RunnerPool, Span};
use jiff::Timestamp;
use kube::ResourceExt;

use super::Scope;
use super::pane::{Column, Pane, Row, Tone};
use crate::print::plain;

/// The objects that are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    pub(super) pools: Vec<Arc<RunnerPool>>,
    pub(super) jobs: Vec<Arc<RunnerJob>>,
    pub(super) claims: Vec<Arc<MachineClaim>>,
}

/// What there is to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct View {
    /// Where and when.
    pub(super) head: String,
    /// Pools, queue, VMs.
    pub(super) panes: [Pane; 3],
    /// What keeps us from knowing better.
    pub(super) trouble: Option<String>,
}

const POOLS: &[Column] = &[
    Column::rest("POOL"),
    Column::number("MIN", 4, 60),
    Column::number("MAX", 4, 60),
    Column::number("WANTED", 6, 50),
    Column::number("READY", 5, 0),
    Column::number("BUSY", 5, 0),
    Column::number("QUEUED", 6, 0),
    Column::words("REASON", 20, 70),
];

const QUEUE: &[Column] = &[
    Column::rest("JOB"),
    Column::words("WHAT", 24, 75),
    Column::number("AGE", 9, 0),
    Column::words("POOL", 14, 100),
    Column::words("REASON", 18, 35),
];

const MACHINES: &[Column] = &[
    Column::rest("CLAIM"),
    Column::words("PHASE", 13, 0),
    Column::number("VMID", 9, 35),
    Column::words("NODE", 12, 60),
    Column::number("AGE", 9, 50),
    Column::words("POOL", 14, 70),
];

impl View {
    /// What these objects look like now.
    pub(super) fn of(objects: &Objects, scope: &Scope, trouble: Option<String>, now: Timestamp) -> Self {
        let Objects { pools, jobs, claims } = objects;
        let place = scope.0.as_ref().map_or_else(|| "all namespaces".to_owned(), |name| format!("namespace {name}"));
        let head = format!("HyperFleet, {place}, {}", now.strftime("%Y-%m-%d %H:%M:%S UTC"));
        let shown = Shown { scope, now };
        Self { head, panes: [shown.pools(pools), shown.queue(jobs), shown.machines(claims)], trouble }
    }
}

/// Pools of one namespace alone, for those who show other things beside them.
pub(crate) fn pools(pools: &[Arc<RunnerPool>], now: Timestamp) -> Pane {
    Shown { scope: &Scope(Some(String::new())), now }.pools(pools)
}

struct Shown<'a> {
    scope: &'a Scope,
    now: Timestamp,
}

impl Shown<'_> {
    fn pools(&self, pools: &[Arc<RunnerPool>]) -> Pane {
        let row = |pool: &Arc<RunnerPool>| {
            let (scaling, status) = (&pool.spec.scaling, pool.status.clone().unwrap_or_default());
            let reason = reason(find(&status.conditions, ConditionType::Scaling));
            let numbers = [
                scaling.min_replicas,
                scaling.max_replicas,
                status.desired_replicas,
                status.ready_replicas,
                status.busy_replicas,
                status.pending_jobs,
            ];
            let cells = std::iter::once(self.name(&**pool)).chain(numbers.map(|number| number.to_string()));
            let tone = if status.pending_jobs > 0 { Tone::Odd } else { Tone::Calm };
            Row { cells: cells.chain([reason]).collect(), tone }
        };
        let rows: Vec<Row> = pools.iter().map(row).collect();
        Pane { title: format!("Pools {}", rows.len()), columns: POOLS, rows }
    }

    /// The jobs that wait, the oldest first.
    fn queue(&self, jobs: &[Arc<RunnerJob>]) -> Pane {
        let waits = |job: &&Arc<RunnerJob>| {
            matches!(job.status.as_ref().and_then(|status| status.state), Some(JobState::Queued) | None)
        };
        let mut waiting: Vec<&Arc<RunnerJob>> = jobs.iter().filter(waits).collect();
        waiting.sort_by_key(|job| (job.spec.queued_at.timestamp(), job.name_any()));
        let row = |job: &&Arc<RunnerJob>| {
            let status = job.status.clone().unwrap_or_default();
            let what = [&job.spec.repository, &job.spec.display_name].into_iter().flatten();
            let what = what.map(String::as_str).collect::<Vec<_>>().join(" ");
            let pool = status.pool_ref.as_ref().map(|pool| pool.name.to_string()).unwrap_or_default();
            let assigned = find(&status.conditions, ConditionType::Assigned);
            let stuck = [Reason::NoMatchingPool, Reason::TrustDenied, Reason::TrustUnknown];
            let stuck = assigned.is_some_and(|known| stuck.iter().any(|reason| reason.as_str() == known.reason));
            let age = self.age(Some(job.spec.queued_at.timestamp()));
            let cells = vec![self.name(&***job), plain(&what), age, pool, reason(assigned)];
            Row { cells, tone: if stuck { Tone::Bad } else { Tone::Odd } }
        };
        let rows: Vec<Row> = waiting.iter().map(row).collect();
        Pane { title: format!("Queue {}", rows.len()), columns: QUEUE, rows }
    }

    /// The machines, the oldest first.
    fn machines(&self, claims: &[Arc<MachineClaim>]) -> Pane {
        let born = |claim: &MachineClaim| claim.metadata.creation_timestamp.as_ref().map(|time| time.0);
        let mut claims: Vec<&Arc<MachineClaim>> = claims.iter().collect();
        claims.sort_by_key(|claim| (born(claim), claim.name_any()));
        let row = |claim: &&Arc<MachineClaim>| {
            let status = claim.status.clone().unwrap_or_default();
            let held = status.allocation.as_ref();
            let phase = status.phase.map(|phase| phase.as_str().to_owned()).unwrap_or_default();
            let vm = held.map(|held| held.vm_id.to_string()).unwrap_or_default();
            let node = held.map(|held| held.node.to_string()).unwrap_or_default();
            let pool = claim.spec.pool_ref.as_ref().map(|pool| pool.name.to_string()).unwrap_or_default();
            let cells = vec![self.name(&***claim), phase, vm, node, self.age(born(claim)), pool];
            Row { cells, tone: tone(status.phase) }
        };
        let rows: Vec<Row> = claims.iter().map(row).collect();
        Pane { title: format!("VMs {}", rows.len()), columns: MACHINES, rows }
    }

    fn name(&self, object: &impl ResourceExt) -> String {
        let namespace = object.namespace().filter(|_| self.scope.0.is_none());
        let name = object.name_any();
        namespace.map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}"))
    }

    fn age(&self, since: Option<Timestamp>) -> String {
        let seconds = since.map(|since| self.now.duration_since(since).as_secs());
        seconds.map(|seconds| rough(u64::try_from(seconds).unwrap_or(0))).unwrap_or_default()
    }
}

/// An age in its two largest units at most.
fn rough(seconds: u64) -> String {
    const MINUTE: u64 = 60;
    const HOUR: u64 = 60 * MINUTE;
    const DAY: u64 = 24 * HOUR;
    match seconds {
        0..HOUR => Span::from_secs(seconds).to_string(),
        HOUR..DAY => Span::from_secs(seconds / MINUTE * MINUTE).to_string(),
        DAY.. => format!("{}d{}h", seconds / DAY, seconds % DAY / HOUR),
    }
}

fn reason(condition: Option<&Condition>) -> String {
    condition.map(|condition| plain(&condition.reason)).unwrap_or_default()
}

const fn tone(phase: Option<Phase>) -> Tone {
    match phase {
        Some(Phase::Busy) => Tone::Good,
        Some(Phase::Failed) => Tone::Bad,
        Some(Phase::Pending) | None => Tone::Odd,
        Some(
            Phase::Provisioning
            | Phase::Bootstrapping
            | Phase::Ready
            | Phase::Draining
            | Phase::Terminating
            | Phase::Succeeded,
        ) => Tone::Calm,
    }
}
