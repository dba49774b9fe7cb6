//! What makes the controller look at a job, beside the job itself.

use api::condition::find;
use api::{ConditionStatus, ConditionType, MachineClaim, RunnerJob, RunnerPool, RunnerSource};
use runtime::{Bell, Cache, Driver, Key};

use super::super::runner_pools::source_of;
use super::{RunnerJobs, Sources, claim_of, is_open, job_source, made_for, unplaced};
use crate::index::Index;
use crate::outpost::{Outposts, runner_of};

/// Looks again at a job when its claims move, and at all that have not ended when their pool or source says something
/// else.
pub fn wire(
    driver: Driver<RunnerJobs>,
    outposts: &Outposts,
    jobs: &Cache<RunnerJob>,
    sources: &Sources,
) -> Driver<RunnerJobs> {
    let open = Index::of(jobs, |job| is_open(job).then(|| job_source(job)));
    let (at, unplaced) = (Index::of(jobs, claim_of), Index::of(jobs, unplaced));
    let (by_pool, by_source) = (open.clone(), open.clone());
    driver
        .heeds(&connected(outposts, open))
        .watches_changes(&sources.claims, move |before, after| {
            if before.map(essence) == after.map(essence) {
                return Vec::new();
            }
            let Some(claim) = after.or(before) else { return Vec::new() };
            let named = runner_of(claim).into_iter().flat_map(|runner| unplaced.under(&runner));
            made_for(claim).into_iter().chain(at.under(&Key::of(&claim.metadata))).chain(named).collect()
        })
        .watches_changes(&sources.pools, move |before, after| {
            let moved = before.map(stance) != after.map(stance);
            after.or(before).filter(|_| moved).map(|pool| by_pool.under(&source_of(pool))).unwrap_or_default()
        })
        .watches_changes(&sources.sources, move |before, after| {
            let moved = before.map(readiness) != after.map(readiness);
            let source = after.or(before).filter(|_| moved);
            source.map(|source| by_source.under(&Key::of(&source.metadata))).unwrap_or_default()
        })
}

/// Rung for the jobs of a source of which something new is known: only its platform says which pools fit.
fn connected(outposts: &Outposts, open: Index) -> Bell {
    let bell = Bell::default();
    let jobs = bell.clone();
    outposts.bell().listen(move |source| {
        open.under(source).iter().for_each(|job| jobs.ring(job));
        true
    });
    bell
}

/// What of a claim its job tells.
fn essence(claim: &MachineClaim) -> impl PartialEq + use<> {
    let status = claim.status.clone().unwrap_or_default();
    let says = |about| find(&status.conditions, about).map(|known| (known.reason.clone(), known.message.clone()));
    let said = [ConditionType::Provisioning, ConditionType::Bootstrapped, ConditionType::Ready].map(says);
    let runner = status.runner.map(|runner| runner.name);
    (claim.metadata.deletion_timestamp.is_some(), status.phase, status.outcome, runner, said)
}

/// What of a pool its jobs go by. Why it does not scale is what they wait for; that it does is told in other words with
/// every machine that comes or goes, and makes no difference to them.
fn stance(pool: &RunnerPool) -> impl PartialEq + use<> {
    let scaling = pool.status.as_ref().and_then(|status| find(&status.conditions, ConditionType::Scaling));
    let held = scaling.filter(|known| known.status != ConditionStatus::True.as_str());
    let says = held.map(|known| (known.reason.clone(), known.message.clone()));
    (pool.metadata.deletion_timestamp.is_some(), pool.spec.clone(), says)
}

/// What of a source its jobs go by.
fn readiness(source: &RunnerSource) -> impl PartialEq + use<> {
    let ready = source.status.as_ref().and_then(|status| find(&status.conditions, ConditionType::Ready));
    ready.map(|known| (known.status.clone(), known.reason.clone(), known.message.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(scaling: &str, reason: &str) -> RunnerPool {
        let pool = serde_json::json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
            "kind": "RunnerPool",
            "metadata": { "name": "small" },
            "spec": { "sourceRef": { "name": "ci" }, "templateRef": { "name": "small" }, "labels": ["small"] },
            "status": { "conditions": [{
                "type": "Scaling", "status": scaling, "reason": reason, "message": reason,
                "lastTransitionTime": "2027-01-15T08:00:00Z",
            }] },
        });
        serde_json::from_value(pool).unwrap()
    }

    #[test]
    fn jobs_do_not_care_in_which_words_their_pool_says_that_it_scales() {
        let is_same = |a: &RunnerPool, b: &RunnerPool| stance(a) == stance(b);
        assert!(is_same(&pool("True", "Steady"), &pool("True", "DemandIncreased")));
        assert!(!is_same(&pool("True", "Steady"), &pool("False", "AtMaximum")));
        assert!(!is_same(&pool("False", "SourceNotReady"), &pool("False", "AtMaximum")));
    }
}
