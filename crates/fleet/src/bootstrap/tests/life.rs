//! What a machine that is believed may do and say.

use api::Outcome;
use proptest::prelude::*;

use super::*;

fn finish<'a>(exit_code: Option<i32>, trouble: Option<&'a str>, output: Option<&'a str>) -> Ended<'a> {
    Ended { exit_code, trouble, output, ..Ended::default() }
}

fn ended(claim: &MachineClaim, end: &Ended<'_>) -> MachineClaim {
    let status = finished(claim, end, at(300)).unwrap();
    let after = with(claim.clone(), |claim| claim.status = Some(status));
    admitted(&after);
    after
}

fn outcome(claim: &MachineClaim) -> &Outcome {
    claim.status.as_ref().unwrap().outcome.as_ref().unwrap()
}

fn capturing() -> MachineClaim {
    with(bound(), |claim| claim.spec.capture_output = true)
}

#[test]
fn work_that_has_begun_is_said_once() {
    let status = started(&bound(), at(110)).unwrap();
    assert_eq!((status.phase, status.step), (Some(Phase::Busy), Some(api::Step::Busy)));
    assert_eq!(status.busy_time, Some(at(110).into()));
    assert_eq!(
        said(&status, ConditionType::Ready),
        ("True".to_owned(), "Busy".to_owned(), "the command runs".to_owned())
    );
    let busy = with(bound(), |claim| claim.status = Some(status));
    admitted(&busy);
    assert_eq!(started(&busy, at(120)), None);
}

#[test]
fn a_machine_that_drains_stays_draining_when_its_work_begins() {
    let status = started(&with(bound(), in_phase(Phase::Draining)), at(110)).unwrap();
    assert_eq!((status.phase, status.busy_time), (Some(Phase::Draining), Some(at(110).into())));
}

#[rstest]
#[case(finish(Some(3), None, None), "the command ended with exit code 3")]
#[case(finish(Some(0), None, None), "the command ended with exit code 0")]
#[case(finish(None, Some("killed by\nsignal 9"), None), "the command did not end by itself: killed by signal 9")]
#[case(finish(None, None, None), "the command ended without an exit code")]
fn the_end_of_work_is_told_in_a_sentence(#[case] end: Ended<'_>, #[case] sentence: &str) {
    let after = ended(&bound(), &end);
    let status = after.status.as_ref().unwrap();
    assert_eq!(said(status, ConditionType::Ready), ("False".to_owned(), "Finished".to_owned(), sentence.to_owned()));
    assert_eq!((status.phase, status.step), (Some(Phase::Terminating), Some(api::Step::Destroying)));
    assert_eq!(status.bootstrap.as_ref().unwrap().state, BootstrapState::Released);
    assert_eq!(outcome(&after).ended_at.timestamp(), at(300));
    assert_eq!(finished(&after, &end, at(301)), None, "an end is an end");
    assert!(released_by_key(&after, &hash('k')) && !by_key(&after, &hash('k')));
    assert_eq!(order(&after, at(301)), Order::End);
}

#[test]
fn an_end_that_comes_when_all_is_over_changes_nothing() {
    for phase in [Phase::Succeeded, Phase::Failed] {
        assert_eq!(finished(&with(bound(), in_phase(phase)), &finish(Some(0), None, None), at(300)), None);
    }
}

#[test]
fn output_is_kept_only_if_it_was_asked_for() {
    let end = finish(Some(0), None, Some("hello"));
    assert_eq!(outcome(&ended(&bound(), &end)).output, None);
    assert_eq!(outcome(&ended(&capturing(), &end)).output.as_deref(), Some("hello"));
}

#[rstest]
#[case(256, -1)]
#[case(-2, -1)]
#[case(255, 255)]
fn an_exit_code_that_no_program_has_is_minus_one(#[case] told: i32, #[case] kept: i32) {
    assert_eq!(outcome(&ended(&bound(), &finish(Some(told), None, None))).exit_code, Some(kept));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn whatever_an_agent_says_is_a_status_that_the_server_takes(
        exit: Option<i32>, trouble: Option<String>, output in proptest::option::of("(\\PC|é|\\x00){0,3000}"), sentence: String,
    ) {
        let after = ended(&capturing(), &finish(exit, trouble.as_deref(), output.as_deref()));
        let kept = outcome(&after).output.clone();
        prop_assert!(kept.as_ref().is_none_or(|kept| kept.len() <= 2_048));
        prop_assert!(kept.as_ref().is_none_or(|kept| output.as_ref().is_some_and(|all| all.ends_with(kept.as_str()))));
        let plain = plain(&sentence);
        prop_assert!(plain.chars().count() <= 200 && !plain.chars().any(char::is_control));
    }
}

#[test]
fn a_complaint_is_shown_while_a_machine_boots() {
    let status = complain(&claim(), "reached us from 10.0.0.5: no").unwrap();
    let expected = ("False".to_owned(), "Attesting".to_owned(), "reached us from 10.0.0.5: no".to_owned());
    assert_eq!(said(&status, ConditionType::Bootstrapped), expected);
    let told = with(claim(), |claim| claim.status = Some(status));
    admitted(&told);
    assert_eq!(complain(&told, "reached us from 10.0.0.5: no"), None, "once is enough");
    assert!(complain(&told, "reached us from 10.0.0.5: still no").is_some());
    assert!(complain(&with(claim(), in_phase(Phase::Provisioning)), "no").is_some());
}

#[test]
fn a_complaint_about_a_machine_that_does_not_boot_is_nothing() {
    let pending = with(claim(), in_phase(Phase::Pending));
    for claim in [bound(), pending, with(claim(), going), with(claim(), in_phase(Phase::Terminating))] {
        assert_eq!(complain(&claim, "no"), None);
    }
}

fn patient(claim: &mut MachineClaim) {
    claim.spec.lifecycle.drain_timeout = Some(api::Span::from_secs(60));
    claim.spec.lifecycle.max_lifetime = Some(api::Span::from_secs(120));
}

#[rstest]
#[case::works(bound(), 1_000_000, Order::GoOn)]
#[case::told_to_drain(with(bound(), draining), 110, Order::Drain)]
#[case::drains(with(bound(), in_phase(Phase::Draining)), 110, Order::Drain)]
#[case::deleted(with(bound(), going), 110, Order::End)]
#[case::destroyed(with(bound(), in_phase(Phase::Terminating)), 110, Order::End)]
#[case::over(with(bound(), in_phase(Phase::Failed)), 110, Order::End)]
#[case::not_believed(claim(), 110, Order::End)]
#[case::revoked(with(bound(), in_state(BootstrapState::Revoked)), 110, Order::End)]
#[case::young(with(bound(), patient), 120, Order::GoOn)]
#[case::old(with(bound(), patient), 121, Order::Drain)]
#[case::too_old(with(bound(), patient), 181, Order::End)]
#[case::too_old_and_not_waited_for(with(bound(), short_lived), 91, Order::End)]
fn a_machine_goes_on_until_it_is_told_otherwise(
    #[case] claim: MachineClaim,
    #[case] seconds: i64,
    #[case] expected: Order,
) {
    assert_eq!(order(&claim, at(seconds)), expected);
}

#[test]
fn a_command_is_what_its_claim_says() {
    let spec = json!({
        "templateRef": { "name": "small" }, "captureOutput": true, "lifecycle": { "jobTimeout": "90s" },
        "workload": { "command": { "argv": ["sh", "-c", "x"], "env": [{ "name": "A", "value": "b" }], "user": "ci" } },
    });
    let work = wanted(&MachineClaim::new("one", serde_json::from_value(spec).unwrap())).unwrap();
    assert_eq!((work.argv, work.user.as_deref()), (vec!["sh".to_owned(), "-c".to_owned(), "x".to_owned()], Some("ci")));
    assert_eq!(work.env, [("A".to_owned(), "b".to_owned())].into());
    assert_eq!((work.deadline.map(|limit| limit.as_secs()), work.output_bytes), (Some(90), 2_048));
    assert_eq!(wanted(&claim()).map(|work| (work.deadline, work.output_bytes)), Some((None, 0)));
    let runner = json!({
        "templateRef": { "name": "small" }, "workload": { "runner": { "sourceRef": { "name": "gh" }, "labels": ["x"] } },
    });
    assert!(wanted(&MachineClaim::new("one", serde_json::from_value(runner).unwrap())).is_none());
}
