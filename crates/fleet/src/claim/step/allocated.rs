//! *allocated*: it is written down what will be made; nothing has been asked of the hypervisor, as far as we know.

use std::time::Duration;

use api::{ConditionType, MachineClaimStatus, Reason};
use jiff::{SignedDuration, Timestamp};
use reconcile::{Next, Plan, Why};

use super::super::observed::{Gate, Job, Observed, Obstacle, Reach, Sight};
use super::super::{ClaimPlan, Step, limit, retry, tell};

/// When what could not be seen is looked at again.
const UNSEEN: Duration = Duration::from_secs(5);
/// When a closed gate is looked at again.
const RECHECK: Duration = Duration::from_secs(30);
/// Whoever waits for a storage is called when its turn comes; this is a net under calls that are lost.
const CALLED: Duration = Duration::from_secs(5);
/// How long a wait may last before it is worth a write.
const SILENT: SignedDuration = SignedDuration::from_secs(15);

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if let Reach::Away(why) = &observed.reach {
        return held(observed, Reason::ClusterNotReady, why, now);
    }
    match &observed.sight {
        Sight::Foreign { .. } if !observed.errands.certain => {
            // Our seed may still be on its way up.
            Plan::wait(Next::After(UNSEEN, Why::Recheck).or_sooner(limit::next(observed, now)))
        }
        // The number went to somebody else between our look and our call: another one is taken.
        Sight::Foreign { message, .. } => moved(observed, message),
        Sight::Unknown(why) => {
            let why = Why::Retry { attempt: 1, cause: why.clone() };
            Plan::wait(Next::After(UNSEEN, why).or_sooner(limit::next(observed, now)))
        }
        Sight::Absent { remains } if !remains.is_empty() => swept(observed, remains, now),
        // A clone call of another process may still be on its way. Of two calls for one number the hypervisor carries out
        // one, and the VM is ours either way.
        Sight::Absent { .. } | Sight::Unasked => clone(observed, now),
        Sight::Locked { .. } | Sight::Ours { .. } => Plan::wait(Next::After(UNSEEN, Why::Recheck)),
    }
}

fn clone(observed: &Observed, now: Timestamp) -> ClaimPlan {
    let terms = match &observed.gate {
        Gate::Open(terms) => terms,
        Gate::Closed(Obstacle { reason, message }) => return held(observed, *reason, message, now),
        Gate::Unasked => return Plan::wait(Next::After(RECHECK, Why::Recheck)),
    };
    if let Some(busy) = &observed.errands.storage_busy {
        return queued(observed, busy, now);
    }
    let mut steps = vec![Step::Clone];
    // While the clone runs there is nothing else to do.
    if terms.stages_seed && !observed.errands.done.contains(&Job::Stage) {
        steps.push(Step::StageSeed);
    }
    Plan { steps, next: Next::After(super::FIRST, Why::Task { what: Job::Clone.as_str() }), ..Plan::rest() }
}

/// A clone that failed has left volumes behind: they go before another one, which they would be in the way of.
fn swept(observed: &Observed, remains: &[String], now: Timestamp) -> ClaimPlan {
    if !observed.errands.certain {
        // They may be the first of a VM whose clone begins.
        return Plan::wait(Next::After(UNSEEN, Why::Recheck).or_sooner(limit::next(observed, now)));
    }
    let steps = remains.iter().cloned().map(Step::RemoveLeftover).collect();
    Plan { steps, next: Next::After(super::FIRST, Why::Task { what: Job::Sweep.as_str() }), ..Plan::rest() }
}

/// The storage serves others first. That is told only if it takes longer than anybody would notice.
fn queued(observed: &Observed, busy: &str, now: Timestamp) -> ClaimPlan {
    let next = Next::After(CALLED, Why::StorageBusy).or_sooner(limit::next(observed, now));
    let since = observed.status().allocation.as_ref().map(|allocation| allocation.allocated_at.timestamp());
    let silent = since.is_some_and(|since| now.duration_since(since) < SILENT);
    let status = (!silent)
        .then(|| tell::say(tell::as_is(observed), ConditionType::Provisioning, true, Reason::StorageBusy, busy));
    Plan { status, next, ..Plan::rest() }
}

/// Nothing can go on for a reason outside the claim.
fn held(observed: &Observed, reason: Reason, message: &str, now: Timestamp) -> ClaimPlan {
    let next = Next::After(RECHECK, Why::Gate { obstacle: message.to_owned() }).or_sooner(limit::next(observed, now));
    let status = tell::say(tell::as_is(observed), ConditionType::Provisioning, false, reason, message);
    Plan { status: Some(status), next, ..Plan::rest() }
}

fn moved(observed: &Observed, message: &str) -> ClaimPlan {
    let attempt = observed.status().attempts.unwrap_or(0).saturating_add(1);
    if attempt >= observed.policy.attempts {
        let message = format!("gave up after {attempt} attempts; the last: {message}");
        return retry::left(observed, Reason::RetriesExhausted, message);
    }
    let status = MachineClaimStatus { attempts: Some(attempt), next_retry_time: None, ..retry::moved_on(observed) };
    let message = format!("{message}; another VMID is taken");
    let status = tell::say(status, ConditionType::Provisioning, false, Reason::OwnershipConflict, message);
    Plan { steps: retry::forgotten(), status: Some(status), ..Plan::rest() }
}
