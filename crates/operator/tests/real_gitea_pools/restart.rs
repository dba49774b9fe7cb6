//! A Gitea that dies and comes back.

use api::{JobResult, RunnerJob};

use crate::forge::{Forge, Site, USUAL};
use crate::town::Town;

fn has_succeeded(job: &RunnerJob) -> bool {
    job.status.as_ref().is_some_and(|status| status.result == Some(JobResult::Succeeded))
}

/// Two jobs run and two wait when Gitea is killed. What it would have told us meanwhile it never tells.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gitea_that_is_killed_and_started_again_loses_no_job() {
    let forge = Forge::new(Site::own(USUAL).await, "restart").await;
    let (town, operator) = Town::ready(forge, 2, |_| {}).await;
    let names = ["one", "two", "three", "four"];
    for name in &names[..2] {
        town.forge.queue(name).await;
        town.forge.begun(name).await;
    }
    for name in &names[2..] {
        town.forge.queue(name).await;
        town.job(name, "known", |_| true).await;
    }
    town.forge.release("one");
    town.forge.gitea().restart().await;
    town.forge.release("all");
    for name in names {
        assert_eq!(town.forge.conclusion(name).await, "success", "{name}\n{}", operator.output());
        town.job(name, "over, and well", has_succeeded).await;
    }
    assert_eq!(town.jobs().await.len(), names.len(), "{:#?}", town.jobs().await);
    town.close(operator).await;
}
