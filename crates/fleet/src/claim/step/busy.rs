//! *busy*: the agent works.

use std::iter;

use api::{MachineClaimStatus, Moment, Phase, Reason, Step as Where};
use jiff::Timestamp;
use reconcile::{Next, Plan, Why};

use super::super::observed::{Job, Observed, Sight};
use super::super::{ClaimPlan, Step, limit, retry, tell};
use super::attesting;

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if let Some(status) = drained(observed, now) {
        return Plan { status: Some(status), ..Plan::rest() };
    }
    serving(observed, now, "before its work had ended")
}

/// A VM whose agent has proven itself: its seed is taken away, and it is left alone.
pub(super) fn serving(observed: &Observed, now: Timestamp, when: &str) -> ClaimPlan {
    if let Some(plan) = attesting::over(observed, when) {
        return plan;
    }
    let rest = limit::next(observed, now);
    // What went wrong while the VM was made does not matter any more.
    let trouble = observed.errands.trouble.as_ref().filter(|trouble| trouble.job.takes_seed());
    if let Some((trouble, pause)) =
        trouble.and_then(|trouble| Some((trouble, retry::removing(observed, trouble, now)?)))
    {
        let why = Why::Retry { attempt: trouble.times, cause: retry::sentence(trouble) };
        return Plan::wait(Next::After(pause, why).or_sooner(rest));
    }
    let done = &observed.errands.done;
    match (&observed.sight, observed.errands.running) {
        (_, Some(job)) => Plan::wait(
            Next::After(super::poll(observed.errands.waited), Why::Task { what: job.as_str() }).or_sooner(rest),
        ),
        (Sight::Ours { .. }, None) if !done.contains(&Job::Detach) => {
            // A seed that may still be on its way up is removed at the end.
            let discard = observed.errands.certain.then_some(Step::DiscardSeed);
            let steps = iter::once(Step::DetachSeed).chain(discard).collect();
            Plan { steps, next: Next::After(super::FIRST, Why::Recheck).or_sooner(rest), ..Plan::rest() }
        }
        (
            Sight::Ours { .. }
            | Sight::Unasked
            | Sight::Unknown(_)
            | Sight::Absent { .. }
            | Sight::Locked { .. }
            | Sight::Foreign { .. },
            None,
        ) => Plan::wait(rest),
    }
}

/// The status of a busy machine that has lived long enough but may finish.
fn drained(observed: &Observed, now: Timestamp) -> Option<MachineClaimStatus> {
    let most = observed.claim.spec.lifecycle.max_lifetime?;
    let start = observed.claim.metadata.creation_timestamp.as_ref()?;
    (limit::after(start.0, most.as_duration()) <= now).then(|| {
        let status = tell::entering(observed, Phase::Draining, Where::Draining);
        let status = MachineClaimStatus {
            drain: Some(api::Drain { requested_at: Moment::from(now), confirmed_at: None }),
            ..status
        };
        let message = format!("the machine has lived for {most} (lifecycle.maxLifetime); it may finish its work");
        tell::say(status, api::ConditionType::Ready, false, Reason::Draining, message)
    })
}
