//! Whose code runs: what is not known is not trusted, whichever way demand is learnt of.

use serde_json::json;
use sim::github::{FaultKind, FaultRule, JobSpec, REPOSITORY, Status};
use sim::world::World;

use crate::town::{LABEL, Town};

const MODES: [&str; 3] = ["webhook", "session", "poll"];
/// The call that says whose code a run has.
const RUN: &str = "GET /repos/{owner}/{repo}/actions/runs/{run_id}";

/// DECISIONS 22: deliveries and sessions do not say it, so that it has to be asked.
#[test]
fn a_job_of_a_fork_of_a_private_repository_waits_until_its_pool_allows_it_in_every_mode() {
    for (seed, mode) in (1..).zip(MODES) {
        World::run(seed, async |world| {
            let town = Town::new(&world, mode).await;
            town.pool("linux", 2, |_| {}).await;
            let (_, job) = town.queue_from_fork(10.0);
            town.pass(120).await;
            let (reason, message) = town.reason(job).await;
            assert_eq!(reason, "TrustDenied", "{mode}: {message} {:?}", town.known().await);
            assert!(message.contains("spec.trust.forks"), "{message}");
            assert_eq!((town.claims().await.len(), town.machines().len()), (0, 0), "{mode}");
            town.change_pool("linux", &json!({ "spec": { "trust": { "forks": true } } })).await;
            assert!(town.until(300, async |town| town.are_done(&[job])).await, "{mode}: {:?}", town.reason(job).await);
            town.cleared(300).await;
        });
    }
}

/// A runner is given whatever fits it: a machine that was made for a trusted job could run the other one.
#[test]
fn a_job_that_is_not_trusted_is_not_run_by_a_machine_that_was_made_for_another() {
    for (seed, mode) in (11..).zip(MODES) {
        for moment in [0, 9] {
            World::run(seed, async |world| {
                let town = Town::new(&world, mode).await;
                // In a session the platform gives us no more jobs than the pool may have machines.
                town.pool("linux", 4, |_| {}).await;
                let first = town.queue(1, 30.0);
                town.pass(moment).await;
                let (run, proposed) = town.queue_from_fork(10.0);
                town.pass(12).await;
                let second = town.queue(1, 10.0);
                town.pass(120).await;
                assert_eq!(town.job(proposed).runner, None, "{mode}, {moment} s after the first");
                let (reason, message) = town.reason(second[0]).await;
                assert_eq!(reason, "UntrustedJobWaits", "{mode}: {message}");
                assert!(town.github.cancel(run));
                let jobs = [first, second].concat();
                let done = town.until(600, async |town| town.are_done(&jobs)).await;
                assert!(done, "{mode}: {:?} {:?}", town.phases().await, town.pooled("linux").await["status"]);
                assert_eq!(town.job(proposed).runner, None);
                town.cleared(300).await;
            });
        }
    }
}

#[test]
fn a_job_of_which_the_platform_does_not_say_whose_it_is_waits_until_it_does() {
    for (seed, mode) in (21..).zip(["webhook", "session"]) {
        World::run(seed, async |world| {
            let town = Town::new(&world, mode).await;
            town.pool("linux", 2, |_| {}).await;
            let down = FaultRule { times: Some(0), status: Some(503), ..FaultRule::new(FaultKind::Answer) };
            town.github.set_faults(vec![down.on("GET", "/actions/runs/")]);
            let jobs = town.queue(1, 10.0);
            town.pass(40).await;
            let (reason, message) = town.reason(jobs[0]).await;
            assert_eq!(reason, "TrustUnknown", "{mode}: {message}");
            assert!(town.claims().await.is_empty());
            town.github.set_faults(Vec::new());
            assert!(
                town.until(300, async |town| town.are_done(&jobs)).await,
                "{mode}: {:?}",
                town.reason(jobs[0]).await
            );
        });
    }
}

#[test]
fn what_is_asked_costs_a_call_for_each_run_and_nothing_where_everybody_is_trusted() {
    for (seed, mode) in (31..).zip(["webhook", "session"]) {
        for trusts in [false, true] {
            World::run(seed, async |world| {
                let town = Town::new(&world, mode).await;
                let trust = json!({ "forks": trusts, "publicRepositories": trusts });
                town.pool("linux", 8, |pool| pool["spec"]["trust"] = trust).await;
                let spec = |number: usize| JobSpec {
                    name: format!("job-{number}"),
                    labels: ["self-hosted", LABEL].map(str::to_owned).to_vec(),
                    seconds: 5.0,
                    ..JobSpec::default()
                };
                let specs: Vec<JobSpec> = (0..8).map(spec).collect();
                let jobs: Vec<u64> = (0..3).flat_map(|_| town.github.queue(REPOSITORY, &specs).unwrap().1).collect();
                town.pass(50).await;
                let asked = town.github.count(RUN);
                assert_eq!(asked, if trusts { 0 } else { 3 }, "{mode}: three runs of eight jobs each");
                assert!(town.until(600, async |town| town.are_done(&jobs)).await);
                assert!(jobs.iter().all(|job| town.job(*job).status == Status::Completed));
            });
        }
    }
}
