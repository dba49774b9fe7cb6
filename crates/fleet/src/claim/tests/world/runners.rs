//! Lives of runners: jobs are given, taken, cancelled; machines drain; the platform answers late or not at all.

use proptest::prelude::*;

use super::lives::{any_event, come_to_rest, follows, live, phases};
use super::*;

/// A claim of a pool, with these limits.
fn runner(limits: &Value) -> MachineClaim {
    with(pooled(), |claim| claim.spec.lifecycle = serde_json::from_value(limits.clone()).unwrap())
}

fn patient() -> MachineClaim {
    runner(&json!({ "maxLifetime": "30m", "drainTimeout": "10m" }))
}

/// Up to a runner that waits for a job: second 31.
const UP: [(i64, Event); 3] = [(10_000, Event::Quiet), (20_000, Event::Bind), (1_000, Event::Register(Mint::Good))];

fn after_up(more: &[(i64, Event)]) -> Vec<(i64, Event)> {
    UP.iter().chain(more).copied().collect()
}

fn let_pass(world: &mut World, seconds: u64) {
    world.pass_until(world.now + secs(seconds));
}

#[test]
fn a_quiet_life_of_a_runner_is_ten_writes_and_leaves_nothing() {
    let work = [(5_000, Event::Give { told: true }), (60_000, Event::Finish(0))];
    let mut world = live(patient(), &after_up(&work));
    let_pass(&mut world, 30);
    assert!(world.claim.is_none());
    let expected = [Phase::Provisioning, Phase::Bootstrapping, Phase::Ready, Phase::Busy, Phase::Terminating];
    assert_eq!(phases(&world), expected);
    // The eight of any machine, and two of the service: the runner's name before it is registered, and its id.
    assert!(world.history.len() <= 10, "{:?}", world.history);
}

/// The platform's row of a cancelled job's runner is gone at once, and the runner works on.
#[rstest]
#[case::at_its_start(1_100)]
#[case::before_it_is_told(1_000)]
#[case::later(30_000)]
fn failure_6_8_a_cancelled_jobs_vm_is_gone_within_seconds_although_its_runner_never_learns(#[case] after: i64) {
    let events = after_up(&[(5_000, Event::Give { told: true }), (after, Event::Cancel)]);
    let mut world = live(patient(), &events);
    let started = world.claim.as_ref().is_some_and(|claim| status_of(claim).busy_time.is_some());
    let_pass(&mut world, if started { 20 } else { 180 });
    if started {
        assert!(world.claim.is_none(), "{:?}", world.claim);
    }
    come_to_rest(&mut world);
}

#[test]
fn failure_6_8_a_job_cancelled_at_any_moment_leaves_nothing() {
    for moment in (0..60_000).step_by(2_000) {
        let mut world = World::new(patient());
        let script = after_up(&[(5_000, Event::Give { told: true }), (30_000, Event::Quiet)]);
        let mut then = 0;
        for (after, event) in script {
            if (then..then + after).contains(&moment) {
                world.pass_until(at(0) + jiff::SignedDuration::from_millis(moment));
                world.happen(Event::Cancel);
            }
            then += after;
            world.pass_until(at(0) + jiff::SignedDuration::from_millis(then));
            world.happen(event);
        }
        come_to_rest(&mut world);
    }
}

/// Scale to zero at each instant of boot, assignment and run: a started job is never killed.
#[rstest]
fn failure_6_4_a_drain_at_any_moment_never_kills_a_job_that_had_started(
    #[values(true, false)] told: bool,
    #[values(Event::Quiet, Event::Crash, Event::Cut, Event::PlatformAway)] beside: Event,
) {
    for moment in (0..8_000).step_by(500) {
        // The job is given 5 s after the runner came up, and taken a second later.
        let mut events: Vec<(i64, Event)> = vec![(moment.min(5_000), Event::Quiet)];
        if moment < 5_000 {
            events.extend([(0, Event::Drain), (0, beside), (5_000 - moment, Event::Give { told })]);
        } else {
            events.extend([(0, Event::Give { told }), (moment - 5_000, Event::Drain), (0, beside)]);
        }
        events.extend([(30_000, Event::Mend), (300_000, Event::PlatformBack), (5_000, Event::Finish(0))]);
        let mut world = live(patient(), &after_up(&events));
        // The pause before the platform is asked again has grown to two minutes and a fifth.
        let_pass(&mut world, 150);
        assert!(world.claim.is_none(), "drained after {moment} ms: {:?}", world.claim);
        assert!(!world.excused, "drained after {moment} ms");
    }
}

#[test]
fn an_idle_machine_that_is_drained_is_gone_within_its_next_order() {
    let mut world = live(patient(), &after_up(&[(60_000, Event::Drain)]));
    let_pass(&mut world, 45);
    assert!(world.claim.is_none(), "{:?}", world.claim);
    assert!(phases(&world).contains(&Phase::Draining));
}

#[test]
fn failure_6_4_a_platform_that_does_not_answer_keeps_the_machine_that_drains() {
    let mut world = live(patient(), &after_up(&[(60_000, Event::PlatformAway), (0, Event::Drain)]));
    let_pass(&mut world, 600);
    let claim = world.claim.clone().expect("it is kept");
    assert_eq!(world.hypervisor.ours().count(), 1, "and so is its VM");
    let (holds, reason, _) = said(status_of(&claim), ConditionType::Deregistered);
    assert_eq!((holds, reason), ("False", "RunnerStillListed"));
    world.happen(Event::PlatformBack);
    let_pass(&mut world, 180);
    assert!(world.claim.is_none());
}

#[test]
fn failure_6_4_an_agent_that_hangs_is_given_up_after_the_platform_has_said_twice_that_it_is_idle() {
    let mut world = live(patient(), &after_up(&[(60_000, Event::Hang), (0, Event::Drain)]));
    let_pass(&mut world, 150);
    assert_eq!(world.hypervisor.ours().count(), 1, "not so soon");
    let_pass(&mut world, 120);
    assert!(world.claim.is_none(), "{:?}", world.claim);
}

#[test]
fn failure_6_15_a_hung_runner_is_gone_by_the_end_of_its_life() {
    let limits = json!({ "maxLifetime": "10m", "drainTimeout": "1m" });
    let mut world = live(runner(&limits), &after_up(&[(0, Event::Give { told: false }), (10_000, Event::Hang)]));
    let_pass(&mut world, 500);
    assert!(world.claim.is_some(), "it has its time");
    let_pass(&mut world, 200);
    assert!(world.claim.is_none(), "{:?}", world.claim);
}

#[test]
fn failure_6_15_a_runner_that_waits_too_long_drains_and_is_replaced() {
    let limits = json!({ "maxLifetime": "1h", "idleTimeout": "2m" });
    let mut world = live(runner(&limits), &UP);
    let_pass(&mut world, 140);
    assert!(world.claim.is_some(), "the agent's own limit comes first");
    let_pass(&mut world, 60);
    assert!(world.claim.is_none(), "{:?}", world.claim);
}

/// A name that was written down before the registration is enough to find what may have come of it.
#[rstest]
#[case::unheard(Mint::Unheard)]
#[case::late(Mint::Late(30))]
#[case::lost(Mint::Lost)]
fn failure_6_12_a_registration_whose_answer_was_lost_leaves_nothing(#[case] mint: Mint) {
    for moment in (0..20_000).step_by(1_000) {
        let [quiet, bind, _] = UP;
        let events = [quiet, bind, (1_000, Event::Register(mint)), (moment, Event::Delete), (300_000, Event::Quiet)];
        let mut world = live(patient(), &events);
        assert!(world.claim.is_none(), "deleted after {moment} ms: {:?}", world.claim);
        world.check();
        let_pass(&mut world, 100);
        assert_eq!(world.platform.traces(), [""; 0], "deleted after {moment} ms");
    }
}

#[test]
fn failure_6_12_a_drain_of_an_agent_that_waits_for_its_credential_outlasts_the_registration() {
    let [quiet, bind, _] = UP;
    let mut world = live(patient(), &[quiet, bind, (1_000, Event::Register(Mint::Late(35))), (0, Event::Drain)]);
    let_pass(&mut world, 300);
    assert!(world.claim.is_none(), "{:?}", world.claim);
    assert_eq!(world.platform.traces(), [""; 0]);
}

#[rstest]
fn failure_6_11_a_crash_at_any_moment_of_the_end_leaves_no_registration(
    #[values(Event::Crash, Event::CrashBeforeWrite, Event::Mute)] crash: Event,
    #[values(Event::Delete, Event::Drain, Event::PowerOff)] end: Event,
) {
    for moment in (0..50_000).step_by(2_500) {
        let mut world = live(patient(), &after_up(&[(5_000, end), (moment, crash)]));
        come_to_rest(&mut world);
    }
}

#[test]
fn arc_4632_vm_removal_does_not_wait_for_the_platform() {
    let mut world = live(patient(), &after_up(&[(0, Event::PlatformAway), (5_000, Event::Delete)]));
    let_pass(&mut world, 10);
    assert_eq!(world.hypervisor.ours().count(), 0, "the VM is gone");
    let_pass(&mut world, 600);
    let claim = world.claim.clone().expect("its claim waits for the runner");
    assert!(!holds_machine(&claim), "but does not hold its number");
    world.happen(Event::PlatformBack);
    let_pass(&mut world, 180);
    assert!(world.claim.is_none());
}

/// Whoever reads why a job died must not be told that the machine had none.
#[test]
fn a_token_stolen_from_a_machine_that_drains_is_told_as_that() {
    let events = after_up(&[(0, Event::Give { told: false }), (0, Event::Drain), (0, Event::Steal)]);
    let mut world = live(patient(), &events);
    let_pass(&mut world, 0);
    let claim = world.claim.clone().expect("its VM is being removed");
    let (holds, reason, message) = said(status_of(&claim), ConditionType::Ready);
    assert_eq!((holds, reason), ("False", "AttestationFailed"), "{message}");
    come_to_rest(&mut world);
}

fn any_mint() -> impl Strategy<Value = Mint> {
    prop_oneof![
        6 => Just(Mint::Good),
        1 => Just(Mint::Unheard),
        3 => (1_i64..35).prop_map(Mint::Late),
        1 => Just(Mint::Lost),
    ]
}

fn any_runner_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        8 => any_event(),
        2 => any_mint().prop_map(Event::Register),
        8 => any::<bool>().prop_map(|told| Event::Give { told }),
        1 => Just(Event::Cancel),
        6 => Just(Event::Drain),
        2 => Just(Event::Delete),
        3 => Just(Event::Cut),
        2 => Just(Event::Mend),
        1 => Just(Event::Hang),
        1 => Just(Event::PlatformAway),
        2 => Just(Event::PlatformBack),
        2 => Just(Event::Mute),
    ]
}

/// Most lives get as far as a runner; anything may happen before, between and after.
fn any_runner_events() -> impl Strategy<Value = Vec<(i64, Event)>> {
    let after = || prop_oneof![4 => 0_i64..3_000, 2 => 0_i64..30_000, 1 => 0_i64..400_000];
    let some = |most: usize| prop::collection::vec((after(), any_runner_event()), 0..most);
    (some(3), any_mint(), some(14)).prop_map(|(before, mint, after)| {
        let [quiet, bind, _] = UP;
        let up = [quiet, bind, (1_000, Event::Register(mint))];
        before.into_iter().chain(up).chain(after).collect()
    })
}

fn any_runner_limits() -> impl Strategy<Value = Value> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(drains, hurries, kept)| {
        let mut limits = json!({ "maxLifetime": "30m" });
        if drains {
            limits["drainTimeout"] = json!("5m");
        }
        if hurries {
            limits["bootstrapTimeout"] = json!("3m");
            limits["idleTimeout"] = json!("2m");
            limits["jobTimeout"] = json!("4m");
        }
        if kept {
            limits["ttl"] = json!("10m");
        }
        limits
    })
}

/// A runner's whole life, in which anything may happen.
fn any_life(limits: &Value, events: &[(i64, Event)]) -> Result<(), TestCaseError> {
    let mut world = live(runner(limits), events);
    come_to_rest(&mut world);
    prop_assert_eq!(world.platform.traces(), [""; 0]);
    for pair in phases(&world).windows(2) {
        prop_assert!(follows(pair[0], pair[1]), "{:?} after {:?}", pair[1], pair[0]);
    }
    prop_assert!(world.history.len() < 30 + 8 * events.len(), "{} writes", world.history.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn p7_whatever_happens_nothing_is_left_at_the_hypervisor_nor_at_the_platform_and_no_started_job_is_killed(
        limits in any_runner_limits(), events in any_runner_events(),
    ) {
        any_life(&limits, &events)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50_000))]

    #[test]
    #[ignore = "many lives: make soak"]
    fn soak_p7_whatever_happens_nothing_is_left_and_no_started_job_is_killed(
        limits in any_runner_limits(), events in any_runner_events(),
    ) {
        any_life(&limits, &events)?;
    }
}
