//! The operator dies before or after every single write, to Kubernetes, to the hypervisor and to the platform: every job
//! runs or says that it was lost, both bounds of the pool hold at every instant, and nothing is left.

use std::time::Duration;

use serde_json::{Value, json};
use sim::github::{Conclusion, Status};
use sim::world::{Deed, Scenario, World, crash_everywhere};

use crate::bounds::hold;
use crate::everywhere::everywhere;
use crate::town::Town;
use crate::yard::TEMPLATES;

/// Runners of a pool at the most.
const MAX: u32 = 2;

/// A town with one pool of up to two runners.
async fn town(world: &World, mode: &str, min: u32) -> Town {
    let town = Town::new(world, mode).await;
    town.pool("linux", MAX, |pool| pool["spec"]["scaling"]["minReplicas"] = json!(min)).await;
    town
}

/// Everything has come to its end, and no bound was broken on the way.
async fn rest(world: &World, town: &Town) {
    town.cleared(1_800).await;
    hold(&world.history(), MAX as usize, 1);
}

/// Waits until so many machines wait for jobs.
async fn ready(town: &Town, count: usize) {
    let ready = town.until(900, async |town| town.phases().await.get("Ready") == Some(&count)).await;
    assert!(ready, "{:?} {:?}", town.phases().await, town.pooled("linux").await);
}

async fn done(town: &Town, jobs: &[u64]) {
    assert!(town.until(1_800, async |town| town.are_done(jobs)).await, "{:?}", town.claims().await);
    for job in jobs {
        assert_eq!(town.job(*job).conclusion, Some(Conclusion::Success), "{:?}", town.known().await);
    }
}

async fn running(town: &Town, jobs: &[u64]) {
    assert!(town.until(900, async |town| town.running(jobs) == jobs.len()).await, "{:?}", town.phases().await);
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_pool_that_grows_survives_a_crash_at_every_write() {
    everywhere("a pool that grows", async |world: World| {
        let town = town(&world, "poll", 0).await;
        town.change_pool("linux", &json!({ "spec": { "scaling": { "minReplicas": 2 } } })).await;
        ready(&town, 2).await;
        town.change_pool("linux", &json!({ "spec": { "scaling": { "minReplicas": 0 } } })).await;
        rest(&world, &town).await;
    });
}

/// Two jobs, the second of which comes while the first one runs.
fn jobs_survive(mode: &str) {
    everywhere(&format!("jobs by {mode}"), async |world: World| {
        let town = town(&world, mode, 0).await;
        let mut jobs = town.queue(1, 40.0);
        town.pass(12).await;
        jobs.extend(town.queue(1, 5.0));
        done(&town, &jobs).await;
        rest(&world, &town).await;
    });
}

#[test]
fn p6_jobs_that_are_asked_for_survive_a_crash_at_every_write() {
    jobs_survive("poll");
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_jobs_of_a_queue_session_survive_a_crash_at_every_write() {
    jobs_survive("session");
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_jobs_told_by_webhooks_survive_a_crash_at_every_write() {
    jobs_survive("webhook");
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_pool_that_shrinks_survives_a_crash_at_every_write() {
    everywhere("a pool that shrinks", async |world: World| {
        let town = town(&world, "session", 2).await;
        ready(&town, 2).await;
        let jobs = town.queue(1, 60.0);
        running(&town, &jobs).await;
        town.change_pool("linux", &json!({ "spec": { "scaling": { "minReplicas": 0 } } })).await;
        done(&town, &jobs).await;
        rest(&world, &town).await;
    });
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_pool_that_is_deleted_survives_a_crash_at_every_write() {
    everywhere("a pool that is deleted", async |world: World| {
        let town = town(&world, "poll", 2).await;
        ready(&town, 2).await;
        town.delete_pool("linux").await;
        rest(&world, &town).await;
        assert!(town.until(300, async |town| town.pooled("linux").await.is_null()).await, "its pool stays");
    });
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_cancelled_job_survives_a_crash_at_every_write() {
    everywhere("a job that is cancelled", async |world: World| {
        let town = town(&world, "poll", 0).await;
        let jobs = town.queue(1, 3_000.0);
        running(&town, &jobs).await;
        town.pass(15).await;
        assert!(town.github.cancel(town.job(jobs[0]).run));
        assert!(town.until(600, async |town| town.job(jobs[0]).status == Status::Completed).await);
        rest(&world, &town).await;
    });
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_template_that_changes_survives_a_crash_at_every_write() {
    everywhere("a template that changes", async |world: World| {
        let town = town(&world, "poll", 1).await;
        ready(&town, 1).await;
        let resources = json!({ "spec": { "resources": { "cpu": 1, "memory": "2Gi", "disk": "20Gi" } } });
        town.yard.person.merge(&format!("{TEMPLATES}/small"), &resources).await.unwrap();
        let is_new = |claim: &Value| {
            claim["status"]["allocation"]["templateGeneration"] == 2 && claim["status"]["phase"] == "Ready"
        };
        let rolled = town.until(900, async |town| town.claims().await.iter().all(is_new)).await;
        assert!(rolled, "{:?}", town.claims().await);
        town.change_pool("linux", &json!({ "spec": { "scaling": { "minReplicas": 0 } } })).await;
        rest(&world, &town).await;
    });
}

/// The class of each loss that was written down.
async fn losses(town: &Town) -> Vec<String> {
    let class = |job: &Value| job["status"]["infrastructureLoss"]["class"].as_str().map(str::to_owned);
    town.known().await.iter().filter_map(class).collect()
}

/// The evidence is the claim's, and the claim goes: whoever comes after a crash must not find it gone before its job knows.
#[test]
#[ignore = "many runs: make soak"]
fn soak_a_lost_job_is_told_so_whatever_write_the_operator_dies_at() {
    everywhere("a lost job", async |world: World| {
        let town = town(&world, "poll", 0).await;
        let jobs = town.queue(1, 3_000.0);
        running(&town, &jobs).await;
        let taken = town
            .until(60, async |town| town.known().await.iter().any(|job| job["status"]["claimRef"]["name"].is_string()));
        assert!(taken.await, "{:?}", town.known().await);
        let lost = town.machines();
        assert_eq!(lost.len(), 1);
        assert!(town.pve.power_off(lost[0]));
        let told = town.until(600, async |town| losses(town).await == ["VMGone"]).await;
        assert!(told, "{:?} {:?}", town.known().await, town.claims().await);
        // The platform keeps a runner that has a job until it has noticed, too.
        rest(&world, &town).await;
    });
}

/// What is written down of jobs, and what GitHub is asked to run again.
fn concerns_jobs(deed: &Deed) -> bool {
    let resource = deed.object.resource.as_str();
    resource.starts_with("runnerjobs") || resource.ends_with("/rerun")
}

/// A runner that waits takes the other try at once: it is over before an operator that died is back, and nobody has written
/// down that it was asked for.
fn lost_jobs_run_again_once(mode: &str) {
    let story = async |world: World| {
        let town = town(&world, mode, 2).await;
        town.change_pool("linux", &json!({ "spec": { "rerunLostJobs": true } })).await;
        ready(&town, 2).await;
        let jobs = town.queue(1, 5.0);
        running(&town, &jobs).await;
        assert!(town.pve.power_off(town.machine_of(jobs[0]).await));
        let over = async |town: &Town| {
            let of = |attempt| town.github.jobs().into_iter().find(|job| job.attempt == attempt);
            of(2).is_some_and(|job| job.status == Status::Completed)
        };
        assert!(town.until(1_800, over).await, "{:?} {:?}", town.github.jobs(), town.known().await);
        // Longer than any pause after which somebody would ask once more.
        town.pass(400).await;
        let ends: Vec<(u64, Option<Conclusion>)> =
            town.github.jobs().into_iter().map(|job| (job.attempt, job.conclusion)).collect();
        assert_eq!(ends, [(1, Some(Conclusion::Failure)), (2, Some(Conclusion::Success))]);
        town.change_pool("linux", &json!({ "spec": { "scaling": { "minReplicas": 0 } } })).await;
        rest(&world, &town).await;
    };
    let scenario = Scenario { story, invariants: &[], counts: concerns_jobs, down: Duration::from_secs(20) };
    let report = crash_everywhere(1, &scenario);
    println!("lane: crash at every write about a lost job by {mode}: {} writes", report.writes);
    assert!(report.writes >= 4, "it is created, begins, is lost and asked for again: {report}");
    assert!(report.failures.is_empty(), "{report}");
}

#[test]
fn a_lost_job_is_run_again_once_whatever_write_the_operator_dies_at() {
    lost_jobs_run_again_once("session");
}

#[test]
#[ignore = "many runs: make soak"]
fn soak_a_lost_job_that_was_polled_is_run_again_once_whatever_write_the_operator_dies_at() {
    lost_jobs_run_again_once("poll");
}
