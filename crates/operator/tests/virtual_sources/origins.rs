//! What is asked of jobs before they are stored, and which jobs are nobody's.

use serde_json::json;
use sim::github::{JobSpec, REPOSITORY};
use sim::world::World;

use crate::office::{Office, POOLS, SECRETS, SOURCES};

const RUN: &str = "GET /repos/{owner}/{repo}/actions/runs/{run_id}";

fn run(count: usize, labels: &[&str]) -> Vec<JobSpec> {
    (0..count).map(|number| JobSpec::new(format!("job-{number}"), labels)).collect()
}

fn pool_of(job: &api::RunnerJob) -> Option<&str> {
    job.metadata.labels.as_ref()?.get("hyperfleet.io/runner-pool").map(String::as_str)
}

#[test]
fn whose_code_a_job_is_is_known_before_a_pool_gets_it() {
    for mode in ["webhook", "session", "poll"] {
        World::run(1, async |world| {
            let office = Office::with_source(&world, &["operator", "replica"], mode).await;
            office.github.queue(REPOSITORY, &run(10, &["self-hosted", "gpu"])).unwrap();
            office.github.queue_from_fork(REPOSITORY, &run(10, &["self-hosted", "gpu"])).unwrap();
            office.pass(90).await;
            let jobs = office.jobs().await;
            let ours =
                jobs.iter().filter(|job| job.spec.fork == Some(false) && job.spec.public_repository == Some(false));
            let (ours, theirs): (Vec<_>, Vec<_>) =
                (ours.collect(), jobs.iter().filter(|job| job.spec.fork == Some(true)).collect());
            assert_eq!((ours.len(), theirs.len()), (10, 10), "{mode}: {jobs:?}");
            assert!(ours.iter().all(|job| pool_of(job) == Some("gpu")), "{mode}");
            assert!(theirs.iter().all(|job| pool_of(job).is_none()), "{mode}");
            let asked = office.github.count(RUN);
            assert!(asked <= 4, "{mode}: {asked} calls for two runs by two replicas");
        });
    }
}

#[test]
fn a_pool_that_serves_everybody_costs_no_call() {
    for mode in ["webhook", "session"] {
        World::run(2, async |world| {
            let office = Office::with_source(&world, &["operator"], mode).await;
            let trust = json!({ "spec": { "trust": { "forks": true, "publicRepositories": true } } });
            office.person.merge(&format!("{POOLS}/gpu"), &trust).await.unwrap();
            office.pass(5).await;
            office.github.queue_from_fork(REPOSITORY, &run(10, &["self-hosted", "gpu"])).unwrap();
            office.pass(30).await;
            assert_eq!(office.jobs().await.iter().filter(|job| pool_of(job) == Some("gpu")).count(), 10, "{mode}");
            assert_eq!(office.github.count(RUN), 0, "{mode}");
        });
    }
}

#[test]
fn jobs_for_the_platforms_own_machines_are_nobodys_and_what_asks_for_us_is_told_of() {
    for mode in ["webhook", "poll"] {
        World::run(3, async |world| {
            let office = Office::with_source(&world, &["operator"], mode).await;
            office.github.queue(REPOSITORY, &run(5, &["ubuntu-latest"])).unwrap();
            office.github.queue(REPOSITORY, &run(1, &["self-hosted", "gpux"])).unwrap();
            office.github.queue(REPOSITORY, &run(1, &["gpu"])).unwrap();
            office.github.queue(REPOSITORY, &run(1, &["windows-8-cores"])).unwrap();
            office.pass(130).await;
            let mut labels: Vec<String> =
                office.jobs().await.iter().map(|job| job.spec.labels.last().unwrap().as_str().to_owned()).collect();
            labels.sort_unstable();
            assert_eq!(labels, ["gpu", "gpux"], "{mode}");
            // Somebody makes a pool for what was nobody's: what still waits is found by the next poll.
            office.pool("ubuntu", &["ubuntu-latest"]).await;
            office.pass(130).await;
            assert_eq!(office.jobs().await.len(), 7, "{mode}");
        });
    }
}

#[test]
fn pools_of_one_name_in_two_namespaces_listen_side_by_side() {
    World::run(4, async |world| {
        let office = Office::with_source(&world, &["operator"], "session").await;
        let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "other" } });
        office.person.create("/api/v1/namespaces", &space).await.unwrap();
        for (path, name) in [(SECRETS, "ci"), (SOURCES, "ci"), (POOLS, "gpu")] {
            let mut copy = office.person.get(&format!("{path}/{name}")).await.unwrap();
            copy["metadata"] = json!({ "name": name });
            copy.as_object_mut().unwrap().remove("status");
            office.person.create(&path.replace("/default/", "/other/"), &copy).await.unwrap();
        }
        office.pass(60).await;
        let mut sets: Vec<(String, bool)> =
            office.github.scale_sets().into_iter().map(|set| (set.name, set.session.is_some())).collect();
        sets.sort_unstable();
        assert_eq!(sets, [("default.gpu".to_owned(), true), ("other.gpu".to_owned(), true)]);
        assert_eq!(office.ready("ci").await.1, "PlatformReachable");
    });
}
