//! A push, and everything that follows from it.

use std::collections::BTreeSet;

use kube::ResourceExt;
use testenv::Stopwatch;

use crate::forge::{Forge, Site, soon};
use crate::town::Town;

/// Pushes a workflow of so many jobs, which all run at the same time; each ends well, on a machine of its own.
async fn pushed(organization: &str, count: u32) {
    let forge = Forge::new(Site::shared().await, organization).await;
    let (town, operator) = Town::ready(forge, count, |_| {}).await;
    let names: Vec<String> = (1..=count).map(|number| format!("job-{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let watch = Stopwatch::start();
    town.forge.gitea().push(&town.forge.repository, "ci.yml", &town.forge.workflow("push", &names));
    let places = || -> Vec<String> { names.iter().filter_map(|name| town.forge.place_of(name)).collect() };
    let run = soon(async || (places().len() == names.len()).then_some(())).await.is_some();
    assert!(run, "{} of {count} run\n{:#?}\n{}", places().len(), town.jobs().await, operator.output());
    let begun = watch.elapsed();
    // They all run now, so that no two of them can have had the same machine one after the other.
    let homes: BTreeSet<String> = places().into_iter().collect();
    let machines = town.machines().await;
    assert_eq!((homes.len(), machines.len()), (names.len(), names.len()), "{homes:?} {machines:?}");
    town.forge.release("all");
    for name in &names {
        assert_eq!(town.forge.conclusion(name).await, "success", "{name}\n{}", operator.output());
    }
    town.cleared(&operator).await;
    println!(
        "lane: {count} jobs ran {:.1} s after the push, and nothing is left after {:.1} s",
        begun.as_secs_f64(),
        watch.elapsed().as_secs_f64()
    );
    let known = town.forge.jobs().await;
    let runners: BTreeSet<&str> = known.values().filter_map(|job| job["runner_name"].as_str()).collect();
    assert_eq!(runners.len(), names.len(), "each had a runner of its own: {known:#?}");
    let jobs = town.jobs().await;
    let claims: BTreeSet<&str> =
        jobs.iter().filter_map(|job| Some(job.status.as_ref()?.claim_ref.as_ref()?.name.as_str())).collect();
    assert_eq!((jobs.len(), claims.len()), (names.len(), names.len()), "{jobs:#?}");
    for job in &jobs {
        town.job(job.spec.display_name.as_deref().unwrap(), "over, and well", |job| {
            let status = job.status.clone().unwrap_or_default();
            (status.state, status.result) == (Some(api::JobState::Completed), Some(api::JobResult::Succeeded))
        })
        .await;
        assert!(job.name_any().starts_with("job-"), "{}", job.name_any());
    }
    town.close(operator).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_jobs_of_a_push_run_on_twenty_machines_and_nothing_is_left() {
    pushed("twenty", 20).await;
}
