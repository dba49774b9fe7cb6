//! Moments that somebody wrote down to wait for.

use std::time::Duration;

use jiff::Timestamp;

/// A moment that is still to come; none if it is not, or if the clock that wrote it was set back since: it must not hold
/// anybody for as long as that.
pub(crate) fn ahead(due: Timestamp, longest: Duration, now: Timestamp) -> Option<Timestamp> {
    (due > now && is_near(due, longest, now)).then_some(due)
}

/// Whether a moment is past, or no further away than twice the longest pause, jitter and all.
pub(crate) fn is_near(due: Timestamp, longest: Duration, now: Timestamp) -> bool {
    due <= now.saturating_add(longest.saturating_mul(2)).unwrap_or(Timestamp::MAX)
}
