//! The whole picture, made from objects; pure.

use std::collections::HashMap;
use std::sync::Arc;

use api::condition::find;
use api::registry::label;
use api::{
    Condition, ConditionStatus, ConditionType, HypervisorCluster, HypervisorMachineTemplate, JobState, MachineClaim,
    Moment, RunnerJob, RunnerPool, RunnerSource,
};
use fleet::trail::{self, Event, Kind, Mark, Scene, telling};
use jiff::Timestamp;
use kube::ResourceExt;
use serde::Serialize;

use super::queue;
use super::rows::{
    Called, ClusterRow, JobRow, MachineRow, MarkRow, NodeRow, Place, PoolRow, Queue, Rows, SourceRow, Stage, Word,
};
use super::scene::{Surroundings, name};
use crate::departed::Farewell;

/// Ended jobs that are shown: the last ones. A job is kept for an hour, and nobody reads more.
const ENDED: usize = 200;

/// The objects that are shown.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    pub(super) pools: Vec<Arc<RunnerPool>>,
    pub(super) jobs: Vec<Arc<RunnerJob>>,
    pub(super) claims: Vec<Arc<MachineClaim>>,
    pub(super) sources: Vec<Arc<RunnerSource>>,
    pub(super) templates: Vec<Arc<HypervisorMachineTemplate>>,
    pub(super) clusters: Vec<Arc<HypervisorCluster>>,
    pub(super) departed: Vec<Farewell>,
}

/// What there is to show.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct State {
    pub(super) place: Place,
    pub(super) pools: Rows<PoolRow>,
    pub(super) jobs: Rows<JobRow>,
    pub(super) queue: Queue,
    pub(super) machines: Rows<MachineRow>,
    pub(super) clusters: Rows<ClusterRow>,
    pub(super) sources: Rows<SourceRow>,
}

impl State {
    /// What these objects look like, as `place` sees them. It knows no clock: what only grows old is not sent again.
    pub(super) fn of(objects: &Objects, place: Place) -> Self {
        let around = Surroundings::new(objects);
        let homes = homes(&objects.claims);
        let mut jobs = shown(&objects.jobs).into_iter().map(|row| (key(row), job(row, &around))).collect();
        let queue = queue::trim(&mut jobs);
        Self {
            place,
            pools: rows(&objects.pools, pool),
            jobs,
            queue,
            machines: rows(&objects.claims, machine),
            clusters: rows(&objects.clusters, |row| cluster(row, &homes)),
            sources: rows(&objects.sources, source),
        }
    }
}

fn rows<K: kube::Resource, R>(objects: &[Arc<K>], row: impl Fn(&K) -> R) -> Rows<R> {
    objects.iter().map(|object| (key(&**object), row(object))).collect()
}

fn key<K: kube::Resource>(object: &K) -> String {
    let (namespace, name) = name(object);
    format!("{namespace}/{name}")
}

fn word(condition: Option<&Condition>) -> Word {
    let Some(condition) = condition else { return Word::default() };
    let good = match condition.status.as_str() {
        status if status == ConditionStatus::True.as_str() => Some(true),
        status if status == ConditionStatus::False.as_str() => Some(false),
        _ => None,
    };
    Word { good, reason: condition.reason.clone(), message: condition.message.clone() }
}

fn texts<T: ToString>(words: &[T]) -> Vec<String> {
    words.iter().map(ToString::to_string).collect()
}

fn millis(moment: &Moment) -> i64 {
    moment.timestamp().as_millisecond()
}

fn pool(pool: &RunnerPool) -> PoolRow {
    let (spec, status) = (&pool.spec, pool.status.clone().unwrap_or_default());
    PoolRow {
        wanted: status.desired_replicas,
        live: status.replicas,
        ready: status.ready_replicas,
        busy: status.busy_replicas,
        queued: status.pending_jobs,
        min: spec.scaling.min_replicas,
        max: spec.scaling.max_replicas,
        source: spec.source_ref.name.to_string(),
        template: spec.template_ref.name.to_string(),
        labels: texts(&spec.labels),
        word: word(find(&status.conditions, ConditionType::Scaling)),
    }
}

/// All jobs that are not over, and the last of those that are.
fn shown(jobs: &[Arc<RunnerJob>]) -> Vec<&RunnerJob> {
    let over = |job: &&RunnerJob| state(job) == JobState::Completed;
    let (mut ended, mut shown): (Vec<&RunnerJob>, Vec<&RunnerJob>) = jobs.iter().map(|job| &**job).partition(over);
    let end = |job: &RunnerJob| job.status.as_ref().and_then(|status| status.ended_at.as_ref().map(Moment::timestamp));
    ended.sort_by_key(|job| std::cmp::Reverse(end(job)));
    shown.extend(ended.into_iter().take(ENDED));
    shown
}

fn state(job: &RunnerJob) -> JobState {
    job.status.as_ref().and_then(|status| status.state).unwrap_or(JobState::Queued)
}

fn job(job: &RunnerJob, around: &Surroundings<'_>) -> JobRow {
    let mut scene = around.around(job);
    let departed = around.departed(job);
    if let Some(departed) = departed {
        scene.claim = trail::Found::There(Box::new((*departed.claim).clone()));
    }
    let answer = trail::answer(&scene, None);
    let (spec, status) = (&job.spec, job.status.clone().unwrap_or_default());
    let claim = scene.claim.there().map(ResourceExt::name_any);
    let subject = format!("{}/{} ", Kind::Job.as_str(), name(job).1);
    let why = answer.text.strip_prefix(&subject).unwrap_or(&answer.text);
    JobRow {
        state: state(job).as_str(),
        result: status.result.map(api::JobResult::as_str),
        what: spec.display_name.clone(),
        repository: spec.repository.clone(),
        labels: texts(&spec.labels),
        pool: status.pool_ref.map(|pool| pool.name.to_string()),
        claim: claim.or_else(|| status.claim_ref.map(|claim| claim.name.to_string())),
        queued_at: millis(&spec.queued_at),
        ended_at: status.ended_at.as_ref().map(millis),
        retry_at: retry(&scene, &answer),
        standing: answer.standing,
        why: why.to_owned(),
        says: answer.object,
        reason: answer.reason,
        marks: marks(trail::events(&scene), scene.claim.there(), departed),
    }
}

/// When the next attempt is made, if that is what the job waits for.
fn retry(scene: &Scene, answer: &trail::Answer) -> Option<i64> {
    let claim = scene.claim.there()?;
    let due = claim.status.as_ref()?.next_retry_time.as_ref()?;
    (answer.object == format!("{}/{}", Kind::Claim.as_str(), name(claim).1)).then(|| millis(due))
}

/// What happened at a known time. That a claim is gone means that its VM is.
fn marks(events: Vec<Event>, claim: Option<&MachineClaim>, departed: Option<&Farewell>) -> Vec<MarkRow> {
    let row = |mark, at: Timestamp, detail| MarkRow { mark, at: at.as_millisecond(), detail };
    let told = |Event { mark, at, detail, .. }| Some(row(Stage::Told(mark), at?, detail));
    let mut marks: Vec<MarkRow> = events.into_iter().filter_map(told).collect();
    let record = claim.and_then(|claim| claim.status.as_ref()?.bootstrap.as_ref());
    if let Some(bound) = record.and_then(|record| record.bound_at.as_ref()) {
        marks.push(row(Stage::Called(Called::Called), bound.timestamp(), String::new()));
    }
    let gone = Stage::Told(Mark::VmGone);
    if let Some(departed) = departed.filter(|_| marks.iter().all(|known| known.mark != gone)) {
        marks.push(row(gone, departed.at, String::new()));
    }
    marks.sort_by_key(|known| known.at);
    marks
}

fn machine(claim: &MachineClaim) -> MachineRow {
    let status = claim.status.clone().unwrap_or_default();
    let held = status.allocation.as_ref();
    MachineRow {
        phase: status.phase.map(api::Phase::as_str),
        step: status.step.map(api::Step::as_str),
        pool: claim.spec.pool_ref.as_ref().map(|pool| pool.name.to_string()),
        job: claim.labels().get(label::RUNNER_JOB).cloned(),
        node: held.map(|held| held.node.to_string()),
        vm_id: held.map(|held| held.vm_id.0),
        address: status.network.as_ref().map(|network| network.ip_address.to_string()),
        born_at: claim.metadata.creation_timestamp.as_ref().map(|time| time.0.as_millisecond()),
        word: word(telling(claim)),
    }
}

/// How many of our VMs are where: by namespace and name of the cluster, and node.
type Homes = HashMap<(String, String, String), u32>;

fn homes(claims: &[Arc<MachineClaim>]) -> Homes {
    let mut homes = Homes::new();
    for claim in claims {
        let Some(held) = claim.status.as_ref().and_then(|status| status.allocation.as_ref()) else { continue };
        let own = || claim.namespace().unwrap_or_default();
        let namespace = held.cluster_ref.namespace.as_ref().map_or_else(own, ToString::to_string);
        *homes.entry((namespace, held.cluster_ref.name.to_string(), held.node.to_string())).or_default() += 1;
    }
    homes
}

fn cluster(cluster: &HypervisorCluster, homes: &Homes) -> ClusterRow {
    let (spec, status) = (&cluster.spec, cluster.status.clone().unwrap_or_default());
    let (namespace, name) = name(cluster);
    let node = |node: &api::Node| {
        let known = status.nodes.iter().find(|known| known.name == node.name);
        let home = (namespace.to_owned(), name.to_owned(), node.name.to_string());
        NodeRow {
            name: node.name.to_string(),
            online: known.map(|known| known.online),
            maintenance: known.is_some_and(|known| known.maintenance),
            cordoned: node.cordon,
            cpu: known.and_then(|known| known.cpu),
            memory: known.and_then(|known| known.memory.as_ref()).map(api::Quantity::bytes),
            vms: homes.get(&home).copied().unwrap_or_default(),
        }
    };
    let left = status.available_resources.clone().unwrap_or_default();
    ClusterRow {
        provider: spec.provider.as_str(),
        version: status.version.clone(),
        connected: status.connected_nodes,
        nodes: spec.nodes.iter().map(node).collect(),
        cpu: left.cpu,
        memory: left.memory.as_ref().map(api::Quantity::bytes),
        storage: left.storage.as_ref().map(api::Quantity::bytes),
        word: word(find(&status.conditions, ConditionType::Ready)),
    }
}

fn source(source: &RunnerSource) -> SourceRow {
    let conditions = source.status.as_ref().map_or(&[][..], |status| &status.conditions);
    SourceRow { platform: source.spec.platform.as_str(), word: word(find(conditions, ConditionType::Ready)) }
}
