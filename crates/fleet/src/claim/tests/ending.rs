//! From the end of the work to nothing.

use super::*;

fn going() -> Observed {
    seen(deleted(doomed(claim())))
}

fn cleaned(sight: Sight) -> Observed {
    Observed { sight, errands: done(&[Job::Discard]), ..going() }
}

#[rstest]
#[case::runs(Life::Running, &[], Step::Stop)]
#[case::stopped(Life::Stopped, &[], Step::Destroy)]
#[case::nobody_saw_it_run(Life::Unknown, &[], Step::Destroy)]
#[case::we_stopped_it(Life::Running, &[Job::Stop], Step::Destroy)]
fn a_vm_is_stopped_and_then_destroyed(#[case] life: Life, #[case] jobs: &[Job], #[case] step: Step) {
    for claim in [doomed(claim()), finished(claim(), 0), deleted(doomed(claim()))] {
        let plan = decide(&Observed { sight: ours(), life, errands: done(jobs), ..seen(claim) }, 210);
        assert_eq!((plan.finalizer, plan.steps, plan.status), (Finalizer::Keep, vec![step.clone()], None));
    }
}

#[rstest]
fn a_claim_that_is_deleted_in_its_life_says_so_before_its_vm_is_touched(
    #[values(allocated(claim()), running(claim()), bound(claim()), busy(claim()))] alive: MachineClaim,
) {
    let observed = Observed { sight: ours(), life: Life::Running, ..seen(deleted(alive)) };
    let told = after_pass(&observed, 210);
    assert_eq!(where_is(status_of(&told)), (Phase::Terminating, api::Step::Destroying));
    let (holds, word, sentence) = said(status_of(&told), ConditionType::Ready);
    assert_eq!((holds, word, sentence), ("False", "ClaimDeleted", "the claim was deleted; its VM is removed"));
    assert_eq!(decide(&Observed { claim: Arc::new(told), ..observed }, 210).steps, [Step::Stop]);
}

#[rstest]
#[case::away(Observed { reach: Reach::Away("it is away".to_owned()), ..going() }, "ClusterNotReady", "it is away", 30)]
#[case::locked(Observed { sight: locked(), ..going() }, "VMLocked", "VM 6000 is locked (clone)", 10)]
#[case::not_seen(Observed { sight: unknown(), ..going() }, "VMStillPresent", "no answer", 10)]
#[case::disputed(
    Observed { sight: foreign(false), ..going() },
    "OwnershipConflict",
    "VM 6000 is not ours; if it is not needed, remove it by hand and annotate the claim with hyperfleet.io/abandon=6000",
    10
)]
fn a_vm_that_cannot_be_removed_now_keeps_its_claim_which_says_why(
    #[case] observed: Observed,
    #[case] reason: &str,
    #[case] text: &str,
    #[case] pause: u64,
) {
    let plan = decide(&observed, 210);
    assert_eq!((plan.finalizer, plan.steps.as_slice()), (Finalizer::Keep, [].as_slice()));
    assert!(matches!(plan.next, Next::After(next, Why::Retry { .. }) if next == secs(pause)), "{:?}", plan.next);
    let stuck = after_pass(&observed, 210);
    assert_eq!(said(status_of(&stuck), ConditionType::VmCleanedUp), ("False", reason, text));
    let again = Observed { claim: Arc::new(stuck.clone()), ..observed };
    assert_eq!(after_pass(&again, 240), stuck, "that is told once");
}

#[rstest]
#[case::nobody_looked(going(), Duration::from_millis(500))]
#[case::the_clone_still_runs(Observed { errands: under_way(Job::Clone), ..going() }, Duration::from_millis(20))]
#[case::it_is_being_destroyed(Observed { errands: under_way(Job::Destroy), ..going() }, Duration::from_millis(20))]
#[case::a_clone_may_still_come(Observed { sight: absent(), errands: Errands::default(), ..going() }, secs(10))]
#[case::a_seed_may_still_come(Observed { sight: foreign(true), errands: Errands::default(), ..going() }, secs(10))]
fn an_end_that_is_not_proven_is_waited_for(#[case] observed: Observed, #[case] pause: Duration) {
    let plan = decide(&observed, 210);
    assert_eq!((plan.finalizer, &plan.steps, &plan.status), (Finalizer::Keep, &Vec::new(), &None));
    assert!(matches!(plan.next, Next::After(next, _) if next == pause), "{:?}", plan.next);
    // One that was deleted in its life says so meanwhile.
    let told = after_pass(&Observed { claim: Arc::new(deleted(busy(claim()))), ..observed }, 210);
    assert_eq!(status_of(&told).phase, Some(Phase::Terminating));
}

#[rstest]
#[case::volumes(
    remains(&["disks:vm-6000-disk-0", "disks:vm-6000-disk-1"]),
    &[Job::Destroy],
    &[
        Step::RemoveLeftover("disks:vm-6000-disk-0".to_owned()),
        Step::RemoveLeftover("disks:vm-6000-disk-1".to_owned()),
        Step::DiscardSeed,
    ]
)]
#[case::volumes_only(
    remains(&["disks:vm-6000-disk-0"]),
    &[Job::Discard],
    &[Step::RemoveLeftover("disks:vm-6000-disk-0".to_owned())]
)]
#[case::seed(absent(), &[], &[Step::DiscardSeed])]
#[case::seed_of_a_lost_number(foreign(true), &[], &[Step::DiscardSeed])]
fn what_a_vm_leaves_behind_goes_too(#[case] sight: Sight, #[case] jobs: &[Job], #[case] steps: &[Step]) {
    let plan = decide(&Observed { sight, errands: done(jobs), ..going() }, 210);
    assert_eq!((plan.finalizer, plan.steps.as_slice(), plan.status), (Finalizer::Keep, steps, None));
    assert!(matches!(plan.next, Next::After(_, Why::Task { .. })));
}

#[rstest]
#[case::absent(absent())]
#[case::replaced(foreign(true))]
fn a_claim_that_was_deleted_goes_when_nothing_is_left(#[case] sight: Sight) {
    assert_eq!(decide(&cleaned(sight), 210), Plan { finalizer: Finalizer::Remove, ..Plan::rest() });
}

#[rstest]
#[case::absent(absent())]
#[case::replaced(foreign(true))]
fn a_claim_of_a_pool_is_deleted_when_nothing_is_left(#[case] sight: Sight) {
    let observed = Observed { claim: Arc::new(doomed(pooled())), ..cleaned(sight) };
    assert_eq!(decide(&observed, 210), doing(Step::Delete));
}

#[rstest]
#[case::done(finished(claim(), 0), Phase::Succeeded, "Finished")]
#[case::work_failed(finished(claim(), 3), Phase::Failed, "Finished")]
#[case::stopped(doomed(claim()), Phase::Failed, "VMShutdownDetected")]
fn a_claim_of_its_own_says_how_it_ended_and_that_nothing_is_left(
    #[case] ending: MachineClaim,
    #[case] phase: Phase,
    #[case] reason: &str,
) {
    let ended = gone(ending.clone());
    let status = status_of(&ended);
    assert_eq!(where_is(status), (phase, api::Step::Gone));
    assert_eq!(status.teardown.as_ref().unwrap().vm_gone_at, Some(at(400).into()));
    let told = said(status, ConditionType::VmCleanedUp);
    assert_eq!(told, ("True", reason, "the VM, its disks and its seed are gone"));
    assert_eq!(status.outcome, status_of(&ending).outcome);
}

#[rstest]
#[case::usual(doomed(claim()), 3_600)]
#[case::longer(doomed(living(&json!({ "ttl": "2h" }))), 7_200)]
#[case::of_a_pool_but_kept(doomed(with(pooled(), |claim| claim.spec.lifecycle.ttl = Some(api::Span::from_secs(60)))), 60)]
fn a_claim_stays_readable_for_a_while(#[case] ending: MachineClaim, #[case] kept: i64) {
    let observed = seen(gone(ending));
    let until = at(400 + kept);
    assert_waits(&decide(&observed, 399 + kept), &Next::After(secs(1), Why::Retention { until }));
    assert_eq!(decide(&observed, 400 + kept), doing(Step::Delete));
    let leaving = seen(deleted((*observed.claim).clone()));
    assert_eq!(decide(&leaving, 410).finalizer, Finalizer::Remove);
}

#[test]
fn a_claim_without_retention_is_deleted_when_nothing_is_left() {
    let observed = Observed { claim: Arc::new(doomed(living(&json!({ "ttl": "0s" })))), ..cleaned(absent()) };
    assert_eq!(decide(&observed, 400), doing(Step::Delete));
}

#[rstest]
#[case::before_anything(deleted(claim()))]
#[case::while_it_waited(deleted(after_pass(&Observed { offer: Offer::None(no_room()), ..seen(claim()) }, 0)))]
#[case::after_it_failed(deleted(gone_without_vm()))]
fn a_claim_that_never_had_a_vm_goes_at_once(#[case] claim: MachineClaim) {
    let observed = Observed { offer: Offer::Place(place()), ..seen(claim) };
    assert_eq!(decide(&observed, 210), Plan { finalizer: Finalizer::Remove, ..Plan::rest() });
}

fn no_room() -> Obstacle {
    Obstacle { reason: Reason::NoNodeFits, message: "no node fits".to_owned() }
}

#[rstest]
#[case::nothing_recorded(None)]
#[case::runner_gone(Some(api::Teardown { runner_gone_at: Some(at(1).into()), vm_gone_at: None }))]
fn a_claim_that_failed_without_a_vm_is_kept_like_others(#[case] teardown: Option<api::Teardown>) {
    let failed = with(gone_without_vm(), |claim| claim.status.as_mut().unwrap().teardown = teardown);
    let closed = after_pass(&seen(failed), 3_601);
    assert_eq!(status_of(&closed).phase, Some(Phase::Failed));
    assert_eq!(status_of(&closed).teardown.as_ref().unwrap().vm_gone_at, Some(at(3_601).into()));
    assert!(api::condition::find(&status_of(&closed).conditions, ConditionType::VmCleanedUp).is_none());
    assert_eq!(decide(&seen(closed.clone()), 7_200).steps, []);
    assert_eq!(decide(&seen(closed), 7_201), doing(Step::Delete));
}

#[test]
fn an_ended_claim_needs_no_finalizer_any_more() {
    let bare = with(gone(doomed(claim())), |claim| claim.metadata.finalizers = None);
    assert_eq!(decide(&seen(bare), 410).finalizer, Finalizer::Keep);
}

#[rstest]
#[case(1, 5)]
#[case(2, 10)]
#[case(3, 20)]
#[case(4, 40)]
#[case(5, 80)]
#[case(6, 120)]
#[case(60, 120)]
fn a_removal_is_tried_again_for_ever_with_growing_pauses(
    #[case] times: u32,
    #[case] bare: u64,
    #[values(Kind::Passing, Kind::Room, Kind::Final)] kind: Kind,
    #[values(Job::Stop, Job::Destroy, Job::Sweep, Job::Discard)] job: Job,
) {
    let errands = after(Trouble { times, ..trouble(job, kind) });
    let observed = Observed { sight: ours(), errands, ..going() };
    let plan = decide(&observed, 10);
    let Next::After(pause, Why::Retry { .. }) = plan.next else { panic!("{:?}", plan.next) };
    assert!(pause >= secs(bare) && pause <= secs(bare).mul_f64(1.2), "{pause:?}");
    let status = plan.status.unwrap();
    let (holds, word, sentence) = said(&status, ConditionType::VmCleanedUp);
    assert_eq!((holds, word), ("False", "VMStillPresent"));
    assert_eq!(sentence, format!("{} ({}): it said no", job.as_str(), kind.as_str()));
    assert_eq!(decide(&observed, 10 + i64::try_from(bare).unwrap() - 1).steps, []);
    assert_eq!(decide(&observed, 10 + i64::try_from(bare * 6 / 5).unwrap() + 1).steps, [Step::Destroy]);
}

#[rstest]
#[case::stale(trouble(Job::Destroy, Kind::Stale))]
#[case::told_by_a_clock_that_was_set_back(Trouble { at: at(20_000), ..trouble(Job::Destroy, Kind::Passing) })]
#[case::of_its_making(trouble(Job::Clone, Kind::Final))]
#[case::of_its_service(trouble(Job::Detach, Kind::Passing))]
fn what_says_nothing_about_a_removal_does_not_delay_it(#[case] trouble: Trouble) {
    let plan = decide(&Observed { sight: ours(), errands: after(trouble), ..going() }, 10);
    assert_eq!(plan.steps, [Step::Destroy]);
}

#[rstest]
#[case::gone_by_hand(unknown(), Reach::Connected)]
#[case::disputed(foreign(false), Reach::Connected)]
#[case::away(Sight::Unasked, Reach::Away("away".to_owned()))]
fn a_vm_that_a_person_gave_up_is_named_and_its_claim_goes(#[case] sight: Sight, #[case] reach: Reach) {
    let given_up = annotated(deleted(doomed(claim())), " 6000 ");
    let observed = Observed { reach, sight, ..seen(given_up) };
    let told = after_pass(&observed, 210);
    let (holds, word, sentence) = said(status_of(&told), ConditionType::VmCleanedUp);
    assert_eq!((holds, word), ("False", "Abandoned"));
    assert_eq!(sentence, "VM 6000, its disks and its seed may remain: they were given up by annotation");
    let plan = decide(&Observed { claim: Arc::new(told), ..observed }, 211);
    assert_eq!(plan, Plan { finalizer: Finalizer::Remove, ..Plan::rest() });
}

#[test]
fn a_claim_that_is_given_up_but_not_deleted_never_says_that_its_vm_is_gone() {
    let observed = Observed { sight: foreign(false), ..seen(annotated(doomed(claim()), "6000")) };
    let told = after_pass(&observed, 210);
    let closed = after_pass(&Observed { claim: Arc::new(told), ..observed.clone() }, 211);
    assert_eq!(where_is(status_of(&closed)), (Phase::Failed, api::Step::Gone));
    let (holds, word, _) = said(status_of(&closed), ConditionType::VmCleanedUp);
    assert_eq!((holds, word), ("False", "Abandoned"));
    let kept = Observed { claim: Arc::new(closed), ..observed };
    assert_eq!(decide(&kept, 212).steps, []);
    assert_eq!(decide(&kept, 211 + 3_600), doing(Step::Delete));
}

#[rstest]
#[case::another_number(annotated(deleted(doomed(claim())), "6001"))]
#[case::no_number(annotated(deleted(doomed(claim())), "yes"))]
#[case::nothing_said(deleted(doomed(claim())))]
fn another_word_gives_nothing_up(#[case] claim: MachineClaim) {
    let plan = decide(&Observed { sight: foreign(false), ..seen(claim) }, 210);
    assert_eq!(plan.finalizer, Finalizer::Keep);
    assert_eq!(said(&plan.status.unwrap(), ConditionType::VmCleanedUp).1, "OwnershipConflict");
}

#[test]
fn a_machine_that_works_is_not_given_up_by_a_word() {
    let observed = Observed { life: Life::Running, ..seen(annotated(busy(claim()), "6000")) };
    assert_eq!(decide(&observed, 210), Plan::rest());
}
