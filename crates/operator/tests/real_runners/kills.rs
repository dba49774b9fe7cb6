//! Two replicas that die at random while jobs run: no job is lost, none is killed, and nothing is left.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use testenv::{Program, Signal};

use crate::history::{each_on_its_own, hold};
use crate::works::{SOON, Works};

/// A row of numbers that look thrown, the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Jobs come in batches while replicas are killed; afterwards every job has succeeded on its own machine.
async fn killed(jobs: usize, max: u32, kills: u64) {
    let works = Works::new("kills", 2).await;
    let mut replicas = [works.operator(0), works.operator(1)];
    works.by_session(max).await;
    let (mut dice, mut queued) = (Dice(jobs as u64), Vec::new());
    for kill in 0..kills {
        let rest = jobs - queued.len();
        let batch = if kill + 1 == kills { rest } else { rest.min(1 + jobs / usize::try_from(kills).unwrap()) };
        queued.extend(works.queue(batch, f64::from(1 + u32::try_from(dice.below(4)).unwrap())).await);
        tokio::time::sleep(Duration::from_millis(300 + dice.below(3_500))).await;
        let dies = usize::try_from(dice.below(2)).unwrap();
        replicas[dies].kill();
        tokio::time::sleep(Duration::from_millis(dice.below(2_500))).await;
        replicas[dies] = works.operator(dies);
    }
    let said = || replicas.iter().map(Program::output).collect::<Vec<_>>().join("\n=== the other one\n");
    works.done(&queued, said).await;
    works.cleared(said).await;
    each_on_its_own(&works, &queued, usize::try_from(kills).unwrap()).await;
    let terminating = usize::try_from(max / 4).unwrap().max(1);
    let made = hold(&works, max as usize, terminating).await;
    let leases: Api<Lease> = Api::namespaced(works.town.plane.client(), &works.town.namespace);
    let lease = leases.get("hyperfleet-fleet").await.unwrap().spec.unwrap();
    let changes = lease.lease_transitions.unwrap_or(0);
    println!("lane: {jobs} jobs lived through {kills} kills and {changes} changes of leader on {made} machines");
    assert!(changes > 0, "no leader was killed: {lease:?}");
    for replica in &replicas {
        replica.signal(Signal::Terminate);
        assert!(replica.wait(SOON).await.success(), "{}", replica.output());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p6_p9_replicas_killed_at_random_lose_no_job_and_kill_none() {
    killed(15, 6, 4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: make soak"]
async fn soak_two_hundred_jobs_with_replicas_killed_at_random() {
    killed(200, 24, 40).await;
}
