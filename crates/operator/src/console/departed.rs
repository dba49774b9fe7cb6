//! Claims that are gone: what a finished job's machine did is known only from them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use api::MachineClaim;
use chassis::Clock;
use jiff::Timestamp;
use runtime::{Cache, Entry};

/// Claims that are remembered: about as many as the ended jobs that are shown, and a few kilobytes each.
const REMEMBERED: usize = 256;

/// The last claims that went, as they were when they did; clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Departed(Arc<Mutex<VecDeque<Farewell>>>);

/// A claim that went.
#[derive(Clone, Debug)]
pub(super) struct Farewell {
    /// As it was.
    pub(super) claim: Arc<MachineClaim>,
    /// When it was gone.
    pub(super) at: Timestamp,
}

impl Departed {
    /// Those of a cache, from now on.
    pub(super) fn of(claims: &Cache<MachineClaim>, clock: Clock) -> Self {
        let departed = Self::default();
        let memory = departed.clone();
        claims.subscribe(move |change| {
            if let (Some(Entry::Readable(claim)), None) = (change.before, change.after) {
                memory.remember(Farewell { claim: Arc::clone(claim), at: clock.now() });
            }
            true
        });
        departed
    }

    fn remember(&self, farewell: Farewell) {
        let mut memory = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if memory.len() == REMEMBERED {
            memory.pop_front();
        }
        memory.push_back(farewell);
    }

    /// The last ones, the oldest first.
    pub(super) fn all(&self) -> Vec<Farewell> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_claims_are_remembered_and_no_more() {
        let departed = Departed::default();
        let claim = Arc::new(super::super::tests::claim("c", "Ready", None));
        for second in 0..300 {
            let at = Timestamp::from_second(second).unwrap();
            departed.remember(Farewell { claim: Arc::clone(&claim), at });
        }
        let all = departed.all();
        assert_eq!((all.len(), all[0].at.as_second(), all[255].at.as_second()), (256, 44, 299));
    }
}
