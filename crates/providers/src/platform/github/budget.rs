//! How much may be asked for, so that the platform never has to say that it was too much.
//!
//! ```text
//!   call ─▶ admit ─▶ Permit ─▶ answer ─▶ observe (what the headers say is left)
//!             └─▶ RateLimited: the hour is used up, the minute is, or the source's own budget
//! ```
//!
//! What matters less stops earlier: the last requests of an hour belong to registrations. Whoever is refused here asked
//! nothing of the platform.

mod state;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ::http::HeaderMap;
use jiff::Timestamp;
use tokio::time::Instant;

use self::state::State;
use crate::platform::{Bucket, Error, Quota};

/// How long to ask nothing after a refusal that says not how long; doubled with each.
const PENALTY: Duration = Duration::from_mins(1);
/// More than this is never waited for.
const LONGEST: Duration = Duration::from_mins(16);

/// What a call is for, the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Priority {
    /// A machine waits to become a runner.
    Mint,
    /// A registration must go.
    Deregister,
    /// What waits, and for how long.
    Demand,
    /// What may have been left behind or lost.
    Sweep,
}

impl Priority {
    /// Thousandths of a limit that are left to what matters more.
    const fn spared(self) -> u32 {
        match self {
            Self::Mint => 0,
            Self::Deregister => 20,
            Self::Demand => 100,
            Self::Sweep => 250,
        }
    }
}

/// What a source may use of a credential's limits.
#[derive(Debug)]
pub(super) struct Budget(Mutex<State>);

/// A call that may be made; it counts as open until this is dropped.
#[derive(Debug)]
pub(super) struct Permit<'a>(&'a Budget);

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        self.0.state().leave();
    }
}

impl Budget {
    /// A budget that leaves some of the platform's limits alone, and uses at most `hourly` requests an hour.
    pub(super) fn new(hourly: Option<u32>) -> Self {
        Self(Mutex::new(State::new(hourly, Instant::now())))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call be made, or says how long to wait. A change costs five times what a look does.
    pub(super) fn admit(&self, priority: Priority, bucket: Bucket, is_change: bool) -> Result<Permit<'_>, Error> {
        let cost = if is_change { 5 } else { 1 };
        match self.state().enter(priority, bucket, cost, Instant::now()) {
            Ok(()) => Ok(Permit(self)),
            Err((bucket, wait)) => Err(Error::RateLimited { bucket, wait }),
        }
    }

    /// Takes note of what an answer says is left.
    pub(super) fn observe(&self, bucket: Bucket, headers: &HeaderMap, told_at: Timestamp) {
        self.state().observe(bucket, headers, told_at, Instant::now());
    }

    /// The platform refused a call: nothing is asked until it is over. How long that is.
    pub(super) fn refused(&self, told: Option<Duration>) -> Duration {
        let mut state = self.state();
        let wait = told.unwrap_or_else(|| PENALTY.saturating_mul(1 << state.strikes.min(4))).min(LONGEST);
        state.strikes += 1;
        state.pause(Instant::now() + wait);
        wait
    }

    /// The platform answered as it should: the next refusal is a first one.
    pub(super) fn answered(&self) {
        self.state().strikes = 0;
    }

    /// How long a limit is used up, as the headers said; nothing if it is not.
    pub(super) fn exhausted(&self, bucket: Bucket) -> Option<Duration> {
        self.state().exhausted(bucket, Instant::now())
    }

    /// What is left, as far as it was told.
    pub(super) fn quotas(&self) -> Vec<Quota> {
        self.state().quotas(Instant::now())
    }
}

#[cfg(test)]
mod tests;
