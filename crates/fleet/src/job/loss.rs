//! Whether a job was lost with its machine.

use api::condition::find;
use api::{ConditionType, InfrastructureLoss, JobResult, LossClass, MachineClaim, Moment, Reason, RunnerJobStatus};
use jiff::Timestamp;

use super::{Loss, Observed};
use crate::claim::ended;

/// Characters of evidence the API server takes.
const EVIDENCE: usize = 1024;

/// What a claim tells of the loss of its work: it had begun, and ended by something else than its own end, a limit or a
/// person.
pub fn loss(claim: &MachineClaim, node_gone: bool) -> Option<Loss> {
    let status = claim.status.as_ref().filter(|status| status.busy_time.is_some() && ended(status.phase))?;
    let ready = find(&status.conditions, ConditionType::Ready)?;
    let reason = Reason::ALL.iter().find(|reason| reason.as_str() == ready.reason)?;
    let class = class(*reason, node_gone)?;
    let node = status.allocation.as_ref().map(|allocation| allocation.node.as_str()).unwrap_or_default();
    let evidence = match class {
        LossClass::HostDied => format!("{}; node {node} is gone", ready.message),
        LossClass::VmGone | LossClass::OutOfMemory | LossClass::DiskFull | LossClass::AgentLost => {
            ready.message.clone()
        }
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

/// The status with the loss written down that its claim tells of. The first evidence stays: the claim goes soon.
pub(super) fn noted(observed: &Observed, now: Timestamp) -> RunnerJobStatus {
    let mut status = observed.job.status.clone().unwrap_or_default();
    let open = !matches!(status.result, Some(JobResult::Succeeded | JobResult::Cancelled));
    if status.infrastructure_loss.is_none() && open {
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
