//! Machines that end before they are of use: how often in a row, and how long the pool waits then.

use std::time::Duration;

use api::condition::find;
use api::{ConditionType, Failures, MachineClaim, Moment, Reason};
use jiff::{SignedDuration, Timestamp};
use reconcile::Backoff;

use super::Observed;
use super::census::Census;
use crate::ahead::ahead;
use crate::claim::ended;

/// Failures within this time count as one: what ails a batch ails it once.
const TOGETHER: SignedDuration = SignedDuration::from_secs(10);

/// One may fail by chance, and the next one too.
const FREE: u32 = 2;

/// The pauses after that.
const PAUSES: Backoff =
    Backoff { initial: Duration::from_secs(5), factor: 2.0, max: Duration::from_mins(5), jitter: 0.0 };

/// How often in a row, with what is seen now; a machine that was ready after the last one ends the row.
pub(super) fn count(observed: &Observed, census: &Census<'_>, now: Timestamp) -> Option<Failures> {
    let before = observed.pool.status.as_ref().and_then(|status| status.failures.clone());
    // What a clock wrote down that has been set back since is neither before nor after anything.
    let is_past = |at: &Timestamp| at.duration_since(now) <= TOGETHER;
    let before = before.filter(|failures| is_past(&failures.last_at.timestamp()));
    let last = census.members.iter().filter_map(|one| failed_at(one.claim)).filter(is_past).max();
    let new = match (before, last) {
        (Some(Failures { count, last_at }), Some(last)) if last.duration_since(last_at.timestamp()) > TOGETHER => {
            Some(Failures { count: count.saturating_add(1), last_at: Moment::from(last) })
        }
        (None, Some(last)) => Some(Failures { count: 1, last_at: Moment::from(last) }),
        (before, Some(_) | None) => before,
    };
    let ready =
        observed.claims.iter().filter_map(|claim| Some(claim.status.as_ref()?.ready_time.as_ref()?.timestamp()));
    let ready = ready.filter(is_past).max();
    new.filter(|failures| ready.is_none_or(|ready| ready <= failures.last_at.timestamp()))
}

/// Until when no machine is made after so many failures; none if that is over.
pub(super) fn pause(failures: &Failures, now: Timestamp) -> Option<Timestamp> {
    let beyond = failures.count.checked_sub(FREE).filter(|beyond| *beyond > 0)?;
    let due = failures.last_at.timestamp().saturating_add(PAUSES.bare(beyond)).unwrap_or(Timestamp::MAX);
    ahead(due, PAUSES.max, now)
}

/// When a machine ended that was never ready, if nobody wanted that.
fn failed_at(claim: &MachineClaim) -> Option<Timestamp> {
    let status = claim.status.as_ref().filter(|status| ended(status.phase) && status.ready_time.is_none())?;
    let ready = find(&status.conditions, ConditionType::Ready)?;
    let wanted = claim.metadata.deletion_timestamp.is_some() || ready.reason == Reason::ClaimDeleted.as_str();
    (!wanted).then_some(ready.last_transition_time.0)
}
