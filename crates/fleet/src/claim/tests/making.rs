//! From nothing to a VM that runs.

use super::*;

fn obstacle(reason: Reason) -> Obstacle {
    Obstacle { reason, message: "this is in the way: do that".to_owned() }
}

fn closed(reason: Reason) -> Gate {
    Gate::Closed(obstacle(reason))
}

fn recheck(seconds: u64) -> Next {
    Next::After(secs(seconds), Why::Recheck)
}

/// Something has only just begun, and may end at once.
fn polling(what: &'static str) -> Next {
    Next::After(Duration::from_millis(20), Why::Task { what })
}

#[test]
fn what_takes_long_is_asked_about_ever_more_rarely() {
    let pause = |waited| {
        let errands = Errands { waited: Duration::from_millis(waited), ..under_way(Job::Clone) };
        match decide(&Observed { errands, ..seen(allocated(claim())) }, 10).next {
            Next::After(pause, _) => pause.as_millis(),
            Next::OnChange => panic!("nobody would ask"),
        }
    };
    assert_eq!([0, 10, 50, 125, 1_000, 60_000].map(pause), [20, 40, 200, 500, 500, 500]);
}

#[test]
fn a_new_claim_is_kept_before_anything_happens_for_it() {
    let new = with(claim(), |claim| claim.metadata.finalizers = None);
    let plan = decide(&Observed { offer: Offer::Place(place()), ..seen(new) }, 0);
    assert_eq!(plan, Plan { finalizer: Finalizer::Add, ..Plan::rest() });
}

#[rstest]
#[case::no_template(closed(Reason::TemplateMissing), Offer::Unasked, Reason::TemplateMissing)]
#[case::no_grant(closed(Reason::NotGranted), Offer::Unasked, Reason::NotGranted)]
#[case::no_cluster(closed(Reason::ClusterNotReady), Offer::Place(place()), Reason::ClusterNotReady)]
#[case::no_number(Gate::Open(terms()), Offer::None(obstacle(Reason::NoFreeVmId)), Reason::NoFreeVmId)]
#[case::no_node(Gate::Open(terms()), Offer::None(obstacle(Reason::NoNodeFits)), Reason::NoNodeFits)]
#[case::nobody_asked(Gate::Unasked, Offer::None(obstacle(Reason::NoFreeAddress)), Reason::NoFreeAddress)]
fn a_claim_waits_for_what_is_in_the_way_and_says_it_once(
    #[case] gate: Gate,
    #[case] offer: Offer,
    #[case] reason: Reason,
) {
    let observed = Observed { gate, offer, ..seen(claim()) };
    let plan = decide(&observed, 5);
    assert_eq!(plan.next, Next::After(secs(30), Why::Gate { obstacle: "this is in the way: do that".to_owned() }));
    let waiting = after_pass(&observed, 5);
    assert_eq!(where_is(status_of(&waiting)), (Phase::Pending, api::Step::Gated));
    let told = said(status_of(&waiting), ConditionType::Provisioning);
    assert_eq!(told, ("False", reason.as_str(), "this is in the way: do that"));
    assert_eq!(status_of(&waiting).allocation, None);
    let again = Observed { claim: Arc::new(waiting.clone()), ..observed };
    assert_eq!(after_pass(&again, 35), waiting, "the same obstacle is no news");
}

#[rstest]
#[case::no_offer(Gate::Open(terms()), Offer::Unasked)]
#[case::no_terms(Gate::Unasked, Offer::Place(place()))]
#[case::nothing(Gate::Unasked, Offer::Unasked)]
fn a_claim_of_which_nothing_was_asked_waits(#[case] gate: Gate, #[case] offer: Offer) {
    assert_waits(&decide(&Observed { gate, offer, ..seen(claim()) }, 0), &recheck(30));
}

#[test]
fn everything_about_a_machine_is_written_down_before_it_is_made() {
    let offered = Place { address: Some(api::CidrText::new("10.0.0.7/24")), ..place() };
    let written = after_pass(&Observed { offer: Offer::Place(offered), ..seen(claim()) }, 7);
    let status = status_of(&written);
    assert_eq!(where_is(status), (Phase::Provisioning, api::Step::Allocated));
    let held = serde_json::to_value(status.allocation.as_ref().unwrap()).unwrap();
    let expected = json!({
        "id": MACHINE, "clusterRef": { "name": "pve" }, "vmId": 6000, "node": "a", "storages": ["disks"],
        "templateGeneration": 3, "allocatedAt": at(7).to_string(), "address": "10.0.0.7/24",
    });
    assert_eq!(held, expected);
    let record = serde_json::to_value(status.bootstrap.as_ref().unwrap()).unwrap();
    let expected = json!({
        "id": RECORD, "tokenHash": hash('a'), "seedHash": hash('5'), "state": "Pending", "notAfter": at(607).to_string(),
    });
    assert_eq!(record, expected, "nothing but hashes of its token and of its seed's name, for as long as they work");
    let (holds, word, sentence) = said(status, ConditionType::Provisioning);
    assert_eq!((holds, word, sentence), ("True", "Cloning", "VM 6000 on node a is being made from image 9000"));
}

#[rstest]
#[case::first(true, done(&[]), &[Step::Clone, Step::StageSeed])]
#[case::staged_before(true, done(&[Job::Stage]), &[Step::Clone])]
#[case::no_medium(false, done(&[]), &[Step::Clone])]
fn the_seed_goes_up_while_the_image_is_cloned(
    #[case] stages_seed: bool,
    #[case] errands: Errands,
    #[case] steps: &[Step],
    #[values(Sight::Unasked, absent())] sight: Sight,
) {
    let gate = Gate::Open(Terms { stages_seed, ..terms() });
    let plan = decide(&Observed { gate, errands, sight, ..seen(allocated(claim())) }, 1);
    assert_eq!((plan.steps.as_slice(), &plan.status), (steps, &None));
    assert_eq!(plan.next, polling("the clone"));
}

#[rstest]
#[case::for_a_moment(14, false)]
#[case::for_longer(15, true)]
fn a_busy_storage_is_waited_for_and_worth_a_word_when_it_takes_long(#[case] seconds: i64, #[case] told: bool) {
    let errands = Errands { storage_busy: Some("storage disks is busy".to_owned()), ..done(&[]) };
    let plan = decide(&Observed { errands, ..seen(allocated(claim())) }, seconds);
    assert_eq!((plan.steps.as_slice(), plan.next), ([].as_slice(), Next::After(secs(5), Why::StorageBusy)));
    assert_eq!(plan.status.is_some(), told);
    if let Some(status) = plan.status {
        assert_eq!(said(&status, ConditionType::Provisioning), ("True", "StorageBusy", "storage disks is busy"));
        assert_eq!(status.phase, Some(Phase::Provisioning));
    }
}

#[rstest]
#[case::away(Observed { reach: Reach::Away("it is away".to_owned()), ..seen(allocated(claim())) }, "ClusterNotReady", "it is away")]
#[case::no_template(
    Observed { gate: closed(Reason::TemplateMissing), ..seen(allocated(claim())) },
    "TemplateMissing",
    "this is in the way: do that"
)]
#[case::no_template_for_a_whole_vm(
    Observed { gate: closed(Reason::TemplateNotValid), sight: ours(), ..seen(allocated(claim())) },
    "TemplateNotValid",
    "this is in the way: do that"
)]
fn what_closes_after_the_allocation_holds_it_and_says_so(
    #[case] observed: Observed,
    #[case] reason: &str,
    #[case] text: &str,
) {
    let plan = decide(&observed, 20);
    assert_eq!(plan.next, Next::After(secs(30), Why::Gate { obstacle: text.to_owned() }));
    let held = after_pass(&observed, 20);
    assert_eq!(said(status_of(&held), ConditionType::Provisioning), ("False", reason, text));
    assert_eq!(status_of(&held).allocation, status_of(&observed.claim).allocation);
    assert_eq!(status_of(&held).phase, Some(Phase::Provisioning));
}

#[rstest]
#[case::nobody_asked(Observed { gate: Gate::Unasked, ..seen(allocated(claim())) }, recheck(30))]
#[case::nobody_asked_for_a_whole_vm(
    Observed { gate: Gate::Unasked, sight: ours(), ..seen(allocated(claim())) },
    recheck(30)
)]
#[case::not_seen(
    Observed { sight: unknown(), ..seen(allocated(claim())) },
    Next::After(secs(5), Why::Retry { attempt: 1, cause: "no answer".to_owned() })
)]
#[case::a_seed_may_be_on_its_way(
    Observed { sight: foreign(true), errands: Errands::default(), ..seen(allocated(claim())) },
    recheck(5)
)]
#[case::the_clone_runs(Observed { errands: under_way(Job::Clone), ..seen(allocated(claim())) }, polling("the clone"))]
#[case::the_seed_goes_up(
    Observed { errands: under_way(Job::Stage), ..seen(allocated(claim())) },
    polling("the upload of the seed")
)]
#[case::the_disk_grows(Observed { errands: under_way(Job::Resize), ..seen(allocated(claim())) }, polling("growing the disk"))]
#[case::it_starts(Observed { errands: under_way(Job::Start), ..seen(allocated(claim())) }, polling("starting the VM"))]
#[case::whoever_cloned_is_gone(
    Observed { sight: locked(), ..seen(allocated(claim())) },
    Next::After(secs(5), Why::Task { what: "the clone" })
)]
fn what_takes_a_while_is_waited_for(#[case] observed: Observed, #[case] next: Next) {
    assert_waits(&decide(&observed, 20), &next);
}

#[test]
fn a_vm_that_vanished_after_our_own_clone_is_cloned_again() {
    let errands = Errands { certain: false, ..done(&[Job::Clone, Job::Stage]) };
    let plan = decide(&Observed { sight: absent(), errands, ..seen(allocated(claim())) }, 20);
    assert_eq!(plan.steps, [Step::Clone]);
}

#[test]
fn a_lock_that_stays_for_ten_minutes_is_worth_a_word() {
    let observed = Observed { sight: locked(), ..seen(allocated(claim())) };
    assert_eq!(decide(&observed, 600).status, None);
    let told = after_pass(&observed, 601);
    let (holds, word, sentence) = said(status_of(&told), ConditionType::Provisioning);
    assert_eq!((holds, word, sentence), ("False", "VMLocked", "VM 6000 is locked (clone)"));
    assert!(status_of(&told).allocation.is_some());
}

#[rstest]
#[case::settled(true)]
#[case::not_settled(false)]
fn a_number_that_somebody_else_has_is_left_with_its_seed(#[case] settled: bool) {
    let observed = Observed { sight: foreign(settled), ..seen(allocated(claim())) };
    let plan = decide(&observed, 20);
    assert_eq!(plan.steps, [Step::DiscardSeed]);
    let status = plan.status.unwrap();
    assert_eq!(where_is(&status), (Phase::Pending, api::Step::Gated));
    assert_eq!((&status.allocation, &status.bootstrap), (&None, &None));
    assert_eq!((status.attempts, &status.next_retry_time), (Some(1), &None), "another one is taken at once");
    let told = said(&status, ConditionType::Provisioning);
    assert_eq!(told, ("False", "OwnershipConflict", "VM 6000 is not ours; another VMID is taken"));
}

#[test]
fn a_claim_that_finds_only_numbers_of_others_ends_without_touching_their_vms() {
    let tired = with(allocated(claim()), |claim| claim.status.as_mut().unwrap().attempts = Some(3));
    let observed = Observed { sight: foreign(false), ..seen(tired) };
    let plan = decide(&observed, 20);
    assert_eq!(plan.steps, [Step::DiscardSeed]);
    let ended = written(&observed.claim, &plan.status.unwrap(), at(20));
    assert_eq!(where_is(status_of(&ended)), (Phase::Failed, api::Step::Gone));
    assert_eq!(status_of(&ended).allocation, None);
    let (_, word, sentence) = said(status_of(&ended), ConditionType::Ready);
    assert_eq!((word, sentence), ("RetriesExhausted", "gave up after 4 attempts; the last: VM 6000 is not ours"));
    assert_eq!(stage(&ended), api::Step::Gone);
}

#[rstest]
#[case::small_disk(true, true, &[], &[Step::Resize, Step::StageSeed])]
#[case::small_disk_and_staged(true, true, &[Job::Stage], &[Step::Resize])]
#[case::nobody_staged(false, true, &[], &[Step::StageSeed])]
#[case::no_medium(false, false, &[], &[Step::Configure, Step::Start])]
#[case::prepared(false, true, &[Job::Clone, Job::Stage], &[Step::Configure, Step::Start])]
fn a_whole_vm_is_prepared_and_only_then_configured_and_started(
    #[case] grows: bool,
    #[case] stages_seed: bool,
    #[case] jobs: &[Job],
    #[case] steps: &[Step],
) {
    let sight = Sight::Ours { node: NodeName::new("a"), grows };
    let gate = Gate::Open(Terms { stages_seed, ..terms() });
    let plan = decide(&Observed { gate, sight, errands: done(jobs), ..seen(allocated(claim())) }, 20);
    assert_eq!((plan.steps.as_slice(), &plan.status), (steps, &None));
}

#[rstest]
#[case::fresh(300, false)]
#[case::half_used_up(301, true)]
#[case::run_out(700, true)]
fn a_token_gets_more_time_before_the_start_if_half_of_it_is_used_up(#[case] seconds: i64, #[case] renewed: bool) {
    let observed = Observed { sight: ours(), errands: done(&[Job::Stage]), ..seen(allocated(claim())) };
    let plan = decide(&observed, seconds);
    assert_eq!(plan.status.is_some(), renewed);
    assert_eq!(plan.steps.is_empty(), renewed, "the time is written down before the start");
    let Some(status) = plan.status else { return };
    let (before, after) = (status_of(&observed.claim).bootstrap.clone().unwrap(), status.bootstrap.clone().unwrap());
    assert_eq!(after, api::BootstrapRecord { not_after: at(seconds + 600).into(), ..before });
    let later = Observed { claim: Arc::new(written(&observed.claim, &status, at(seconds))), ..observed };
    assert_eq!(decide(&later, seconds).steps, [Step::Configure, Step::Start]);
}

#[test]
fn a_vm_that_started_has_run_from_then_on_and_its_attempts_are_forgotten() {
    let tried = with(allocated(claim()), |claim| {
        let status = claim.status.as_mut().unwrap();
        (status.attempts, status.next_retry_time) = (Some(2), Some(at(30).into()));
    });
    let up = after_pass(&Observed { errands: done(&[Job::Start]), ..seen(tried) }, 60);
    let status = status_of(&up);
    assert_eq!(where_is(status), (Phase::Bootstrapping, api::Step::Attesting));
    assert_eq!(status.first_running_time, Some(at(60).into()));
    assert_eq!((status.attempts, &status.next_retry_time), (None, &None));
    let told = said(status, ConditionType::Provisioning);
    assert_eq!(told, ("False", "Booting", "VM 6000 runs; its agent has to prove itself"));
}

#[test]
fn a_vm_that_was_never_started_is_not_taken_for_one_that_stopped() {
    let observed =
        Observed { sight: ours(), life: Life::Stopped, errands: done(&[Job::Stage]), ..seen(allocated(claim())) };
    assert_eq!(decide(&observed, 20).steps, [Step::Configure, Step::Start]);
}

/// Of two calls for one number the hypervisor carries out one; who waited for certainty would lose a minute.
#[test]
fn a_clone_is_asked_for_although_another_process_may_have_asked_too() {
    let observed = Observed { sight: absent(), errands: Errands::default(), ..seen(allocated(claim())) };
    assert_eq!(decide(&observed, 10).steps, [Step::Clone, Step::StageSeed]);
}
