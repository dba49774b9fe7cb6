//! *gone*: nothing is left outside Kubernetes; the claim stays readable for a while, then it goes.

use std::time::Duration;

use api::registry::CLAIM_RETENTION;
use api::{ConditionType, MachineClaimStatus, Moment, Outcome, Phase, Reason, Step as Where, Teardown};
use jiff::Timestamp;
use reconcile::{Finalizer, Next, Plan, Why};

use super::super::observed::{Job, Observed, Sight};
use super::super::{ClaimPlan, Step, farewell, holds_machine, limit, tell};
use super::destroying;
use crate::job;

/// The job calls when it has written its loss down; this is a net under calls that are lost.
const CALLED: Duration = Duration::from_secs(30);

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if observed.is_going() {
        return leave(observed);
    }
    let teardown = observed.status().teardown.as_ref().filter(|teardown| teardown.vm_gone_at.is_some());
    let last = teardown.and_then(|teardown| teardown.vm_gone_at.as_ref().max(teardown.runner_gone_at.as_ref()));
    let Some(gone) = last else {
        return Plan { status: Some(closed(observed, now)), ..Plan::rest() };
    };
    let due = limit::after(gone.timestamp(), kept(observed));
    if due <= now {
        return leave(observed);
    }
    Plan::wait(Next::at(due, now, Why::Retention { until: due }))
}

/// The claim goes, as soon as nobody needs its evidence.
fn leave(observed: &Observed) -> ClaimPlan {
    if is_awaited(observed) {
        return Plan::wait(Next::After(CALLED, Why::Task { what: "telling the job that it was lost" }));
    }
    if observed.is_going() {
        return Plan { finalizer: Finalizer::Remove, ..Plan::rest() };
    }
    Plan { steps: vec![Step::Delete], ..Plan::rest() }
}

/// Whether the job that was lost with the machine has not written that down yet: after the claim, nobody could tell it.
pub(in super::super) fn is_awaited(observed: &Observed) -> bool {
    observed.runner.unnoted && job::is_lost(&observed.claim) && !destroying::is_abandoned(observed)
}

/// How long a claim stays after its VM is gone.
fn kept(observed: &Observed) -> Duration {
    let spec = &observed.claim.spec;
    let usual = if spec.pool_ref.is_some() { Duration::ZERO } else { CLAIM_RETENTION };
    spec.lifecycle.ttl.map_or(usual, api::Span::as_duration)
}

/// Nothing is left: the claim says so, or goes as well.
pub(super) fn proven(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if observed.is_going() || kept(observed).is_zero() {
        return leave(observed);
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
    ((none || said || seen) && farewell::is_over(observed)) || destroying::is_abandoned(observed)
}

/// The status of a claim whose VM is proven gone, while its runner is not.
pub(super) fn without_vm(observed: &Observed, now: Timestamp) -> MachineClaimStatus {
    let status = destroying::terminating(observed).unwrap_or_else(|| tell::as_is(observed));
    let teardown = status.teardown.clone().unwrap_or_default();
    if teardown.vm_gone_at.is_some() {
        return status;
    }
    let teardown = Teardown { vm_gone_at: Some(Moment::from(now)), ..teardown };
    cleaned(MachineClaimStatus { teardown: Some(teardown), ..status })
}

/// The last status: how it ended.
fn closed(observed: &Observed, now: Timestamp) -> MachineClaimStatus {
    let status = tell::as_is(observed);
    let good = matches!(status.outcome, Some(Outcome { exit_code: Some(0), .. }));
    let phase = if good { Phase::Succeeded } else { Phase::Failed };
    let Teardown { vm_gone_at, runner_gone_at } = status.teardown.clone().unwrap_or_default();
    let now = Moment::from(now);
    let teardown = Teardown {
        runner_gone_at: runner_gone_at.or_else(|| status.runner.is_some().then(|| now.clone())),
        vm_gone_at: vm_gone_at.or(Some(now)),
    };
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
    let parted = farewell::parted(tell::as_is(observed), now);
    let status = MachineClaimStatus { conditions: parted.conditions, ..closed(observed, now) };
    cleaned(status)
}

/// The status with the word that nothing is left of the VM.
fn cleaned(status: MachineClaimStatus) -> MachineClaimStatus {
    let reason = api::condition::find(&status.conditions, ConditionType::Ready)
        .and_then(|ready| Reason::ALL.iter().find(|reason| reason.as_str() == ready.reason));
    let message = "the VM, its disks and its seed are gone";
    let reason = *reason.unwrap_or(&Reason::Finished);
    tell::say(status, ConditionType::VmCleanedUp, true, reason, message)
}

/// A person takes over: the claim says what may remain, and then it goes.
pub(super) fn abandoned(observed: &Observed, now: Timestamp) -> ClaimPlan {
    let conditions = &observed.status().conditions;
    let told = [ConditionType::VmCleanedUp, ConditionType::Deregistered].iter().any(|about| {
        api::condition::find(conditions, *about).is_some_and(|told| told.reason == Reason::Abandoned.as_str())
    });
    if told && observed.is_going() {
        return Plan { finalizer: Finalizer::Remove, ..Plan::rest() };
    }
    if told {
        // What was given up stays said: nobody has seen it go.
        return Plan { status: Some(closed(observed, now)), ..Plan::rest() };
    }
    Plan { status: Some(given_up(observed)), ..Plan::rest() }
}

/// The status that names what may remain.
fn given_up(observed: &Observed) -> MachineClaimStatus {
    let mut status = tell::as_is(observed);
    if holds_machine(&observed.claim) {
        let id = status.allocation.as_ref().map(|held| held.vm_id.to_string()).unwrap_or_default();
        let message = format!("VM {id}, its disks and its seed may remain: they were given up by annotation");
        status = tell::say(status, ConditionType::VmCleanedUp, false, Reason::Abandoned, message);
    }
    if let Some(runner) = observed.status().runner.as_ref().filter(|_| farewell::is_registered(observed.status())) {
        let message = format!("runner {} may remain at the platform: it was given up by annotation", runner.name);
        status = tell::say(status, ConditionType::Deregistered, false, Reason::Abandoned, message);
    }
    status
}
