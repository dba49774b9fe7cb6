//! Which pool a job is for, and the platform's word where a pool has to know more of it first.

use std::sync::Arc;
use std::time::Duration;

use api::{ObjectName, RunnerPool};
use fleet::demand::{Sight, State};
use fleet::job::{Candidate, Choice, Origin, select};
use providers::platform::JobKey;
use tokio::time::timeout;

use super::Outpost;

/// How long whoever saw a job waits for the platform to say whose it is: a sender of deliveries waits, too. After that the
/// job is stored without it, nobody serves it, and the leader goes on asking.
const PATIENCE: Duration = Duration::from_secs(2);

/// The pools that a job might be for, with what each of them lacks.
pub(super) fn candidates(outpost: &Outpost, pools: Vec<Arc<RunnerPool>>, sight: &Sight) -> Vec<Candidate> {
    let wanted: Vec<String> = sight.labels.iter().map(|label| label.as_str().to_owned()).collect();
    let candidate = |pool: Arc<RunnerPool>| {
        let labels: Vec<String> = pool.spec.labels.iter().map(|label| label.as_str().to_owned()).collect();
        let offered = outpost.offered(&labels);
        let lacks = |label: &&String| !outpost.matches(std::slice::from_ref(*label), &offered);
        Candidate { missing: wanted.iter().filter(lacks).cloned().collect(), pool }
    };
    pools.into_iter().map(candidate).collect()
}

/// The pool that serves a job, by what is known of it.
pub(super) fn pool(outpost: &Outpost, candidates: &[Candidate], sight: &Sight) -> Option<ObjectName> {
    match select(Origin::seen(sight, outpost.tells()), candidates) {
        Choice::Serves(pool) => pool.metadata.name.as_deref().map(ObjectName::new),
        Choice::Unsure { .. } | Choice::Denied { .. } | Choice::Unmatched(_) => None,
    }
}

/// Whether a job may be meant for us: the platform has no machines for it, or some pool has something that it asks for.
pub(super) fn is_ours(outpost: &Outpost, candidates: &[Candidate], sight: &Sight) -> bool {
    let wanted: Vec<String> = sight.labels.iter().map(|label| label.as_str().to_owned()).collect();
    !outpost.may_serve(&wanted) || candidates.iter().any(|one| one.missing.len() < wanted.len())
}

/// Asks whose code a waiting job is, if a pool has to know that and nobody said it.
pub(super) async fn complete(outpost: &Outpost, candidates: &[Candidate], sight: &mut Sight) {
    let unsure = matches!(select(Origin::seen(sight, outpost.tells()), candidates), Choice::Unsure { .. });
    if sight.state != State::Queued || !unsure {
        return;
    }
    match timeout(PATIENCE, outpost.origin(&JobKey::new(&sight.key))).await {
        Ok(Ok(Some(origin))) => {
            sight.public_repository = sight.public_repository.or(origin.public);
            sight.fork = sight.fork.or(origin.fork);
        }
        Ok(Ok(None)) | Err(_) => {}
        Ok(Err(error)) => tracing::warn!(job = sight.key, %error, "nobody knows yet whose code a job is"),
    }
}
