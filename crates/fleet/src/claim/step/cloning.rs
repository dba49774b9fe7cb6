//! *cloning*: the hypervisor copies the image.

use std::time::Duration;

use api::{ConditionType, Reason};
use jiff::{SignedDuration, Timestamp};
use reconcile::{Next, Plan, Why};

use super::super::observed::{Job, Observed};
use super::super::{ClaimPlan, limit, tell};

/// How often an unfinished VM is looked at that nobody here has a task for.
const LOOK: Duration = Duration::from_secs(5);

/// After this long a lock is worth a word: its operation may be dead.
const PATIENCE: SignedDuration = SignedDuration::from_mins(10);

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    super::wait_for(observed, Job::Clone, now)
}

/// The VM is there and not finished, and whoever began it is gone: its task goes on without us.
pub(super) fn locked(observed: &Observed, message: &str, now: Timestamp) -> ClaimPlan {
    let next = Next::After(LOOK, Why::Task { what: Job::Clone.as_str() }).or_sooner(limit::next(observed, now));
    let since = observed.status().allocation.as_ref().map(|allocation| allocation.allocated_at.timestamp());
    let long = since.is_some_and(|since| now.duration_since(since) > PATIENCE);
    let status =
        long.then(|| tell::say(tell::as_is(observed), ConditionType::Provisioning, false, Reason::VmLocked, message));
    Plan { status, next, ..Plan::rest() }
}
