//! Claims that go: those that are too many for long enough, and those made from what the pool no longer is.

use std::sync::Arc;

use api::{Drain, MachineClaim, MachineClaimStatus, Moment, Phase, RunnerWorkload, Step as Where};
use jiff::Timestamp;
use reconcile::{Next, Why};

use super::census::{Census, Member, Standing};
use super::{Gate, Observed, Step, make};
use crate::claim::stage;

/// How many there are too many.
pub(super) fn too_many(census: &Census<'_>) -> usize {
    census.serving().saturating_sub(census.wanted)
}

/// Since when there is a surplus, by what is written down; nothing that a clock wrote that has been set back since.
pub(super) fn since(observed: &Observed, now: Timestamp) -> Option<Moment> {
    let since = observed.pool.status.as_ref()?.surplus_since.clone()?;
    (since.timestamp() <= make::whole(now)).then_some(since)
}

/// When the surplus may go.
fn due(observed: &Observed, now: Timestamp) -> Option<Timestamp> {
    let since = since(observed, now)?.timestamp();
    let delay = observed.pool.spec.scaling.scale_down_delay.as_duration();
    Some(since.saturating_add(delay).unwrap_or(Timestamp::MAX))
}

/// What goes because the pool has been too large for `scaleDownDelay`: what has the least behind it first.
pub(super) fn surplus(observed: &Observed, census: &Census<'_>, now: Timestamp) -> Vec<Step> {
    if due(observed, now).is_none_or(|due| due > now) {
        return Vec::new();
    }
    let mut idle: Vec<&Member<'_>> = census.members.iter().filter(|one| is_idle(one)).collect();
    let newest = |one: &Member<'_>| {
        let made = one.claim.metadata.creation_timestamp.as_ref().map(|time| time.0);
        (std::cmp::Reverse(made), one.claim.metadata.name.clone())
    };
    idle.sort_by_key(|one| (progress(one), newest(one)));
    idle.into_iter().take(too_many(census)).map(|one| retired(one, now)).collect()
}

/// When the surplus may go, for whoever waits for that.
pub(super) fn next(observed: &Observed, census: &Census<'_>, now: Timestamp) -> Next {
    let waits = due(observed, now).filter(|due| too_many(census) > 0 && *due > now);
    waits.map_or(Next::OnChange, |due| Next::at(due, now, Why::Deadline { what: "scaleDownDelay" }))
}

/// What goes because the pool's machines are different now: idle ones that no job needs, a few at a time.
pub(super) fn roll(observed: &Observed, census: &Census<'_>, now: Timestamp) -> Vec<Step> {
    let Gate::Open { generation } = observed.gate else { return Vec::new() };
    // Replacements are ready before the next ones go; a quarter at a time leaves most of a warm pool warm.
    let wave = (census.wanted / 4).max(1);
    let moving = census.count(Standing::Early) + census.count(Standing::Leaving) + census.invisible;
    let spare = census.count(Standing::Ready).saturating_sub(census.fed());
    let old = census
        .members
        .iter()
        .filter(|one| one.standing == Standing::Ready && is_outdated(observed, one.claim, generation));
    old.take(wave.saturating_sub(moving).min(spare)).map(|one| retired(one, now)).collect()
}

/// Whether a claim is not what the pool would make now.
fn is_outdated(observed: &Observed, claim: &MachineClaim, generation: i64) -> bool {
    let made = claim.status.as_ref().and_then(|status| status.allocation.as_ref());
    let now = make::spec(observed, None);
    let plain =
        |runner: &Option<RunnerWorkload>| runner.clone().map(|runner| RunnerWorkload { job_ref: None, ..runner });
    claim.spec.template_ref != now.template_ref
        || plain(&claim.spec.workload.runner) != plain(&now.workload.runner)
        || made.is_some_and(|made| made.template_generation != generation)
}

const fn is_idle(one: &Member<'_>) -> bool {
    match one.standing {
        Standing::Early | Standing::Ready => true,
        Standing::Busy | Standing::Leaving | Standing::Ending | Standing::Over => false,
    }
}

/// How far a claim is, in the words people see.
fn progress(one: &Member<'_>) -> Phase {
    match one.standing {
        Standing::Early => one.claim.status.as_ref().and_then(|status| status.phase).unwrap_or(Phase::Pending),
        Standing::Ready | Standing::Busy | Standing::Leaving | Standing::Ending | Standing::Over => Phase::Ready,
    }
}

/// The step by which an idle claim goes. What may have a runner is asked; what cannot have one is deleted.
pub(super) fn retired(one: &Member<'_>, now: Timestamp) -> Step {
    let status = one.claim.status.clone().unwrap_or_default();
    if one.standing == Standing::Early && status.runner.is_none() && stage(one.claim) != Where::Ready {
        return Step::Delete(Arc::clone(one.claim));
    }
    let drain = Some(Drain { requested_at: Moment::from(now), confirmed_at: None });
    Step::Drain { claim: Arc::clone(one.claim), status: Box::new(MachineClaimStatus { drain, ..status }) }
}
