//! Whether a storage can take another clone now.
//!
//! Each new disk takes its storage's lock, and whoever does not get that lock within ten seconds fails. So no more clones
//! are under way on a storage than can have their turn in that time, by what the last ones were measured to hold it for.

use std::time::Duration;

/// How long the hypervisor lets a task wait for a storage's lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);

/// Half of it, for hold times that vary.
const SAFETY: u32 = 2;

/// More at a time gain nothing: a clone keeps its place until somebody has seen its end, which takes longer than a quick
/// storage holds its lock, and with this many in line that lock is not idle meanwhile.
const MOST: usize = 32;

/// Until something has been measured.
const ASSUMED: Duration = Duration::from_secs(2);

/// Clones under way on one storage, and how long its lock is held for one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Permits {
    in_flight: usize,
    hold: Duration,
}

/// The storage has as many clones under way as it can serve in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{in_flight} clones are under way on the storage, which can serve {most} in time")]
pub struct StorageBusy {
    /// Clones under way.
    pub in_flight: usize,
    /// What the storage can serve.
    pub most: usize,
}

impl Permits {
    /// A storage with this many clones under way of which nothing has been measured.
    pub const fn new(in_flight: usize) -> Self {
        Self { in_flight, hold: ASSUMED }
    }

    /// The same after one more clone took the lock for `hold`; recent ones count most.
    #[must_use]
    pub fn measured(self, hold: Duration) -> Self {
        Self { hold: (self.hold * 3 + hold) / 4, ..self }
    }

    /// Clones that may be under way at a time.
    pub fn most(&self) -> usize {
        let hold = self.hold.max(Duration::from_millis(1)).as_secs_f64();
        let in_line = (LOCK_WAIT / SAFETY).as_secs_f64() / hold;
        (1..MOST).find(|count| in_line < f64::from(u32::try_from(*count).unwrap_or(u32::MAX))).unwrap_or(MOST)
    }

    /// Room for one more, which is under way from now on.
    pub fn take(self) -> Result<Self, StorageBusy> {
        let most = self.most();
        if self.in_flight >= most {
            return Err(StorageBusy { in_flight: self.in_flight, most });
        }
        Ok(Self { in_flight: self.in_flight + 1, ..self })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    fn settled(hold: Duration) -> Permits {
        (0..40).fold(Permits::new(0), |permits, _| permits.measured(hold))
    }

    #[rstest]
    #[case(20, 32)]
    #[case(300, 17)]
    #[case(2_000, 3)]
    #[case(3_000, 2)]
    #[case(6_000, 1)]
    fn a_slow_storage_gets_fewer_clones_at_a_time(#[case] millis: u64, #[case] most: usize) {
        assert_eq!(settled(Duration::from_millis(millis)).most(), most);
    }

    #[test]
    fn a_busy_storage_says_so() {
        let full = (0..3).try_fold(settled(Duration::from_secs(2)), |permits, _| permits.take());
        let refusal = full.unwrap().take().unwrap_err();
        assert_eq!(refusal, StorageBusy { in_flight: 3, most: 3 });
    }

    proptest! {
        #[test]
        fn whoever_is_let_in_gets_the_lock_in_time(millis in 1_u64..9_000) {
            let hold = Duration::from_millis(millis);
            let waiting = u32::try_from(settled(hold).most() - 1).unwrap();
            prop_assert!(hold * waiting <= LOCK_WAIT, "the last in line waits {:?}", hold * waiting);
        }
    }
}
