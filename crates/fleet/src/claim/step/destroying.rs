//! *destroying*: the end is written down; the VM, its disks and its seed go, and so does the runner at the platform.
//!
//! The two have nothing to do with each other but that the claim waits for both.

use std::time::Duration;

use api::registry::annotation::ABANDON;
use api::{ConditionType, MachineClaimStatus, Phase, Reason, Step as Where};
use jiff::Timestamp;
use reconcile::{Next, Plan, Why};

use super::super::observed::{Job, Life, Observed, Reach, Sight, Trouble};
use super::super::runner::Mode;
use super::super::{ClaimPlan, Step, farewell, holds_machine, retry, tell};
use super::gone;

/// When something that cannot be removed now is looked at again.
const LOOK: Duration = Duration::from_secs(10);

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if is_abandoned(observed) {
        return gone::abandoned(observed, now);
    }
    match (machine(observed, now), farewell::part(observed, Mode::Force, now)) {
        (None, None) => gone::proven(observed, now),
        (None, Some(parting)) => {
            // A moment later everything is told at once.
            let status = parting.is_stuck().then(|| gone::without_vm(observed, now));
            parting.join(observed, Plan { status, ..Plan::rest() })
        }
        (Some(plan), Some(parting)) => parting.join(observed, plan),
        (Some(plan), None) if farewell::is_told_stuck(observed.status()) => {
            let status = plan.status.unwrap_or_else(|| tell::as_is(observed));
            Plan { status: Some(farewell::parted(status, now)), ..plan }
        }
        (Some(plan), None) => plan,
    }
}

/// What is next for the VM; nothing when nothing is left of it.
fn machine(observed: &Observed, now: Timestamp) -> Option<ClaimPlan> {
    if !holds_machine(&observed.claim) {
        return None;
    }
    if let Reach::Away(why) = &observed.reach {
        return Some(stuck(observed, Reason::ClusterNotReady, why.clone(), Duration::from_secs(30)));
    }
    // What went wrong while the VM was made does not matter any more.
    let trouble = observed.errands.trouble.as_ref().filter(|trouble| trouble.job.removes());
    if let Some(plan) = trouble.and_then(|trouble| after(observed, trouble, now)) {
        return Some(plan);
    }
    if let Some(job) = observed.errands.running {
        let next = Next::After(super::poll(observed.errands.waited), Why::Task { what: job.as_str() });
        return Some(announced(observed, next));
    }
    seen(observed)
}

fn seen(observed: &Observed) -> Option<ClaimPlan> {
    match &observed.sight {
        Sight::Unasked => Some(announced(observed, Next::After(super::POLL, Why::Recheck))),
        Sight::Unknown(why) => Some(stuck(observed, Reason::VmStillPresent, why.clone(), LOOK)),
        Sight::Locked { message } => Some(stuck(observed, Reason::VmLocked, message.clone(), LOOK)),
        Sight::Foreign { message, settled: false } => {
            Some(stuck(observed, Reason::OwnershipConflict, disputed(observed, message), LOOK))
        }
        Sight::Ours { .. } => Some(remove(observed)),
        // A call may still be on its way, of another process or without an answer; it ends within a minute.
        Sight::Absent { .. } | Sight::Foreign { settled: true, .. } if !observed.errands.certain => {
            Some(announced(observed, Next::After(LOOK, Why::Recheck)))
        }
        Sight::Foreign { settled: true, .. } => swept(observed, &[]),
        Sight::Absent { remains } => swept(observed, remains),
    }
}

/// The VM is proven gone; what it left behind goes too.
fn swept(observed: &Observed, remains: &[String]) -> Option<ClaimPlan> {
    let mut steps: Vec<Step> = remains.iter().cloned().map(Step::RemoveLeftover).collect();
    if !observed.errands.done.contains(&Job::Discard) {
        steps.push(Step::DiscardSeed);
    }
    let next = Next::After(super::FIRST, Why::Task { what: Job::Sweep.as_str() });
    (!steps.is_empty()).then(|| Plan { steps, next, ..Plan::rest() })
}

/// Whether a person has given the VM up.
pub(super) fn is_abandoned(observed: &Observed) -> bool {
    let said = observed.claim.metadata.annotations.as_ref().and_then(|all| all.get(ABANDON));
    let id = observed.status().allocation.as_ref().map(|allocation| allocation.vm_id.to_string());
    said.is_some() && said.map(|text| text.trim()) == id.as_deref()
}

fn remove(observed: &Observed) -> ClaimPlan {
    // One that nobody has seen running is tried: a running VM cannot be destroyed, and the next look says so.
    let stopped = observed.life != Life::Running || observed.errands.done.contains(&Job::Stop);
    let (step, job) = if stopped { (Step::Destroy, Job::Destroy) } else { (Step::Stop, Job::Stop) };
    let next = Next::After(super::FIRST, Why::Task { what: job.as_str() });
    // The claim says that it ends before anything is removed.
    match terminating(observed) {
        Some(status) => Plan { status: Some(status), ..Plan::rest() },
        None => Plan { steps: vec![step], next, ..Plan::rest() },
    }
}

/// The status of a claim that was deleted in the middle of its life.
pub(super) fn terminating(observed: &Observed) -> Option<MachineClaimStatus> {
    if super::ended(observed.status().phase) {
        return None;
    }
    let status = tell::entering(observed, Phase::Terminating, Where::Destroying);
    Some(tell::say(
        status,
        ConditionType::Ready,
        false,
        Reason::ClaimDeleted,
        "the claim was deleted; its VM is removed",
    ))
}

fn announced(observed: &Observed, next: Next) -> ClaimPlan {
    Plan { status: terminating(observed), next, ..Plan::rest() }
}

/// The pause after a removal that did not succeed; none when it is time to try again.
fn after(observed: &Observed, trouble: &Trouble, now: Timestamp) -> Option<ClaimPlan> {
    let pause = retry::removing(observed, trouble, now)?;
    Some(stuck(observed, Reason::VmStillPresent, retry::sentence(trouble), pause))
}

/// The VM cannot be removed now: the claim stays, and says why.
fn stuck(observed: &Observed, reason: Reason, message: String, pause: Duration) -> ClaimPlan {
    let status = terminating(observed).unwrap_or_else(|| tell::as_is(observed));
    let why = Why::Retry { attempt: 1, cause: message.clone() };
    let status = tell::say(status, ConditionType::VmCleanedUp, false, reason, message);
    Plan { status: Some(status), next: Next::After(pause, why), ..Plan::rest() }
}

fn disputed(observed: &Observed, message: &str) -> String {
    let id = observed.status().allocation.as_ref().map(|allocation| allocation.vm_id.to_string()).unwrap_or_default();
    format!("{message}; if it is not needed, remove it by hand and annotate the claim with {ABANDON}={id}")
}
