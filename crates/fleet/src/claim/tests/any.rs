//! Anything that can be observed of a claim, as long as it could have been written.

use std::time::Duration;

use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Around this second the world is looked at.
pub(super) const NOW: i64 = 1_000;

pub(super) const JOBS: [Job; 10] = [
    Job::Clone,
    Job::Stage,
    Job::Resize,
    Job::Configure,
    Job::Start,
    Job::Detach,
    Job::Discard,
    Job::Stop,
    Job::Destroy,
    Job::Sweep,
];

pub(super) fn job() -> impl Strategy<Value = Job> {
    select(JOBS.to_vec())
}

pub(super) fn kind() -> impl Strategy<Value = Kind> {
    select(vec![Kind::Passing, Kind::Room, Kind::Stale, Kind::Final])
}

fn reason() -> impl Strategy<Value = Reason> {
    select(vec![Reason::TemplateMissing, Reason::ClusterNotReady, Reason::NoFreeVmId, Reason::NotGranted])
}

fn obstacle() -> impl Strategy<Value = Obstacle> {
    (reason(), "[a-z]{1,20}").prop_map(|(reason, message)| Obstacle { reason, message })
}

fn gate() -> impl Strategy<Value = Gate> {
    let open = (60_u64..2_000, any::<bool>());
    prop_oneof![
        1 => Just(Gate::Unasked),
        1 => obstacle().prop_map(Gate::Closed),
        4 => open.prop_map(|(ttl, stages_seed)| Gate::Open(Terms { token_ttl: secs(ttl), stages_seed, ..terms() })),
    ]
}

fn offer() -> impl Strategy<Value = Offer> {
    prop_oneof![Just(Offer::Unasked), obstacle().prop_map(Offer::None), Just(Offer::Place(place()))]
}

pub(super) fn sight() -> impl Strategy<Value = Sight> {
    let volume = select(vec!["disks:vm-6000-disk-0".to_owned(), "disks:vm-6000-disk-1".to_owned()]);
    prop_oneof![
        2 => Just(Sight::Unasked),
        1 => Just(unknown()),
        3 => vec(volume, 0..2).prop_map(|remains| Sight::Absent { remains }),
        1 => Just(locked()),
        2 => any::<bool>().prop_map(foreign),
        4 => any::<bool>().prop_map(|grows| Sight::Ours { node: NodeName::new("a"), grows }),
    ]
}

pub(super) fn life() -> impl Strategy<Value = Life> {
    select(vec![Life::Unknown, Life::Running, Life::Stopped])
}

prop_compose! {
    fn any_trouble()(job in job(), kind in kind(), attempt in 0_u32..6, times in 1_u32..9, ago in 0_i64..200) -> Trouble {
        Trouble { attempt, times, at: at(NOW - ago), ..trouble(job, kind) }
    }
}

prop_compose! {
    fn errands()(
        running in option::weighted(0.2, job()), done in btree_set(job(), 0..5), trouble in option::of(any_trouble()),
        certain: bool, busy in prop::bool::weighted(0.1), waited in 0_u64..5_000,
    ) -> Errands {
        let (waited, storage_busy) = (Duration::from_millis(waited), busy.then(|| "storage disks is busy".to_owned()));
        Errands { running, waited, done, trouble, certain, storage_busy }
    }
}

/// A limit that is unset, long over, over soon, or far away.
fn span(least: u64) -> impl Strategy<Value = Option<api::Span>> {
    option::weighted(0.4, (least..2_000).prop_map(api::Span::from_secs))
}

prop_compose! {
    pub(super) fn lifecycle()(
        ttl in span(0), max_lifetime in span(60), idle_timeout in span(10), job_timeout in span(10),
        bootstrap_timeout in span(10), drain_timeout in span(0),
    ) -> api::Lifecycle {
        api::Lifecycle { ttl, max_lifetime, idle_timeout, job_timeout, bootstrap_timeout, drain_timeout }
    }
}

/// Claims at every point of their lives, made by those who write them.
pub(super) fn life_so_far() -> impl Strategy<Value = MachineClaim> {
    let unproven = select(vec![BootstrapState::Pending, BootstrapState::Challenged, BootstrapState::Expired]);
    let draining = || {
        let drain = api::Drain { requested_at: at(900).into(), confirmed_at: None };
        with(busy(claim()), |claim| {
            let status = claim.status.as_mut().unwrap();
            (status.drain, status.phase, status.step) = (Some(drain), Some(Phase::Draining), Some(api::Step::Draining));
        })
    };
    prop_oneof![
        1 => Just(claim()),
        1 => Just(after_pass(&Observed { gate: Gate::Open(terms()), offer: Offer::None(nothing_free()), ..seen(claim()) }, 0)),
        4 => Just(allocated(claim())),
        1 => unproven.prop_map(|state| in_state(running(claim()), state)),
        1 => Just(in_state(bound(claim()), BootstrapState::Revoked)),
        1 => Just(bound(claim())),
        1 => Just(busy(claim())),
        1 => Just(draining()),
        3 => a_runner(),
        1 => (0_i32..2).prop_map(|exit| finished(claim(), exit)),
        2 => Just(doomed(claim())),
        1 => Just(gone_without_vm()),
        1 => (0_i32..2).prop_map(|exit| gone(finished(claim(), exit))),
    ]
}

/// A claim with a runner, at any point after its agent was believed.
fn a_runner() -> impl Strategy<Value = MachineClaim> {
    let drained = option::of((0_i64..900, option::of(900_i64..NOW)));
    let life = select(vec![bound(pooled()), busy(pooled()), finished(pooled(), 0)]);
    (life, any::<bool>(), drained, option::weighted(0.2, 400_i64..NOW), option::weighted(0.2, 400_i64..NOW)).prop_map(
        |(claim, known, drain, vm, runner)| {
            let over = ended(status_of(&claim).phase);
            with(claim, |claim| {
                let status = claim.status.as_mut().unwrap();
                let id = known.then(|| "7".to_owned());
                status.runner =
                    Some(api::RunnerRegistration { name: "hf-1".to_owned(), id, credential_expires_at: None });
                status.drain = drain.map(|(asked, confirmed)| api::Drain {
                    requested_at: at(asked).into(),
                    confirmed_at: confirmed.map(|confirmed| at(confirmed).into()),
                });
                if over {
                    let [vm_gone_at, runner_gone_at] = [vm, runner].map(|gone| gone.map(|gone| at(gone).into()));
                    status.teardown = Some(api::Teardown { vm_gone_at, runner_gone_at });
                }
            })
        },
    )
}

fn removal() -> impl Strategy<Value = Removal> {
    prop_oneof![Just(Removal::Gone), Just(Removal::Busy), Just(Removal::Unknown("no answer".to_owned()))]
}

prop_compose! {
    fn farewell()(
        asking: bool, since in option::of(0_i64..NOW), later in 0_i64..200, removal in removal(), times in 0_u32..9,
        forced: bool, answered in prop::bool::weighted(0.7),
    ) -> Farewell {
        let mode = if forced { Mode::Force } else { Mode::IfIdle };
        let answer = since.filter(|_| answered).map(|since| Answer { mode, removal, at: at(since + later), times });
        Farewell { since: since.map(at), asking, answer }
    }
}

fn work() -> impl Strategy<Value = Work> {
    let result = select(api::JobResult::ALL.to_vec());
    let over = (result, 0_i64..NOW, 0_i64..NOW);
    prop_oneof![
        2 => Just(Work::None),
        1 => Just(Work::Current),
        1 => over.prop_map(|(result, ended, seen)| Work::Ended(JobEnd { result, ended: at(ended), seen: at(seen) })),
    ]
}

prop_compose! {
    /// Whatever may be known of a runner.
    pub(super) fn runner()(
        state in select(vec![RunnerState::Idle, RunnerState::Busy, RunnerState::Offline, RunnerState::Gone]),
        since in 0_i64..NOW, later in 0_i64..600, listed: bool, work in work(),
        unnoted: bool, farewell in farewell(),
    ) -> Runner {
        let standing = Standing { state, since: at(since), seen: at(since + later) };
        Runner { standing: listed.then_some(standing), work, unnoted, farewell }
    }
}

fn nothing_free() -> Obstacle {
    Obstacle { reason: Reason::NoFreeVmId, message: "no number is free".to_owned() }
}

prop_compose! {
    /// A claim with anything that people, pools and earlier attempts may have left on it.
    fn any_claim()(
        claim in life_so_far(), lifecycle in lifecycle(), pool in prop::bool::weighted(0.3), going in prop::bool::weighted(0.3),
        kept in prop::bool::weighted(0.9), abandon in option::weighted(0.15, select(vec!["6000", "6001"])),
        attempts in option::of(0_u32..6), retry in option::of(-100_i64..100),
    ) -> MachineClaim {
        let mut claim = if going { deleted(claim) } else { claim };
        if let Some(number) = abandon {
            claim = annotated(claim, number);
        }
        if pool {
            let Workloads { workload, pool_ref } = workloads();
            (claim.spec.workload, claim.spec.pool_ref) = (workload, pool_ref);
        }
        if !kept {
            claim.metadata.finalizers = None;
        }
        claim.spec.lifecycle = lifecycle;
        if let Some(status) = claim.status.as_mut().filter(|status| status.first_running_time.is_none()) {
            status.attempts = attempts;
            status.next_retry_time = retry.map(|retry| at(NOW + retry).into());
        }
        claim
    }
}

struct Workloads {
    workload: api::Workload,
    pool_ref: Option<api::LocalRef>,
}

fn workloads() -> Workloads {
    let MachineClaimSpec { workload, pool_ref, .. } = pooled().spec;
    Workloads { workload, pool_ref }
}

prop_compose! {
    /// Anything that can be observed.
    pub(super) fn observed()(
        claim in any_claim(), gate in gate(), offer in offer(), away in prop::bool::weighted(0.1), errands in errands(),
        sight in sight(), life in life(), runner in runner(), attempts in 1_u32..6,
    ) -> Observed {
        let (claim, policy) = (Arc::new(claim), Policy { attempts, ..POLICY });
        let known = Observed { claim, gate, offer, reach: Reach::Connected, errands, sight, life, runner, policy };
        if !away {
            return known;
        }
        // Who cannot ask knows nothing.
        let (reach, errands) = (Reach::Away("it is away".to_owned()), Errands::default());
        Observed { reach, errands, sight: Sight::Unasked, life: Life::Unknown, ..known }
    }
}
