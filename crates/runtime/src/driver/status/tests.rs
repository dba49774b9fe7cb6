//! From one status to the next.

use super::*;
use jiff::SignedDuration;
use proptest::prelude::*;
use rstest::rstest;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn condition(type_: &str, status: &str, reason: &str) -> Condition {
    Condition {
        type_: type_.into(),
        status: status.into(),
        reason: reason.into(),
        message: format!("{type_} is {status}"),
        observed_generation: Some(1),
        last_transition_time: Time(Timestamp::UNIX_EPOCH),
    }
}

fn planned(conditions: &[Condition]) -> Value {
    json!({ "conditions": conditions, "phase": "Ready" })
}

#[test]
fn a_status_that_agrees_is_not_written() {
    let first = change(&Value::Null, Some(planned(&[condition("Ready", "True", "Up")])), &["Ready"], at(10)).unwrap();
    let status = first.status;
    assert!(change(&status, Some(planned(&[condition("Ready", "True", "Up")])), &["Ready"], at(99)).is_none());
}

#[rstest]
#[case::same_status_other_reason("True", "Better", 10, 1)]
#[case::flipped("False", "Down", 50, 1)]
#[case::message_only("True", "Up", 10, 0)]
fn the_transition_time_moves_only_when_the_status_flips(
    #[case] status: &str,
    #[case] reason: &str,
    #[case] expected: i64,
    #[case] transitions: usize,
) {
    let first = change(&Value::Null, Some(planned(&[condition("Ready", "True", "Up")])), &["Ready"], at(10)).unwrap();
    let before = first.status;
    let mut next = condition("Ready", status, reason);
    next.message = "something new".into();
    let change = change(&before, Some(planned(&[next])), &["Ready"], at(50)).unwrap();
    let after = conditions_of(&change.status);
    assert_eq!(after[0].last_transition_time.0, at(expected));
    assert_eq!(change.transitions.len(), transitions);
}

#[test]
fn conditions_of_others_stay_and_our_own_stale_ones_go() {
    let before = json!({ "conditions": [condition("Ready", "True", "Up"), condition("Foreign", "True", "Theirs")] });
    let change =
        change(&before, Some(planned(&[condition("Valid", "True", "Ok")])), &["Ready", "Valid"], at(5)).unwrap();
    let types: Vec<String> = conditions_of(&change.status).into_iter().map(|c| c.type_).collect();
    assert_eq!(types, ["Valid", "Foreign"]);
}

#[test]
fn a_stall_is_told_once_and_its_end_too() {
    let fault = Fault::new(reconcile::Class::Refused, "clone", "quota exceeded");
    let before = json!({ "conditions": [condition("Ready", "True", "Up")] });
    let stall = stalled(&before, &fault, Some(1), at(20)).unwrap();
    let during = stall.status.clone();
    assert_eq!(stall.notices(|_| Severity::Normal)[0].note, "clone: quota exceeded");
    assert_eq!(stall.notices(|_| Severity::Normal)[0].severity, Severity::Warning);
    assert!(stalled(&during, &fault, Some(1), at(30)).is_none(), "the same stall is not written again");

    let recovery = change(&during, None, &["Ready"], at(40)).unwrap();
    assert_eq!(recovery.status, before);
    assert_eq!(recovery.notices(|_| Severity::Warning)[0].note, "goes on after: clone: quota exceeded");
}

#[test]
fn leaving_the_status_alone_writes_nothing() {
    assert!(change(&Value::Null, None, &[], at(1)).is_none());
    assert!(change(&json!({ "phase": "Ready" }), None, &[], at(1)).is_none());
}

proptest! {
    #[test]
    fn p18_each_condition_that_changes_its_status_or_reason_is_told_exactly_once(
        history in prop::collection::vec(prop::collection::vec((0_u8..3, 0_u8..2, 0_u8..2), 0..4), 1..12),
    ) {
        let types = ["A", "B", "C"];
        let mut status = Value::Null;
        let mut now = at(0);
        for step in history {
            now += SignedDuration::from_secs(1);
            let mut wanted: Vec<Condition> = Vec::new();
            for (type_, flag, reason) in step {
                let type_ = types[usize::from(type_)];
                if wanted.iter().all(|known| known.type_ != type_) {
                    wanted.push(condition(type_, ["True", "False"][usize::from(flag)], ["X", "Y"][usize::from(reason)]));
                }
            }
            let before = conditions_of(&status);
            let expected = wanted.iter().filter(|new| {
                before.iter().all(|old| old.type_ != new.type_ || (&old.status, &old.reason) != (&new.status, &new.reason))
            }).count();
            let plan = Some(json!({ "conditions": wanted }));
            match change(&status, plan.clone(), &types, now) {
                None => prop_assert_eq!(expected, 0),
                Some(made) => {
                    prop_assert_eq!(made.notices(|_| Severity::Normal).len(), expected);
                    status = made.status;
                    prop_assert!(change(&status, plan, &types, now).is_none());
                }
            }
        }
    }
}
