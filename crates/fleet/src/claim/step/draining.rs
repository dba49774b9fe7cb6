//! *draining*: the agent takes no more work; what has begun may end.

use jiff::Timestamp;

use super::super::ClaimPlan;
use super::super::observed::Observed;

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    super::busy::serving(observed, now, "while it finished its work")
}
