//! Who is believed to be an orphan.

use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH.saturating_add(SignedDuration::from_secs(seconds)).unwrap()
}

fn suspect(number: u32) -> Suspect {
    let (since, not_before) = (at(0), at(0));
    Suspect { vm: VmId(number), allocation: format!("a{number}"), since, looks: 2, not_before, confirmed: false }
}

fn observed(suspects: usize, claimed: usize) -> Observed {
    let suspects = (0..suspects).map(|number| suspect(6000 + u32::try_from(number).unwrap())).collect();
    Observed { suspects, unseen: 0, claimed, claims: claimed.max(1), confirmed: None }
}

#[rstest]
#[case::too_young(299, 2, 0, 0)]
#[case::looked_at_once(3_600, 1, 0, 0)]
#[case::just_failed(3_600, 2, 3_601, 0)]
#[case::old_and_looked_at_twice(300, 2, 0, 1)]
fn an_orphan_is_old_and_was_seen_twice(
    #[case] now: i64,
    #[case] looks: u32,
    #[case] not_before: i64,
    #[case] removed: usize,
) {
    let one = Suspect { looks, not_before: at(not_before), ..suspect(6000) };
    let verdict = judge(&Observed { suspects: vec![one], ..observed(0, 1) }, at(now));
    assert_eq!((verdict.remove.len(), verdict.storm), (removed, None));
}

#[rstest]
#[case::three_of_three(3, 0, true)]
#[case::four_of_four(4, 0, false)]
#[case::four_of_fifteen(4, 11, false)]
#[case::four_of_sixteen(4, 12, true)]
#[case::a_quarter_of_many(25, 75, true)]
#[case::more_than_a_quarter(26, 74, false)]
fn few_are_believed_and_many_are_a_storm(#[case] orphans: usize, #[case] claimed: usize, #[case] believed: bool) {
    let verdict = judge(&observed(orphans, claimed), at(600));
    assert_eq!(verdict.remove.len(), if believed { orphans } else { 0 });
    assert_eq!(verdict.storm.is_none(), believed);
}

#[test]
fn what_nobody_has_looked_at_could_be_a_storm() {
    let one = Observed { unseen: 3, ..observed(1, 10) };
    assert_eq!(judge(&one, at(600)), Verdict::default());
    assert_eq!(judge(&Observed { unseen: 2, ..one }, at(600)).remove.len(), 1);
}

#[test]
fn without_any_claim_nothing_is_believed() {
    let alone = Observed { claims: 0, ..observed(1, 0) };
    let verdict = judge(&alone, at(600));
    assert_eq!(verdict.remove, []);
    let text = verdict.storm.unwrap().to_string();
    assert!(text.contains("there is no MachineClaim at all"), "{text}");
    let young = judge(&alone, at(60));
    assert_eq!(young, Verdict::default(), "a claim that is just being made is no alarm");
}

#[test]
fn exactly_the_right_number_confirms_a_storm() {
    for (confirmed, removed) in [(None, 0), (Some(4), 0), (Some(5), 5), (Some(6), 0)] {
        let verdict = judge(&Observed { confirmed, ..observed(5, 3) }, at(600));
        assert_eq!((verdict.remove.len(), verdict.storm.is_none()), (removed, removed > 0), "{confirmed:?}");
    }
    assert!(!judge(&Observed { confirmed: Some(2), ..observed(2, 3) }, at(600)).confirmed, "there is no storm");
}

#[test]
fn what_was_confirmed_goes_whatever_comes_after() {
    let mut mixed = observed(9, 3);
    mixed.suspects.iter_mut().take(4).for_each(|suspect| suspect.confirmed = true);
    let verdict = judge(&mixed, at(600));
    assert_eq!(verdict.remove.len(), 4);
    assert_eq!(verdict.storm.unwrap().orphans, 5);
}

#[test]
fn a_storm_says_how_many_there_are_and_what_to_do() {
    let storm = Storm { orphans: 5, machines: 12, claims: true, stale: false };
    assert_eq!(
        storm.to_string(),
        "5 of 12 machines here have no MachineClaim, which are too many at once to be believed, so that none of them is \
         removed. If claims were lost, restore them with their status, and the machines are theirs again. If the machines \
         are really not needed, set the annotation hyperfleet.io/confirm-orphans: \"5\" here"
    );
    let stale = Storm { stale: true, ..storm }.to_string();
    assert!(stale.ends_with("was here before; remove it, then set it to \"5\""), "{stale}");
}

fn any_suspect() -> impl Strategy<Value = Suspect> {
    (6000_u32..6100, 0_i64..900, 0_u32..4, 0_i64..900, any::<bool>()).prop_map(|(vm, since, looks, rest, confirmed)| {
        Suspect { since: at(since), looks, not_before: at(rest), confirmed, ..suspect(vm) }
    })
}

fn any_observed() -> impl Strategy<Value = Observed> {
    let suspects = prop::collection::vec(any_suspect(), 0..20);
    (suspects, 0_usize..5, 0_usize..60, 0_usize..3, prop::option::of(0_usize..20)).prop_map(
        |(suspects, unseen, claimed, more, confirmed)| Observed {
            suspects,
            unseen,
            claimed,
            claims: claimed + more,
            confirmed,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    /// The law in other words: whatever goes was a suspect for five minutes and two looks, and either a person said so or
    /// there are few of them, all are known, and there are claims.
    #[test]
    fn p26_nothing_goes_that_is_not_an_orphan_beyond_doubt(observed in any_observed(), now in 0_i64..1_000) {
        let now = at(now);
        let verdict = judge(&observed, now);
        let doubtful = observed.suspects.iter().filter(|suspect| !suspect.confirmed).count();
        for gone in &verdict.remove {
            prop_assert!(observed.suspects.contains(gone));
            prop_assert!(gone.looks >= 2 && now.duration_since(gone.since) >= GRACE && gone.not_before <= now);
            let said = gone.confirmed || observed.confirmed == Some(doubtful);
            let worst = doubtful + observed.unseen;
            let few = worst <= 3 || worst * 4 <= observed.claimed + observed.suspects.len() + observed.unseen;
            prop_assert!(said || (few && observed.claims > 0));
        }
        if let Some(storm) = &verdict.storm {
            prop_assert!(verdict.remove.iter().all(|gone| gone.confirmed));
            prop_assert_eq!(storm.orphans, doubtful);
        }
    }

    /// One orphan among claims goes, whatever is or is not confirmed.
    #[test]
    fn p20_a_single_orphan_is_never_left_for_ever(claimed in 1_usize..60, confirmed in prop::option::of(0_usize..9)) {
        let one = Observed { confirmed, ..observed(1, claimed) };
        prop_assert_eq!(judge(&one, at(600)).remove.len(), 1);
    }
}
