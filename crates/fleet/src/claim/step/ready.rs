//! *ready*: the agent has proven itself and waits for work.

use jiff::Timestamp;

use super::super::ClaimPlan;
use super::super::observed::Observed;

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    super::busy::serving(observed, now, "while it waited for work")
}
