//! Jobs that are told of once, twice, again or not at all.

use api::{JobResult, JobState, RunnerJob};
use http::Method;
use serde_json::Value;

use crate::forge::{Forge, Site, soon};
use crate::town::Town;

fn has_succeeded(job: &RunnerJob) -> bool {
    let status = job.status.clone().unwrap_or_default();
    (status.state, status.result) == (Some(JobState::Completed), Some(JobResult::Succeeded))
}

/// Gitea delivers once and never again, and nobody is there: what is not heard is found in the list of jobs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_whose_deliveries_nobody_heard_are_found_in_the_list_and_served() {
    let forge = Forge::new(Site::shared().await, "unheard").await;
    let town = Town::new(forge).await;
    let operator = town.operator(false);
    town.settle_in(3, |_| {}).await;
    town.forge.release("all");
    let names = ["one", "two", "three"];
    town.forge.gitea().push(&town.forge.repository, "ci.yml", &town.forge.workflow("push", &names));
    for name in names {
        assert_eq!(town.forge.conclusion(name).await, "success", "{}", operator.output());
        town.job(name, "over, and well", has_succeeded).await;
    }
    assert_eq!(town.jobs().await.len(), names.len());
    town.close(operator).await;
}

/// Waits until the list of jobs was read: until something is known that no hook tells of.
async fn polled(town: &Town, scopes: &[&str]) {
    let gitea = town.forge.gitea();
    gitea.silence(scopes, true).await;
    let text = "on: workflow_dispatch\njobs:\n  unheard:\n    runs-on: [nowhere]\n    steps: [{ run: 'true' }]\n";
    if town.jobs_named("unheard").await.is_empty() {
        gitea.workflow(&town.forge.repository, "unheard.yml", text).await;
    }
    let known = town.jobs_named("unheard").await.len();
    let run = gitea.dispatch(&town.forge.repository, "unheard.yml").await;
    let found = soon(async || (town.jobs_named("unheard").await.len() > known).then_some(())).await;
    assert!(found.is_some(), "nobody reads the list of jobs");
    gitea.silence(scopes, false).await;
    gitea.cancel(&town.forge.repository, run).await;
}

/// Each delivery comes by the hooks of organization and repository, and the list of jobs is read all the time; afterwards
/// the job runs again under the same number.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_told_of_by_two_hooks_and_by_polls_is_one_object_and_its_rerun_another() {
    let forge = Forge::new(Site::shared().await, "rerun").await;
    let (town, operator) = Town::ready(forge, 2, |_| {}).await;
    let (organization, repository) =
        (format!("orgs/{}", town.forge.organization), format!("repos/{}", town.forge.repository));
    town.hook(&repository).await;
    let run = town.forge.queue("again").await;
    let first = town.forge.begun("again").await;
    polled(&town, &[&organization, &repository]).await;
    assert_eq!(town.jobs_named("again").await.len(), 1);
    town.forge.release("again");
    assert_eq!(town.forge.conclusion("again").await, "success");
    town.job("again", "over, and well", has_succeeded).await;
    town.cleared(&operator).await;

    town.forge.forget("again");
    let path = format!("/repos/{}/actions/runs/{run}/rerun", town.forge.repository);
    town.forge.gitea().call(Method::POST, &path, &Value::Null).await;
    let second = town.forge.begun("again").await;
    assert_ne!(first, second, "it runs on another machine");
    polled(&town, &[&organization, &repository]).await;
    town.forge.release("again");
    assert_eq!(town.forge.conclusion("again").await, "success");
    town.cleared(&operator).await;
    town.job("again", "over, and well", has_succeeded).await;
    let jobs = town.jobs_named("again").await;
    assert_eq!(jobs.len(), 2, "{jobs:#?}");
    assert!(jobs.iter().all(has_succeeded) && jobs[0].spec.key == jobs[1].spec.key, "{jobs:#?}");
    town.close(operator).await;
}
