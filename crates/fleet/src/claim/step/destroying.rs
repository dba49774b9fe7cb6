//! *destroying*: the end is written down; the VM, its disks and its seed go.

use std::time::Duration;

use api::registry::annotation::ABANDON;
use api::{ConditionType, MachineClaimStatus, Phase, Reason, Step as Where};
use jiff::Timestamp;
use reconcile::{Next, Plan, Why};

use super::super::observed::{Job, Life, Observed, Reach, Sight, Trouble};
use super::super::{ClaimPlan, Step, retry, tell};
use super::gone;

/// When something that cannot be removed now is looked at again.
const LOOK: Duration = Duration::from_secs(10);

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if is_abandoned(observed) {
        return gone::abandoned(observed, now);
    }
    if let Reach::Away(why) = &observed.reach {
        return stuck(observed, Reason::ClusterNotReady, why.clone(), Duration::from_secs(30));
    }
    // What went wrong while the VM was made does not matter any more.
    let trouble = observed.errands.trouble.as_ref().filter(|trouble| trouble.job.removes());
    if let Some(plan) = trouble.and_then(|trouble| after(observed, trouble, now)) {
        return plan;
    }
    if let Some(job) = observed.errands.running {
        return announced(
            observed,
            Next::After(super::poll(observed.errands.waited), Why::Task { what: job.as_str() }),
        );
    }
    match &observed.sight {
        Sight::Unasked => announced(observed, Next::After(super::POLL, Why::Recheck)),
        Sight::Unknown(why) => stuck(observed, Reason::VmStillPresent, why.clone(), LOOK),
        Sight::Locked { message } => stuck(observed, Reason::VmLocked, message.clone(), LOOK),
        Sight::Foreign { message, settled: false } => {
            stuck(observed, Reason::OwnershipConflict, disputed(observed, message), LOOK)
        }
        Sight::Ours { .. } => remove(observed),
        // A call may still be on its way, of another process or without an answer; it ends within a minute.
        Sight::Absent { .. } | Sight::Foreign { settled: true, .. } if !observed.errands.certain => {
            announced(observed, Next::After(LOOK, Why::Recheck))
        }
        Sight::Foreign { settled: true, .. } => gone::proven(observed, &[], now),
        Sight::Absent { remains } => gone::proven(observed, remains, now),
    }
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
fn terminating(observed: &Observed) -> Option<MachineClaimStatus> {
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
