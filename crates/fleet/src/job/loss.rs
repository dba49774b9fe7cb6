//! Whether a job was lost with its machine.

use api::condition::find;
use api::{
    ConditionType, InfrastructureLoss, JobResult, JobState, LossClass, MachineClaim, Moment, OutcomeClass, Reason,
    RunnerJob, RunnerJobStatus,
};
use jiff::Timestamp;

use super::Observed;
use crate::claim::ended;

/// Characters of evidence the API server takes.
const EVIDENCE: usize = 1024;

/// Evidence that a job was lost with its machine: what was lost, and what was seen, in a sentence.
struct Loss {
    class: LossClass,
    evidence: String,
}

/// What the claim that has a job tells of its loss: it ended by something else than its own end, a limit or a person. Whether
/// its agent had time to say that the work has begun does not matter: the platform has said so.
fn loss(claim: &MachineClaim, node_gone: bool) -> Option<Loss> {
    let status = claim.status.as_ref().filter(|status| ended(status.phase))?;
    let ready = find(&status.conditions, ConditionType::Ready)?;
    let reason = Reason::ALL.iter().find(|reason| reason.as_str() == ready.reason)?;
    let reported = status.outcome.as_ref().and_then(|outcome| outcome.class).filter(|_| *reason == Reason::Finished);
    let class = reported.map_or_else(|| class(*reason, node_gone), told)?;
    let node = status.allocation.as_ref().map(|allocation| allocation.node.as_str()).unwrap_or_default();
    let evidence = match class {
        LossClass::HostDied => format!("{}; node {node} is gone", ready.message),
        LossClass::VmGone
        | LossClass::OutOfMemory
        | LossClass::DiskFull
        | LossClass::AgentLost
        | LossClass::RunnerDied => ready.message.clone(),
    };
    Some(Loss { class, evidence: evidence.chars().take(EVIDENCE).collect() })
}

#[expect(clippy::wildcard_enum_match_arm, reason = "of all the words for an end these few tell of a loss")]
const fn class(reason: Reason, node_gone: bool) -> Option<LossClass> {
    match reason {
        Reason::VmShutdownDetected if node_gone => Some(LossClass::HostDied),
        Reason::HostDied => Some(LossClass::HostDied),
        Reason::VmShutdownDetected | Reason::VmGone => Some(LossClass::VmGone),
        Reason::OutOfMemory => Some(LossClass::OutOfMemory),
        Reason::DiskFull => Some(LossClass::DiskFull),
        Reason::AgentLost => Some(LossClass::AgentLost),
        _ => None,
    }
}

/// What the end was that an agent reported, if it was none of the job's own.
const fn told(outcome: OutcomeClass) -> Option<LossClass> {
    match outcome {
        OutcomeClass::RunnerFailed => Some(LossClass::RunnerDied),
        OutcomeClass::OutOfMemory => Some(LossClass::OutOfMemory),
        OutcomeClass::DiskFull => Some(LossClass::DiskFull),
        OutcomeClass::LeaseLost => Some(LossClass::AgentLost),
        OutcomeClass::Exited
        | OutcomeClass::JobSucceeded
        | OutcomeClass::JobDone
        | OutcomeClass::NoJob
        | OutcomeClass::DemandGone
        | OutcomeClass::RetryFreshVm
        | OutcomeClass::ConfigError
        | OutcomeClass::VersionTooOld
        | OutcomeClass::DeadlinePassed
        | OutcomeClass::Ended
        | OutcomeClass::Unprepared => None,
    }
}

/// Whether the machine of a claim was lost with the job that it had.
pub(crate) fn is_lost(claim: &MachineClaim) -> bool {
    loss(claim, false).is_some()
}

/// Whether a job that some runner has, or had, will write down the loss of its machine when it sees it.
pub fn would_note(job: &RunnerJob) -> bool {
    let taken = |status: &&RunnerJobStatus| status.state > Some(JobState::Queued);
    let status = job.status.as_ref().filter(taken).filter(|_| job.metadata.deletion_timestamp.is_none());
    status.is_some_and(is_open)
}

fn is_open(status: &RunnerJobStatus) -> bool {
    let fine = matches!(status.result, Some(JobResult::Succeeded | JobResult::Cancelled));
    status.infrastructure_loss.is_none() && !fine
}

/// This status with the loss written down that its claim tells of. The first evidence stays; the claim goes after that.
pub(super) fn noted(observed: &Observed, mut status: RunnerJobStatus, now: Timestamp) -> RunnerJobStatus {
    if is_open(&status) {
        let name = status.claim_ref.as_ref().map(|claim| claim.name.as_str());
        let claim = observed.claims.iter().find(|claim| name.is_some() && claim.metadata.name.as_deref() == name);
        let found = claim.and_then(|claim| loss(claim, observed.node_gone));
        status.infrastructure_loss = found.map(|Loss { class, evidence }| InfrastructureLoss {
            class,
            evidence,
            at: Moment::from(now),
            rerun_requested: false,
        });
    }
    status
}
