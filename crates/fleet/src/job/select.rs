//! Which pool serves a job.

use api::registry::label::RUNNER_QUEUE;
use api::{JobState, RunnerJob, RunnerPool};

use super::Candidate;
use crate::demand::Sight;

/// What a platform can be asked of where a job's code comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tells {
    /// Whether a repository is public.
    pub public_repositories: bool,
    /// Whether a job runs code of a fork.
    pub forks: bool,
}

/// How far something is known of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fact {
    /// It is so.
    Yes,
    /// It is not so.
    No,
    /// The platform can tell, and has not been heard: this never means no.
    Unasked,
    /// The platform cannot tell: this is not held against the job.
    Untold,
}

impl Fact {
    fn of(known: Option<bool>, told: bool) -> Self {
        match (known, told) {
            (Some(true), _) => Self::Yes,
            (Some(false), _) => Self::No,
            (None, true) => Self::Unasked,
            (None, false) => Self::Untold,
        }
    }
}

/// What is known of where a job's code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Whether the repository is public.
    pub public_repository: Fact,
    /// Whether it is a fork's code.
    pub fork: Fact,
}

impl Origin {
    /// What is known of a job, by what was said of it when it was first seen and since.
    pub fn of(job: &RunnerJob, tells: Tells) -> Self {
        let (public_repository, fork) = facts(job);
        Self::known(public_repository, fork, tells)
    }

    /// What a sight tells.
    pub fn seen(sight: &Sight, tells: Tells) -> Self {
        Self::known(sight.public_repository, sight.fork, tells)
    }

    pub(super) fn known(public_repository: Option<bool>, fork: Option<bool>, tells: Tells) -> Self {
        Self {
            public_repository: Fact::of(public_repository, tells.public_repositories),
            fork: Fact::of(fork, tells.forks),
        }
    }
}

/// Whether a job's repository is public and whether its code is a fork's, as far as anybody said.
pub(crate) fn facts(job: &RunnerJob) -> (Option<bool>, Option<bool>) {
    let status = job.status.as_ref();
    let later = |field: fn(&api::RunnerJobStatus) -> Option<bool>| status.and_then(field);
    (
        either(job.spec.public_repository, later(|status| status.public_repository)),
        either(job.spec.fork, later(|status| status.fork)),
    )
}

/// What two words make together: a yes stays one.
pub(crate) fn either(first: Option<bool>, second: Option<bool>) -> Option<bool> {
    if second == Some(true) { second } else { first.or(second) }
}

/// Which pool serves a job, or why none does.
#[derive(Clone, Copy, Debug)]
pub enum Choice<'a> {
    /// This one.
    Serves(&'a RunnerPool),
    /// This one may: something that it has to know first, the platform has to be asked.
    Unsure {
        /// The pool.
        pool: &'a RunnerPool,
        /// What the job may be that the pool does not serve.
        what: &'static str,
    },
    /// This one would, if it trusted the job.
    Denied {
        /// The pool.
        pool: &'a RunnerPool,
        /// What the job is that the pool does not serve.
        what: &'static str,
        /// The field that would allow it.
        field: &'static str,
    },
    /// None; this one lacks least.
    Unmatched(Option<&'a Candidate>),
}

/// Chooses the pool with the fewest labels among those that fit and do not refuse the job, then by name. A pool that is
/// being deleted serves nobody.
pub fn select(origin: Origin, candidates: &[Candidate]) -> Choice<'_> {
    let living = || candidates.iter().filter(|one| one.pool.metadata.deletion_timestamp.is_none());
    let fitting = || living().filter(|one| one.missing.is_empty()).map(|one| &*one.pool);
    let willing = fitting().filter(|pool| !matches!(stance(origin, pool), Stance::Denies { .. }));
    let Some(pool) = willing.min_by_key(|pool| rank(pool)).or_else(|| fitting().min_by_key(|pool| rank(pool))) else {
        return Choice::Unmatched(living().min_by_key(|one| (one.missing.len(), rank(&one.pool))));
    };
    match stance(origin, pool) {
        Stance::Trusts => Choice::Serves(pool),
        Stance::Unsure { what } => Choice::Unsure { pool, what },
        Stance::Denies { what, field } => Choice::Denied { pool, what, field },
    }
}

/// Whether a runner of a pool could be given a waiting job that the pool must not run. Runners are not bound to jobs: as
/// long as such a job waits, whichever runner is registered may get it.
///
/// In a queue session the platform has put the job into the pool's own queue. In other modes it gives a job to any runner
/// with its labels, but a public repository's only where a runner group allows that, which is not the platform's default.
pub fn endangers(job: &RunnerJob, candidate: &Candidate, tells: Tells) -> bool {
    let waits = job.status.as_ref().and_then(|status| status.state).unwrap_or(JobState::Queued) == JobState::Queued;
    if !waits || job.metadata.deletion_timestamp.is_some() {
        return false;
    }
    let (origin, pool) = (Origin::of(job, tells), &*candidate.pool);
    if let Some(queue) = queue_of(job) {
        return pool.metadata.name.as_deref() == Some(queue) && stance(origin, pool) != Stance::Trusts;
    }
    let may_come = origin.public_repository != Fact::Yes || pool.spec.trust.public_repositories;
    let is_fork = matches!(origin.fork, Fact::Yes | Fact::Unasked) && !pool.spec.trust.forks;
    candidate.missing.is_empty() && may_come && is_fork
}

/// The pool in whose queue the platform has put a job; none where demand is not learnt of in queue sessions.
pub fn queue_of(job: &RunnerJob) -> Option<&str> {
    job.metadata.labels.as_ref()?.get(RUNNER_QUEUE).map(String::as_str)
}

/// Whether a pool serves any job, wherever its code comes from.
pub(crate) const fn trusts_all(pool: &RunnerPool) -> bool {
    pool.spec.trust.forks && pool.spec.trust.public_repositories
}

/// What a pool makes of a job's origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stance {
    Trusts,
    Unsure { what: &'static str },
    Denies { what: &'static str, field: &'static str },
}

fn stance(origin: Origin, pool: &RunnerPool) -> Stance {
    let trust = &pool.spec.trust;
    let questions = [
        (origin.fork, trust.forks, "a fork", "forks"),
        (origin.public_repository, trust.public_repositories, "a public repository", "publicRepositories"),
    ];
    let mut refused = questions.into_iter().filter(|(_, allowed, ..)| !allowed);
    let mut unsure = Stance::Trusts;
    refused
        .find_map(|(fact, _, what, field)| match fact {
            Fact::Yes => Some(Stance::Denies { what, field }),
            Fact::Unasked => {
                unsure = Stance::Unsure { what };
                None
            }
            Fact::No | Fact::Untold => None,
        })
        .unwrap_or(unsure)
}

fn rank(pool: &RunnerPool) -> (usize, Option<&str>) {
    (pool.spec.labels.len() + pool.spec.tags.len(), pool.metadata.name.as_deref())
}
