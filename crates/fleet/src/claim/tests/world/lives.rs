//! Whole lives: quiet ones, and ones in which anything may happen at any moment.

use proptest::prelude::*;

use super::*;

/// Lets events happen, each some time after the last.
pub(super) fn live(claim: MachineClaim, events: &[(i64, Event)]) -> World {
    let mut world = World::new(claim);
    for (after, event) in events {
        let then = world.now + jiff::SignedDuration::from_millis(*after);
        world.pass_until(then);
        world.happen(*event);
    }
    world
}

/// Everything that was wrong is put right; after its longest life and its retention nothing may be left.
pub(super) fn come_to_rest(world: &mut World) {
    (world.away, world.platform.away, world.platform.mute) = (false, false, 0);
    world.fate = Fate::Taken;
    world.hypervisor.heal();
    if world.claim.is_some() {
        world.due = Some(world.now);
    }
    let end = world.now + secs(2 * 3_600);
    while world.claim.is_some() && world.now < end {
        world.pass_until(world.now + secs(30));
        check_rest(world);
    }
    assert!(world.claim.is_none(), "it stays for ever: {:?}", world.claim);
    world.check();
}

/// A claim that is in its last phase has nothing left, and a further pass does nothing.
fn check_rest(world: &mut World) {
    let Some(claim) = world.claim.clone() else { return };
    let status = claim.status.clone().unwrap_or_default();
    let closed = status.teardown.is_some_and(|teardown| teardown.vm_gone_at.is_some()) && !holds_runner(&claim);
    if !closed || claim.metadata.deletion_timestamp.is_some() {
        return;
    }
    assert!(matches!(status.phase, Some(Phase::Succeeded | Phase::Failed)), "{:?}", status.phase);
    assert_eq!(world.hypervisor.ours().count(), 0);
    assert_eq!(world.hypervisor.traces(), Vec::<String>::new());
    let observed = world.observe();
    let plan = plan(&observed, world.now);
    assert_eq!((plan.finalizer, plan.steps), (Finalizer::Keep, Vec::new()));
    assert!(plan.status.is_none_or(|status| !world.differs(&status)), "a write at rest");
}

/// The phases that a claim went through, without repeats.
pub(super) fn phases(world: &World) -> Vec<Phase> {
    let mut phases: Vec<Phase> = world.history.iter().flatten().copied().collect();
    phases.dedup();
    phases
}

/// Whether a claim may go from one phase to the other.
pub(super) fn follows(before: Phase, after: Phase) -> bool {
    let next: &[Phase] = match before {
        Phase::Pending => &[Phase::Provisioning, Phase::Failed],
        // A number that is given back is waited for again.
        Phase::Provisioning => &[Phase::Pending, Phase::Bootstrapping, Phase::Ready, Phase::Terminating, Phase::Failed],
        Phase::Bootstrapping => &[Phase::Ready, Phase::Terminating],
        Phase::Ready => &[Phase::Busy, Phase::Draining, Phase::Terminating],
        Phase::Busy => &[Phase::Draining, Phase::Terminating],
        Phase::Draining => &[Phase::Terminating],
        Phase::Terminating => &[Phase::Succeeded, Phase::Failed],
        Phase::Succeeded | Phase::Failed => &[],
    };
    next.contains(&after)
}

const WORK: [(i64, Event); 4] =
    [(10_000, Event::Quiet), (20_000, Event::Bind), (1_000, Event::Begin), (60_000, Event::Finish(0))];

#[test]
fn a_quiet_life_is_few_writes_and_leaves_nothing() {
    let mut world = live(living(&json!({ "maxLifetime": "1h" })), &WORK);
    let ready = world.history.iter().position(|phase| *phase == Some(Phase::Ready)).unwrap();
    assert!(ready < 5, "{} writes until it was ready", ready + 1);
    come_to_rest(&mut world);
    let expected =
        [Phase::Provisioning, Phase::Bootstrapping, Phase::Ready, Phase::Busy, Phase::Terminating, Phase::Succeeded];
    assert_eq!(phases(&world), expected);
    // Beside the eight: that the work began is told, and that it ended is kept for a while.
    assert!(world.history.len() <= 9, "{:?}", world.history);
}

#[test]
fn a_claim_of_a_pool_goes_as_soon_as_its_vm_is_gone() {
    let mut world = live(pooled(), &[(30_000, Event::Bind), (5_000, Event::PowerOff)]);
    // Nobody rings here when a VM stops.
    world.pass_until(world.now + secs(630));
    assert!(world.claim.is_none());
    assert!(world.history.len() <= 8, "{:?}", world.history);
}

#[test]
fn a_crash_before_or_after_any_write_changes_nothing_of_the_end() {
    for crash in [Event::Crash, Event::CrashBeforeWrite, Event::Conflict] {
        for moment in (0..20_000).step_by(250) {
            let mut world = live(living(&json!({ "maxLifetime": "30m" })), &[(moment, crash)]);
            for (after, event) in [(120_000, Event::Bind), (1_000, Event::Begin), (5_000, Event::Finish(0))] {
                world.pass_until(world.now + jiff::SignedDuration::from_millis(after));
                world.happen(event);
            }
            come_to_rest(&mut world);
            assert_eq!(phases(&world).last(), Some(&Phase::Succeeded), "{crash:?} after {moment} ms");
        }
    }
}

#[rstest]
fn a_claim_that_is_deleted_at_any_moment_leaves_nothing(
    #[values(Event::Quiet, Event::Crash, Event::Call(Fault::DeadlyLate(20)), Event::Call(Fault::Leaves))] beside: Event,
) {
    for moment in (0..20_000).step_by(250) {
        let mut world = live(claim(), &[(moment, beside), (10, Event::Delete), (120_000, Event::Quiet)]);
        assert!(world.claim.is_none(), "deleted after {moment} ms");
        world.check();
        world.pass_until(world.now + secs(100));
        assert_eq!(world.hypervisor.ours().count(), 0, "deleted after {moment} ms");
    }
}

#[test]
fn a_clone_that_comes_after_every_answer_was_lost_is_found_and_used() {
    let lost = [Fault::Lost, Fault::Lost, Fault::Late(20)];
    let mut events: Vec<(i64, Event)> = lost.into_iter().map(|fault| (0, Event::Call(fault))).collect();
    events.push((240_000, Event::Quiet));
    let world = live(claim(), &events);
    assert_eq!(world.hypervisor.ours().count(), 1);
    assert_eq!(phases(&world), [Phase::Provisioning, Phase::Bootstrapping]);
    assert_eq!(world.next_number, 6_001, "one number was enough");
}

fn any_fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        3 => any::kind().prop_map(Fault::Refused),
        3 => any::kind().prop_map(Fault::Fails),
        1 => any::kind().prop_map(Fault::FailsAndLeaves),
        2 => Just(Fault::Lost),
        2 => Just(Fault::Unheard),
        2 => (1_i64..35).prop_map(Fault::Late),
        1 => Just(Fault::Deadly),
        1 => (1_i64..35).prop_map(Fault::DeadlyLate),
        1 => Just(Fault::Leaves),
        1 => Just(Fault::Blind),
    ]
}

pub(super) fn any_event() -> impl Strategy<Value = Event> {
    prop_oneof![
        1 => Just(Event::Quiet),
        3 => Just(Event::Crash),
        2 => Just(Event::CrashBeforeWrite),
        2 => Just(Event::Conflict),
        8 => any_fault().prop_map(Event::Call),
        1 => Just(Event::Delete),
        1 => Just(Event::PowerOff),
        1 => Just(Event::RemovedByHand),
        2 => any::<bool>().prop_map(|marked| Event::Intruder { marked }),
        1 => Just(Event::Away),
        2 => Just(Event::Back),
        4 => Just(Event::Bind),
        1 => Just(Event::Steal),
        3 => Just(Event::Begin),
        2 => (0_i32..2).prop_map(Event::Finish),
    ]
}

fn any_events() -> impl Strategy<Value = Vec<(i64, Event)>> {
    let after = prop_oneof![4 => 0_i64..3_000, 2 => 0_i64..30_000, 1 => 0_i64..400_000];
    prop::collection::vec((after, any_event()), 0..25)
}

fn any_limits() -> impl Strategy<Value = Value> {
    let ttl = prop::sample::select(vec![None, Some("0s"), Some("10m")]);
    (ttl, any::<bool>(), any::<bool>()).prop_map(|(ttl, drains, hurries)| {
        let mut limits = json!({ "maxLifetime": "30m" });
        if let Some(ttl) = ttl {
            limits["ttl"] = json!(ttl);
        }
        if drains {
            limits["drainTimeout"] = json!("5m");
        }
        if hurries {
            limits["bootstrapTimeout"] = json!("3m");
            limits["idleTimeout"] = json!("2m");
            limits["jobTimeout"] = json!("4m");
        }
        limits
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn p16_whatever_happens_a_claim_comes_to_rest_and_nothing_of_it_is_left(limits in any_limits(), events in any_events()) {
        let mut world = live(living(&limits), &events);
        come_to_rest(&mut world);
        for pair in phases(&world).windows(2) {
            prop_assert!(follows(pair[0], pair[1]), "{:?} after {:?}", pair[1], pair[0]);
        }
        prop_assert!(world.history.len() < 25 + 8 * events.len(), "{} writes", world.history.len());
    }
}
