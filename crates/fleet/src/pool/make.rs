//! New claims: for the jobs that wait, then for nobody in particular.

use std::sync::Arc;

use api::registry::label::{RUNNER_JOB, RUNNER_POOL};
use api::registry::{API_VERSION, finalizer::VM_CLEANUP};
use api::{
    LocalRef, MachineClaim, MachineClaimSpec, Moment, ObjectName, OwnerReference, RunnerJob, RunnerWorkload, Scaling,
    Workload,
};
use jiff::{RoundMode, Timestamp, TimestampRound, Unit};

use super::census::{Census, Own, Standing, Waiting};
use super::{Ahead, Birth, Observed};
use crate::digest::digest;
use crate::job::{say, starting};

/// Characters of a pool's name in those of its claims, which become names of VMs and runners.
const POOL: usize = 40;
/// Digits that tell pools of one name apart.
const DIGITS: usize = 6;

/// The name of a claim made for a job.
pub(crate) fn claim_name(job: &str, number: u32) -> String {
    format!("{job}-{number}")
}

/// How many of a pool's VMs may be being destroyed while others are made.
pub(super) fn most_terminating(scaling: &Scaling) -> usize {
    scaling.max_terminating.unwrap_or_else(|| (scaling.max_replicas / 4).max(1)) as usize
}

/// How many more claims there may be now, by both bounds.
pub(super) fn room(observed: &Observed, census: &Census<'_>) -> usize {
    let scaling = &observed.pool.spec.scaling;
    let max = scaling.max_replicas as usize;
    let total = census.live() + census.count(Standing::Ending);
    max.saturating_sub(census.live()).min((max + most_terminating(scaling)).saturating_sub(total))
}

/// The claims to make now.
pub(super) fn births(observed: &Observed, census: &Census<'_>, now: Timestamp) -> Vec<Birth> {
    let lack = census.needed.saturating_sub(census.serving()).min(room(observed, census));
    let of = |own: Own| census.waiting.iter().filter(move |one| one.own == own && one.rests.is_none());
    // Those whose claim cannot take them come last: it may be that it has them already, and nobody said so yet.
    let jobs = of(Own::None).chain(of(Own::Spent)).map(|one| next_of(observed, one, now));
    let spares = spares(observed).map(|name| Birth { ahead: None, claim: Box::new(claim(observed, &name, None)) });
    jobs.chain(spares).take(lack).collect()
}

fn next_of(observed: &Observed, waiting: &Waiting<'_>, now: Timestamp) -> Birth {
    let job = waiting.job;
    let made = waiting.made.saturating_add(1);
    let name = claim_name(name_of(job), made);
    let pool = pool_name(observed);
    let mut status = job.status.clone().unwrap_or_default();
    status.pool_ref = Some(LocalRef { name: ObjectName::new(pool) });
    status.claims_made = Some(made);
    status.last_claim_at = Some(Moment::from(whole(now)));
    say(&mut status, starting(&name, pool), job.metadata.generation, now);
    let ahead = Ahead { job: Arc::clone(job), status: Box::new(status) };
    Birth { ahead: Some(ahead), claim: Box::new(claim(observed, &name, Some(job))) }
}

/// Free names for claims that no job asked for; lowest numbers first.
fn spares(observed: &Observed) -> impl Iterator<Item = String> {
    let short: String = pool_name(observed).chars().take(POOL).collect();
    let mark = digest(observed.pool.metadata.uid.as_deref().unwrap_or_default(), DIGITS);
    let taken: std::collections::BTreeSet<&str> = observed
        .claims
        .iter()
        .filter_map(|claim| claim.metadata.name.as_deref())
        .chain(observed.unseen.iter().map(String::as_str))
        .collect();
    (0_u32..)
        .map(move |number| format!("{}-{mark}-{number}", short.trim_end_matches(['-', '.'])))
        .filter(move |name| !taken.contains(name.as_str()))
}

/// What a claim of the pool is.
pub(super) fn spec(observed: &Observed, job: Option<&RunnerJob>) -> MachineClaimSpec {
    let pool = &observed.pool.spec;
    let local = |name: &str| LocalRef { name: ObjectName::new(name) };
    let runner = RunnerWorkload {
        source_ref: pool.source_ref.clone(),
        labels: pool.labels.clone(),
        tags: pool.tags.clone(),
        queue: pool.queue.clone(),
        job_ref: job.map(|job| local(name_of(job))),
    };
    MachineClaimSpec {
        template_ref: pool.template_ref.clone(),
        pool_ref: Some(local(pool_name(observed))),
        workload: Workload { runner: Some(runner), command: None },
        lifecycle: pool.lifecycle.clone(),
        capture_output: false,
    }
}

fn claim(observed: &Observed, name: &str, job: Option<&RunnerJob>) -> MachineClaim {
    let pool = &observed.pool.metadata;
    let mut claim = MachineClaim::new(name, spec(observed, job));
    claim.metadata.namespace.clone_from(&pool.namespace);
    // Before anything is made for it: nothing of it may be left behind.
    claim.metadata.finalizers = Some(vec![VM_CLEANUP.to_owned()]);
    let of_job = job.map(|job| (RUNNER_JOB.to_owned(), name_of(job).to_owned()));
    let of_pool = (RUNNER_POOL.to_owned(), pool_name(observed).to_owned());
    claim.metadata.labels = Some(of_job.into_iter().chain([of_pool]).collect());
    claim.metadata.owner_references = Some(vec![OwnerReference {
        api_version: API_VERSION.to_owned(),
        kind: "RunnerPool".to_owned(),
        name: pool_name(observed).to_owned(),
        uid: pool.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }]);
    claim
}

pub(super) fn pool_name(observed: &Observed) -> &str {
    observed.pool.metadata.name.as_deref().unwrap_or_default()
}

fn name_of(job: &RunnerJob) -> &str {
    job.metadata.name.as_deref().unwrap_or_default()
}

/// The next whole second: objects keep no parts of one, and nothing may come too soon for that.
pub(super) fn whole(moment: Timestamp) -> Timestamp {
    moment.round(TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Ceil)).unwrap_or(moment)
}
