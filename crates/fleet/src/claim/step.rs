//! The steps of a claim, a file each.

mod allocated;
mod attesting;
mod booting;
mod busy;
mod cloning;
mod configuring;
mod destroying;
mod draining;
mod gated;
mod gone;
mod ready;

use std::time::Duration;

use api::{BootstrapState, MachineClaim, MachineClaimStatus, Reason, Step as Where};
use jiff::Timestamp;
use reconcile::{Next, Plan, Why};

use super::observed::{Job, Observed, Sight};
use super::{ClaimPlan, ended, farewell, limit, retry, tell};

pub(super) use gone::{is_awaited, is_gone};

/// How soon a task is asked about for the first time: many end at once.
const FIRST: Duration = Duration::from_millis(20);

/// How often one is asked about that takes long.
const POLL: Duration = Duration::from_millis(500);

/// When a task is asked about again that has been under way for so long: soon at first, then ever more rarely.
fn poll(waited: Duration) -> Duration {
    waited.saturating_mul(4).clamp(FIRST, POLL)
}

/// Which step a claim is in, by what is written down: between *allocated* and *booting* only a look can tell.
pub fn stage(claim: &MachineClaim) -> Where {
    let going = claim.metadata.deletion_timestamp.is_some();
    let Some(status) = &claim.status else { return if going { Where::Gone } else { Where::Gated } };
    if status.teardown.as_ref().is_some_and(|teardown| teardown.vm_gone_at.is_some()) {
        return if farewell::is_registered(status) { Where::Destroying } else { Where::Gone };
    }
    if status.allocation.is_none() {
        return if going || ended(status.phase) { Where::Gone } else { Where::Gated };
    }
    if going || ended(status.phase) {
        return Where::Destroying;
    }
    match status.bootstrap.as_ref().map(|record| record.state) {
        Some(BootstrapState::Bound) => working(status),
        Some(BootstrapState::Released) => Where::Destroying,
        Some(BootstrapState::Revoked | BootstrapState::Expired) => Where::Attesting,
        Some(BootstrapState::Pending | BootstrapState::Challenged) | None => {
            if status.first_running_time.is_some() {
                Where::Attesting
            } else {
                Where::Allocated
            }
        }
    }
}

const fn working(status: &MachineClaimStatus) -> Where {
    match (&status.drain, &status.busy_time) {
        (Some(_), _) => Where::Draining,
        (None, Some(_)) => Where::Busy,
        (None, None) => Where::Ready,
    }
}

/// Decides by the step.
pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    let stage = stage(&observed.claim);
    let lives = !matches!(stage, Where::Destroying | Where::Gone);
    if lives && let Some(limit) = limit::passed(observed, now) {
        return overdue(observed, limit.reason, limit.message, stage);
    }
    if lives && let Some(limit) = limit::drains(observed, now) {
        return Plan { status: Some(tell::draining(&observed.claim, &limit.message, now)), ..Plan::rest() };
    }
    match stage {
        Where::Gated | Where::Allocated | Where::Cloning | Where::Configuring | Where::Booting | Where::Attesting
            if observed.status().drain.is_some() && !attesting::is_revoked(observed) =>
        {
            // Nobody has any work from it: its agent has not been believed.
            overdue(observed, Reason::Draining, "the machine was given up before it had work".to_owned(), stage)
        }
        Where::Gated => gated::plan(observed, now),
        Where::Allocated | Where::Cloning | Where::Configuring | Where::Booting => making(observed, now),
        Where::Attesting => attesting::plan(observed, now),
        Where::Ready => ready::plan(observed, now),
        Where::Busy => busy::plan(observed, now),
        Where::Draining => draining::plan(observed, now),
        Where::Destroying => destroying::plan(observed, now),
        Where::Gone => gone::plan(observed, now),
    }
}

/// A limit has passed: the VM goes, or the claim ends that has none.
fn overdue(observed: &Observed, reason: Reason, message: String, stage: Where) -> ClaimPlan {
    let end = if stage == Where::Gated { tell::failed } else { tell::doomed };
    Plan { status: Some(end(observed, reason, message)), ..Plan::rest() }
}

/// A VM is being made: which part of that, a look and our own errands tell.
fn making(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if let Some(plan) = retry::making(observed, now) {
        return plan;
    }
    let errands = &observed.errands;
    if errands.done.contains(&Job::Start) {
        return booting::up(observed, now);
    }
    match (errands.running, &observed.sight) {
        (Some(Job::Start), _) => booting::plan(observed, now),
        (Some(Job::Clone), _) => cloning::plan(observed, now),
        (Some(job), _) => wait_for(observed, job, now),
        (None, Sight::Locked { message }) => cloning::locked(observed, message, now),
        (None, Sight::Ours { grows, .. }) => configuring::plan(observed, *grows, now),
        (None, Sight::Unasked | Sight::Unknown(_) | Sight::Absent { .. } | Sight::Foreign { .. }) => {
            allocated::plan(observed, now)
        }
    }
}

fn wait_for(observed: &Observed, job: Job, now: Timestamp) -> ClaimPlan {
    let poll = Next::After(poll(observed.errands.waited), Why::Task { what: job.as_str() });
    Plan::wait(poll.or_sooner(limit::next(observed, now)))
}
