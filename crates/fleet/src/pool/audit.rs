//! What no plan may do for a pool, stated apart from how plans are made.

use std::collections::BTreeSet;

use api::registry::finalizer::VM_CLEANUP;
use api::{BootstrapState, JobState, MachineClaim, RunnerJob};
use reconcile::{Finalizer, Violation};

use super::{Birth, Observed, PoolPlan, Step};
use crate::claim::{ended, holds_machine};

/// States what no plan may do for a pool.
pub fn audit(observed: &Observed, plan: &PoolPlan) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut broken = |invariant, detail: String| violations.push(Violation::new(invariant, detail));
    for step in &plan.steps {
        match step {
            Step::Make(births) => births_of(observed, births, &mut broken),
            Step::Delete(claim) | Step::Drain { claim, .. } => {
                if is_busy(observed, claim) {
                    broken("a busy runner is never retired", step.to_string());
                }
                if matches!(step, Step::Delete(_)) && may_be_registered(claim) {
                    broken("what may have a runner is drained, not deleted", step.to_string());
                }
            }
        }
    }
    if plan.finalizer == Finalizer::Remove && !(observed.claims.is_empty() && observed.unseen.is_empty()) {
        broken("a pool goes after its claims", format!("{} are left", observed.claims.len() + observed.unseen.len()));
    }
    violations
}

fn births_of(observed: &Observed, births: &[Birth], broken: &mut impl FnMut(&'static str, String)) {
    let names: BTreeSet<&str> = births.iter().filter_map(|birth| birth.claim.metadata.name.as_deref()).collect();
    if names.len() != births.len() {
        broken("no two claims have one name", format!("{names:?}"));
    }
    if observed.pool.metadata.deletion_timestamp.is_some() {
        broken("a pool that goes makes nothing", format!("{names:?}"));
    }
    if let Some(stranger) = observed.strangers.first() {
        broken(
            "nothing is made while a job could take it that must not run here",
            format!("{:?}", stranger.metadata.name),
        );
    }
    for birth in births {
        let meta = &birth.claim.metadata;
        let kept = meta.finalizers.iter().flatten().any(|name| name == VM_CLEANUP);
        if !kept || birth.claim.spec.pool_ref.is_none() || meta.owner_references.is_none() {
            broken("a claim is kept until its VM is gone, and its pool's", format!("{:?}", meta.name));
        }
        if let Some(ahead) = &birth.ahead
            && ahead.status.claims_made.unwrap_or(0)
                != ahead.job.status.clone().unwrap_or_default().claims_made.unwrap_or(0) + 1
        {
            broken("a job's count of claims goes up one by one", format!("{:?}", ahead.status.claims_made));
        }
    }
    let may_take = |claim: &MachineClaim| !is_over(observed, claim);
    let taking = observed.claims.iter().filter(|claim| may_take(claim));
    let mut live: BTreeSet<String> = taking.filter_map(|claim| claim.metadata.name.clone()).collect();
    live.extend(observed.unseen.iter().cloned());
    live.extend(names.iter().map(|name| (*name).to_owned()));
    let max = observed.pool.spec.scaling.max_replicas as usize;
    if live.len() > max {
        broken("no more claims may take a job than maxReplicas", format!("{} of {max}", live.len()));
    }
    let ending = observed.claims.iter().filter(|claim| !may_take(claim) && holds_machine(claim)).count();
    let most = max + super::make::most_terminating(&observed.pool.spec.scaling);
    if live.len() + ending > most {
        broken("no more VMs than maxReplicas and maxTerminating", format!("{} of {most}", live.len() + ending));
    }
}

fn job_on<'a>(observed: &'a Observed, claim: &MachineClaim) -> Option<&'a RunnerJob> {
    let name = claim.metadata.name.as_deref()?;
    let on = |job: &&RunnerJob| {
        let status = job.status.as_ref();
        status.and_then(|status| status.claim_ref.as_ref()).is_some_and(|claim| claim.name.as_str() == name)
    };
    observed.jobs.iter().map(|job| &**job).find(|job| on(job) && !super::census::predates(job, claim))
}

fn has_ended(job: &RunnerJob) -> bool {
    job.status.as_ref().is_some_and(|status| status.state == Some(JobState::Completed))
}

/// Whether no job can come to a claim any more.
fn is_over(observed: &Observed, claim: &MachineClaim) -> bool {
    let status = claim.status.clone().unwrap_or_default();
    let released = status.bootstrap.as_ref().is_some_and(|record| record.state == BootstrapState::Released);
    let drained = status.busy_time.is_none() && status.drain.as_ref().is_some_and(|drain| drain.confirmed_at.is_some());
    let done = job_on(observed, claim).is_some_and(has_ended);
    let gone = status.teardown.as_ref().is_some_and(|teardown| teardown.vm_gone_at.is_some());
    claim.metadata.deletion_timestamp.is_some() || ended(status.phase) || released || drained || done || gone
}

/// Whether a claim has a job, or had one whose end is not written down.
fn is_busy(observed: &Observed, claim: &MachineClaim) -> bool {
    let status = claim.status.clone().unwrap_or_default();
    let taken = status.busy_time.is_some() || job_on(observed, claim).is_some();
    taken && !ended(status.phase) && claim.metadata.deletion_timestamp.is_none()
}

/// Whether a claim's agent has proven itself, after which a runner may be registered at any moment.
fn may_be_registered(claim: &MachineClaim) -> bool {
    let status = claim.status.clone().unwrap_or_default();
    let proven = status.bootstrap.as_ref().is_some_and(|record| record.state == BootstrapState::Bound);
    (proven || status.runner.is_some()) && !ended(status.phase) && claim.metadata.deletion_timestamp.is_none()
}
