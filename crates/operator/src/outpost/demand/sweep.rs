//! Lists registrations of ours: tells claims how theirs stand, and removes those that no claim has.
//!
//! A machine that dies between two writes can leave one behind. Absence of a claim is believed only in what was listed
//! completely twice, for ten minutes; and if it looks true of many at once, only some go at a time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use api::{MachineClaim, RunnerRegistration};
use fleet::claim::{self, Standing};
use jiff::{SignedDuration, Timestamp};
use providers::platform::{Listing, Mode, Removal, Runner, RunnerState};
use tokio::time::Instant;

use super::{Desk, Outpost, lock};
use crate::each::Life;

/// How often registrations are listed while claims have any.
const PERIOD: Duration = Duration::from_mins(1);

/// How often they are while no claim has one.
const IDLE: Duration = Duration::from_mins(5);

/// How long a registration must have been seen without a claim.
const AGE: SignedDuration = SignedDuration::from_mins(10);

/// As many may go at a time whatever there is, and a share of what there is.
const FEW: usize = 5;
const SHARE: usize = 4;

/// Sweeps until `life` is over.
pub(super) async fn run(desk: &Desk, outpost: &Outpost, life: &Life) {
    let go_round = async {
        let (mut suspects, mut last) = (Suspects::default(), Instant::now());
        loop {
            tokio::time::sleep(PERIOD).await;
            let registered = registered(desk);
            if !registered.is_empty() || last.elapsed() >= IDLE {
                last = Instant::now();
                sweep(desk, outpost, &registered, &mut suspects).await;
            }
        }
    };
    tokio::select! {
        biased;
        () = life.over() => {}
        () = go_round => {}
    }
}

async fn sweep(desk: &Desk, outpost: &Outpost, registered: &BTreeSet<String>, suspects: &mut Suspects) {
    // Who has no name for his runners has none.
    let Some(marker) = desk.outposts.marker() else { return };
    let began = desk.outposts.0.parts.clock.now();
    let listing = match outpost.heed(outpost.link.platform.registrations(&marker).await) {
        Ok(listing) => listing,
        Err(error) => return tracing::warn!(source = %desk.source, %error, "registrations cannot be listed"),
    };
    if listing.complete {
        let mut state = lock(&outpost.post.state);
        state.standings = standings(&state.standings, &listing, registered, began);
    }
    let now = desk.outposts.0.parts.clock.now();
    let claims = desk.feed.caches.claims.all();
    let claimed = claims.iter().filter_map(|claim| Some(runner_of(claim)?.name.as_str())).collect();
    for runner in suspects.judge(&listing, &claimed, now) {
        let removed = match outpost.deregister(&runner, Mode::Force).await {
            Ok(Removal::Gone) => true,
            Ok(Removal::Busy | Removal::Drained | Removal::Unknown(_)) | Err(_) => false,
        };
        tracing::warn!(source = %desk.source, runner = runner.name, removed, "a registration that no claim has goes");
        desk.outposts.0.figures.swept(&desk.source, removed);
    }
}

fn runner_of(claim: &MachineClaim) -> Option<&RunnerRegistration> {
    claim.status.as_ref()?.runner.as_ref()
}

/// The names of runners that claims are known to have registered with the source.
fn registered(desk: &Desk) -> BTreeSet<String> {
    let claims = desk.feed.caches.claims.select(|claim| {
        let runner = claim.spec.workload.runner.as_ref();
        runner.is_some_and(|runner| runner.source_ref.name.as_str() == desk.source.name)
            && claim.metadata.namespace.as_deref() == Some(desk.source.namespace.as_str())
    });
    let known = |claim: &Arc<MachineClaim>| {
        runner_of(claim).filter(|runner| runner.id.is_some()).map(|runner| runner.name.clone())
    };
    claims.iter().filter_map(known).collect()
}

/// How runners stand by a complete listing that began then, after what earlier ones said.
fn standings(
    before: &BTreeMap<String, Standing>,
    listing: &Listing,
    registered: &BTreeSet<String>,
    began: Timestamp,
) -> BTreeMap<String, Standing> {
    let listed: BTreeMap<&str, RunnerState> =
        listing.runners.iter().map(|(runner, state)| (runner.name.as_str(), *state)).collect();
    let stand = |name: &String| {
        let state = match listed.get(name.as_str()) {
            Some(RunnerState::Idle) => claim::RunnerState::Idle,
            Some(RunnerState::Busy) => claim::RunnerState::Busy,
            Some(RunnerState::Offline) => claim::RunnerState::Offline,
            Some(RunnerState::Gone) | None => claim::RunnerState::Gone,
        };
        let since = before.get(name).filter(|before| before.state == state).map_or(began, |before| before.since);
        (name.clone(), Standing { state, since, seen: began })
    };
    registered.iter().map(stand).collect()
}

/// Registrations without a claim, since when they are, and in how many listings.
#[derive(Debug, Default)]
struct Suspects(BTreeMap<Runner, (Timestamp, u32)>);

impl Suspects {
    /// What may go after this listing: not what has a claim or a job, nor what was not seen long enough.
    fn judge(&mut self, listing: &Listing, claimed: &BTreeSet<&str>, now: Timestamp) -> Vec<Runner> {
        if !listing.complete {
            return Vec::new();
        }
        let unclaimed = |(runner, state): &&(Runner, RunnerState)| {
            *state != RunnerState::Busy && *state != RunnerState::Gone && !claimed.contains(runner.name.as_str())
        };
        let before = std::mem::take(&mut self.0);
        self.0 = listing
            .runners
            .iter()
            .filter(unclaimed)
            .map(|(runner, _)| {
                let (since, times) = before.get(runner).copied().unwrap_or((now, 0));
                (runner.clone(), (since, times.saturating_add(1)))
            })
            .collect();
        let most = FEW.max(listing.runners.len() / SHARE);
        let due = self.0.iter().filter(|(_, (since, times))| *times >= 2 && now.duration_since(*since) >= AGE);
        due.map(|(runner, _)| runner.clone()).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runner(number: usize) -> Runner {
        Runner { name: format!("hf-0-{number:03}"), id: Some(number.to_string()) }
    }

    fn listing(numbers: impl IntoIterator<Item = usize>, complete: bool) -> Listing {
        Listing {
            runners: numbers.into_iter().map(|number| (runner(number), RunnerState::Offline)).collect(),
            complete,
        }
    }

    fn at(minutes: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + minutes * 60).unwrap()
    }

    #[test]
    fn a_registration_without_a_claim_goes_after_ten_minutes_and_two_listings() {
        let (mut suspects, none) = (Suspects::default(), BTreeSet::new());
        assert!(suspects.judge(&listing([1], true), &none, at(0)).is_empty());
        assert!(suspects.judge(&listing([1], true), &none, at(9)).is_empty());
        assert_eq!(suspects.judge(&listing([1], true), &none, at(10)), [runner(1)]);
        let mut once = Suspects::default();
        assert!(once.judge(&listing([1], true), &none, at(0)).is_empty());
        assert!(once.judge(&listing([], true), &none, at(5)).is_empty());
        assert!(once.judge(&listing([1], true), &none, at(11)).is_empty(), "it was away in between");
    }

    #[test]
    fn a_standing_lasts_from_the_first_listing_that_says_so_to_the_last() {
        let names = BTreeSet::from([runner(1).name, runner(2).name]);
        let first = standings(&BTreeMap::new(), &listing([1, 2], true), &names, at(0));
        let second = standings(&first, &listing([1], true), &names, at(1));
        let third = standings(&second, &listing([1], true), &names, at(2));
        let of = |number: usize| third[&runner(number).name];
        assert_eq!(of(1), Standing { state: claim::RunnerState::Offline, since: at(0), seen: at(2) });
        assert_eq!(of(2), Standing { state: claim::RunnerState::Gone, since: at(1), seen: at(2) });
        assert!(standings(&third, &listing([1, 2], true), &BTreeSet::new(), at(3)).is_empty());
    }

    #[test]
    fn a_busy_runner_stays_whoever_has_forgotten_it() {
        let mut suspects = Suspects::default();
        let busy = Listing { runners: vec![(runner(1), RunnerState::Busy)], complete: true };
        for minutes in [0, 10, 20] {
            assert!(suspects.judge(&busy, &BTreeSet::new(), at(minutes)).is_empty());
        }
    }

    #[test]
    fn of_very_many_only_some_go_at_a_time() {
        let (mut suspects, none) = (Suspects::default(), BTreeSet::new());
        suspects.judge(&listing(0..100, true), &none, at(0));
        assert_eq!(suspects.judge(&listing(0..100, true), &none, at(10)).len(), 25);
        let mut few = Suspects::default();
        few.judge(&listing(0..8, true), &none, at(0));
        assert_eq!(few.judge(&listing(0..8, true), &none, at(10)).len(), 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn what_has_a_claim_or_was_not_listed_completely_twice_never_goes(
            looks in proptest::collection::vec((proptest::collection::btree_set(0_usize..12, 0..12), any::<bool>(), 1_i64..12), 1..12),
            claimed in proptest::collection::btree_set(0_usize..12, 0..6),
        ) {
            let names: Vec<String> = claimed.iter().map(|number| runner(*number).name).collect();
            let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
            let (mut suspects, mut now) = (Suspects::default(), 0);
            // In how many complete listings in a row each was, and since when.
            let mut seen: BTreeMap<usize, (i64, u32)> = BTreeMap::new();
            for (numbers, complete, pause) in looks {
                now += pause;
                let gone = suspects.judge(&listing(numbers.iter().copied(), complete), &names, at(now));
                if complete {
                    seen.retain(|number, _| numbers.contains(number));
                    for number in &numbers {
                        seen.entry(*number).or_insert((now, 0)).1 += 1;
                    }
                }
                prop_assert!(complete || gone.is_empty());
                prop_assert!(gone.len() <= FEW.max(numbers.len() / SHARE));
                for runner in gone {
                    prop_assert!(!names.contains(runner.name.as_str()));
                    let number: usize = runner.id.unwrap_or_default().parse().unwrap();
                    let (since, times) = seen[&number];
                    prop_assert!(times >= 2 && now - since >= 10);
                }
            }
        }
    }
}
