//! Moments that somebody wrote down to wait for.

use std::time::Duration;

use jiff::Timestamp;

/// A moment that is still to come; none if it is not, or if it is further away than twice the longest pause, jitter and all.
/// Such a one was written by a clock that was set back since, and must not hold anybody for as long as that.
pub(crate) fn ahead(due: Timestamp, longest: Duration, now: Timestamp) -> Option<Timestamp> {
    let latest = now.saturating_add(longest.saturating_mul(2)).unwrap_or(Timestamp::MAX);
    (due > now && due <= latest).then_some(due)
}
