//! What becomes of what a platform says about a job: one object for each job, whoever saw it, however often, in any order.
//!
//! ```text
//!   webhook ─┐                    none known, waits or runs ──▶ Create
//!   poll ────┼─▶ Sight ─▶ plan ─▶ known, is further than we knew ──▶ Patch
//!   session ─┘                    known to have ended, and waits ──▶ AskPlatform ─▶ Sight, certain ─▶ Create
//! ```
//!
//! The name of the object is a hash of the platform's key, so that two who see the same job make the same object. States
//! only move forward; what is heard late changes nothing. A job that is blocked by others is no demand, and one that had
//! ended before anybody saw it never was. Only the platform's own word about this very job (`certain`) brings a key back
//! that had ended: a new object with the next generation.
//!
//! Nothing ends because a listing no longer has it: [`missing`] names the jobs that have to be asked about one by one.

mod object;

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{JobResult, JobState, LocalRef, Moment, ObjectName, RunnerJob, RunnerJobStatus, RunnerTag};
use jiff::Timestamp;

use crate::job;

pub use object::name;

/// What a platform says about one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sight {
    /// The platform's key of the job; opaque, and different for each attempt where the platform tells them apart.
    pub key: String,
    /// How far it is.
    pub state: State,
    /// What it asks for.
    pub labels: Vec<RunnerTag>,
    /// Since when it waits; none where the platform does not say.
    pub queued_at: Option<Timestamp>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Name of the runner that has it.
    pub runner: Option<String>,
    /// Repository or project, for people.
    pub repository: Option<String>,
    /// Name of the job, for people.
    pub display_name: Option<String>,
    /// Page of the job.
    pub url: Option<String>,
    /// Whether the repository is public, where the platform says so.
    pub public_repository: Option<bool>,
    /// Whether it runs code of a fork, where the platform says so.
    pub fork: Option<bool>,
}

/// How far a job is, in the words that all platforms share; later ones are further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It waits for other jobs or for a person: no runner could take it.
    Blocked,
    /// It waits for a runner.
    Queued,
    /// A runner has it and has not begun.
    Assigned,
    /// It runs.
    Running,
    /// It ended. A platform that was asked about this very job and certainly does not have it any more means this too,
    /// with [`JobResult::Unknown`].
    Done(JobResult),
}

/// A sight and everything known about its job.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Namespace of the source.
    pub namespace: String,
    /// Name of the source at which the job was seen.
    pub source: ObjectName,
    /// What was seen.
    pub sight: Sight,
    /// Whether the platform was asked about this very job just now; then its word stands above what was heard before.
    pub certain: bool,
    /// Every `RunnerJob` of this key in the namespace, of any generation.
    pub known: Vec<Arc<RunnerJob>>,
    /// The claim whose `status.runner.name` is the runner's name.
    pub claim: Option<ObjectName>,
    /// The pool that serves it by [`crate::job::select`], where whoever saw it knows the pools; saves the job a write.
    pub pool: Option<ObjectName>,
    /// The pool in whose queue session it was seen.
    pub queue: Option<ObjectName>,
    /// Whether it may be meant for us: it asks for runners of one's own, or for something that a pool of the source has. The
    /// platform's own machines take the others, so that they are nobody's demand.
    pub ours: bool,
}

/// What can be done about a sight; nothing, if there is none.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Create the object; and, if there is a status, write that right after. If an object of that name exists already,
    /// somebody was faster: look again.
    Create {
        /// The object, with its labels.
        job: Box<RunnerJob>,
        /// What a creation cannot carry; none for a job that waits.
        status: Option<RunnerJobStatus>,
    },
    /// Give the object this status, by compare and swap. If it has moved on, look again.
    Patch {
        /// The object as it was seen.
        job: Arc<RunnerJob>,
        /// The whole status.
        status: RunnerJobStatus,
    },
    /// Ask the platform about this very job, and look again with its answer as `certain`.
    AskPlatform {
        /// The platform's key.
        key: String,
    },
}

/// What a platform lists of a source's jobs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Name of the source.
    pub source: ObjectName,
    /// When the platform was asked; what came to be after that is not missing.
    pub as_of: Timestamp,
    /// Whether it lists every job that waits or runs. Only then does absence mean anything.
    pub complete: bool,
    /// Keys of the jobs that wait or run.
    pub keys: BTreeSet<String>,
}

/// Decides what is done about a sight.
pub fn plan(observed: &Observed, now: Timestamp) -> Option<Step> {
    let Sight { key, state, .. } = &observed.sight;
    let known = observed.known.iter().filter(|job| job.spec.key == *key);
    let Some(job) = known.max_by_key(|job| object::generation(job)) else { return create(observed, 0, now) };
    if state_of(job) != JobState::Completed {
        return further(observed, job, now);
    }
    match (state, observed.certain) {
        (State::Queued, false) => Some(Step::AskPlatform { key: key.clone() }),
        (State::Queued | State::Assigned | State::Running, true) => create(observed, object::generation(job) + 1, now),
        // What is heard late about a job that has ended.
        (State::Assigned | State::Running, false) | (State::Blocked | State::Done(_), _) => None,
    }
}

/// The jobs of a source that a complete listing no longer has: they have to be asked about.
pub fn missing(snapshot: &Snapshot, jobs: &[Arc<RunnerJob>]) -> Vec<Step> {
    if !snapshot.complete {
        return Vec::new();
    }
    let older = |job: &RunnerJob| job.metadata.creation_timestamp.as_ref().is_some_and(|time| time.0 < snapshot.as_of);
    let asked = jobs.iter().filter(|job| {
        job.spec.source_ref.name == snapshot.source
            && state_of(job) != JobState::Completed
            && job.metadata.deletion_timestamp.is_none()
            && older(job)
            && !snapshot.keys.contains(&job.spec.key)
    });
    asked.map(|job| Step::AskPlatform { key: job.spec.key.clone() }).collect()
}

/// How far a job is, as far as we know; one that nobody has said anything about waits.
fn state_of(job: &RunnerJob) -> JobState {
    job.status.as_ref().and_then(|status| status.state).unwrap_or(JobState::Queued)
}

fn create(observed: &Observed, generation: u32, now: Timestamp) -> Option<Step> {
    let job = match observed.sight.state {
        State::Blocked | State::Done(_) => return None,
        State::Queued | State::Assigned | State::Running if !observed.ours => return None,
        State::Queued | State::Assigned | State::Running => object::new(observed, generation, now),
    };
    let status = merged(observed, &job, now);
    Some(Step::Create { job: Box::new(job), status })
}

fn further(observed: &Observed, job: &Arc<RunnerJob>, now: Timestamp) -> Option<Step> {
    let status = merged(observed, job, now)?;
    Some(Step::Patch { job: Arc::clone(job), status })
}

/// The status of a job of which this was seen; none if it says nothing new.
fn merged(observed: &Observed, job: &RunnerJob, now: Timestamp) -> Option<RunnerJobStatus> {
    let Sight { state, started_at, ended_at, .. } = &observed.sight;
    let (seen, result) = match state {
        State::Blocked => return None,
        State::Queued => (JobState::Queued, None),
        State::Assigned => (JobState::Assigned, None),
        State::Running => (JobState::Running, None),
        State::Done(result) => (JobState::Completed, Some(*result)),
    };
    let before = job.status.clone().unwrap_or_default();
    let mut status = before.clone();
    if seen > state_of(job) {
        (status.state, status.result) = (Some(seen), result);
    }
    if seen >= JobState::Assigned {
        hold(observed, &mut status);
    }
    if seen >= JobState::Running {
        let began = started_at.or_else(|| (seen == JobState::Running).then_some(now));
        status.started_at = status.started_at.or_else(|| began.map(Moment::from));
    }
    if seen == JobState::Completed {
        status.ended_at = Some(Moment::from(ended_at.unwrap_or(now)));
    }
    learn(&observed.sight, job, &mut status);
    job::settle(&mut status, job.metadata.generation, now);
    (status != before).then_some(status)
}

/// Keeps who has the job: the runner that the platform names, and the claim whose it is, if that is known yet; else
/// [`crate::job`] finds it. A platform that starts a job once more may do so under its old key; the runner that began
/// last has it then, whatever is told late of the one before.
fn hold(observed: &Observed, status: &mut RunnerJobStatus) {
    let claim = observed.claim.clone().map(|name| LocalRef { name });
    let named = observed.sight.runner.as_ref().filter(|name| (1..=RUNNER_NAME).contains(&name.len()));
    let other = named.is_some() && status.runner.is_some() && named != status.runner.as_ref();
    let began = observed.sight.started_at;
    let later = began > status.started_at.as_ref().map(Moment::timestamp);
    if other && (later || observed.certain) {
        (status.runner, status.claim_ref) = (named.cloned(), claim);
        status.started_at = began.map(Moment::from).or_else(|| status.started_at.take());
    } else if !other {
        status.runner = status.runner.take().or_else(|| named.cloned());
        status.claim_ref = status.claim_ref.take().or(claim);
    }
}

/// Letters of a runner's name that are kept: ours are shorter, and who has a longer one is somebody else.
const RUNNER_NAME: usize = 255;

/// Keeps what nobody said of the job's origin before; that it is of strangers is kept whoever said what before.
fn learn(sight: &Sight, job: &RunnerJob, status: &mut RunnerJobStatus) {
    let (public_repository, fork) = job::facts(job);
    let news =
        |known: Option<bool>, told: Option<bool>| told.filter(|told| known.is_none() || (*told && known != Some(true)));
    status.public_repository = news(public_repository, sight.public_repository).or(status.public_repository);
    status.fork = news(fork, sight.fork).or(status.fork);
}

#[cfg(test)]
mod tests;
