//! Attempts that do not succeed, and how they are repeated.

use super::*;

/// A claim that has tried this often, with the next attempt at this second.
fn tried(attempts: u32, due: Option<i64>) -> MachineClaim {
    with(allocated(claim()), |claim| {
        let status = claim.status.as_mut().unwrap();
        (status.attempts, status.next_retry_time) = (Some(attempts), due.map(|due| at(due).into()));
    })
}

fn failing(job: Job, kind: Kind, sight: Sight) -> Observed {
    Observed { sight, errands: after(trouble(job, kind)), ..seen(allocated(claim())) }
}

fn due(status: &MachineClaimStatus) -> i64 {
    status.next_retry_time.as_ref().unwrap().timestamp().as_second() - START
}

#[rstest]
#[case::stage(Job::Stage, ours(), Reason::Unavailable)]
#[case::resize(Job::Resize, ours(), Reason::Unavailable)]
#[case::configure(Job::Configure, ours(), Reason::Unavailable)]
#[case::start(Job::Start, ours(), Reason::Unavailable)]
#[case::start_unseen(Job::Start, unknown(), Reason::Unavailable)]
#[case::clone_unseen(Job::Clone, unknown(), Reason::CloneFailed)]
#[case::clone_unasked(Job::Clone, Sight::Unasked, Reason::CloneFailed)]
#[case::clone_with_remains(Job::Clone, remains(&["disks:vm-6000-disk-0"]), Reason::CloneFailed)]
fn an_attempt_that_failed_is_counted_and_its_number_kept(
    #[case] job: Job,
    #[case] sight: Sight,
    #[case] reason: Reason,
) {
    let observed = failing(job, Kind::Passing, sight);
    let counted = after_pass(&observed, 10);
    let status = status_of(&counted);
    assert_eq!((status.attempts, status.phase), (Some(1), Some(Phase::Provisioning)));
    assert!((15..=16).contains(&due(status)), "{}", due(status));
    assert_eq!(status.allocation, status_of(&observed.claim).allocation);
    let (holds, word, sentence) = said(status, ConditionType::Provisioning);
    assert_eq!((holds, word), ("False", reason.as_str()));
    assert_eq!(sentence, format!("attempt 1 of 4 did not succeed: {} (transient): it said no", job.as_str()));
    let waiting = decide(&Observed { claim: Arc::new(counted.clone()), ..observed.clone() }, 11);
    assert_eq!((waiting.steps, waiting.status), (Vec::new(), None), "it is counted once");
    assert!(matches!(waiting.next, Next::After(_, Why::Retry { attempt: 1, .. })));
    let later = decide(&Observed { claim: Arc::new(counted), ..observed }, 16);
    assert!(!later.steps.is_empty() || matches!(later.next, Next::After(_, Why::Retry { .. })), "{later:?}");
    assert_eq!(later.status, None);
}

#[rstest]
#[case::nothing_there(absent())]
#[case::somebody_elses(foreign(false))]
fn a_clone_that_failed_leaves_its_number_and_its_seed(#[case] sight: Sight) {
    let observed = failing(Job::Clone, Kind::Passing, sight);
    let plan = decide(&observed, 10);
    assert_eq!(plan.steps, [Step::DiscardSeed]);
    let moved = written(&observed.claim, &plan.status.unwrap(), at(10));
    let status = status_of(&moved);
    assert_eq!(where_is(status), (Phase::Pending, api::Step::Gated));
    assert_eq!((&status.allocation, &status.bootstrap, status.attempts), (&None, &None, Some(1)));
    let another = Place { vm_id: VmId(6001), ..place() };
    let gated = Observed { offer: Offer::Place(another), ..seen(moved) };
    assert_eq!(decide(&gated, due(status_of(&gated.claim)) - 1).status, None, "not before it is due");
    let again = after_pass(&gated, due(status_of(&gated.claim)));
    let status = status_of(&again);
    assert_eq!(status.allocation.as_ref().unwrap().vm_id, VmId(6001));
    assert_eq!((status.attempts, &status.next_retry_time), (Some(1), &None));
}

#[test]
fn what_a_failed_clone_left_goes_before_the_next_one_under_the_same_number() {
    let (left, other) = ("disks:vm-6000-cloudinit", "disks:vm-6000-disk-0");
    let observed = failing(Job::Clone, Kind::Passing, remains(&[left, other]));
    let counted = Observed { claim: Arc::new(after_pass(&observed, 10)), ..observed };
    assert_eq!(decide(&counted, 15).steps, [], "its pause is kept");
    let swept = decide(&counted, 16);
    let removals = [left, other].map(|volume| Step::RemoveLeftover(volume.to_owned()));
    assert_eq!((swept.steps.as_slice(), &swept.status), (removals.as_slice(), &None));
    let unsure = Errands { certain: false, ..counted.errands.clone() };
    let plan = decide(&Observed { errands: unsure, ..counted.clone() }, 16);
    assert_waits(&plan, &Next::After(secs(5), Why::Recheck));
    let sweeping = Observed { errands: under_way(Job::Sweep), sight: Sight::Unasked, ..counted.clone() };
    assert_eq!(decide(&sweeping, 17).steps, []);
    let refused =
        Observed { errands: after(Trouble { attempt: 1, ..trouble(Job::Sweep, Kind::Passing) }), ..counted.clone() };
    let told = after_pass(&refused, 17);
    let (_, _, sentence) = said(status_of(&told), ConditionType::Provisioning);
    assert_eq!(sentence, "attempt 2 of 4 did not succeed: removing what the VM left behind (transient): it said no");
    let again = decide(&Observed { sight: absent(), ..counted }, 17);
    assert_eq!(again.steps, [Step::Clone, Step::StageSeed]);
}

#[test]
fn a_number_is_kept_while_a_clone_may_still_come_under_it() {
    let errands = Errands { certain: false, ..after(trouble(Job::Clone, Kind::Passing)) };
    let observed = Observed { errands, ..failing(Job::Clone, Kind::Passing, absent()) };
    let counted = after_pass(&observed, 10);
    assert!(status_of(&counted).allocation.is_some());
    let later = decide(&Observed { claim: Arc::new(counted), ..observed }, 16);
    assert_eq!(later.steps, [Step::Clone, Step::StageSeed], "under the same number");
}

#[rstest]
fn a_clone_that_failed_under_somebody_elses_number_is_judged_when_no_upload_can_come(
    #[values(Kind::Passing, Kind::Final)] kind: Kind,
) {
    let errands = Errands { certain: false, ..after(trouble(Job::Clone, kind)) };
    let plan = decide(&Observed { errands, ..failing(Job::Clone, kind, foreign(true)) }, 10);
    assert_waits(&plan, &Next::After(secs(5), Why::Recheck));
}

#[rstest]
#[case::ours(ours(), &[Step::StageSeed])]
#[case::not_finished(locked(), &[])]
fn a_clone_that_happened_after_all_is_no_failure(
    #[case] sight: Sight,
    #[case] steps: &[Step],
    #[values(Kind::Passing, Kind::Room, Kind::Stale, Kind::Final)] kind: Kind,
) {
    let plan = decide(&failing(Job::Clone, kind, sight), 10);
    assert_eq!((plan.steps.as_slice(), plan.status), (steps, None));
}

#[rstest]
#[case::last(3, "gave up after 4 attempts; the last: starting the VM (transient): it said no")]
#[case::beyond(9, "gave up after 10 attempts")]
fn attempts_come_to_an_end(#[case] attempt: u32, #[case] text: &str) {
    let errands = after(Trouble { attempt, ..trouble(Job::Start, Kind::Passing) });
    let plan = decide(&Observed { sight: ours(), errands, ..seen(tried(attempt, None)) }, 10);
    assert_doomed(&plan, Reason::RetriesExhausted, text);
}

#[rstest]
#[case::clone(Job::Clone, absent(), Reason::CloneFailed)]
#[case::stage(Job::Stage, ours(), Reason::Refused)]
#[case::start(Job::Start, ours(), Reason::Refused)]
fn what_will_not_pass_ends_the_attempts_at_once(#[case] job: Job, #[case] sight: Sight, #[case] reason: Reason) {
    let text = format!("{} (permanent): it said no", job.as_str());
    assert_doomed(&decide(&failing(job, Kind::Final, sight.clone()), 10), reason, &text);
    let counted_before = Observed { claim: Arc::new(tried(2, Some(5))), ..failing(job, Kind::Final, sight) };
    assert_doomed(&decide(&counted_before, 10), reason, &text);
}

#[rstest]
#[case::gave_up(Kind::Passing, "RetriesExhausted")]
#[case::refused(Kind::Final, "CloneFailed")]
fn a_last_clone_under_somebody_elses_number_ends_the_claim_without_that_vm(#[case] kind: Kind, #[case] reason: &str) {
    let errands = after(Trouble { attempt: 3, ..trouble(Job::Clone, kind) });
    let plan = decide(&Observed { sight: foreign(false), errands, ..seen(tried(3, None)) }, 10);
    assert_eq!(plan.steps, [Step::DiscardSeed]);
    let status = plan.status.unwrap();
    assert_eq!((where_is(&status), &status.allocation), ((Phase::Failed, api::Step::Gone), &None));
    assert_eq!(said(&status, ConditionType::Ready).1, reason);
}

#[test]
fn a_stale_view_is_looked_at_again_and_counts_nothing() {
    let plan = decide(&failing(Job::Start, Kind::Stale, ours()), 10);
    assert_eq!((plan.steps, plan.status), (vec![Step::StageSeed], None));
    let paused = Observed { claim: Arc::new(tried(1, Some(30))), ..failing(Job::Start, Kind::Stale, ours()) };
    assert_eq!(decide(&paused, 10).steps, [], "but it cuts no pause short");
}

#[test]
fn no_room_is_waited_for_each_time_and_never_counts() {
    let mut observed = failing(Job::Stage, Kind::Room, ours());
    for round in 0..10 {
        let now = 10 + round * 40;
        observed.errands = after(Trouble { at: at(now), ..trouble(Job::Stage, Kind::Room) });
        let waiting = after_pass(&observed, now);
        assert_eq!((status_of(&waiting).attempts, due(status_of(&waiting))), (Some(0), now + 30));
        let (_, word, sentence) = said(status_of(&waiting), ConditionType::Provisioning);
        assert_eq!(word, "InsufficientCapacity");
        assert_eq!(sentence, "the upload of the seed (resource): it said no");
        observed.claim = Arc::new(waiting);
        assert_eq!(decide(&observed, now + 29).steps, []);
        assert_eq!(decide(&observed, now + 30).steps, [Step::StageSeed]);
    }
    let tired = Trouble { attempt: 9, ..trouble(Job::Stage, Kind::Room) };
    let plan = decide(&Observed { sight: ours(), errands: after(tired), ..seen(tried(9, None)) }, 10);
    assert_eq!(plan.status.unwrap().phase, Some(Phase::Provisioning), "attempts are not what it lacks");
}

/// It was tried again as fast as it failed, until the time came that the clock had shown.
#[test]
fn no_room_is_waited_for_though_a_clock_that_was_set_back_wrote_another_pause() {
    let observed = Observed { claim: Arc::new(tried(1, Some(20_000))), ..failing(Job::Stage, Kind::Room, ours()) };
    let waiting = after_pass(&observed, 10);
    assert_eq!(due(status_of(&waiting)), 40);
    assert_eq!(decide(&Observed { claim: Arc::new(waiting), ..observed }, 39).steps, []);
}

#[test]
fn who_comes_after_a_restart_keeps_the_pause_that_was_written_down() {
    let observed = Observed { sight: ours(), errands: done(&[Job::Stage]), ..seen(tried(1, Some(30))) };
    let cause = "the last attempt did not succeed".to_owned();
    assert_waits(&decide(&observed, 20), &Next::After(secs(10), Why::Retry { attempt: 1, cause }));
    assert_eq!(decide(&observed, 30).steps, [Step::Configure, Step::Start]);
    let running = Observed { errands: under_way(Job::Clone), ..observed };
    assert!(matches!(decide(&running, 20).next, Next::After(_, Why::Task { .. })), "what runs is asked about");
}

#[test]
fn a_pause_within_a_second_ends_with_the_next_one() {
    let now = at(10) + Duration::from_millis(300);
    let observed = failing(Job::Start, Kind::Passing, ours());
    let counted = written(&observed.claim, &plan(&observed, now).status.unwrap(), now);
    let pause = status_of(&counted).next_retry_time.as_ref().unwrap().timestamp().duration_since(now);
    assert!(Duration::try_from(pause).unwrap() >= secs(5), "{pause:?} after it was stored");
}

#[test]
fn a_limit_ends_the_wait_for_an_attempt() {
    let claim =
        with(tried(1, Some(4_000)), |claim| claim.spec.lifecycle.max_lifetime = Some(api::Span::from_secs(3_600)));
    let errands = after(trouble(Job::Start, Kind::Passing));
    let observed = Observed { sight: ours(), errands, ..seen(claim) };
    assert_eq!(decide(&observed, 3_590).next, Next::After(secs(10), Why::Deadline { what: "maxLifetime ends" }));
    assert_doomed(&decide(&observed, 3_600), Reason::LifetimeExceeded, "lived for 1h");
}

/// A storm found it: the clock of whoever leads now is a day behind that of whoever counted the attempt.
#[test]
fn a_clock_that_was_set_back_does_not_hold_the_next_attempt() {
    const DAY: i64 = 24 * 3600;
    for errands in [done(&[]), after(trouble(Job::Start, Kind::Passing))] {
        let observed = |due| Observed { sight: ours(), errands: errands.clone(), ..seen(tried(1, Some(due))) };
        let soon = decide(&observed(60), 30);
        assert_eq!((soon.steps, soon.status), (Vec::new(), None), "a pause is kept");
        let later = decide(&observed(DAY), 30);
        assert!(!later.steps.is_empty() || later.status.is_some(), "{later:?}");
    }
}
