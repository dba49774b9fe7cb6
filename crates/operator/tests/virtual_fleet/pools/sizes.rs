//! How many runners a pool has, and which of them go.

use std::collections::BTreeSet;

use serde_json::json;
use sim::github::Conclusion;
use sim::world::World;

use crate::bounds::{hold, watch};
use crate::town::Town;
use crate::yard::TEMPLATES;

#[test]
fn p9_a_pool_has_its_minimum_and_no_more_than_its_maximum() {
    World::run(1, async |world| {
        let town = Town::new(&world, "session").await;
        town.pool("linux", 3, |pool| pool["spec"]["scaling"]["minReplicas"] = json!(2)).await;
        assert!(town.until(120, async |town| town.phases().await.get("Ready") == Some(&2)).await);
        let jobs = town.queue(9, 15.0);
        watch(&town, 200, 4).await;
        assert!(town.are_done(&jobs), "{:?}", town.phases().await);
        hold(&world.history(), 3, 1);
        assert!(town.until(300, async |town| town.phases().await.get("Ready") == Some(&2)).await);
        let pool = town.pooled("linux").await;
        assert_eq!((&pool["status"]["replicas"], &pool["status"]["pendingJobs"]), (&json!(2), &json!(0)), "{pool}");
    });
}

#[test]
fn r4_2_kubectl_scale_sets_the_minimum() {
    World::run(2, async |world| {
        let town = Town::new(&world, "session").await;
        town.pool("linux", 4, |_| {}).await;
        let scale = |replicas: u32| json!({ "spec": { "replicas": replicas } });
        let path = "/apis/hypervisor.hyperfleet.io/v1alpha1/namespaces/default/runnerpools/linux/scale";
        town.yard.person.merge(path, &scale(3)).await.unwrap();
        assert!(town.until(120, async |town| town.phases().await.get("Ready") == Some(&3)).await);
        assert!(town.yard.person.merge(path, &scale(5)).await.is_err(), "above the maximum");
        town.yard.person.merge(path, &scale(0)).await.unwrap();
        town.cleared(300).await;
    });
}

/// §6.4: scaled to zero at any moment, a job that has begun is finished.
#[test]
fn p9_a_pool_scaled_to_nothing_never_takes_a_machine_from_a_job() {
    for moment in [1, 7, 9, 11, 13, 20] {
        World::run(moment, async |world| {
            let town = Town::new(&world, "session").await;
            town.pool("linux", 4, |_| {}).await;
            let jobs = town.queue(4, 60.0);
            town.pass(moment).await;
            town.change_pool("linux", &json!({ "spec": { "scaling": { "maxReplicas": 0 } } })).await;
            let begun = |town: &Town| -> BTreeSet<u64> {
                jobs.iter().copied().filter(|job| town.job(*job).runner.is_some()).collect()
            };
            let mut started = BTreeSet::new();
            for _ in 0..240 {
                town.pass(1).await;
                started.extend(begun(&town));
            }
            for job in &started {
                assert_eq!(town.job(*job).conclusion, Some(Conclusion::Success), "scaled down after {moment} s");
            }
            town.change_pool("linux", &json!({ "spec": { "scaling": { "maxReplicas": 4 } } })).await;
            assert!(town.until(600, async |town| town.are_done(&jobs)).await, "{:?}", town.pooled("linux").await);
            town.cleared(300).await;
        });
    }
}

/// ARC #4258: a runner that failed kept its place, and the pool stood still.
#[test]
fn arc_4258_failed_vm_does_not_hold_capacity() {
    World::run(3, async |world| {
        let town = Town::new(&world, "session").await;
        town.pool("linux", 2, |pool| pool["spec"]["lifecycle"]["bootstrapTimeout"] = json!("1m")).await;
        town.yard.guests.without_agent();
        let jobs = town.queue(2, 10.0);
        watch(&town, 90, 3).await;
        assert!(!town.are_done(&jobs));
        town.yard.guests.with_agent();
        assert!(town.until(900, async |town| town.are_done(&jobs)).await, "{:?}", town.pooled("linux").await);
        town.cleared(300).await;
        hold(&world.history(), 2, 1);
    });
}

/// ARC #4632: a platform that does not answer kept machines from being removed.
#[test]
fn arc_4632_vm_removal_does_not_wait_for_the_platform() {
    for mode in ["poll", "session"] {
        removal_does_not_wait_for_the_platform(mode, false);
    }
}

/// Cut off from its platform, a pool that goes by numbers made machines for jobs that were over.
#[test]
fn a_pool_that_is_cut_off_makes_no_machine_for_a_number_that_nobody_confirms() {
    removal_does_not_wait_for_the_platform("session", true);
}

fn removal_does_not_wait_for_the_platform(mode: &str, trusts: bool) {
    World::run(4, async |world| {
        let town = Town::new(&world, mode).await;
        let trust = json!({ "forks": trusts, "publicRepositories": trusts });
        town.pool("linux", 2, |pool| pool["spec"]["trust"] = trust).await;
        let jobs = town.queue(2, 60.0);
        assert!(town.until(300, async |town| town.running(&jobs) == 2).await);
        // The platform has said who has them.
        town.pass(20).await;
        world.partition("operator", "ghes", sim::world::Direction::Both);
        assert!(town.until(120, async |town| town.machines().is_empty()).await, "{:?}", town.claims().await);
        let claims = town.claims().await;
        assert_eq!(claims.len(), 2, "a claim stays until its runner is known to be gone, and none is made: {claims:?}");
        town.pass(300).await;
        assert_eq!((town.machines().len(), town.claims().await.len()), (0, 2));
        world.heal("operator", "ghes");
        town.cleared(300).await;
    });
}

#[test]
fn a_template_that_changes_rolls_idle_runners_and_leaves_busy_ones() {
    World::run(5, async |world| {
        let town = Town::new(&world, "session").await;
        town.pool("linux", 4, |pool| pool["spec"]["scaling"]["minReplicas"] = json!(3)).await;
        assert!(town.until(120, async |town| town.phases().await.get("Ready") == Some(&3)).await);
        let jobs = town.queue(1, 300.0);
        assert!(town.until(60, async |town| town.running(&jobs) == 1).await);
        let resources = json!({ "spec": { "resources": { "cpu": 1, "memory": "2Gi", "disk": "20Gi" } } });
        town.yard.person.merge(&format!("{TEMPLATES}/small"), &resources).await.unwrap();
        let rolled = town.until(600, async |town| {
            let claims = town.claims().await;
            let made_from = |claim: &serde_json::Value| claim["status"]["allocation"]["templateGeneration"].as_i64();
            claims.iter().filter(|claim| made_from(claim) == Some(2) && claim["status"]["phase"] == "Ready").count()
                >= 2
        });
        assert!(rolled.await, "{:?}", town.phases().await);
        assert!(town.until(400, async |town| town.are_done(&jobs)).await);
        assert_eq!(town.job(jobs[0]).conclusion, Some(Conclusion::Success));
        hold(&world.history(), 4, 1);
    });
}

#[test]
fn a_pool_that_is_deleted_takes_its_claims_with_it() {
    World::run(6, async |world| {
        let town = Town::new(&world, "session").await;
        town.pool("linux", 4, |pool| pool["spec"]["scaling"]["minReplicas"] = json!(2)).await;
        assert!(town.until(120, async |town| town.phases().await.get("Ready") == Some(&2)).await);
        town.delete_pool("linux").await;
        town.cleared(300).await;
        assert!(town.until(30, async |town| town.pooled("linux").await.is_null()).await);
    });
}

#[test]
fn p10_an_idle_runner_is_replaced_and_never_lives_too_long() {
    World::run(7, async |world| {
        let town = Town::new(&world, "session").await;
        town.pool("linux", 2, |pool| {
            pool["spec"]["scaling"]["minReplicas"] = json!(1);
            pool["spec"]["lifecycle"] = json!({ "maxLifetime": "5m", "idleTimeout": "2m", "bootstrapTimeout": "5m" });
        })
        .await;
        let mut seen = BTreeSet::new();
        for _ in 0..1_200 {
            town.pass(1).await;
            for claim in town.claims().await {
                seen.insert(claim["metadata"]["uid"].as_str().unwrap().to_owned());
            }
        }
        assert!(seen.len() >= 4, "idle runners are replaced: {seen:?}");
        hold(&world.history(), 2, 1);
    });
}

#[test]
fn at_rest_nothing_is_written() {
    World::run(8, async |world| {
        let town = Town::new(&world, "session").await;
        town.pool("linux", 4, |pool| pool["spec"]["scaling"]["minReplicas"] = json!(1)).await;
        assert!(town.until(120, async |town| town.phases().await.get("Ready") == Some(&1)).await);
        town.pass(120).await;
        let writes = || {
            let counts = |call: &&sim::world::Call| {
                let resource = call.deed.object.resource.as_str();
                call.to == "kube" && !resource.starts_with("leases") && !resource.starts_with("events")
            };
            world.history().writes().filter(counts).count()
        };
        let before = writes();
        town.pass(1_800).await;
        assert_eq!(writes(), before);
    });
}
