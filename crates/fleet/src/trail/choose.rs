//! Which of several objects the way leads over.

use api::registry::label;
use api::{MachineClaim, Phase, RunnerJob};

use crate::claim::ended;

/// Of the claims made for a job the one that counts: the one whose runner has the job, else the one that is furthest, else
/// the last that there was.
pub fn claim_of_job<'a>(job: &RunnerJob, claims: &'a [MachineClaim]) -> Option<&'a MachineClaim> {
    let status = job.status.as_ref();
    if let Some(taken) = status.and_then(|status| status.claim_ref.as_ref()) {
        return claims.iter().find(|claim| claim.metadata.name.as_deref() == Some(taken.name.as_str()));
    }
    let mine = |claim: &&MachineClaim| job_named(claim) == job.metadata.name.as_deref();
    let lives = |claim: &MachineClaim| !ended(phase(claim)) && claim.metadata.deletion_timestamp.is_none();
    claims.iter().filter(mine).max_by_key(|claim| (lives(claim), phase(claim).filter(|_| lives(claim)), born(claim)))
}

/// Of a pool's claims the one that has waited longest for its machine; none if every machine is ready or gone.
pub fn claim_of_pool(claims: &[MachineClaim]) -> Option<&MachineClaim> {
    let waits =
        |claim: &&MachineClaim| phase(claim) < Some(Phase::Ready) && claim.metadata.deletion_timestamp.is_none();
    claims.iter().filter(waits).min_by_key(|claim| born(claim))
}

/// The name of the job that a claim's runner has, else of the one it was made for.
pub fn job_of_claim(claim: &MachineClaim, jobs: &[RunnerJob]) -> Option<String> {
    let name = claim.metadata.name.as_deref();
    let has = |job: &&RunnerJob| {
        let taken = job.status.as_ref().and_then(|status| status.claim_ref.as_ref());
        taken.is_some_and(|taken| Some(taken.name.as_str()) == name)
    };
    let has = jobs.iter().find(has).and_then(|job| job.metadata.name.clone());
    has.or_else(|| job_named(claim).map(ToOwned::to_owned))
}

/// The job that a claim was made for.
fn job_named(claim: &MachineClaim) -> Option<&str> {
    let asked = claim.spec.workload.runner.as_ref().and_then(|runner| runner.job_ref.as_ref());
    let labelled = || claim.metadata.labels.as_ref()?.get(label::RUNNER_JOB).map(String::as_str);
    asked.map(|job| job.name.as_str()).or_else(labelled)
}

fn phase(claim: &MachineClaim) -> Option<Phase> {
    claim.status.as_ref().and_then(|status| status.phase)
}

fn born(claim: &MachineClaim) -> Option<jiff::Timestamp> {
    claim.metadata.creation_timestamp.as_ref().map(|time| time.0)
}
