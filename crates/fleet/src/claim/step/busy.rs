//! *busy*: the agent works.

use std::iter;

use jiff::Timestamp;
use reconcile::{Next, Plan, Why};

use super::super::observed::{Job, Observed, Sight};
use super::super::{ClaimPlan, Step, limit, retry};
use super::attesting;

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
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
