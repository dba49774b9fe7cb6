//! Jobs whose runner or whose machine dies under them.

use std::path::Path;
use std::time::Duration;

use api::{JobResult, JobState, LossClass, RunnerJob};
use serde_json::{Value, json};

use crate::forge::{Forge, Site, soon};
use crate::town::Town;

fn loss_of(job: &RunnerJob) -> Option<LossClass> {
    job.status.as_ref()?.infrastructure_loss.as_ref().map(|loss| loss.class)
}

/// Everybody whose program is this one.
fn running(program: &Path) -> Vec<i32> {
    let ids = std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    ids.filter(|id| std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe == program)).collect()
}

fn kill(id: i32) {
    let id = rustix::process::Pid::from_raw(id).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::KILL).unwrap();
}

/// Gitea itself notices after ten minutes (here: two seconds), calls the job failed, and would leave it at that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_whose_runner_or_machine_was_killed_are_told_from_failed_ones_and_run_again() {
    // What makes Gitea notice ends the jobs of others too.
    let forge = Forge::new(Site::own(Duration::from_secs(2)).await, "lost").await;
    let rerun = |object: &mut Value| {
        if object["kind"] == "RunnerPool" {
            object["spec"]["rerunLostJobs"] = json!(true);
        }
    };
    let (town, operator) = Town::ready(forge, 2, rerun).await;
    let cases = [("runner", LossClass::RunnerDied), ("machine", LossClass::VmGone)];
    for (name, class) in cases {
        town.forge.queue(name).await;
        let place = town.forge.begun(name).await;
        town.job(name, "running", |job| job.status.as_ref().is_some_and(|status| status.claim_ref.is_some())).await;
        let [runner] = running(&town.forge.site.image().program())[..] else { panic!("one runner runs") };
        match class {
            LossClass::RunnerDied => kill(runner),
            // A job's home directory is a part of its machine's, which has its number.
            _ => town.power_off(place.rsplit('/').nth(1).unwrap()).await,
        }
        let job = town.job(name, "lost", |job| loss_of(job) == Some(class)).await;
        let status = job.status.unwrap();
        assert_eq!(status.state, Some(JobState::Running), "Gitea has not noticed");
        let evidence = status.infrastructure_loss.unwrap().evidence;
        let told = town.kubectl(&["describe", "runnerjob", job.metadata.name.as_deref().unwrap()]).await;
        assert!(told.contains("Warning") && told.contains(&evidence), "an event tells of {evidence:?}:\n{told}");

        town.forge.forget(name);
        let again = soon(async || {
            town.forge.gitea().cron("stop_zombie_tasks").await;
            town.forge.place_of(name)
        });
        let again = again.await.is_some();
        assert!(again, "{name} does not run again: {:#?}\n{}", town.jobs_named(name).await, operator.output());
        town.forge.release(name);
        assert_eq!(town.forge.conclusion(name).await, "success");
        town.cleared(&operator).await;
        let jobs = town.jobs_named(name).await;
        let ends: Vec<_> = jobs.iter().map(|job| job.status.as_ref().and_then(|status| status.result)).collect();
        assert_eq!(ends, [Some(JobResult::Failed), Some(JobResult::Succeeded)], "{jobs:#?}");
        assert_eq!((loss_of(&jobs[0]), loss_of(&jobs[1])), (Some(class), None), "{jobs:#?}");
    }
    town.close(operator).await;
}
