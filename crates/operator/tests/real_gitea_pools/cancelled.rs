//! Jobs that somebody cancels.

use api::{JobResult, JobState, RunnerJob};

use crate::forge::{Forge, Site, soon};
use crate::town::Town;

fn is_cancelled(job: &RunnerJob) -> bool {
    let status = job.status.clone().unwrap_or_default();
    (status.state, status.result) == (Some(JobState::Completed), Some(JobResult::Cancelled))
}

/// One job runs and one waits, because the pool may have one machine: the one that waits is cancelled and never gets any;
/// then the one that runs, whose runner would go on for minutes because Gitea does not tell it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancelled_job_has_no_machine_whether_it_waited_or_ran() {
    let forge = Forge::new(Site::shared().await, "cancelled").await;
    let (town, operator) = Town::ready(forge, 1, |_| {}).await;
    let running = town.forge.queue("runs").await;
    town.forge.begun("runs").await;
    let waiting = town.forge.queue("waits").await;
    town.job("waits", "known", |job| job.status.is_some()).await;

    town.forge.gitea().cancel(&town.forge.repository, waiting).await;
    let job = town.job("waits", "cancelled", is_cancelled).await;
    let status = job.status.unwrap();
    assert_eq!((status.claims_made, status.claim_ref), (None, None), "no machine was made for it");
    assert_eq!(town.machines().await.len(), 1, "the other one's");

    town.job("runs", "running", |job| job.status.as_ref().is_some_and(|status| status.claim_ref.is_some())).await;
    town.forge.gitea().cancel(&town.forge.repository, running).await;
    town.job("runs", "cancelled", is_cancelled).await;
    town.cleared(&operator).await;
    assert_eq!(town.forge.conclusion("runs").await, "cancelled");
    town.close(operator).await;
}

/// A machine is being made for it, or waits for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_cancelled_while_its_machine_is_made_leaves_no_machine_and_no_runner() {
    let forge = Forge::new(Site::shared().await, "early").await;
    let (town, operator) = Town::ready(forge, 2, |_| {}).await;
    town.forge.prepare("early").await;
    let run = town.forge.start("early").await;
    soon(async || (!town.claims().await.is_empty()).then_some(())).await.expect("a claim is made for it");
    town.forge.gitea().cancel(&town.forge.repository, run).await;
    town.job("early", "cancelled", is_cancelled).await;
    town.close(operator).await;
}
