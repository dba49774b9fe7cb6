//! From listing to listing.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// A hypervisor with machines, and the claims that have some of them.
#[derive(Clone, Debug, Default)]
struct Yard {
    search: Search,
    /// Number, and the allocation if it is ours.
    machines: BTreeMap<u32, Option<String>>,
    claims: BTreeSet<String>,
    confirmed: Option<usize>,
    /// Claims elsewhere.
    others: usize,
    looks: usize,
    /// Looks are not answered.
    unclear: bool,
    /// Nothing can be removed.
    stuck: bool,
    seconds: i64,
}

impl Yard {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH.saturating_add(SignedDuration::from_secs(self.seconds)).unwrap()
    }

    fn ours(&mut self, number: u32) {
        self.machines.insert(number, Some(format!("a{number}")));
    }

    fn claimed(&mut self, numbers: impl IntoIterator<Item = u32>) {
        for number in numbers {
            self.ours(number);
            self.claims.insert(format!("a{number}"));
        }
    }

    /// Half a minute passes; what was to be removed.
    fn tick(&mut self) -> Vec<u32> {
        self.seconds += 30;
        let now = self.now();
        let held = self.claims.clone();
        let held = |allocation: &str| held.contains(allocation);
        let free = self.machines.iter().filter(|(_, ours)| ours.as_deref().is_none_or(|id| !held(id)));
        let rows: Vec<Row> = free
            .map(|(number, ours)| Row { vm: VmId(*number), face: format!("{ours:?}"), tagged: ours.is_some() })
            .collect();
        self.search.list(&rows, held);
        for vm in self.search.agenda(now) {
            self.looks += 1;
            let sight = match self.machines.get(&vm.0) {
                _ if self.unclear => Sight::Unknown,
                None => Sight::Gone,
                Some(None) => Sight::Foreign,
                Some(Some(allocation)) => Sight::Ours(allocation.clone()),
            };
            self.search.saw(vm, sight, held, now);
        }
        let claimed = self.machines.len() - rows.len();
        let census = Census { claimed, claims: self.claims.len() + self.others, confirmed: self.confirmed };
        let removed: Vec<u32> = self.search.judge(census, now).remove.iter().map(|suspect| suspect.vm.0).collect();
        for number in &removed {
            if self.stuck {
                self.search.failed(VmId(*number), now);
            } else {
                self.machines.remove(number);
                self.search.removed(VmId(*number));
            }
        }
        removed
    }

    fn ticks(&mut self, count: usize) -> Vec<u32> {
        (0..count).flat_map(|_| self.tick()).collect()
    }

    fn storm(&self) -> Option<usize> {
        match self.search.outlook() {
            Outlook::Storm(storm) => Some(storm.orphans),
            Outlook::Calm | Outlook::Unknown => None,
        }
    }
}

#[test]
fn an_orphan_goes_after_five_minutes_and_not_before() {
    let mut yard = Yard::default();
    yard.claimed([6000, 6001]);
    yard.ours(6002);
    assert_eq!(yard.ticks(11), [] as [u32; 0]);
    assert_eq!(yard.ticks(2), [6002]);
    assert_eq!(yard.machines.len(), 2);
    assert_eq!(yard.search.outlook(), &Outlook::Calm);
}

#[test]
fn other_peoples_machines_cost_a_look_each_and_then_next_to_nothing() {
    let mut yard = Yard::default();
    yard.machines.extend((6000..6100).map(|number| (number, None)));
    yard.ticks(60);
    assert_eq!(yard.looks, 100);
    yard.ticks(2 * 60 * 24);
    let a_day = yard.looks - 100;
    assert!(a_day <= 4 * 24, "{a_day} looks in a day");
    assert!(a_day > 4 * 22, "{a_day} looks in a day: old verdicts are checked");
}

#[test]
fn a_machine_that_looks_different_is_looked_at_again() {
    let mut yard = Yard::default();
    yard.claimed([6000, 6001]);
    yard.machines.insert(6002, None);
    yard.ticks(10);
    let looks = yard.looks;
    yard.ours(6002);
    assert_eq!(yard.ticks(14), [6002]);
    assert_eq!(yard.looks, looks + 2);
}

#[test]
fn what_cannot_be_told_is_asked_again_after_a_while() {
    let mut yard = Yard { unclear: true, ..Yard::default() };
    yard.claimed([6000, 6001]);
    yard.ours(6002);
    yard.ticks(40);
    assert!((3..=5).contains(&yard.looks), "{} looks in twenty minutes", yard.looks);
    yard.unclear = false;
    assert_eq!(yard.ticks(30), [6002]);
}

#[test]
fn a_claim_that_comes_back_keeps_its_machine() {
    let mut yard = Yard::default();
    yard.claimed([6000, 6001]);
    yard.ours(6002);
    yard.ticks(8);
    yard.claims.insert("a6002".to_owned());
    assert_eq!(yard.ticks(30), [] as [u32; 0]);
    yard.claims.remove("a6002");
    assert_eq!(yard.ticks(10), [] as [u32; 0], "it counts from the start again");
    assert_eq!(yard.ticks(4), [6002]);
}

#[test]
fn a_storm_ends_when_the_claims_are_back_and_the_last_of_them_are_waited_for() {
    let mut yard = Yard { others: 1, ..Yard::default() };
    (6000..6010).for_each(|number| yard.ours(number));
    assert_eq!(yard.ticks(40), [] as [u32; 0]);
    assert_eq!(yard.storm(), Some(10));
    yard.claimed(6000..6008);
    assert_eq!(yard.ticks(9), [] as [u32; 0], "a restore takes a while");
    assert_eq!(yard.storm(), None);
    yard.claimed([6008]);
    assert_eq!(yard.ticks(30), [6009]);
}

#[test]
fn the_first_claim_of_a_restore_gives_the_others_time() {
    let mut yard = Yard::default();
    (6000..6003).for_each(|number| yard.ours(number));
    yard.ticks(40);
    assert_eq!(yard.storm(), Some(3), "no claim at all");
    yard.claimed([6000]);
    assert_eq!(yard.ticks(9), [] as [u32; 0]);
    yard.claimed([6001, 6002]);
    assert_eq!(yard.ticks(60), [] as [u32; 0]);
}

#[test]
fn a_confirmation_counts_once_and_for_what_it_was_given() {
    let mut yard = Yard { others: 1, ..Yard::default() };
    (6000..6010).for_each(|number| yard.ours(number));
    yard.ticks(40);
    yard.confirmed = Some(9);
    assert_eq!(yard.ticks(4), [] as [u32; 0], "that is another number");
    yard.confirmed = Some(10);
    assert_eq!(yard.ticks(2).len(), 10);
    assert_eq!(yard.storm(), None);
    // The annotation stays, and so many machines are orphaned again.
    (6020..6030).for_each(|number| yard.ours(number));
    assert_eq!(yard.ticks(60), [] as [u32; 0]);
    assert_eq!(yard.storm(), Some(10));
    yard.confirmed = None;
    yard.tick();
    yard.confirmed = Some(10);
    assert_eq!(yard.ticks(2).len(), 10);
}

#[test]
fn a_removal_that_fails_is_tried_again_more_and_more_rarely() {
    let mut yard = Yard::default();
    yard.claimed([6000, 6001]);
    yard.ours(6002);
    yard.stuck = true;
    let tries = yard.ticks(2 * 60).len();
    assert!((4..=9).contains(&tries), "{tries} in an hour");
}

#[derive(Clone, Debug)]
enum Change {
    Foreign(u32),
    Ours(u32),
    Claim(u32),
    LoseClaim(u32),
    Vanish(u32),
    Wait(usize),
}

fn any_change() -> impl Strategy<Value = Change> {
    let number = || 6000_u32..6020;
    prop_oneof![
        number().prop_map(Change::Foreign),
        number().prop_map(Change::Ours),
        number().prop_map(Change::Claim),
        number().prop_map(Change::LoseClaim),
        number().prop_map(Change::Vanish),
        (1_usize..15).prop_map(Change::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever people do between two listings: what goes is ours and nobody's.
    #[test]
    fn p26_what_goes_is_ours_and_of_no_claim(changes in prop::collection::vec(any_change(), 1..60)) {
        let mut yard = Yard { others: 1, ..Yard::default() };
        for change in changes {
            match change {
                Change::Foreign(number) => {
                    yard.machines.insert(number, None);
                }
                Change::Ours(number) => yard.ours(number),
                Change::Claim(number) => yard.claimed([number]),
                Change::LoseClaim(number) => {
                    yard.claims.remove(&format!("a{number}"));
                }
                Change::Vanish(number) => {
                    yard.machines.remove(&number);
                }
                Change::Wait(ticks) => {
                    for _ in 0..ticks {
                        let before = yard.machines.clone();
                        for gone in yard.tick() {
                            let ours = before.get(&gone).and_then(Option::as_ref);
                            prop_assert!(ours.is_some_and(|allocation| !yard.claims.contains(allocation)), "{}", gone);
                        }
                    }
                }
            }
        }
    }

    /// Wherever its claim was lost, an orphan among few is found and goes; all others stay.
    #[test]
    fn p20_every_orphan_is_found(
        claimed in prop::collection::btree_set(6000_u32..6040, 1..20),
        lost in prop::collection::btree_set(6040_u32..6060, 0..4),
        foreign in prop::collection::btree_set(6060_u32..6099, 0..30),
    ) {
        let mut yard = Yard::default();
        yard.claimed(claimed.iter().copied());
        for number in &lost {
            yard.ours(*number);
        }
        yard.machines.extend(foreign.iter().map(|number| (*number, None)));
        yard.ticks(60);
        let left: BTreeSet<u32> = yard.machines.keys().copied().collect();
        prop_assert_eq!(left, claimed.union(&foreign).copied().collect::<BTreeSet<u32>>());
    }
}
