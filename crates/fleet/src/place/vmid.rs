//! Which VMID a new machine gets.
//!
//! The hypervisor's own suggestion is not used: it reserves nothing, gives two callers the same number, and hands out the
//! number of a machine that was deleted a moment ago.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use api::{VmId, VmIdRange};
use jiff::{SignedDuration, Timestamp};

/// How long a number rests after its machine is gone: statistics, firewalls and leases may still speak of the old one.
const REST: SignedDuration = SignedDuration::from_mins(5);

/// How long a number rests in whose way something was, such as a volume that an earlier machine left behind.
const POISONED: SignedDuration = SignedDuration::from_hours(24);

/// The numbers of one cluster, as far as they are spoken for.
#[derive(Clone, Debug, Default)]
pub struct VmIds {
    /// On the hypervisor, whoever they belong to.
    seen: BTreeSet<VmId>,
    /// Written ahead in claims, whether or not they exist yet.
    recorded: BTreeSet<VmId>,
    /// Not to be used for a while.
    resting: BTreeMap<VmId, Rest>,
}

/// How long a number rests.
#[derive(Clone, Copy, Debug)]
struct Rest {
    since: Timestamp,
    span: SignedDuration,
}

impl Rest {
    fn end(self) -> Timestamp {
        self.since.saturating_add(self.span).unwrap_or(Timestamp::MAX)
    }
}

/// Every number of the range is spoken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no VMID between {first} and {last} is free: widen vmidRange or remove machines from it")]
pub struct NoVmId {
    /// The lowest number there is.
    pub first: u32,
    /// The highest.
    pub last: u32,
}

impl VmIds {
    /// What a complete listing of the hypervisor and the allocations of all claims say.
    pub fn new(seen: impl IntoIterator<Item = VmId>, recorded: impl IntoIterator<Item = VmId>) -> Self {
        Self { seen: seen.into_iter().collect(), recorded: recorded.into_iter().collect(), resting: BTreeMap::new() }
    }

    /// A newer listing; what was recorded and what rests stays so.
    pub fn observe(&mut self, seen: impl IntoIterator<Item = VmId>) {
        self.seen = seen.into_iter().collect();
    }

    /// A machine is gone: its number rests for a while.
    pub fn release(&mut self, id: VmId, now: Timestamp) {
        self.recorded.remove(&id);
        self.rest(id, now, REST);
    }

    /// Something is in this number's way that is not ours to remove.
    pub fn poison(&mut self, id: VmId, now: Timestamp) {
        self.recorded.remove(&id);
        self.rest(id, now, POISONED);
    }

    fn rest(&mut self, id: VmId, now: Timestamp, span: SignedDuration) {
        self.awaken(now);
        let new = Rest { since: now, span };
        let rests = self.resting.entry(id).or_insert(new);
        if new.end() > rests.end() {
            *rests = new;
        }
    }

    /// Forgets what has rested long enough. What began at a moment to come was noted by a clock that was set back since: it
    /// begins now.
    fn awaken(&mut self, now: Timestamp) {
        for rest in self.resting.values_mut() {
            rest.since = rest.since.min(now);
        }
        self.resting.retain(|_, rest| rest.end() > now);
    }

    /// Takes a number for `allocation`, which it is recorded for from now on.
    ///
    /// Where the search starts depends on the allocation, so that two operators on one hypervisor rarely meet; it goes
    /// through the whole range, so that a free number is found if there is one.
    pub fn take(&mut self, range: VmIdRange, allocation: &str, now: Timestamp) -> Result<VmId, NoVmId> {
        self.awaken(now);
        let (first, last) = (range.first.0, range.last.0);
        let none = NoVmId { first, last };
        let count = u64::from(last.checked_sub(first).ok_or(none)?) + 1;
        let start = hash(allocation) % count;
        let taken = |id: &VmId| self.seen.contains(id) || self.recorded.contains(id) || self.resting.contains_key(id);
        let id = (0..count)
            .filter_map(|step| u32::try_from((start + step) % count).ok())
            .map(|offset| VmId(first + offset))
            .find(|id| !taken(id))
            .ok_or(none)?;
        self.recorded.insert(id);
        Ok(id)
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(first: u32, last: u32) -> VmIdRange {
        VmIdRange { first: VmId(first), last: VmId(last) }
    }

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn a_number_rests_after_its_machine_is_gone() {
        let mut ids = VmIds::new([], []);
        let first = ids.take(range(100, 100), "a", NOW).unwrap();
        ids.release(first, NOW);
        assert!(ids.take(range(100, 100), "b", NOW).is_err());
        assert_eq!(ids.take(range(100, 100), "b", NOW + REST), Ok(first));
    }

    #[test]
    fn a_poisoned_number_is_left_alone_for_a_day() {
        let mut ids = VmIds::new([], []);
        ids.poison(VmId(100), NOW);
        ids.release(VmId(100), NOW);
        assert_eq!(ids.take(range(100, 101), "a", NOW + REST), Ok(VmId(101)));
        assert_eq!(ids.take(range(100, 100), "b", NOW + POISONED), Ok(VmId(100)));
    }

    #[test]
    fn a_number_rests_no_longer_because_the_clock_was_ahead() {
        let mut ids = VmIds::new([], []);
        ids.release(VmId(100), NOW + POISONED);
        assert!(ids.take(range(100, 100), "a", NOW).is_err());
        ids.release(VmId(100), NOW);
        assert_eq!(ids.take(range(100, 100), "a", NOW + REST), Ok(VmId(100)));
    }

    #[test]
    fn a_full_range_says_what_to_do() {
        let mut ids = VmIds::new([VmId(100)], [VmId(101)]);
        let refusal = ids.take(range(100, 101), "a", NOW).unwrap_err();
        assert!(refusal.to_string().contains("widen vmidRange"), "{refusal}");
    }

    proptest! {
        #[test]
        fn no_number_is_given_twice_and_none_outside_the_range(
            seen in prop::collection::btree_set(100_u32..160, 0..40),
            names in prop::collection::vec("[a-z]{1,6}", 1..80),
        ) {
            let mut ids = VmIds::new(seen.iter().map(|number| VmId(*number)), []);
            let mut given = BTreeSet::new();
            for name in &names {
                if let Ok(number) = ids.take(range(100, 149), name, NOW) {
                    prop_assert!((100..=149).contains(&number.0));
                    prop_assert!(!seen.contains(&number.0));
                    prop_assert!(given.insert(number.0));
                } else {
                    let free = (100..=149).filter(|number| !seen.contains(number)).count();
                    prop_assert_eq!(given.len(), free, "a free number was not found");
                }
            }
        }
    }
}
