//! What was seen of a job becomes an object, or moves one: the one way in, whoever saw it.
//!
//! What is to be done stands in [`fleet::demand`]. Everything written is created by name or swapped for what was seen, so
//! that any replica may do it and doing it twice makes no difference. What this process has just written it remembers
//! until its watch has caught up. Of jobs that had ended when they were first heard of it remembers the keys for a while:
//! if such a job is told to wait, that was told late, and the platform is asked.

mod recent;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::{MachineClaim, ObjectName, RunnerJob, RunnerJobStatus, RunnerPool, RunnerTag};
use chassis::Clock;
use fleet::demand::{self, Observed, Sight, State, Step};
use fleet::job::{CONDITIONS, Candidate};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt};
use providers::platform::{Job, JobKey, JobResult, JobState};
use reconcile::{Class, Fault};
use runtime::client::fault;
use runtime::{Cache, Key, Parts, Severity, Swap};

use self::recent::Recent;
use super::{Outpost, choice, lock};
use crate::index::Index;

/// Decisions about one job until somebody else has to try.
const TRIES: u32 = 8;

/// How long a watch may take to show what we wrote.
const LAG: Duration = Duration::from_secs(5);

/// How long the end of a job that nobody knew is remembered: deliveries are late by seconds, recovered ones by minutes.
const ENDS: Duration = Duration::from_mins(15);

/// Takes in what is seen of jobs; clones are the same one.
#[derive(Clone)]
pub struct Intake(Arc<Inner>);

struct Inner {
    client: Client,
    swap: Swap,
    clock: Clock,
    writer: String,
    caches: Caches,
    /// Jobs by the platform's key, claims by the name of their runner, pools by their source.
    by_key: Index,
    by_runner: Index,
    by_source: Index,
    /// What was written and may not be in the cache yet, by namespace and the platform's key.
    written: Mutex<Recent<Place, Arc<RunnerJob>>>,
    /// Jobs that had ended when they were first heard of.
    ended: Mutex<Recent<Place, ()>>,
}

/// A namespace and the platform's key of a job in it.
type Place = (String, String);

/// What the server said of objects that we were behind on.
type Fresh = BTreeMap<Key, Option<Arc<RunnerJob>>>;

/// What it knows jobs, claims and pools from.
#[derive(Clone)]
pub struct Caches {
    /// Jobs, so that what is known costs no call.
    pub jobs: Cache<RunnerJob>,
    /// Claims, for whose runner has a job.
    pub claims: Cache<MachineClaim>,
    /// Pools, for who serves a job.
    pub pools: Cache<RunnerPool>,
}

impl Caches {
    /// Resolves once everything has been listed once.
    pub async fn synced(&self) {
        let Self { jobs, claims, pools } = self;
        jobs.synced().await;
        claims.synced().await;
        pools.synced().await;
    }
}

/// What became of a sight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// There is an object that was not there before.
    New,
    /// An object has moved on.
    Moved,
    /// It was known, or does not matter.
    Known,
}

/// A job as somebody saw it.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'a> {
    /// The source it was seen at.
    pub(crate) source: &'a Key,
    /// Its platform, to be asked if need be.
    pub(crate) outpost: &'a Outpost,
    /// What was seen.
    pub(crate) job: &'a Job,
    /// Whether the platform was asked about this very job.
    pub(crate) certain: bool,
    /// The pool whose queue it was seen in.
    pub(crate) queue: Option<&'a str>,
}

impl Intake {
    /// An intake that writes as `name`, over these caches.
    pub fn new(client: &Client, parts: &Parts, name: &str, instance: &str, caches: &Caches) -> Self {
        let Caches { jobs, claims, pools } = caches;
        Self(Arc::new(Inner {
            client: client.clone(),
            swap: Swap::new(client, parts, name, instance),
            clock: parts.clock,
            writer: format!("hyperfleet-{name}"),
            caches: caches.clone(),
            by_key: Index::of(jobs, |job| Some(beside(job, &job.spec.key))),
            by_runner: Index::of(claims, runner_of),
            by_source: Index::of(pools, |pool| Some(beside(pool, pool.spec.source_ref.name.as_str()))),
            written: Mutex::new(Recent::for_the_last(LAG)),
            ended: Mutex::new(Recent::for_the_last(ENDS)),
        }))
    }

    /// Every job that is known of a source, as far as the watch has come.
    pub(crate) fn jobs_of(&self, source: &Key) -> Vec<Arc<RunnerJob>> {
        let of = |job: &RunnerJob| job.namespace().as_deref() == Some(source.namespace.as_str());
        self.0.caches.jobs.select(|job| of(job) && job.spec.source_ref.name.as_str() == source.name)
    }

    /// Stores what was seen of a job; done once this is answered.
    pub(crate) async fn take(&self, seen: Seen<'_>) -> Result<Taken, Fault> {
        let Seen { source, outpost, job, certain, queue } = seen;
        let (mut sight, mut certain) = (sight(job), certain);
        let mut fresh = Fresh::new();
        if !certain && self.was_told_late(source, &sight) {
            sight = answer(outpost, sight).await?;
            certain = true;
        }
        if self.known(source, &sight.key, &fresh).is_empty() {
            choice::complete(outpost, &self.candidates(seen, &sight), &mut sight).await;
        }
        for _ in 0..TRIES {
            let candidates = self.candidates(seen, &sight);
            let observed = Observed {
                namespace: source.namespace.clone(),
                source: ObjectName::new(&source.name),
                known: self.known(source, &sight.key, &fresh),
                claim: self.claim(source, sight.runner.as_deref()),
                pool: choice::pool(outpost, &candidates, &sight),
                queue: queue.map(ObjectName::new),
                ours: queue.is_some() || choice::is_ours(outpost, &candidates, &sight),
                sight: sight.clone(),
                certain,
            };
            let done = match demand::plan(&observed, self.0.clock.now()) {
                None => return Ok(Taken::Known),
                Some(Step::Create { job, status }) => self.create(&job, status, &mut fresh).await?,
                Some(Step::Patch { job, status }) => self.patch(&job, status, &mut fresh).await?,
                Some(Step::AskPlatform { key }) => {
                    sight = answer(outpost, Sight { key, ..sight }).await?;
                    certain = true;
                    None
                }
            };
            if let Some(taken) = done {
                return Ok(taken);
            }
        }
        Err(Fault::new(Class::Unavailable, "store a job", "too many write to it at once"))
    }

    /// Asks the platform about a job and stores its answer.
    pub(crate) async fn ask(&self, source: &Key, outpost: &Outpost, key: &str) -> Result<Taken, Fault> {
        let key = JobKey::new(key);
        let answer = outpost.job(&key).await.map_err(|error| error.fault("ask about a job"))?;
        let job = answer.unwrap_or_else(|| unknown(key));
        self.take(Seen { source, outpost, job: &job, certain: true, queue: None }).await
    }

    async fn create(
        &self,
        job: &RunnerJob,
        status: Option<RunnerJobStatus>,
        fresh: &mut Fresh,
    ) -> Result<Option<Taken>, Fault> {
        let key = Key::of(&job.metadata);
        let api: Api<RunnerJob> = Api::namespaced(self.0.client.clone(), &key.namespace);
        let params = PostParams { field_manager: Some(self.0.writer.clone()), ..PostParams::default() };
        match api.create(&params, job).await {
            Ok(made) => {
                let made = Arc::new(made);
                self.remember(Arc::clone(&made));
                match status {
                    None => Ok(Some(Taken::New)),
                    Some(status) => Ok(self.patch(&made, status, fresh).await?.map(|_| Taken::New)),
                }
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => self.read(&key, fresh).await,
            Err(error) => Err(fault("create RunnerJob", error)),
        }
    }

    async fn patch(
        &self,
        job: &Arc<RunnerJob>,
        status: RunnerJobStatus,
        fresh: &mut Fresh,
    ) -> Result<Option<Taken>, Fault> {
        match self.0.swap.status(&**job, &status, CONDITIONS, |_| Severity::Normal).await {
            Ok(version) => {
                let mut moved = RunnerJob::clone(job);
                (moved.metadata.resource_version, moved.status) = (Some(version), Some(status));
                self.remember(Arc::new(moved));
                Ok(Some(Taken::Moved))
            }
            // It has moved on, or is gone.
            Err(fault) if fault.class() == Class::Conflict => self.read(&Key::of(&job.metadata), fresh).await,
            Err(fault) => Err(fault),
        }
    }

    /// Asks the server for an object that we are behind on.
    async fn read(&self, key: &Key, fresh: &mut Fresh) -> Result<Option<Taken>, Fault> {
        let api: Api<RunnerJob> = Api::namespaced(self.0.client.clone(), &key.namespace);
        let found = api.get_opt(&key.name).await.map_err(|error| fault("read RunnerJob", error))?;
        fresh.insert(key.clone(), found.map(Arc::new));
        Ok(None)
    }

    /// Every object of a key: as the cache has it, but for what we wrote or read since.
    fn known(&self, source: &Key, key: &str, fresh: &Fresh) -> Vec<Arc<RunnerJob>> {
        let cached = self.0.by_key.under(&Key::new(&source.namespace, key)).into_iter();
        let mut known: BTreeMap<Key, Arc<RunnerJob>> =
            cached.filter_map(|key| Some((key.clone(), self.0.caches.jobs.get(&key)?))).collect();
        let place = (source.namespace.clone(), key.to_owned());
        let written = lock(&self.0.written).get(&place).cloned();
        if let Some(job) = written {
            let key = Key::of(&job.metadata);
            if !known.get(&key).is_some_and(|cached| is_as_new(cached, &job)) {
                known.insert(key, job);
            }
        }
        for (key, job) in fresh {
            match job {
                Some(job) => drop(known.insert(key.clone(), Arc::clone(job))),
                None => drop(known.remove(key)),
            }
        }
        known.into_values().collect()
    }

    /// Whether a job had ended when it was first heard of, and is now said not to have.
    fn was_told_late(&self, source: &Key, sight: &Sight) -> bool {
        let place = (source.namespace.clone(), sight.key.clone());
        match sight.state {
            State::Blocked => false,
            State::Queued | State::Assigned | State::Running => lock(&self.0.ended).get(&place).is_some(),
            State::Done(_) => {
                if self.known(source, &sight.key, &Fresh::new()).is_empty() {
                    lock(&self.0.ended).put(place, ());
                }
                false
            }
        }
    }

    fn remember(&self, job: Arc<RunnerJob>) {
        let place = (job.namespace().unwrap_or_default(), job.spec.key.clone());
        lock(&self.0.written).put(place, job);
    }

    /// The pools that a job might be for: one that a platform has put into a pool's queue is for that one.
    fn candidates(&self, seen: Seen<'_>, sight: &Sight) -> Vec<Candidate> {
        let pools = self.0.by_source.under(seen.source);
        let pools: Vec<_> = pools.iter().filter_map(|key| self.0.caches.pools.get(key)).collect();
        let Some(queue) = seen.queue else { return choice::candidates(seen.outpost, pools, sight) };
        let own = pools.into_iter().find(|pool| pool.metadata.name.as_deref() == Some(queue));
        own.into_iter().map(|pool| Candidate { pool, missing: Vec::new() }).collect()
    }

    /// The claim whose runner has this name.
    fn claim(&self, source: &Key, runner: Option<&str>) -> Option<ObjectName> {
        let claims = self.0.by_runner.under(&Key::new(&source.namespace, runner?));
        claims.first().map(|claim| ObjectName::new(&claim.name))
    }
}

/// The namespace of an object with something that it names.
fn beside<K: ResourceExt>(object: &K, named: &str) -> Key {
    Key::new(object.namespace().unwrap_or_default(), named)
}

/// The name of a claim's runner, in the claim's namespace.
pub(crate) fn runner_of(claim: &MachineClaim) -> Option<Key> {
    let runner = claim.status.as_ref()?.runner.as_ref()?;
    Some(beside(claim, &runner.name))
}

/// Whether one view of an object is at least as new as another: versions count up.
fn is_as_new(view: &RunnerJob, other: &RunnerJob) -> bool {
    let version = |job: &RunnerJob| job.metadata.resource_version.as_deref()?.parse::<u64>().ok();
    version(view).zip(version(other)).is_some_and(|(view, other)| view >= other)
}

fn sight(job: &Job) -> Sight {
    let Job {
        key,
        state,
        labels,
        queued_at,
        started_at,
        ended_at,
        runner,
        repository,
        display_name,
        url,
        public,
        fork,
    } = job;
    Sight {
        key: key.as_str().to_owned(),
        state: match state {
            JobState::Blocked => State::Blocked,
            JobState::Queued => State::Queued,
            JobState::Assigned => State::Assigned,
            JobState::Running => State::Running,
            JobState::Done(result) => State::Done(match result {
                JobResult::Succeeded => api::JobResult::Succeeded,
                JobResult::Failed => api::JobResult::Failed,
                JobResult::Cancelled => api::JobResult::Cancelled,
                JobResult::Unknown => api::JobResult::Unknown,
            }),
        },
        labels: labels.iter().map(RunnerTag::new).collect(),
        queued_at: *queued_at,
        started_at: *started_at,
        ended_at: *ended_at,
        runner: runner.clone(),
        repository: repository.clone(),
        display_name: display_name.clone(),
        url: url.clone(),
        public_repository: *public,
        fork: *fork,
    }
}

/// What the platform says of this very job; that there is none is an end too.
async fn answer(outpost: &Outpost, sight: Sight) -> Result<Sight, Fault> {
    let answer = outpost.job(&JobKey::new(&sight.key)).await.map_err(|error| error.fault("ask about a job"))?;
    let gone = || Sight { state: State::Done(api::JobResult::Unknown), ..sight };
    Ok(answer.as_ref().map_or_else(gone, self::sight))
}

/// A job of which nothing is known but that the platform has none.
fn unknown(key: JobKey) -> Job {
    Job {
        key,
        state: JobState::Done(JobResult::Unknown),
        labels: Vec::new(),
        queued_at: None,
        started_at: None,
        ended_at: None,
        runner: None,
        repository: None,
        display_name: None,
        url: None,
        public: None,
        fork: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_views_of_a_job_the_one_with_the_higher_version_is_newer() {
        let at = |version: &str| {
            let spec =
                serde_json::json!({ "sourceRef": { "name": "ci" }, "key": "k", "queuedAt": "2027-01-15T08:00:00Z" });
            let mut job = RunnerJob::new("job", serde_json::from_value(spec).unwrap());
            job.metadata.resource_version = Some(version.to_owned());
            job
        };
        assert!(is_as_new(&at("10"), &at("9")) && is_as_new(&at("9"), &at("9")) && !is_as_new(&at("9"), &at("10")));
        assert!(!is_as_new(&at("what"), &at("9")), "what cannot be compared is no news");
    }
}
