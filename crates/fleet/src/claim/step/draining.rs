//! *draining*: the agent takes no more work; what has begun may end, and a runner without a job goes.
//!
//! ```text
//!   asked ─▶ the agent ends its runner and says that no job had started ─▶ the platform lets the runner go ─▶ destroying
//!     └─▶ a job had started: it goes on, and ends as any other
//! ```
//!
//! An agent that says nothing may have a job all the same. Only when it has been silent for long, and the platform has
//! said twice that there is none, the platform is asked to let the runner go without it. Any answer but "gone" keeps the
//! VM.

use std::time::Duration;

use api::{ConditionType, MachineClaimStatus, Phase, Reason};
use jiff::Timestamp;
use reconcile::{Next, Plan, Why};

use super::super::observed::Observed;
use super::super::runner::{Mode, RunnerState, Standing, Work};
use super::super::{ClaimPlan, farewell, limit, tell};
use super::{attesting, busy};

/// An agent that has not answered a drain after this long is out of reach: it asks for its order every 30 s, ends an idle
/// runner within seconds, and ends by itself when it was not answered three times.
const UNREACHABLE: Duration = Duration::from_mins(2);

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    let works = observed.status().busy_time.is_some();
    let when = if works { "while it finished its work" } else { "while it was being drained" };
    if let Some(end) = attesting::over(observed, when) {
        return end;
    }
    let serving = busy::serving(observed, now, when);
    if works || observed.claim.spec.workload.runner.is_none() {
        return serving;
    }
    if !is_idle(observed) {
        let soon = Next::After(limit::TWICE, Why::Task { what: "the drain" });
        return told(observed, Plan { next: serving.next.clone().or_sooner(soon), ..serving });
    }
    match farewell::part(observed, Mode::IfIdle, now) {
        Some(parting) => parting.join(observed, told(observed, serving)),
        None => Plan { status: Some(drained(observed, now)), ..Plan::rest() },
    }
}

/// Whether the runner certainly has no job, as far as anybody but the platform can tell.
fn is_idle(observed: &Observed) -> bool {
    let status = observed.status();
    let Some(drain) = &status.drain else { return false };
    // One that was never registered cannot be given a job.
    if status.runner.is_none() {
        return true;
    }
    if observed.runner.work == Work::Current {
        return false;
    }
    let silent = limit::after(drain.requested_at.timestamp(), UNREACHABLE);
    let seen_idle = observed.runner.standing.is_some_and(|Standing { state, since, seen }| match state {
        RunnerState::Busy => false,
        RunnerState::Idle | RunnerState::Offline | RunnerState::Gone => {
            seen >= limit::after(since.max(silent), limit::TWICE)
        }
    });
    drain.confirmed_at.is_some() || seen_idle
}

/// The plan, which says that the machine drains if nobody has said so.
fn told(observed: &Observed, plan: ClaimPlan) -> ClaimPlan {
    if observed.status().phase != Some(Phase::Ready) {
        return plan;
    }
    let status = tell::entering(observed, Phase::Draining, api::Step::Draining);
    let message = "the machine takes no more work";
    let status = tell::say(status, ConditionType::Ready, false, Reason::Draining, message);
    Plan { status: Some(status), ..plan }
}

/// The end of a machine that had no work.
fn drained(observed: &Observed, now: Timestamp) -> MachineClaimStatus {
    let message = "no job had started and the runner is gone; the VM is removed";
    farewell::parted(tell::doomed(observed, Reason::Draining, message), now)
}
