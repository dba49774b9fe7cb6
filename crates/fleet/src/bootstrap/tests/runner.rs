//! What the agent of a runner's machine says, in whatever order and however often it arrives.

use api::OutcomeClass;
use proptest::prelude::*;

use super::*;

/// A runner's claim that key `k` was bound to at second 100.
fn runner() -> MachineClaim {
    with(bound(), |claim| {
        claim.spec.workload = serde_json::from_value(json!({
            "runner": { "sourceRef": { "name": "gh" }, "labels": ["x"] },
        }))
        .unwrap();
    })
}

fn end(class: OutcomeClass, trouble: Option<&str>) -> Ended<'_> {
    Ended { class, exit_code: Some(0), trouble, output: None }
}

fn after(claim: &MachineClaim, status: Option<MachineClaimStatus>) -> MachineClaim {
    let after = with(claim.clone(), |claim| claim.status = Some(status.expect("there is something new")));
    admitted(&after);
    after
}

fn status(claim: &MachineClaim) -> &MachineClaimStatus {
    claim.status.as_ref().unwrap()
}

#[test]
fn a_runner_that_is_believed_is_ready_and_says_when_it_waits_for_a_job() {
    // Ready with the credential, not with the first sign of the runner: from then on it may have a job.
    assert_eq!(status(&runner()).phase, Some(Phase::Ready));
    let waits = after(&runner(), listening(&runner()));
    assert_eq!(status(&waits).phase, Some(Phase::Ready));
    assert_eq!(said(status(&waits), ConditionType::Ready).2, "the runner waits for a job");
    assert_eq!(listening(&waits), None, "once is enough");
    assert_eq!(listening(&bound()), None, "a command waits for nothing");
}

#[test]
fn a_job_is_told_as_its_hook_describes_it() {
    let busy = after(&runner(), started_job(&runner(), "build\nof run\u{1b} 42", at(110)));
    assert_eq!((status(&busy).phase, status(&busy).busy_time.clone()), (Some(Phase::Busy), Some(at(110).into())));
    assert_eq!(said(status(&busy), ConditionType::Ready).2, "the runner runs a job: build of run 42");
    assert_eq!(listening(&busy), None, "late");
    let plain = after(&runner(), started(&runner(), at(110)));
    assert_eq!(said(status(&plain), ConditionType::Ready).2, "the runner runs");
}

#[test]
fn a_drain_is_confirmed_by_an_end_without_a_job_and_by_nothing_else() {
    let told = with(runner(), draining);
    for class in OutcomeClass::ALL {
        let ended = after(&told, finished(&told, &end(*class, None), at(200)));
        let confirmed = status(&ended).drain.as_ref().unwrap().confirmed_at.clone();
        assert_eq!(confirmed, (*class == OutcomeClass::NoJob).then(|| at(200).into()), "{class}");
        assert_eq!(status(&ended).outcome.as_ref().unwrap().class, Some(*class));
    }
    let unasked = after(&runner(), finished(&runner(), &end(OutcomeClass::NoJob, None), at(200)));
    assert_eq!(status(&unasked).drain, None, "nobody asked: the runner was idle for too long");
}

#[test]
fn what_was_lost_with_the_machine_is_kept_with_its_evidence() {
    let lost = end(OutcomeClass::OutOfMemory, Some("the kernel\nkilled 1 program"));
    let ended = after(&runner(), finished(&runner(), &lost, at(200)));
    let outcome = status(&ended).outcome.clone().unwrap();
    assert_eq!(outcome.evidence.as_deref(), Some("the kernel killed 1 program"));
    let sentence = "the runner has ended, there was not enough memory: the kernel killed 1 program";
    assert_eq!(said(status(&ended), ConditionType::Ready).2, sentence);
}

#[test]
fn the_limits_of_a_machine_are_its_lifecycles() {
    let claim = with(runner(), |claim| {
        let lifecycle = json!({ "bootstrapTimeout": "5m", "idleTimeout": "10m", "jobTimeout": "1h" });
        claim.spec.lifecycle = serde_json::from_value(lifecycle).unwrap();
    });
    let seconds = |limit: Option<std::time::Duration>| limit.map(|limit| limit.as_secs());
    let Limits { ready, idle, job } = limits(&claim);
    assert_eq!([ready, idle, job].map(seconds), [Some(300), Some(600), Some(3_600)]);
    assert_eq!(limits(&runner()), Limits::default());
}

/// What may arrive.
#[derive(Clone, Copy, Debug)]
enum Word {
    Listening,
    Started,
    Drain,
    Finished(OutcomeClass),
}

fn words() -> impl Strategy<Value = Vec<Word>> {
    let class = prop_oneof![Just(OutcomeClass::NoJob), Just(OutcomeClass::JobDone), Just(OutcomeClass::DiskFull)];
    let word = prop_oneof![
        3 => Just(Word::Listening), 2 => Just(Word::Started), 2 => Just(Word::Drain), 1 => class.prop_map(Word::Finished)
    ];
    prop::collection::vec(word, 0..12)
}

fn hear(claim: &MachineClaim, word: Word, now: i64) -> Option<MachineClaimStatus> {
    match word {
        Word::Listening => listening(claim),
        Word::Started => started(claim, at(now)),
        Word::Drain => {
            let mut told = claim.clone();
            draining(&mut told);
            told.status.filter(|_| status(claim).drain.is_none() && status(claim).outcome.is_none())
        }
        Word::Finished(class) => finished(claim, &end(class, None), at(now)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn reports_in_any_order_and_number_never_take_back_a_job_or_confirm_a_drain_over_one(words in words()) {
        let mut claim = runner();
        for (now, word) in (101..).zip(words) {
            let before = status(&claim).clone();
            let Some(said) = hear(&claim, word, now) else { continue };
            claim.status = Some(said);
            let said = status(&claim);
            prop_assert!(hear(&claim, word, now + 1).is_none(), "said again, {word:?} changes something");
            prop_assert!(before.outcome.is_none(), "after the end nothing changes");
            prop_assert!(before.busy_time.is_none() || said.busy_time == before.busy_time);
            let confirmed = said.drain.as_ref().is_some_and(|drain| drain.confirmed_at.is_some());
            prop_assert!(!confirmed || said.busy_time.is_none());
            prop_assert!(before.phase != Some(Phase::Busy) || said.phase != Some(Phase::Ready));
        }
        admitted(&claim);
    }
}
