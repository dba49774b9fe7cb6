//! Jobs by poll and by hook, with deliveries that get lost.

use std::collections::BTreeSet;
use std::time::Duration;

use providers::platform::kit::Bench as _;
use providers::platform::{Hint, Hook as _, Job, JobKey, JobState, Platform as _};
use rstest::rstest;
use sim::github::{FaultKind, FaultRule, HookWeather, JobSpec, PUBLIC_REPOSITORY, REPOSITORY};

use crate::world::{Caller, World, enterprise, organization};

fn specs(count: usize) -> Vec<JobSpec> {
    (0..count).map(|number| JobSpec::new(format!("job-{number}"), &["kit"])).collect()
}

/// The jobs that arrived at the hook.
fn heard(world: &World) -> Vec<Job> {
    let (mut jobs, secrets) = (Vec::new(), [world.secret()]);
    for delivery in world.received() {
        let verified = world.github.verify(&delivery.headers, &delivery.body, &secrets).unwrap();
        jobs.extend(world.github.parse(&verified).into_iter().filter_map(|hint| match hint {
            Hint::Job(job) => Some(*job),
            Hint::Look | Hint::Ignored(_) | Hint::Unreadable => None,
        }));
    }
    jobs
}

fn keys<'a>(jobs: impl IntoIterator<Item = &'a Job>) -> BTreeSet<JobKey> {
    jobs.into_iter().map(|job| job.key.clone()).collect()
}

#[rstest]
#[case(Caller::App)]
#[case(Caller::Token)]
#[tokio::test(start_paused = true)]
async fn c6_1_deliveries_that_failed_are_recovered_and_lost_ones_are_polled(#[case] caller: Caller) {
    let world = World::new(caller, organization(), false);
    world.sim.set_weather(HookWeather { fail: 0.3, lose: 0.2, duplicate: 0.1, delay_seconds: 3.0 });
    let since = world.clock.now();
    world.sim.queue(REPOSITORY, &specs(60)).unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    let mut known = keys(&heard(&world));
    let hooked = known.len();
    let hints = world.github.recover(since).await.unwrap();
    known.extend(hints.iter().filter_map(|hint| match hint {
        Hint::Job(job) => Some(job.key.clone()),
        Hint::Look | Hint::Ignored(_) | Hint::Unreadable => None,
    }));
    assert!(hooked < known.len() && known.len() < 60, "{hooked} heard, {} after recovery", known.len());
    let snapshot = world.github.poll(world.clock.now()).await.unwrap();
    let polled = keys(&snapshot.jobs);
    assert!(snapshot.complete && polled.len() == 60 && known.is_subset(&polled));
    let later = world.github.recover(world.clock.now()).await.unwrap();
    assert_eq!(later, [], "what is older is not told again");
}

#[tokio::test(start_paused = true)]
async fn more_failures_than_are_worth_fetching_are_a_reason_to_look() {
    let world = World::new(Caller::App, organization(), false);
    world.sim.set_weather(HookWeather { fail: 1.0, ..HookWeather::default() });
    let since = world.clock.now();
    world.sim.queue(REPOSITORY, &specs(120)).unwrap();
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(world.github.recover(since).await.unwrap(), [Hint::Look]);
}

#[tokio::test(start_paused = true)]
async fn an_idle_organization_costs_nothing_of_its_hour() {
    let world = World::new(Caller::Token, organization(), false);
    world.sim.queue(REPOSITORY, &specs(3)).unwrap();
    world.github.poll(world.clock.now()).await.unwrap();
    let before = world.github.quotas()[0].remaining;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_mins(1)).await;
        assert_eq!(world.github.poll(world.clock.now()).await.unwrap().jobs.len(), 3);
    }
    assert_eq!(before - world.github.quotas()[0].remaining, 0, "what has not changed is free");
}

#[tokio::test(start_paused = true)]
async fn where_a_job_is_from_is_told_on_every_way_that_can() {
    let world = World::new(Caller::App, organization(), false);
    world.sim.queue(PUBLIC_REPOSITORY, &specs(1)).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let heard = heard(&world);
    assert_eq!((heard[0].public, heard[0].fork), (Some(true), None), "a delivery says nothing of forks");
    let asked = world.github.job(&heard[0].key).await.unwrap().unwrap();
    assert_eq!((asked.public, asked.fork), (Some(true), Some(false)));
    let polled = world.github.poll(world.clock.now()).await.unwrap().jobs;
    assert_eq!((polled[0].public, polled[0].fork), (Some(true), Some(false)));
}

#[tokio::test(start_paused = true)]
async fn a_held_job_is_blocked_until_somebody_approves() {
    let world = World::new(Caller::App, organization(), false);
    let held = JobSpec { waiting: true, ..JobSpec::new("deploy", &["kit"]) };
    let (_, jobs) = world.sim.queue(REPOSITORY, &[held]).unwrap();
    let polled = world.github.poll(world.clock.now()).await.unwrap().jobs;
    assert_eq!(polled[0].state, JobState::Blocked);
    assert!(world.sim.approve(jobs[0]));
    let polled = world.github.poll(world.clock.now()).await.unwrap().jobs;
    assert_eq!(polled[0].state, JobState::Queued);
}

#[tokio::test(start_paused = true)]
async fn a_poll_that_breaks_off_tells_no_half_of_the_truth() {
    let world = World::new(Caller::Token, organization(), false);
    world.sim.queue(REPOSITORY, &specs(1)).unwrap();
    for skip in 0..20 {
        world.fault(FaultRule { skip, ..FaultRule::new(FaultKind::Reset) });
        match world.github.poll(world.clock.now()).await {
            Ok(snapshot) => assert!(!snapshot.complete || snapshot.jobs.len() == 1, "after {skip} calls: {snapshot:?}"),
            Err(error) => assert!(matches!(error, providers::platform::Error::Transient { .. }), "{error}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn r5_2_an_enterprise_hears_of_the_jobs_of_its_organizations() {
    let world = World::new(Caller::Token, enterprise(), false);
    world.sim.queue(REPOSITORY, &specs(2)).unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(heard(&world).len(), 2);
}
