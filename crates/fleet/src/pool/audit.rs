//! What no plan may do for a pool, stated apart from how plans are made.

use std::collections::{BTreeMap, BTreeSet};

use api::registry::finalizer::VM_CLEANUP;
use api::{BootstrapState, JobState, MachineClaim, MachineClaimStatus, RunnerJob};
use reconcile::{Finalizer, Violation};

use super::{Birth, Observed, PoolPlan, Step};
use crate::claim::{ended, holds_machine};

/// States what no plan may do for a pool.
pub fn audit(observed: &Observed, plan: &PoolPlan) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut broken = |invariant, detail: String| violations.push(Violation::new(invariant, detail));
    let work = Work::of(observed);
    for step in &plan.steps {
        match step {
            Step::Make(births) => births_of(observed, &work, births, &mut broken),
            Step::Delete(claim) | Step::Drain { claim, .. } => {
                if is_busy(&work, claim) {
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

fn births_of(observed: &Observed, work: &Work<'_>, births: &[Birth], broken: &mut impl FnMut(&'static str, String)) {
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
                != ahead.job.status.as_ref().and_then(|status| status.claims_made).unwrap_or(0) + 1
        {
            broken("a job's count of claims goes up one by one", format!("{:?}", ahead.status.claims_made));
        }
    }
    let (over, taking): (Vec<&MachineClaim>, Vec<&MachineClaim>) =
        observed.claims.iter().map(|claim| &**claim).partition(|claim| is_over(work, claim));
    let mut live: BTreeSet<&str> = taking.iter().filter_map(|claim| claim.metadata.name.as_deref()).collect();
    live.extend(observed.unseen.iter().map(String::as_str));
    live.extend(&names);
    let max = observed.pool.spec.scaling.max_replicas as usize;
    if live.len() > max {
        broken("no more claims may take a job than maxReplicas", format!("{} of {max}", live.len()));
    }
    let ending = over.iter().filter(|claim| holds_machine(claim)).count();
    let most = max + super::make::most_terminating(&observed.pool.spec.scaling);
    if live.len() + ending > most {
        broken("no more VMs than maxReplicas and maxTerminating", format!("{} of {most}", live.len() + ending));
    }
}

/// The jobs that claims have, by the claim's name: found once, because a pool has thousands of both.
struct Work<'a>(BTreeMap<&'a str, Vec<&'a RunnerJob>>);

impl<'a> Work<'a> {
    fn of(observed: &'a Observed) -> Self {
        let mut work: BTreeMap<&str, Vec<&RunnerJob>> = BTreeMap::new();
        for job in &observed.jobs {
            if let Some(claim) = job.status.as_ref().and_then(|status| status.claim_ref.as_ref()) {
                work.entry(claim.name.as_str()).or_default().push(job);
            }
        }
        Self(work)
    }

    /// The job that a claim has.
    fn on(&self, claim: &MachineClaim) -> Option<&'a RunnerJob> {
        let jobs = self.0.get(claim.metadata.name.as_deref()?)?;
        jobs.iter().copied().find(|job| !super::census::predates(job, claim))
    }
}

fn has_ended(job: &RunnerJob) -> bool {
    job.status.as_ref().is_some_and(|status| status.state == Some(JobState::Completed))
}

/// Whether no job can come to a claim any more.
fn is_over(work: &Work<'_>, claim: &MachineClaim) -> bool {
    let over = |status: &MachineClaimStatus| {
        let released = status.bootstrap.as_ref().is_some_and(|record| record.state == BootstrapState::Released);
        let drained =
            status.busy_time.is_none() && status.drain.as_ref().is_some_and(|drain| drain.confirmed_at.is_some());
        let gone = status.teardown.as_ref().is_some_and(|teardown| teardown.vm_gone_at.is_some());
        ended(status.phase) || released || drained || gone
    };
    let done = work.on(claim).is_some_and(has_ended);
    claim.metadata.deletion_timestamp.is_some() || done || claim.status.as_ref().is_some_and(over)
}

/// Whether a claim has a job, or had one whose end is not written down.
fn is_busy(work: &Work<'_>, claim: &MachineClaim) -> bool {
    let status = claim.status.as_ref();
    let taken = status.is_some_and(|status| status.busy_time.is_some()) || work.on(claim).is_some();
    taken && !ended(status.and_then(|status| status.phase)) && claim.metadata.deletion_timestamp.is_none()
}

/// Whether a claim's agent has proven itself, after which a runner may be registered at any moment.
fn may_be_registered(claim: &MachineClaim) -> bool {
    let status = claim.status.clone().unwrap_or_default();
    let proven = status.bootstrap.as_ref().is_some_and(|record| record.state == BootstrapState::Bound);
    (proven || status.runner.is_some()) && !ended(status.phase) && claim.metadata.deletion_timestamp.is_none()
}
