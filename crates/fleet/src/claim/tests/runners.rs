//! Runners: how they drain, end, and are let go.

use api::{JobResult, RunnerRegistration};

use super::*;

const NAME: &str = "hf-00c0ffee-linux-1";

/// A claim of a pool whose runner waits for a job.
fn waiting(lifecycle: &Value) -> MachineClaim {
    let claim = with(pooled(), |claim| claim.spec.lifecycle = serde_json::from_value(lifecycle.clone()).unwrap());
    registered(bound(claim), Some("7"))
}

fn registered(claim: MachineClaim, id: Option<&str>) -> MachineClaim {
    let runner = RunnerRegistration { name: NAME.to_owned(), id: id.map(str::to_owned), credential_expires_at: None };
    with(claim, |claim| claim.status.as_mut().unwrap().runner = Some(runner))
}

fn ready() -> MachineClaim {
    waiting(&json!({}))
}

/// The same at work since second 110.
fn working(claim: &MachineClaim) -> MachineClaim {
    written(claim, &bootstrap::started(claim, at(110)).unwrap(), at(110))
}

/// The same after second 120, when the pool needed it no more.
fn draining(claim: &MachineClaim) -> MachineClaim {
    written(claim, &drain(claim, "it is not needed", at(120)).unwrap(), at(120))
}

/// The same after its agent has said at second 130 that no job had started.
fn confirmed() -> MachineClaim {
    with(draining(&ready()), |claim| {
        claim.status.as_mut().unwrap().drain.as_mut().unwrap().confirmed_at = Some(at(130).into());
    })
}

/// A claim whose work had ended at second 300, and whose runner may be registered.
fn over() -> MachineClaim {
    let claim = working(&ready());
    let end = Ended { exit_code: Some(0), ..Ended::default() };
    written(&claim, &bootstrap::finished(&claim, &end, at(300)).unwrap(), at(300))
}

fn alive(claim: MachineClaim) -> Observed {
    Observed { life: Life::Running, errands: done(&[Job::Detach, Job::Discard]), ..seen(claim) }
}

fn answered(mode: Mode, removal: Removal, seconds: i64) -> Farewell {
    let times = u32::from(removal != Removal::Gone);
    let answer = Answer { mode, removal, at: at(seconds), times };
    Farewell { since: Some(at(seconds)), asking: false, answer: Some(answer) }
}

fn nobody_knows() -> Removal {
    Removal::Unknown("RunnerSource ci/gh does not exist".to_owned())
}

fn hearing(observed: Observed, farewell: Farewell) -> Observed {
    Observed { runner: Runner { farewell, ..observed.runner.clone() }, ..observed }
}

fn standing(observed: Observed, state: RunnerState, since: i64, seen: i64) -> Observed {
    let standing = Some(Standing { state, since: at(since), seen: at(seen) });
    Observed { runner: Runner { standing, ..observed.runner.clone() }, ..observed }
}

fn with_work(observed: Observed, work: Work) -> Observed {
    Observed { runner: Runner { work, ..observed.runner.clone() }, ..observed }
}

fn deregister(mode: Mode) -> Step {
    Step::Deregister { name: NAME.to_owned(), id: Some("7".to_owned()), mode }
}

#[test]
fn vm_and_runner_go_at_the_same_time() {
    let observed = Observed { sight: ours(), life: Life::Running, ..seen(over()) };
    assert_eq!(decide(&observed, 301).steps, [Step::Stop, deregister(Mode::Force)]);
    let asked = hearing(observed, Farewell { since: Some(at(301)), asking: true, answer: None });
    assert_eq!(decide(&asked, 302).steps, [Step::Stop], "the platform is asked once at a time");
}

#[rstest]
#[case::away(Observed { reach: Reach::Away("it is away".to_owned()), ..seen(over()) })]
#[case::locked(Observed { sight: locked(), ..seen(over()) })]
#[case::removal_paused(Observed { sight: ours(), errands: after(trouble(Job::Destroy, Kind::Passing)), ..seen(over()) })]
fn a_runner_goes_while_its_vm_cannot(#[case] observed: Observed) {
    assert_eq!(decide(&observed, 11).steps, [deregister(Mode::Force)]);
}

#[rstest]
#[case::unknown(
    nobody_knows(),
    "may still be registered: RunnerSource ci/gh does not exist; it is asked again; if that cannot help"
)]
#[case::busy(Removal::Busy, "has a job")]
fn a_claim_whose_runner_is_not_gone_stays_without_its_vm_and_says_why(#[case] removal: Removal, #[case] text: &str) {
    let gone = Observed { sight: absent(), errands: done(&[Job::Discard]), ..seen(deleted(over())) };
    let stuck = hearing(gone, answered(Mode::Force, removal, 310));
    let told = after_pass(&stuck, 311);
    let status = status_of(&told);
    assert_eq!(status.teardown.as_ref().unwrap().vm_gone_at, Some(at(311).into()));
    assert_eq!(said(status, ConditionType::VmCleanedUp).0, "True");
    let (holds, word, sentence) = said(status, ConditionType::Deregistered);
    assert_eq!((holds, word), ("False", "RunnerStillListed"));
    assert!(sentence.contains(text) && sentence.contains("hyperfleet.io/abandon=6000"), "{sentence}");
    assert_eq!((stage(&told), holds_machine(&told), holds_runner(&told)), (api::Step::Destroying, false, true));
    // Nobody looks at its number any more: it may be another one's.
    let later = Observed { sight: Sight::Unasked, errands: Errands::default(), claim: Arc::new(told.clone()), ..stuck };
    assert_eq!(after_pass(&later, 312), told, "that is told once");
    let again = decide(&later, 320);
    assert_eq!((again.finalizer, again.steps), (Finalizer::Keep, vec![deregister(Mode::Force)]), "it is asked again");
    let parted = hearing(later, answered(Mode::Force, Removal::Gone, 320));
    assert_eq!(decide(&parted, 321), Plan { finalizer: Finalizer::Remove, ..Plan::rest() });
}

#[test]
fn a_claim_that_is_kept_tells_that_both_are_gone_in_one_write() {
    let kept = with(over(), |claim| claim.spec.lifecycle.ttl = Some(api::Span::from_secs(60)));
    let gone = Observed { sight: absent(), errands: done(&[Job::Discard]), ..seen(kept) };
    let told = after_pass(&hearing(gone, answered(Mode::Force, Removal::Gone, 310)), 311);
    let status = status_of(&told);
    assert_eq!(where_is(status), (Phase::Succeeded, api::Step::Gone));
    let both = api::Teardown { vm_gone_at: Some(at(311).into()), runner_gone_at: Some(at(311).into()) };
    assert_eq!(status.teardown, Some(both));
    let told_gone = said(status, ConditionType::Deregistered);
    assert_eq!(told_gone, ("True", "RunnerGone", "runner hf-00c0ffee-linux-1 is gone from the platform"));
    assert_eq!(decide(&seen(told), 371), doing(Step::Delete));
}

#[test]
fn a_claim_that_never_had_a_runner_waits_for_no_platform() {
    let gone = Observed { sight: absent(), errands: done(&[Job::Discard]), ..seen(deleted(finished(pooled(), 0))) };
    assert_eq!(decide(&gone, 310), Plan { finalizer: Finalizer::Remove, ..Plan::rest() });
}

/// Its job learns of the loss by the claim: after a crash, or on a busy machine, the claim could be gone before that.
#[rstest]
#[case::begun(working(&ready()))]
#[case::its_agent_had_no_time_to_say_so(ready())]
fn a_claim_stays_until_the_job_that_was_lost_with_it_knows(#[case] claim: MachineClaim) {
    let lost = after_pass(&Observed { life: Life::Stopped, ..seen(claim) }, 200);
    let gone = Observed { sight: absent(), errands: done(&[Job::Discard]), ..seen(lost.clone()) };
    let gone = hearing(gone, answered(Mode::Force, Removal::Gone, 210));
    let untold = Observed { runner: Runner { unnoted: true, ..gone.runner.clone() }, ..gone.clone() };
    let wait = Next::After(secs(30), Why::Task { what: "telling the job that it was lost" });
    assert_waits(&decide(&untold, 211), &wait);
    assert_eq!(decide(&gone, 212), doing(Step::Delete));
    let going = |observed: &Observed| Observed { claim: Arc::new(deleted(lost.clone())), ..observed.clone() };
    assert_waits(&decide(&going(&untold), 213), &wait);
    assert_eq!(decide(&going(&gone), 214), Plan { finalizer: Finalizer::Remove, ..Plan::rest() });
}

#[test]
fn a_claim_that_ended_well_waits_for_no_job() {
    let gone = Observed { sight: absent(), errands: done(&[Job::Discard]), ..seen(over()) };
    let mut gone = hearing(gone, answered(Mode::Force, Removal::Gone, 310));
    gone.runner.unnoted = true;
    assert_eq!(decide(&gone, 311), doing(Step::Delete));
}

#[test]
fn a_registration_that_may_come_late_is_waited_for() {
    let unsure = deleted(with(draining(&registered(bound(pooled()), None)), |claim| {
        // What its agent says is no proof: it may have waited for its credential.
        claim.status.as_mut().unwrap().drain.as_mut().unwrap().confirmed_at = Some(at(130).into());
    }));
    let gone = Observed { sight: absent(), errands: done(&[Job::Discard]), ..seen(unsure) };
    let first = hearing(gone, answered(Mode::Force, Removal::Gone, 200));
    let plan = decide(&first, 201);
    assert_eq!((plan.finalizer, plan.steps.len()), (Finalizer::Keep, 0));
    assert!(matches!(decide(&first, 260).steps[..], [Step::Deregister { .. }]), "a minute later it is asked again");
    let mut second = first.clone();
    second.runner.farewell.answer.as_mut().unwrap().at = at(261);
    assert_eq!(decide(&second, 262).finalizer, Finalizer::Remove);
}

#[test]
fn a_person_gives_up_what_may_remain_by_name() {
    let given_up = annotated(deleted(over()), "6000");
    let observed = hearing(Observed { sight: unknown(), ..seen(given_up) }, answered(Mode::Force, nobody_knows(), 310));
    let told = after_pass(&observed, 320);
    for about in [ConditionType::VmCleanedUp, ConditionType::Deregistered] {
        assert_eq!(said(status_of(&told), about).1, "Abandoned");
    }
    let (_, _, sentence) = said(status_of(&told), ConditionType::Deregistered);
    assert_eq!(sentence, "runner hf-00c0ffee-linux-1 may remain at the platform: it was given up by annotation");
    let leaves = decide(&Observed { claim: Arc::new(told), ..observed }, 321);
    assert_eq!(leaves, Plan { finalizer: Finalizer::Remove, ..Plan::rest() });
}

#[test]
fn a_machine_that_drains_says_so_in_the_write_that_asks_for_it() {
    let told = draining(&ready());
    assert_eq!(where_is(status_of(&told)), (Phase::Draining, api::Step::Draining));
    assert_eq!(said(status_of(&told), ConditionType::Ready), ("False", "Draining", "it is not needed"));
    assert_eq!(bootstrap::order(&told, at(121)), bootstrap::Order::Drain);
    assert_eq!(drain(&told, "again", at(122)), None);
    assert_eq!(drain(&working(&ready()), "who works is not asked", at(122)), None);
    assert_eq!(drain(&running(pooled()), "who is not up is not asked", at(122)), None);
    // Whoever only says when, gets the rest said.
    let bare = with(ready(), |claim| {
        let asked = api::Drain { requested_at: at(120).into(), confirmed_at: None };
        claim.status.as_mut().unwrap().drain = Some(asked);
    });
    assert_eq!(status_of(&after_pass(&alive(bare), 121)).phase, Some(Phase::Draining));
}

#[test]
fn a_drain_waits_for_the_agent_then_for_the_platform_and_then_the_vm_goes() {
    let asked = decide(&alive(draining(&ready())), 121);
    assert_eq!((asked.steps, asked.status), (Vec::new(), None), "the agent has not answered");
    let idle = alive(confirmed());
    assert_eq!(decide(&idle, 131).steps, [deregister(Mode::IfIdle)]);
    let plan = decide(&hearing(idle, answered(Mode::IfIdle, Removal::Gone, 132)), 133);
    assert_doomed(&plan, Reason::Draining, "no job had started and the runner is gone");
    let status = plan.status.unwrap();
    assert_eq!(status.teardown.as_ref().unwrap().runner_gone_at, Some(at(133).into()), "in the same write");
    assert_eq!(said(&status, ConditionType::Deregistered).1, "RunnerGone");
}

#[rstest]
#[case::busy(Removal::Busy)]
#[case::unknown(nobody_knows())]
fn any_answer_but_gone_keeps_the_vm_that_drains(#[case] removal: Removal) {
    let kept = hearing(alive(confirmed()), answered(Mode::IfIdle, removal, 132));
    let told = after_pass(&kept, 133);
    assert_eq!(where_is(status_of(&told)), (Phase::Draining, api::Step::Draining));
    assert_eq!(said(status_of(&told), ConditionType::Deregistered).1, "RunnerStillListed");
    let later = Observed { claim: Arc::new(told), ..kept };
    assert_eq!(decide(&later, 142).steps, [deregister(Mode::IfIdle)], "it is asked again");
    let doomed = Observed { claim: Arc::new(deleted((*later.claim).clone())), ..later };
    assert!(decide(&doomed, 134).steps.contains(&deregister(Mode::Force)), "a milder question delays no end");
}

#[rstest]
#[case::its_agent_says_so(working(&draining(&ready())), Work::None)]
#[case::the_platform_says_so(confirmed(), Work::Current)]
fn a_job_that_started_meanwhile_goes_on(#[case] claim: MachineClaim, #[case] work: Work) {
    let observed = standing(with_work(alive(claim), work), RunnerState::Idle, 100, 10_000);
    let plan = decide(&observed, 10_000);
    assert_eq!((plan.steps, plan.status), (Vec::new(), None));
}

#[rstest]
#[case::idle_twice(RunnerState::Idle, 100, 300, true)]
#[case::offline_twice(RunnerState::Offline, 100, 300, true)]
#[case::before_its_time(RunnerState::Idle, 100, 299, false)]
#[case::idle_since_just_now(RunnerState::Idle, 290, 340, false)]
#[case::busy(RunnerState::Busy, 100, 10_000, false)]
fn a_silent_agent_is_given_up_only_when_the_platform_calls_it_idle_twice(
    #[case] state: RunnerState,
    #[case] since: i64,
    #[case] last: i64,
    #[case] asks: bool,
) {
    // Asked for at second 120, silent until 240, and then a minute apart.
    let observed = standing(alive(draining(&ready())), state, since, last);
    let asked = decide(&observed, last + 1).steps;
    assert_eq!(asked == [deregister(Mode::IfIdle)], asks, "{asked:?}");
}

#[test]
fn a_machine_that_is_not_needed_before_it_has_work_goes_at_once() {
    let asked = |claim| {
        with(claim, |claim| {
            let asked = api::Drain { requested_at: at(70).into(), confirmed_at: None };
            claim.status.as_mut().unwrap().drain = Some(asked);
        })
    };
    for claim in [allocated(pooled()), running(pooled())] {
        assert_doomed(&decide(&alive(asked(claim)), 71), Reason::Draining, "before it had work");
    }
    let unregistered = decide(&alive(asked(bound(pooled()))), 101);
    assert_doomed(&unregistered, Reason::Draining, "no job had started");
}

#[rstest]
#[case::cancelled(JobResult::Cancelled, 5)]
#[case::succeeded(JobResult::Succeeded, 30)]
#[case::failed(JobResult::Failed, 30)]
#[case::unknown(JobResult::Unknown, 30)]
fn a_machine_whose_job_has_ended_at_the_platform_has_a_moment_to_say_so(
    #[case] result: JobResult,
    #[case] grace: i64,
    #[values(working(&ready()), working(&draining(&ready())))] claim: MachineClaim,
) {
    let end = JobEnd { result, ended: at(150), seen: at(152) };
    let observed = with_work(alive(claim), Work::Ended(end));
    let before = decide(&observed, 151 + grace);
    assert_eq!(before.status, None);
    assert_eq!(before.next, Next::After(secs(1), Why::Deadline { what: "the agent has to report" }));
    assert_doomed(&decide(&observed, 152 + grace), Reason::Finished, "the platform says that the job");
}

#[test]
fn the_end_of_another_job_ends_no_machine() {
    let end = JobEnd { result: JobResult::Cancelled, ended: at(105), seen: at(106) };
    for claim in [ready(), working(&ready())] {
        let observed = with_work(alive(claim), Work::Ended(end.clone()));
        assert_eq!(decide(&observed, 10_000).status, None);
    }
    // Unless the platform does not know the runner any more: then there is no other.
    let observed = standing(with_work(alive(working(&ready())), Work::Ended(end)), RunnerState::Gone, 110, 170);
    assert_doomed(&decide(&observed, 171), Reason::Finished, "was cancelled");
}

#[rstest]
#[case::gone(RunnerState::Gone, 260, Some(Reason::RunnerGone))]
#[case::gone_once(RunnerState::Gone, 259, None)]
#[case::offline(RunnerState::Offline, 500, Some(Reason::RunnerOffline))]
#[case::offline_for_a_moment(RunnerState::Offline, 499, None)]
#[case::idle(RunnerState::Idle, 10_000, None)]
#[case::busy(RunnerState::Busy, 10_000, None)]
fn a_runner_that_can_get_no_job_any_more_is_given_up(
    #[case] state: RunnerState,
    #[case] last: i64,
    #[case] reason: Option<Reason>,
) {
    let plan = decide(&standing(alive(ready()), state, 200, last), last + 1);
    match reason {
        Some(reason) => assert_doomed(&plan, reason, NAME),
        None => assert_eq!(plan.status, None),
    }
    let busy = decide(&standing(alive(working(&ready())), state, 200, last), last + 1);
    assert_eq!(busy.status, None, "one that works has its job");
    let unsure = decide(&standing(alive(registered(bound(pooled()), None)), state, 200, last), last + 1);
    assert_eq!(unsure.status, None, "one that may not be registered yet cannot be missed");
}

#[rstest]
#[case::idle(json!({ "idleTimeout": "5m" }), 430, "idleTimeout")]
#[case::lifetime(json!({ "maxLifetime": "1h", "drainTimeout": "10m" }), 3_600, "maxLifetime")]
fn a_limit_of_a_runner_that_may_get_a_job_asks_for_a_drain(
    #[case] limits: Value,
    #[case] due: i64,
    #[case] text: &str,
) {
    let observed = alive(waiting(&limits));
    let before = decide(&observed, due - 1);
    assert_eq!(before.status, None);
    assert!(matches!(before.next, Next::After(pause, _) if pause == secs(1)), "{:?}", before.next);
    let told = after_pass(&observed, due);
    assert_eq!(status_of(&told).phase, Some(Phase::Draining));
    assert!(said(status_of(&told), ConditionType::Ready).2.contains(text));
}

#[test]
fn the_life_of_a_runner_ends_whatever_it_does() {
    let limits = json!({ "maxLifetime": "1h", "drainTimeout": "10m" });
    for claim in [waiting(&limits), working(&waiting(&limits)), draining(&waiting(&limits))] {
        assert_doomed(&decide(&alive(claim), 4_200), Reason::LifetimeExceeded, "as long as lifecycle.maxLifetime");
    }
}

fn ending(claim: &MachineClaim, reason: Reason) -> ClaimPlan {
    let observed = seen(claim.clone());
    Plan { status: Some(tell::doomed(&observed, reason, "because")), ..Plan::rest() }
}

#[rstest]
#[case::by_force(seen(ready()), doing(deregister(Mode::Force)), "ours and drains")]
#[case::unasked(seen(ready()), doing(deregister(Mode::IfIdle)), "ours and drains")]
#[case::at_work(seen(working(&draining(&ready()))), doing(deregister(Mode::IfIdle)), "ours and drains")]
#[case::of_somebody_else(
    seen(over()),
    doing(Step::Deregister { name: "theirs".to_owned(), id: None, mode: Mode::Force }),
    "ours and drains"
)]
#[case::a_worker(seen(working(&ready())), ending(&working(&ready()), Reason::IdleTimeout), "never retired")]
#[case::too_soon(seen(confirmed()), ending(&confirmed(), Reason::Draining), "until its runner is gone")]
#[case::let_go(
    Observed { sight: absent(), errands: done(&[Job::Discard]), ..seen(deleted(over())) },
    Plan { finalizer: Finalizer::Remove, ..Plan::rest() },
    "proven gone"
)]
fn a_plan_that_broke_a_promise_to_a_runner_would_be_noticed(
    #[case] observed: Observed,
    #[case] wrong: ClaimPlan,
    #[case] promise: &str,
) {
    let violations = audit(&observed, &wrong);
    assert_eq!(violations.len(), 1, "{violations:?}");
    assert!(violations[0].to_string().contains(promise), "{violations:?}");
}
