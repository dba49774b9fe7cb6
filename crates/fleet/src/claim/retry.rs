//! What becomes of an attempt that did not succeed.

use std::time::Duration;

use api::{ConditionType, MachineClaimStatus, Moment, Phase, Reason, Step as Where};
use jiff::{RoundMode, Timestamp, TimestampRound, Unit};
use reconcile::{Backoff, Next, Plan, Why};

use super::{ClaimPlan, Job, Kind, Observed, Policy, Sight, Step, Trouble, limit, tell};
use crate::ahead::{ahead, is_near};

/// Where there is no room, it is asked for again after this long.
const ROOM: Duration = Duration::from_secs(30);

/// A removal is tried again for ever, at these pauses.
const REMOVAL: Backoff =
    Backoff { initial: Duration::from_secs(5), factor: 2.0, max: Duration::from_mins(2), jitter: 0.2 };

/// The plan after trouble while a VM is being made; none when it is time to try again.
pub(super) fn making(observed: &Observed, now: Timestamp) -> Option<ClaimPlan> {
    let Some(trouble) = &observed.errands.trouble else {
        // Whoever met it may be gone; what it wrote down holds.
        return paused(observed, now).filter(|_| observed.errands.running.is_none());
    };
    let made = matches!(observed.sight, Sight::Ours { .. } | Sight::Locked { .. });
    let unsure = matches!(observed.sight, Sight::Foreign { .. }) && !observed.errands.certain;
    if trouble.job == Job::Clone && (made || unsure) {
        // It happened after all, or cannot be judged yet.
        return None;
    }
    match trouble.kind {
        Kind::Stale => paused(observed, now),
        Kind::Final => Some(doom(observed, trouble, reason(trouble), sentence(trouble))),
        Kind::Passing | Kind::Room if is_counted(observed, trouble, now) => waiting(observed, trouble, now),
        Kind::Room => Some(count(observed, trouble, trouble.attempt, now)),
        Kind::Passing => {
            let attempt = trouble.attempt.saturating_add(1);
            if attempt >= observed.policy.attempts {
                let message = format!("gave up after {attempt} attempts; the last: {}", sentence(trouble));
                return Some(doom(observed, trouble, Reason::RetriesExhausted, message));
            }
            Some(count(observed, trouble, attempt, now))
        }
    }
}

/// When the next attempt is due, unless it is.
pub fn due(status: &MachineClaimStatus, policy: &Policy, now: Timestamp) -> Option<Timestamp> {
    let due = status.next_retry_time.as_ref()?.timestamp();
    ahead(due, policy.backoff.max.max(ROOM), now)
}

/// The wait for the next attempt, if it is not due.
pub(super) fn paused(observed: &Observed, now: Timestamp) -> Option<ClaimPlan> {
    let due = due(observed.status(), &observed.policy, now)?;
    let attempt = observed.status().attempts.unwrap_or(0);
    let why = Why::Retry { attempt, cause: "the last attempt did not succeed".to_owned() };
    Some(Plan::wait(Next::at(due, now, why).or_sooner(limit::next(observed, now))))
}

/// The last attempt has failed: what there is of the VM goes.
fn doom(observed: &Observed, trouble: &Trouble, reason: Reason, message: String) -> ClaimPlan {
    if trouble.job == Job::Clone && matches!(observed.sight, Sight::Foreign { .. }) {
        return left(observed, reason, message);
    }
    Plan { status: Some(tell::doomed(observed, reason, message)), ..Plan::rest() }
}

/// The end of a claim whose number is somebody else's: that VM is none of ours to remove, or to ask a person about.
pub(super) fn left(observed: &Observed, reason: Reason, message: String) -> ClaimPlan {
    let status = tell::failed(observed, reason, message);
    let status = MachineClaimStatus { allocation: None, bootstrap: None, next_retry_time: None, ..status };
    Plan { steps: forgotten(), status: Some(status), ..Plan::rest() }
}

/// Whether the claim says already what happened.
fn is_counted(observed: &Observed, trouble: &Trouble, now: Timestamp) -> bool {
    let Some(due) = &observed.status().next_retry_time else { return false };
    match trouble.kind {
        // It does not count, but a pause that ended before it was another one's, and one that a wrong clock wrote is no
        // pause.
        Kind::Room => {
            let due = due.timestamp();
            due > trouble.at && is_near(due, observed.policy.backoff.max.max(ROOM), now)
        }
        Kind::Passing | Kind::Stale | Kind::Final => observed.status().attempts.unwrap_or(0) > trouble.attempt,
    }
}

fn waiting(observed: &Observed, trouble: &Trouble, now: Timestamp) -> Option<ClaimPlan> {
    let due = due(observed.status(), &observed.policy, now)?;
    let why = Why::Retry { attempt: trouble.attempt.saturating_add(1), cause: trouble.message.clone() };
    Some(Plan::wait(Next::at(due, now, why).or_sooner(limit::next(observed, now))))
}

/// Writes down that an attempt failed. One whose clone failed leaves its number, which may be what is wrong; only when
/// it is certain that nothing is there.
fn count(observed: &Observed, trouble: &Trouble, attempt: u32, now: Timestamp) -> ClaimPlan {
    let pause = match trouble.kind {
        Kind::Room => ROOM,
        Kind::Passing | Kind::Stale | Kind::Final => {
            observed.policy.backoff.delay(attempt, observed.claim.metadata.uid.as_deref().unwrap_or_default())
        }
    };
    let due = whole(limit::after(now, pause));
    let message = match trouble.kind {
        Kind::Room => sentence(trouble),
        Kind::Passing | Kind::Stale | Kind::Final => {
            format!("attempt {attempt} of {} did not succeed: {}", observed.policy.attempts, sentence(trouble))
        }
    };
    let leaves = trouble.job == Job::Clone && super::is_free(observed);
    let (steps, status) = if leaves { (forgotten(), moved_on(observed)) } else { (Vec::new(), tell::as_is(observed)) };
    let status = MachineClaimStatus { attempts: Some(attempt), next_retry_time: Some(Moment::from(due)), ..status };
    let status = tell::say(status, ConditionType::Provisioning, false, reason(trouble), message);
    let why = Why::Retry { attempt, cause: trouble.message.clone() };
    Plan { steps, status: Some(status), next: Next::at(due, now, why), ..Plan::rest() }
}

/// What is done about an allocation before it is forgotten: its seed may have been uploaded by whoever began.
pub(super) fn forgotten() -> Vec<Step> {
    vec![Step::DiscardSeed]
}

/// The next whole second: claims keep no parts of one, and an attempt must not come too soon.
fn whole(due: Timestamp) -> Timestamp {
    due.round(TimestampRound::new().smallest(Unit::Second).mode(RoundMode::Ceil)).unwrap_or(due)
}

/// The claim without its allocation: it will get another.
pub(super) fn moved_on(observed: &Observed) -> MachineClaimStatus {
    let status = tell::entering(observed, Phase::Pending, Where::Gated);
    MachineClaimStatus { allocation: None, bootstrap: None, ..status }
}

/// The pause after a removal that did not succeed; none when it is time to try again.
pub(super) fn removing(observed: &Observed, trouble: &Trouble, now: Timestamp) -> Option<Duration> {
    if trouble.kind == Kind::Stale {
        return None;
    }
    let due = again(observed, trouble.at, trouble.times, now)?;
    Duration::try_from(due.duration_since(now)).ok()
}

/// When a removal is tried again that did not succeed at that moment, so often in a row; nothing when it is time.
pub(super) fn again(observed: &Observed, at: Timestamp, times: u32, now: Timestamp) -> Option<Timestamp> {
    let salt = observed.claim.metadata.uid.as_deref().unwrap_or_default();
    ahead(limit::after(at, REMOVAL.delay(times, salt)), REMOVAL.max, now)
}

/// The word for it.
fn reason(trouble: &Trouble) -> Reason {
    match (trouble.kind, trouble.job) {
        (Kind::Room, _) => Reason::InsufficientCapacity,
        (_, Job::Clone) => Reason::CloneFailed,
        (Kind::Final, _) => Reason::Refused,
        (Kind::Passing | Kind::Stale, _) => Reason::Unavailable,
    }
}

/// What was done, what happened, and of which class it is.
pub(super) fn sentence(trouble: &Trouble) -> String {
    format!("{} ({}): {}", trouble.job.as_str(), trouble.kind.as_str(), trouble.message)
}
