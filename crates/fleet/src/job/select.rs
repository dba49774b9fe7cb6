//! Which pool serves a job.

use api::{RunnerJobSpec, RunnerPool};

use super::Candidate;
use crate::demand::Sight;

/// What is known of where a job's code comes from; what the platform does not say is not held against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Whether the repository is public.
    pub public_repository: Option<bool>,
    /// Whether it is a fork's code.
    pub fork: Option<bool>,
}

impl From<&RunnerJobSpec> for Origin {
    fn from(spec: &RunnerJobSpec) -> Self {
        Self { public_repository: spec.public_repository, fork: spec.fork }
    }
}

impl From<&Sight> for Origin {
    fn from(sight: &Sight) -> Self {
        Self { public_repository: sight.public_repository, fork: sight.fork }
    }
}

/// Which pool serves a job, or why none does.
#[derive(Clone, Copy, Debug)]
pub enum Choice<'a> {
    /// This one.
    Serves(&'a RunnerPool),
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

/// Chooses the pool with the fewest labels among those that fit and trust the job, then by name. A pool that is being
/// deleted serves nobody.
pub fn select(origin: Origin, candidates: &[Candidate]) -> Choice<'_> {
    let living = || candidates.iter().filter(|one| one.pool.metadata.deletion_timestamp.is_none());
    let fitting = || living().filter(|one| one.missing.is_empty()).map(|one| &*one.pool);
    if let Some(pool) = fitting().filter(|pool| denial(origin, pool).is_none()).min_by_key(|pool| rank(pool)) {
        return Choice::Serves(pool);
    }
    let refusal = fitting().min_by_key(|pool| rank(pool)).and_then(|pool| Some((pool, denial(origin, pool)?)));
    match refusal {
        Some((pool, (what, field))) => Choice::Denied { pool, what, field },
        None => Choice::Unmatched(living().min_by_key(|one| (one.missing.len(), rank(&one.pool)))),
    }
}

/// Why a pool does not trust a job.
fn denial(origin: Origin, pool: &RunnerPool) -> Option<(&'static str, &'static str)> {
    let trust = &pool.spec.trust;
    if origin.fork == Some(true) && !trust.forks {
        return Some(("a fork", "forks"));
    }
    (origin.public_repository == Some(true) && !trust.public_repositories)
        .then_some(("a public repository", "publicRepositories"))
}

fn rank(pool: &RunnerPool) -> (usize, Option<&str>) {
    (pool.spec.labels.len() + pool.spec.tags.len(), pool.metadata.name.as_deref())
}
