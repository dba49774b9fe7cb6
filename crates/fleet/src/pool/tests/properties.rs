//! What holds whatever happens.

use proptest::prelude::*;

use super::world::{Nature, World};
use super::*;

fn nature() -> impl Strategy<Value = Nature> {
    (any::<u64>(), (0..4_i64, 0..4_i64), 0..25_u64, prop_oneof![Just(0), 0..10_u64])
        .prop_map(|(seed, lag, deaths, kills)| Nature { seed, lag, deaths, kills })
}

fn scaling() -> impl Strategy<Value = Value> {
    (1..8_u32, 0..3_u32, 0..3_u32, 5..40_u64, prop::option::of(1..4_u32)).prop_map(|(max, min, warm, delay, terminating)| {
        let mut scaling = json!({
            "maxReplicas": max, "minReplicas": min.min(max), "warm": warm.min(max), "scaleDownDelay": format!("{delay}s"),
        });
        if let Some(terminating) = terminating {
            scaling["maxTerminating"] = json!(terminating);
        }
        scaling
    })
}

/// Lets jobs come, and then everything settle.
fn live(world: &mut World, arrivals: &[u8]) {
    for (index, gap) in arrivals.iter().enumerate() {
        // Some come together.
        for _ in 0..=(index % 3) {
            world.arrive();
        }
        for _ in 0..*gap {
            world.tick();
        }
    }
    // Each job may need several machines, which die, and pauses in between.
    for _ in 0..40_000 {
        world.tick();
        if world.all_done() && world.quiet > 60 {
            return;
        }
    }
    panic!("not everything was served, or it never came to rest: {:?}", world.pool.status);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Both bounds hold at every moment, no busy runner is retired, nothing goes within scaleDownDelay (the world checks
    /// that each second); every job is served, and then nothing moves.
    #[test]
    fn p9_every_job_is_served_within_the_bounds_whatever_dies_lags_or_is_killed(
        nature in nature(), scaling in scaling(), arrivals in prop::collection::vec(0..20_u8, 1..12),
    ) {
        let mut world = World::new(&scaling, nature);
        live(&mut world, &arrivals);
        let spec = &world.pool.spec.scaling;
        let rest = spec.warm.max(spec.min_replicas).min(spec.max_replicas) as usize;
        prop_assert_eq!(world.claims.len(), rest, "the pool ends with what it wants");
        let plan = decide(&world.view(), world.second);
        prop_assert_eq!((plan.steps, plan.status), (vec![], None));
    }

    /// Failure class 6.5: demand that comes and goes like a saw costs few machines beyond the jobs.
    #[test]
    fn ci_6_5_sawtooth_demand_costs_less_than_a_fifth_more_machines_than_jobs(
        seed in any::<u64>(), period in 10..60_u8, lag in 0..3_i64,
    ) {
        let nature = Nature { seed, lag: (lag, lag), deaths: 0, kills: 0 };
        let mut world = World::new(&json!({ "maxReplicas": 20, "scaleDownDelay": "30s" }), nature);
        let mut jobs = 0;
        for tooth in 0..8 {
            for _ in 0..=(tooth % 4) * 3 {
                world.arrive();
                jobs += 1;
            }
            (0..period).for_each(|_| world.tick());
        }
        live(&mut world, &[]);
        prop_assert!(world.births * 5 < jobs * 6, "{} machines for {jobs} jobs", world.births);
    }

    /// What a limit ended is replaced at once as far as both bounds allow, and never beyond.
    #[test]
    fn p10_what_a_limit_ended_is_replaced_and_never_beyond_the_maximum(
        max in 1..20_u32, ended in prop::collection::vec(any::<bool>(), 0..20), terminating in prop::option::of(1..6_u32),
    ) {
        let mut seen = observed(pool(&json!({ "minReplicas": max, "maxReplicas": max, "maxTerminating": terminating })));
        for (number, over) in ended.iter().take(max as usize).enumerate() {
            let name = format!("m{number}");
            member(&mut seen, &name, Phase::Ready, 0);
            if *over {
                change(&mut seen, &name, |claim| claim.status.as_mut().unwrap().phase = Some(Phase::Terminating));
            }
        }
        let gone = seen.claims.iter().filter(|claim| claim.status.as_ref().unwrap().phase == Some(Phase::Terminating)).count();
        let live = seen.claims.len() - gone;
        let most = max as usize + terminating.unwrap_or((max / 4).max(1)) as usize;
        prop_assert_eq!(made(&decide(&seen, 9)).len(), (max as usize - live).min(most - live - gone));
    }

    /// A runner takes one job: one whose job has ended at the platform is no capacity, and is left to its claim.
    #[test]
    fn p11_a_machine_whose_job_has_ended_serves_nobody_else(count in 1..6_usize, waiting in 0..6_i64) {
        let mut seen = observed(pool(&json!({ "maxReplicas": 20, "maxTerminating": 20, "scaleDownDelay": "0s" })));
        for number in 0..count {
            let name = format!("m{number}");
            member(&mut seen, &name, Phase::Busy, 0);
            let mut done = job(&format!("done-{number}"), 0);
            done.status = Some(RunnerJobStatus {
                state: Some(JobState::Completed),
                claim_ref: Some(serde_json::from_value(json!({ "name": name })).unwrap()),
                ended_at: Some(Moment::from(at(5))),
                ..RunnerJobStatus::default()
            });
            seen.jobs.push(Arc::new(done));
        }
        seen.jobs.extend((0..waiting).map(|number| Arc::new(job(&format!("job-{number}"), number))));
        let plan = decide(&seen, 9);
        prop_assert_eq!(made(&plan).len(), usize::try_from(waiting).unwrap());
        prop_assert!(retired(&plan).is_empty());
        prop_assert_eq!(plan.status.unwrap().replicas, 0);
    }

    /// What is wanted depends on the set of jobs that are outstanding, and on nothing else.
    #[test]
    fn p13_what_is_wanted_depends_only_on_the_jobs_that_are_outstanding(
        states in prop::collection::vec(prop::sample::select(JobState::ALL.to_vec()), 0..20), turn in any::<prop::sample::Index>(),
    ) {
        let mut seen = observed(pool(&json!({ "maxReplicas": 100 })));
        for (number, state) in states.iter().enumerate() {
            let mut one = job(&format!("job-{number}"), 0);
            one.status = Some(RunnerJobStatus { state: Some(*state), ..RunnerJobStatus::default() });
            seen.jobs.push(Arc::new(one));
        }
        let waiting = states.iter().filter(|state| **state == JobState::Queued).count();
        prop_assert_eq!(Census::take(&seen, at(0)).wanted, waiting);
        let once = decide(&seen, 0);
        if !seen.jobs.is_empty() {
            let by = turn.index(seen.jobs.len());
            seen.jobs.rotate_left(by);
        }
        prop_assert_eq!(decide(&seen, 0), once);
    }

    /// A platform is known by what it says, not by which it is.
    #[test]
    fn p29_what_is_decided_does_not_depend_on_which_platform_it_is(count in 0..5_i64, at_platform in prop::sample::select(api::Platform::ALL.to_vec())) {
        let mut seen = observed(pool(&json!({ "warm": 1 })));
        seen.jobs = (0..count).map(|number| Arc::new(job(&format!("job-{number}"), number))).collect();
        let here = decide(&seen, 9);
        Arc::make_mut(seen.source.as_mut().unwrap()).spec.platform = at_platform;
        prop_assert_eq!(decide(&seen, 9), here);
    }
}
