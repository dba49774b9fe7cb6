//! What the status of a pool says, and how often.

use std::time::Duration;

use api::condition::find;
use api::registry::label::RUNNER_POOL;
use api::{
    Condition, ConditionStatus, ConditionType, Failures, Moment, Phase, PhaseCounts, Reason, RunnerPoolStatus,
    condition,
};
use jiff::Timestamp;
use reconcile::{Next, Why};

use super::census::{Census, Standing, level};
use super::{Observed, make, retire};
use crate::ahead::ahead;
use crate::claim::Obstacle;

/// How often counts are told, at most: in a burst every claim moves several times a second.
const PACE: Duration = Duration::from_secs(1);

/// What else the condition depends on.
pub(super) struct State {
    pub(super) failures: Option<Failures>,
    /// Why nothing can be made.
    pub(super) held: Option<Obstacle>,
    /// Until when nothing is made.
    pub(super) paused: Option<Timestamp>,
}

/// The whole status.
pub(super) fn status(observed: &Observed, census: &Census<'_>, state: &State, now: Timestamp) -> RunnerPoolStatus {
    let before = observed.pool.status.clone().unwrap_or_default();
    let ready =
        census.members.iter().filter(|one| one.standing == Standing::Ready && phase_of(one.claim) == Phase::Ready);
    let surplus = retire::too_many(census) > 0;
    RunnerPoolStatus {
        observed_generation: observed.pool.metadata.generation,
        conditions: vec![scaling(observed, census, state, &before.conditions)],
        replicas: number(census.live()),
        ready_replicas: number(ready.count()),
        busy_replicas: number(census.count(Standing::Busy)),
        desired_replicas: number(census.wanted),
        phases: Some(phases(observed)),
        pending_jobs: number(census.waiting.len()),
        oldest_pending_since: census.waiting.first().map(|one| one.job.spec.queued_at.clone()),
        // Only a new number is worth a write, not its time.
        level: match (&before.level, level(observed)) {
            (Some(old), Some(new)) if old.jobs == new.jobs => before.level.clone(),
            (_, new) => new.cloned(),
        },
        surplus_since: surplus.then(|| retire::since(observed, now).unwrap_or_else(|| Moment::from(make::whole(now)))),
        failures: state.failures.clone(),
        selector: Some(format!("{RUNNER_POOL}={}", make::pool_name(observed))),
    }
}

/// The status, if it differs and it is time; and when it will be.
pub(super) fn paced(observed: &Observed, status: RunnerPoolStatus, now: Timestamp) -> (Option<RunnerPoolStatus>, Next) {
    let before = observed.pool.status.clone().unwrap_or_default();
    if status == before {
        return (None, Next::OnChange);
    }
    // What the next decision depends on is never held back.
    let urgent = status.surplus_since != before.surplus_since
        || status.failures != before.failures
        || endangered(&status) != endangered(&before)
        || status.observed_generation != before.observed_generation;
    let told = observed.told.and_then(|told| told.checked_add(PACE).ok()).filter(|_| !urgent);
    let due = told.and_then(|due| ahead(due, PACE, now));
    match due {
        Some(due) => (None, Next::at(due, now, Why::Recheck)),
        None => (Some(status), Next::OnChange),
    }
}

/// Whether it says that a runner must not be registered now, which whoever registers them reads here.
fn endangered(status: &RunnerPoolStatus) -> bool {
    let said = find(&status.conditions, ConditionType::Scaling);
    said.is_some_and(|said| said.reason == Reason::UntrustedJobWaits.as_str())
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn phase_of(claim: &api::MachineClaim) -> Phase {
    claim.status.as_ref().and_then(|status| status.phase).unwrap_or(Phase::Pending)
}

fn phases(observed: &Observed) -> PhaseCounts {
    let mut counts = PhaseCounts::default();
    for claim in &observed.claims {
        let place = match phase_of(claim) {
            Phase::Pending => &mut counts.pending,
            Phase::Provisioning => &mut counts.provisioning,
            Phase::Bootstrapping => &mut counts.bootstrapping,
            Phase::Ready => &mut counts.ready,
            Phase::Busy => &mut counts.busy,
            Phase::Draining => &mut counts.draining,
            Phase::Terminating => &mut counts.terminating,
            Phase::Failed => &mut counts.failed,
            Phase::Succeeded => continue,
        };
        *place += 1;
    }
    counts
}

/// The condition; its time stays while its status does.
fn scaling(observed: &Observed, census: &Census<'_>, state: &State, before: &[Condition]) -> Condition {
    let (holds, reason, message) = verdict(observed, census, state);
    let word = if holds { ConditionStatus::True } else { ConditionStatus::False };
    let new = condition(ConditionType::Scaling, word, reason, message, observed.pool.metadata.generation);
    match find(before, ConditionType::Scaling).filter(|old| old.status == new.status) {
        Some(old) => Condition { last_transition_time: old.last_transition_time.clone(), ..new },
        None => new,
    }
}

/// The one thing to say. Numbers are in the status: a sentence that changes with every claim would be written as often.
fn verdict(observed: &Observed, census: &Census<'_>, state: &State) -> (bool, Reason, String) {
    let scaling = &observed.pool.spec.scaling;
    let max = scaling.max_replicas as usize;
    if let Some(Obstacle { reason, message }) = &state.held {
        return (false, *reason, message.clone());
    }
    let lacks = census.serving() < census.needed;
    if let (Some(due), Some(failures)) = (state.paused.filter(|_| lacks), &state.failures) {
        let message = format!(
            "{} times in a row machines ended before they were ready; the next is made at {due}. Their claims and events \
             tell why",
            failures.count
        );
        return (false, Reason::MachinesFailing, message);
    }
    // With more jobs than the pool may serve at once, machines always come and go: that is news only if most are gone.
    let few = if census.asked > max { census.live() * 2 < max } else { census.live() < max };
    if lacks && make::room(observed, census) == 0 && few {
        let most = make::most_terminating(scaling);
        let message = format!(
            "machines are made again when fewer than {} VMs are left to destroy (scaling.maxTerminating)",
            most + 1
        );
        return (false, Reason::TooManyTerminating, message);
    }
    if census.asked > max {
        let message = format!("jobs ask for more than {max} machines (scaling.maxReplicas); they are served in turn");
        return (false, Reason::AtMaximum, message);
    }
    let (reason, message) = if lacks {
        (Reason::DemandIncreased, "machines are being made")
    } else if census.count(Standing::Leaving) > 0 {
        (Reason::DrainInProgress, "machines that are not needed, or out of date, are draining")
    } else if census.wanted == scaling.min_replicas as usize {
        (Reason::ScaledToMinimum, "no more machines are wanted than scaling.minReplicas")
    } else {
        (Reason::Steady, "there are as many machines as are wanted")
    };
    (true, reason, message.to_owned())
}
