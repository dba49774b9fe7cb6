//! *attesting*: the VM runs, and its agent has to prove itself to the bootstrap service.

use api::{BootstrapState, Reason};
use jiff::Timestamp;
use reconcile::Plan;

use super::super::observed::{Life, Observed, Sight};
use super::super::{ClaimPlan, limit, tell};

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if is_revoked(observed) {
        let message = "the token of this machine was presented by somebody else as well; nobody is believed any more";
        return Plan { status: Some(tell::doomed(observed, Reason::AttestationFailed, message)), ..Plan::rest() };
    }
    if let Some(plan) = over(observed, "before its agent had proven itself; its console may tell why") {
        return plan;
    }
    Plan::wait(limit::next(observed, now))
}

/// Whether its token was shown by two, so that neither is believed any more. The machine may have had work before.
pub(super) fn is_revoked(observed: &Observed) -> bool {
    observed.status().bootstrap.as_ref().is_some_and(|record| record.state == BootstrapState::Revoked)
}

/// The end of a VM that ran and does not any more.
pub(super) fn over(observed: &Observed, when: &str) -> Option<ClaimPlan> {
    let message = match (observed.life, &observed.sight) {
        (Life::Stopped, _) => format!("the VM stopped {when}"),
        (_, Sight::Absent { .. }) => format!("the VM was removed by somebody else {when}"),
        (_, Sight::Foreign { message, settled: true }) => format!("the VM is gone: {message}"),
        (
            Life::Unknown | Life::Running,
            Sight::Unasked | Sight::Unknown(_) | Sight::Locked { .. } | Sight::Foreign { .. } | Sight::Ours { .. },
        ) => return None,
    };
    Some(Plan { status: Some(tell::doomed(observed, Reason::VmShutdownDetected, message)), ..Plan::rest() })
}
