//! VMs that run, and how long they may.

use super::*;

fn alive(claim: MachineClaim) -> Observed {
    Observed { life: Life::Running, ..seen(claim) }
}

fn drained(claim: MachineClaim) -> MachineClaim {
    after_pass(&alive(busy(claim)), 3_600)
}

fn patient() -> MachineClaim {
    living(&json!({ "maxLifetime": "1h", "drainTimeout": "10m" }))
}

#[rstest]
#[case::stopped(
    Life::Stopped,
    Sight::Unasked,
    "the VM stopped before its agent had proven itself; its console may tell why"
)]
#[case::stopped_and_seen(Life::Stopped, ours(), "the VM stopped before")]
#[case::removed(Life::Unknown, absent(), "the VM was removed by somebody else before its agent")]
#[case::replaced(Life::Running, foreign(true), "the VM is gone: VM 6000 is not ours")]
fn a_vm_that_does_not_run_any_more_is_over(#[case] life: Life, #[case] sight: Sight, #[case] text: &str) {
    let plan = decide(&Observed { sight, life, ..seen(running(claim())) }, 90);
    assert_doomed(&plan, Reason::VmShutdownDetected, text);
}

#[rstest]
#[case::ready(bound(claim()), "the VM stopped while it waited for work")]
#[case::busy(busy(claim()), "the VM stopped before its work had ended")]
#[case::draining(drained(patient()), "the VM stopped while it finished its work")]
fn when_a_vm_stopped_is_told(#[case] claim: MachineClaim, #[case] text: &str) {
    let plan = decide(&Observed { life: Life::Stopped, ..seen(claim) }, 3_601);
    assert_doomed(&plan, Reason::VmShutdownDetected, text);
}

#[rstest]
fn what_is_no_proof_ends_nothing(
    #[values(running(claim()), bound(claim()), busy(claim()))] claim: MachineClaim,
    #[values(Life::Unknown, Life::Running)] life: Life,
    #[values(Sight::Unasked, unknown(), locked(), foreign(false))] sight: Sight,
) {
    let plan = decide(&Observed { sight, life, ..seen(claim) }, 120);
    assert_eq!((plan.status, plan.steps), (None, Vec::new()));
}

#[test]
fn a_hypervisor_that_is_away_ends_nothing() {
    for claim in [running(claim()), bound(claim()), busy(claim())] {
        let plan = decide(&Observed { reach: Reach::Away("away".to_owned()), ..seen(claim) }, 120);
        assert_eq!((plan.status, plan.steps), (None, Vec::new()));
    }
}

#[rstest]
#[case::at_once(claim(), 120)]
#[case::after_its_time_to_boot(living(&json!({ "bootstrapTimeout": "5m" })), 10_000)]
fn a_machine_whose_token_two_have_shown_is_not_believed_and_ends(#[case] claim: MachineClaim, #[case] seconds: i64) {
    let shown = Presented {
        token_hash: &hash('a'),
        key_hash: &hash('x'),
        machine: "elsewhere",
        from: IpAddr::from([10, 0, 0, 9]),
    };
    let bound = bound(claim);
    let stolen = bootstrap::bind(&bound, &shown, at(seconds));
    let Err(bootstrap::Refusal::Stolen(status)) = stolen else { panic!("{stolen:?}") };
    let revoked = written(&bound, &status, at(seconds));
    let plan = decide(&alive(revoked), seconds);
    assert_doomed(&plan, Reason::AttestationFailed, "presented by somebody else as well");
}

#[rstest]
#[case::bootstrap("bootstrapTimeout", running(living(&json!({ "bootstrapTimeout": "5m" }))), 360, Reason::BootstrapTimeout)]
#[case::token("the token's time", running(claim()), 600, Reason::CredentialExpired)]
#[case::token_run_out(
    "the token's time",
    in_state(running(claim()), BootstrapState::Expired),
    600,
    Reason::CredentialExpired
)]
#[case::evidence(
    "the token's time",
    in_state(running(claim()), BootstrapState::Challenged),
    600,
    Reason::CredentialExpired
)]
#[case::lifetime_while_made("maxLifetime", allocated(living(&json!({ "maxLifetime": "1h" }))), 3_600, Reason::LifetimeExceeded)]
#[case::lifetime_while_booting(
    "maxLifetime",
    running(living(&json!({ "maxLifetime": "5m", "bootstrapTimeout": "10m" }))),
    300,
    Reason::LifetimeExceeded
)]
#[case::lifetime_while_ready("maxLifetime", bound(patient()), 3_600, Reason::LifetimeExceeded)]
#[case::lifetime_while_busy("maxLifetime", busy(living(&json!({ "maxLifetime": "1h" }))), 3_600, Reason::LifetimeExceeded)]
#[case::lifetime_and_drain("maxLifetime", drained(patient()), 4_200, Reason::LifetimeExceeded)]
#[case::job("jobTimeout", busy(living(&json!({ "jobTimeout": "10m" }))), 740, Reason::JobTimeout)]
#[case::job_while_draining(
    "jobTimeout",
    drained(living(&json!({ "maxLifetime": "1h", "drainTimeout": "10m", "jobTimeout": "1h" }))),
    3_740,
    Reason::JobTimeout
)]
#[case::idle("idleTimeout", bound(living(&json!({ "idleTimeout": "5m" }))), 400, Reason::IdleTimeout)]
fn a_limit_ends_a_machine_when_it_is_due_and_not_before(
    #[case] what: &str,
    #[case] claim: MachineClaim,
    #[case] due: i64,
    #[case] reason: Reason,
) {
    // A VM that is being made is looked at by itself; here the clone runs.
    let observed = Observed { errands: under_way(Job::Clone), ..alive(claim) };
    let before = decide(&observed, due - 1);
    assert_eq!((before.status, before.steps), (None, Vec::new()));
    let quiet = Observed { errands: done(&[Job::Detach]), ..observed.clone() };
    if stage(&observed.claim) != api::Step::Allocated {
        let Next::After(pause, Why::Deadline { what: told }) = decide(&quiet, due - 1).next else { panic!("no alarm") };
        assert_eq!(pause, secs(1));
        assert!(told.starts_with(what), "{told}");
    }
    assert_doomed(&decide(&observed, due), reason, "");
    assert_doomed(&decide(&quiet, due + 100_000), reason, "");
}

#[test]
fn a_claim_whose_life_is_over_before_it_has_a_vm_fails() {
    let ended = gone_without_vm();
    assert_eq!(where_is(status_of(&ended)), (Phase::Failed, api::Step::Gone));
    let (_, word, sentence) = said(status_of(&ended), ConditionType::Ready);
    assert_eq!(word, "LifetimeExceeded");
    assert_eq!(sentence, "the machine has lived for 1h, as long as lifecycle.maxLifetime allows");
}

#[test]
fn limits_that_are_not_set_never_fire() {
    for claim in [claim(), allocated(claim()), bound(claim()), busy(claim())] {
        let plan = decide(&Observed { errands: under_way(Job::Clone), ..alive(claim) }, 300_000_000);
        assert_eq!((plan.status, plan.steps), (None, Vec::new()));
    }
    let idle_only = busy(living(&json!({ "idleTimeout": "5m", "bootstrapTimeout": "5m" })));
    assert_eq!(decide(&alive(idle_only), 300_000_000).status, None, "who works is neither idle nor booting");
    let job_only = bound(living(&json!({ "jobTimeout": "5m", "bootstrapTimeout": "5m" })));
    assert_eq!(decide(&alive(job_only), 300_000_000).status, None, "who has no work cannot overrun it");
}

#[rstest]
#[case::nobody_heard_it(
    None,
    "it never reached us: check that the image has the agent and can reach bootstrap.advertise"
)]
#[case::it_complained(Some("reached us from 10.0.0.5: clock is off"), "reached us from 10.0.0.5: clock is off")]
fn a_machine_that_does_not_come_up_in_time_tells_what_is_known(#[case] heard: Option<&str>, #[case] text: &str) {
    let mut claim = running(living(&json!({ "bootstrapTimeout": "5m" })));
    if let Some(sentence) = heard {
        claim = written(&claim, &bootstrap::complain(&claim, sentence).unwrap(), at(90));
    }
    assert_doomed(&decide(&alive(claim), 360), Reason::BootstrapTimeout, text);
}

#[test]
fn a_busy_machine_that_has_lived_long_enough_may_finish() {
    let told = drained(patient());
    let status = status_of(&told);
    assert_eq!(where_is(status), (Phase::Draining, api::Step::Draining));
    assert_eq!(status.drain, Some(api::Drain { requested_at: at(3_600).into(), confirmed_at: None }));
    let (holds, word, _) = said(status, ConditionType::Ready);
    assert_eq!((holds, word), ("False", "Draining"));
    assert_eq!(bootstrap::order(&told, at(3_601)), bootstrap::Order::Drain);
    let rest = decide(&Observed { errands: done(&[Job::Detach]), ..alive(told) }, 3_601);
    assert_waits(&rest, &Next::After(secs(599), Why::Deadline { what: "maxLifetime ends" }));
}

#[rstest]
fn the_seed_is_taken_out_of_a_vm_that_has_read_it_and_only_once(
    #[values(bound(patient()), busy(patient()), drained(patient()))] claim: MachineClaim,
) {
    let observed = Observed { sight: ours(), ..alive(claim) };
    let plan = decide(&observed, 3_599);
    assert_eq!((plan.steps.as_slice(), &plan.status), ([Step::DetachSeed, Step::DiscardSeed].as_slice(), &None));
    let unsure = Observed { errands: Errands::default(), ..observed.clone() };
    assert_eq!(decide(&unsure, 3_599).steps, [Step::DetachSeed], "an upload may still come: its end removes the seed");
    let taken = Observed { errands: done(&[Job::Detach, Job::Discard]), ..observed.clone() };
    assert_eq!(decide(&taken, 3_599).steps, []);
    let under_way = Observed { errands: under_way(Job::Discard), ..observed };
    assert_eq!(decide(&under_way, 3_599).steps, []);
}

#[test]
fn a_seed_that_does_not_come_out_is_tried_again_after_a_pause() {
    let observed =
        Observed { sight: ours(), errands: after(trouble(Job::Detach, Kind::Passing)), ..alive(bound(claim())) };
    let Next::After(pause, Why::Retry { cause, .. }) = decide(&observed, 10).next else { panic!("no pause") };
    assert!((secs(5)..=secs(6)).contains(&pause), "{pause:?}");
    assert_eq!(cause, "taking the seed out of the VM (transient): it said no");
    assert_eq!(decide(&observed, 10).steps, []);
    assert_eq!(decide(&observed, 16).steps, [Step::DetachSeed, Step::DiscardSeed]);
    let old = Observed { errands: after(trouble(Job::Configure, Kind::Passing)), ..observed };
    assert_eq!(decide(&old, 10).steps, [Step::DetachSeed, Step::DiscardSeed], "what is past is past");
}
