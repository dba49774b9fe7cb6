//! *gone*: nothing is left outside Kubernetes; the claim stays readable for a while, then it goes.

use std::time::Duration;

use api::registry::CLAIM_RETENTION;
use api::{ConditionType, MachineClaimStatus, Moment, Outcome, Phase, Reason, Step as Where, Teardown};
use jiff::Timestamp;
use reconcile::{Finalizer, Next, Plan, Why};

use super::super::observed::{Job, Observed, Sight};
use super::super::{ClaimPlan, Step, limit, tell};
use super::destroying;

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if observed.is_going() {
        return Plan { finalizer: Finalizer::Remove, ..Plan::rest() };
    }
    let gone = observed.status().teardown.as_ref().and_then(|teardown| teardown.vm_gone_at.as_ref());
    let Some(gone) = gone else {
        return Plan { status: Some(closed(observed, now)), ..Plan::rest() };
    };
    let due = limit::after(gone.timestamp(), kept(observed));
    if due <= now {
        return Plan { steps: vec![Step::Delete], ..Plan::rest() };
    }
    Plan::wait(Next::at(due, now, Why::Retention { until: due }))
}

/// How long a claim stays after its VM is gone.
fn kept(observed: &Observed) -> Duration {
    let spec = &observed.claim.spec;
    let usual = if spec.pool_ref.is_some() { Duration::ZERO } else { CLAIM_RETENTION };
    spec.lifecycle.ttl.map_or(usual, api::Span::as_duration)
}

/// The VM is proven gone; what it left behind goes too, and then the claim says so, or goes as well.
pub(super) fn proven(observed: &Observed, remains: &[String], now: Timestamp) -> ClaimPlan {
    let mut steps: Vec<Step> = remains.iter().cloned().map(Step::RemoveLeftover).collect();
    if !observed.errands.done.contains(&Job::Discard) {
        steps.push(Step::DiscardSeed);
    }
    if !steps.is_empty() {
        return Plan {
            steps,
            next: Next::After(super::FIRST, Why::Task { what: Job::Sweep.as_str() }),
            ..Plan::rest()
        };
    }
    if observed.is_going() {
        return Plan { finalizer: Finalizer::Remove, ..Plan::rest() };
    }
    if kept(observed).is_zero() {
        return Plan { steps: vec![Step::Delete], ..Plan::rest() };
    }
    Plan { status: Some(ended(observed, now)), ..Plan::rest() }
}

/// Whether the finalizer may go.
pub(in super::super) fn is_gone(observed: &Observed) -> bool {
    let status = observed.status();
    let none = status.allocation.is_none();
    let said = status.teardown.as_ref().is_some_and(|teardown| teardown.vm_gone_at.is_some());
    let cleared = observed.errands.certain && observed.errands.done.contains(&Job::Discard);
    let seen = match &observed.sight {
        Sight::Absent { remains } => remains.is_empty() && cleared,
        Sight::Foreign { settled, .. } => *settled && cleared,
        Sight::Unasked | Sight::Unknown(_) | Sight::Locked { .. } | Sight::Ours { .. } => false,
    };
    none || said || seen || destroying::is_abandoned(observed)
}

/// The last status: how it ended.
fn closed(observed: &Observed, now: Timestamp) -> MachineClaimStatus {
    let status = tell::as_is(observed);
    let good = matches!(status.outcome, Some(Outcome { exit_code: Some(0), .. }));
    let phase = if good { Phase::Succeeded } else { Phase::Failed };
    let teardown = Teardown { vm_gone_at: Some(Moment::from(now)), ..status.teardown.clone().unwrap_or_default() };
    MachineClaimStatus {
        phase: Some(phase),
        step: Some(Where::Gone),
        teardown: Some(teardown),
        next_retry_time: None,
        ..status
    }
}

/// The last status of a claim that had a VM: nothing is left of it.
fn ended(observed: &Observed, now: Timestamp) -> MachineClaimStatus {
    let reason = api::condition::find(&observed.status().conditions, ConditionType::Ready)
        .and_then(|ready| Reason::ALL.iter().find(|reason| reason.as_str() == ready.reason));
    let message = "the VM, its disks and its seed are gone";
    let reason = *reason.unwrap_or(&Reason::Finished);
    tell::say(closed(observed, now), ConditionType::VmCleanedUp, true, reason, message)
}

/// A person takes over: the claim says what may remain, and then it goes.
pub(super) fn abandoned(observed: &Observed, now: Timestamp) -> ClaimPlan {
    let told = api::condition::find(&observed.status().conditions, ConditionType::VmCleanedUp)
        .is_some_and(|condition| condition.reason == Reason::Abandoned.as_str());
    if told && observed.is_going() {
        return Plan { finalizer: Finalizer::Remove, ..Plan::rest() };
    }
    if told {
        // What was given up stays said: nobody has seen it go.
        return Plan { status: Some(closed(observed, now)), ..Plan::rest() };
    }
    let id = observed.status().allocation.as_ref().map(|allocation| allocation.vm_id.to_string()).unwrap_or_default();
    let message = format!("VM {id}, its disks and its seed may remain: they were given up by annotation");
    let status = tell::say(tell::as_is(observed), ConditionType::VmCleanedUp, false, Reason::Abandoned, message);
    Plan { status: Some(status), ..Plan::rest() }
}
