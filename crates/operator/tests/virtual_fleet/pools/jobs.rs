//! Jobs from the platform's queue to nothing left behind.

use std::collections::BTreeSet;

use serde_json::json;
use sim::github::{Conclusion, HookWeather, JobSpec, JobView, PUBLIC_REPOSITORY, Status};
use sim::world::{World, across, seeds};

use crate::bounds::{hold, watch};
use crate::town::{LABEL, Town};

#[test]
fn p7_p11_every_job_of_a_queue_session_gets_a_machine_of_its_own_and_nothing_is_left() {
    each_gets_its_own("session");
}

#[test]
fn p7_p11_every_job_that_is_asked_for_gets_a_machine_of_its_own_and_nothing_is_left() {
    each_gets_its_own("poll");
}

#[test]
fn p7_p11_every_job_that_a_webhook_tells_of_gets_a_machine_of_its_own_and_nothing_is_left() {
    each_gets_its_own("webhook");
}

/// A twentieth of all webhooks is lost, a tenth comes twice, and all overtake each other.
fn storm(seed: u64) -> usize {
    World::run(seed, async |world| {
        let town = Town::new(&world, "webhook").await;
        town.yard.with_replica();
        town.pool("linux", 8, |_| {}).await;
        let weather = HookWeather { lose: 0.05, duplicate: 0.1, delay_seconds: 30.0, ..HookWeather::default() };
        town.github.set_weather(weather);
        let mut jobs = Vec::new();
        for _ in 0..5 {
            jobs.extend(town.queue(6, 10.0));
            watch(&town, 20, 10).await;
        }
        let mut left = 900;
        while !town.are_done(&jobs) && left > 0 {
            watch(&town, 5, 10).await;
            left -= 5;
        }
        assert!(town.are_done(&jobs), "seed {seed}: {:?}", town.known().await);
        assert!(jobs.iter().all(|job| town.job(*job).conclusion == Some(Conclusion::Success)), "seed {seed}");
        town.cleared(300).await;
        hold(&world.history(), 8, 2)
    })
}

fn storms(first: u64, count: u64) {
    let made = across(&seeds(first, count), storm);
    println!("lane: {count} storms of webhooks, 30 jobs each: {} machines", made.iter().sum::<usize>());
}

#[test]
fn c6_1_with_webhooks_lost_doubled_and_reordered_every_job_is_served_within_both_bounds() {
    storms(1, 2);
}

#[test]
#[ignore = "many seeds: make soak"]
fn soak_webhooks_lost_doubled_and_reordered() {
    storms(1_000, 100);
}

fn each_gets_its_own(mode: &str) {
    World::run(1, async |world| {
        let town = Town::new(&world, mode).await;
        town.pool("linux", 6, |_| {}).await;
        let jobs = town.queue(12, 20.0);
        assert!(town.until(600, async |town| town.are_done(&jobs)).await, "{:?}", town.known().await);
        let runners: BTreeSet<String> = jobs.iter().filter_map(|job| town.job(*job).runner).collect();
        assert_eq!(runners.len(), jobs.len(), "each on its own: {runners:?}");
        assert!(jobs.iter().all(|job| town.job(*job).conclusion == Some(Conclusion::Success)));
        town.cleared(300).await;
        let count = hold(&world.history(), 6, 1);
        assert!((12..=15).contains(&count), "{count} machines for 12 jobs");
        let known = town.known().await;
        assert_eq!(known.len(), 12);
        let assigned = |job: &&serde_json::Value| !job["status"]["claimRef"]["name"].is_null();
        assert_eq!(known.iter().filter(assigned).count(), 12, "{known:?}");
    });
}

#[test]
fn a_finished_job_is_kept_for_an_hour() {
    World::run(2, async |world| {
        let town = Town::new(&world, "poll").await;
        town.pool("linux", 2, |_| {}).await;
        let jobs = town.queue(1, 5.0);
        assert!(town.until(300, async |town| town.are_done(&jobs)).await);
        town.pass(3_400).await;
        assert_eq!(town.known().await.len(), 1);
        town.pass(400).await;
        assert_eq!(town.known().await.len(), 0);
    });
}

#[test]
fn a_job_that_no_pool_fits_names_the_closest_and_what_it_lacks() {
    World::run(3, async |world| {
        let town = Town::new(&world, "poll").await;
        town.pool("linux", 2, |_| {}).await;
        let labels = ["self-hosted", LABEL, "gpu"].map(str::to_owned).to_vec();
        let jobs = town.github.queue("acme/widgets", &[JobSpec { labels, ..JobSpec::default() }]).unwrap().1;
        town.pass(30).await;
        let (reason, message) = town.reason(jobs[0]).await;
        assert_eq!(reason, "NoMatchingPool");
        assert!(message.contains("linux") && message.contains("gpu"), "{message}");
        assert!(town.claims().await.is_empty());
        town.change_pool("linux", &json!({ "spec": { "labels": ["self-hosted", LABEL, "gpu"] } })).await;
        assert!(town.until(300, async |town| town.are_done(&jobs)).await, "{:?}", town.reason(jobs[0]).await);
    });
}

#[test]
fn a_job_of_a_public_repository_waits_until_its_pool_allows_it() {
    World::run(4, async |world| {
        let town = Town::new(&world, "poll").await;
        town.pool("linux", 2, |_| {}).await;
        let labels = ["self-hosted", LABEL].map(str::to_owned).to_vec();
        let jobs = town.github.queue(PUBLIC_REPOSITORY, &[JobSpec { labels, ..JobSpec::default() }]).unwrap().1;
        town.pass(60).await;
        assert_eq!(town.reason(jobs[0]).await.0, "TrustDenied");
        assert!(town.claims().await.is_empty());
    });
}

/// §6.8: nothing is registered for a job that nobody wants any more, wherever its machine was.
#[test]
fn a_job_cancelled_while_its_machine_is_made_leaves_nothing() {
    for millis in [0, 2_000, 9_000, 12_000] {
        World::run(millis, async |world| {
            let town = Town::new(&world, "session").await;
            town.pool("linux", 2, |_| {}).await;
            let labels = ["self-hosted", LABEL].map(str::to_owned).to_vec();
            let (run, jobs) =
                town.github.queue("acme/widgets", &[JobSpec { labels, seconds: 600.0, ..JobSpec::default() }]).unwrap();
            world.pass(std::time::Duration::from_millis(millis)).await;
            town.github.cancel(run);
            assert!(town.until(600, async |town| town.are_done(&jobs)).await, "after {millis} ms");
            town.cleared(600).await;
        });
    }
}

/// §6.9: a runner takes whichever job fits it, and the one it was made for gets another.
#[test]
fn a_job_whose_runner_took_another_is_served_all_the_same() {
    World::run(5, async |world| {
        let town = Town::new(&world, "session").await;
        town.pool("linux", 8, |_| {}).await;
        let mut jobs = town.queue(4, 30.0);
        // Their machines come up just when others ask for the same.
        town.pass(6).await;
        jobs.extend(town.queue(4, 30.0));
        assert!(town.until(600, async |town| town.are_done(&jobs)).await, "{:?}", town.phases().await);
        town.cleared(300).await;
        let made = hold(&world.history(), 8, 2);
        assert!(made <= 10, "{made} machines for 8 jobs");
        for job in town.known().await {
            let claim = job["status"]["claimRef"]["name"].as_str().unwrap_or_default().to_owned();
            assert!(!claim.is_empty(), "{job}");
        }
    });
}

/// A job that fills its machine's memory would do so in every try.
#[test]
fn a_job_that_is_lost_again_is_not_started_a_third_time() {
    for mode in ["session", "poll"] {
        lost_twice(mode);
    }
}

fn lost_twice(mode: &'static str) {
    World::run(6, async move |world| {
        let town = Town::new(&world, mode).await;
        town.pool("linux", 2, |pool| pool["spec"]["rerunLostJobs"] = json!(true)).await;
        town.queue(1, 600.0);
        for attempt in 1..=2 {
            let reaches = async |status: Status| {
                let is = |job: &JobView| job.attempt == attempt && job.status == status;
                let reached = town.until(1_800, async |town| town.github.jobs().iter().any(is)).await;
                assert!(reached, "attempt {attempt} is not {status:?}: {:?}", town.github.jobs());
            };
            reaches(Status::InProgress).await;
            town.pass(30).await;
            for vm in town.machines() {
                assert!(town.pve.power_off(vm));
            }
            reaches(Status::Completed).await;
        }
        town.pass(1_800).await;
        let attempts = town.github.jobs().iter().map(|job| job.attempt).max();
        assert_eq!(attempts, Some(2), "{:?}", town.github.jobs());
        town.cleared(600).await;
    });
}

#[test]
fn a_job_lost_with_its_machine_says_so_and_is_started_again_once() {
    World::run(6, async |world| {
        let town = Town::new(&world, "poll").await;
        town.pool("linux", 2, |pool| pool["spec"]["rerunLostJobs"] = json!(true)).await;
        let jobs = town.queue(1, 120.0);
        assert!(town.until(300, async |town| town.running(&jobs) == 1).await);
        town.pass(5).await;
        for vm in town.machines() {
            assert!(town.pve.power_off(vm));
        }
        let again = town.until(1_800, async |town| {
            town.github.jobs().iter().any(|job| job.attempt == 2 && job.status == Status::Completed)
        });
        assert!(again.await, "{:?} {:?}", town.github.jobs(), town.known().await);
        let known = town.known().await;
        let lost: Vec<&str> =
            known.iter().filter_map(|job| job["status"]["infrastructureLoss"]["class"].as_str()).collect();
        assert_eq!(lost, ["VMGone"], "{known:?}");
        town.cleared(600).await;
    });
}

/// GitHub runs nothing again of a run of which something still runs, and says so with the same status as to somebody who may
/// not ask.
#[test]
fn a_lost_job_whose_siblings_run_is_started_again_when_they_end() {
    for mode in ["poll", "session"] {
        World::run(7, async |world| {
            let town = Town::new(&world, mode).await;
            town.pool("linux", 2, |pool| pool["spec"]["rerunLostJobs"] = json!(true)).await;
            let labels = ["self-hosted", LABEL].map(str::to_owned).to_vec();
            let spec = |name| JobSpec { seconds: 1_500.0, labels: labels.clone(), ..JobSpec::new(name, &[]) };
            let run = ["lost", "sibling"].map(spec);
            let jobs = town.github.queue("acme/widgets", &run).unwrap().1;
            assert!(town.until(300, async |town| town.running(&jobs) == 2).await);
            town.pass(30).await;
            assert!(town.pve.power_off(town.machine_of(jobs[0]).await));
            assert!(town.until(900, async |town| town.are_done(&jobs[..1])).await, "GitHub notices");
            assert_eq!(town.job(jobs[1]).status, Status::InProgress);
            assert!(town.until(1_500, async |town| town.are_done(&jobs[1..])).await);
            // Whoever asks in vain asks again within five minutes.
            let again = town.until(400, async |town| town.github.jobs().iter().any(|job| job.attempt == 2)).await;
            assert!(again, "{mode}: {:?}", town.known().await);
            let all = town.github.jobs();
            let second: Vec<(&str, Status)> =
                all.iter().filter(|job| job.attempt == 2).map(|job| (job.name.as_str(), job.status)).collect();
            assert!(second.contains(&("sibling", Status::Completed)), "it is not run again: {second:?}");
            assert!(town.until(1_800, async |town| !town.github.jobs().iter().any(is_open)).await);
            let last = town.github.jobs().into_iter().max_by_key(|job| job.attempt).unwrap().attempt;
            assert_eq!(last, 2);
            town.cleared(600).await;
        });
    }
}

fn is_open(job: &JobView) -> bool {
    job.status != Status::Completed
}
