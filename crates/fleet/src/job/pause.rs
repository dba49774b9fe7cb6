//! How long a job waits after machines that did not take it.

use std::time::Duration;

use api::{Moment, RunnerJobStatus};
use jiff::Timestamp;
use reconcile::Backoff;

use crate::ahead::ahead;

/// Machines that are made for one job without a pause: one may die and one may be given to another job.
const FREE: u32 = 3;

/// The pauses after that: long, because what none of three machines got is hardly a matter of the machines.
const PAUSES: Backoff =
    Backoff { initial: Duration::from_mins(1), factor: 2.0, max: Duration::from_mins(30), jitter: 0.0 };

/// Until when no other machine is made for a job whose last one ended without taking it; none if that is no matter, or over.
pub fn pause(status: &RunnerJobStatus, now: Timestamp) -> Option<Timestamp> {
    let beyond = status.claims_made.unwrap_or(0).checked_sub(FREE - 1).filter(|beyond| *beyond > 0)?;
    let last = status.last_claim_at.as_ref().map(Moment::timestamp)?;
    ahead(last.saturating_add(PAUSES.bare(beyond)).unwrap_or(Timestamp::MAX), PAUSES.max, now)
}
