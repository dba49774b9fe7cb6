//! Property 14: a token works once, for one key, in time; whoever is shut out stays out.

use proptest::prelude::*;

use super::*;

/// Somebody does something, some time after the last one.
#[derive(Clone, Debug)]
struct Move {
    after: i64,
    token: char,
    key: char,
    right_machine: bool,
    act: Act,
}

#[derive(Clone, Copy, Debug)]
enum Act {
    Show,
    Start,
    Finish,
}

fn moves() -> impl Strategy<Value = Vec<Move>> {
    let act = prop_oneof![6 => Just(Act::Show), 1 => Just(Act::Start), 1 => Just(Act::Finish)];
    let token = prop_oneof![4 => Just('a'), 1 => Just('b')];
    let key = prop_oneof![4 => Just('k'), 1 => Just('x'), 1 => Just('y')];
    let after = prop_oneof![3 => 0_i64..5, 2 => 0_i64..100, 1 => 0_i64..700];
    let moved = (after, token, key, prop::bool::weighted(0.9), act);
    let moved =
        moved.prop_map(|(after, token, key, right_machine, act)| Move { after, token, key, right_machine, act });
    prop::collection::vec(moved, 1..30)
}

/// What was given out: to whom and when.
fn play(moves: &[Move]) -> (Vec<(char, i64, bool)>, Vec<BootstrapState>) {
    let (mut claim, mut now, mut given, mut course) = (claim(), 0, Vec::new(), Vec::new());
    for Move { after, token, key, right_machine, act } in moves {
        now += after;
        let machine = if *right_machine { MACHINE } else { "another" };
        let written = match act {
            Act::Show => match show_from(&claim, (*token, *key), machine, 5, now) {
                Ok(Bound::First(status)) => {
                    given.push((*key, now, true));
                    Some(*status)
                }
                Ok(Bound::Again) => {
                    given.push((*key, now, false));
                    None
                }
                Err(Refusal::Stolen(status)) => Some(*status),
                Err(_) => None,
            },
            Act::Start if by_key(&claim, &hash(*key)) => started(&claim, at(now)),
            Act::Finish if by_key(&claim, &hash(*key)) => finished(&claim, &Ended::default(), at(now)),
            Act::Start | Act::Finish => None,
        };
        if written.is_some() {
            claim.status = written;
        }
        course.push(state_of(&claim).unwrap());
    }
    (given, course)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn p14_a_token_works_once_and_for_one_key(moves in moves()) {
        let (given, _) = play(&moves);
        prop_assert!(given.iter().filter(|(.., first)| *first).count() <= 1);
        for (key, when, _) in &given {
            prop_assert_eq!(*key, given[0].0, "another key was believed");
            prop_assert!(*when - given[0].1 <= 60, "an answer was repeated too late");
        }
    }

    #[test]
    fn p14_nothing_is_given_for_a_token_that_ran_out_unused(moves in moves()) {
        let (given, _) = play(&moves);
        prop_assert!(given.first().is_none_or(|(_, when, first)| *first && *when <= 600), "{:?}", given);
    }

    #[test]
    fn p14_who_is_shut_out_stays_out(moves in moves()) {
        let (_, states) = play(&moves);
        for pair in states.windows(2) {
            if matches!(pair[0], BootstrapState::Revoked | BootstrapState::Released) {
                prop_assert_eq!(pair[0], pair[1]);
            }
        }
    }

    #[test]
    fn p14_a_second_presenter_is_always_noticed(moves in moves(), after in 0_i64..10_000) {
        let bound = bound();
        let (seconds, others) = (100 + after, moves.iter().filter(|shown| shown.key != 'k' && shown.token == 'a'));
        for Move { key, .. } in others {
            let shown = show(&bound, 'a', *key, seconds);
            prop_assert!(matches!(shown, Err(Refusal::Stolen(_))), "{:?}", shown);
        }
    }
}
