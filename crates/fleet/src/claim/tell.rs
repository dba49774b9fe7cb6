//! What the status of a claim says.

use api::condition::put;
use api::{
    ConditionStatus, ConditionType, Drain, MachineClaim, MachineClaimStatus, Moment, Phase, Reason, Step, condition,
};
use jiff::Timestamp;

use super::Observed;

/// The status as it is, to be changed.
pub(super) fn as_is(observed: &Observed) -> MachineClaimStatus {
    MachineClaimStatus { observed_generation: observed.claim.metadata.generation, ..observed.status().clone() }
}

/// The status in another phase and step.
pub(super) fn entering(observed: &Observed, phase: Phase, step: Step) -> MachineClaimStatus {
    MachineClaimStatus { phase: Some(phase), step: Some(step), ..as_is(observed) }
}

/// The same with a condition.
pub(super) fn say(
    mut status: MachineClaimStatus,
    about: ConditionType,
    holds: bool,
    reason: Reason,
    message: impl Into<String>,
) -> MachineClaimStatus {
    let word = if holds { ConditionStatus::True } else { ConditionStatus::False };
    let new = condition(about, word, reason, message, status.observed_generation);
    put(&mut status.conditions, new);
    status
}

/// A claim that waits before it has a VM.
pub(super) fn pending(observed: &Observed, reason: Reason, message: impl Into<String>) -> MachineClaimStatus {
    say(entering(observed, Phase::Pending, Step::Gated), ConditionType::Provisioning, false, reason, message)
}

/// A claim that ends without a VM.
pub(super) fn failed(observed: &Observed, reason: Reason, message: impl Into<String>) -> MachineClaimStatus {
    say(entering(observed, Phase::Failed, Step::Gone), ConditionType::Ready, false, reason, message)
}

/// A claim whose VM has to go.
pub(super) fn doomed(observed: &Observed, reason: Reason, message: impl Into<String>) -> MachineClaimStatus {
    let status = entering(observed, Phase::Terminating, Step::Destroying);
    say(status, ConditionType::Ready, false, reason, message)
}

/// A claim whose agent takes no more work from now on.
pub(super) fn draining(claim: &MachineClaim, message: &str, now: Timestamp) -> MachineClaimStatus {
    let before = claim.status.clone().unwrap_or_default();
    let asked = Drain { requested_at: Moment::from(now), confirmed_at: None };
    let status = MachineClaimStatus {
        observed_generation: claim.metadata.generation,
        phase: Some(Phase::Draining),
        step: Some(Step::Draining),
        drain: Some(before.drain.clone().unwrap_or(asked)),
        ..before
    };
    say(status, ConditionType::Ready, false, Reason::Draining, message)
}
