//! *booting*: the VM was told to start.

use api::{ConditionType, MachineClaimStatus, Moment, Phase, Reason, Step};
use jiff::Timestamp;
use reconcile::Plan;

use super::super::observed::{Job, Observed};
use super::super::{ClaimPlan, tell};

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    super::wait_for(observed, Job::Start, now)
}

/// It runs. From here on "stopped" means that it is over; until this is written it means that it has not begun.
pub(super) fn up(observed: &Observed, now: Timestamp) -> ClaimPlan {
    let status = tell::entering(observed, Phase::Bootstrapping, Step::Attesting);
    let status = MachineClaimStatus {
        first_running_time: Some(Moment::from(now)),
        attempts: None,
        next_retry_time: None,
        ..status
    };
    let vm = status.allocation.as_ref().map(|allocation| allocation.vm_id.to_string()).unwrap_or_default();
    let message = format!("VM {vm} runs; its agent has to prove itself");
    let status = tell::say(status, ConditionType::Provisioning, false, Reason::Booting, message);
    Plan { status: Some(status), ..Plan::rest() }
}
