//! Runners and jobs: who gets what, when, and what is left.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use sim::github::{Conclusion, Errand, JobSpec, Limits, PUBLIC_REPOSITORY, REPOSITORY, Refused, Status};
use tokio::time::sleep;

use crate::caller::{Caller, options};

const LABELS: &[&str] = &["self-hosted", "linux", "x64"];

#[tokio::test(start_paused = true)]
async fn a_job_runs_on_a_runner_that_is_gone_afterwards() {
    let caller = Caller::new();
    let (run, jobs) = caller.github.queue(REPOSITORY, &[JobSpec::new("build", &["Self-Hosted", "LINUX"])]).unwrap();
    let (id, blob) = caller.mint("/orgs/acme", "vm-1", LABELS).await;
    let path = format!("/orgs/acme/actions/runners/{id}");
    assert_eq!(caller.get(&path).await.body["status"], "offline");
    assert_eq!(caller.github.work(&blob).await, Ok(Conclusion::Success));
    let job = caller.github.job(jobs[0]).unwrap();
    assert_eq!((job.status, job.runner.as_deref()), (Status::Completed, Some("vm-1")));
    assert_eq!(caller.get(&path).await.status, 404, "a single-use runner goes with its job");
    assert!(caller.github.runners().is_empty());
    let listed = caller.get(&format!("/repos/{REPOSITORY}/actions/runs/{run}/jobs")).await;
    assert_eq!(listed.body["jobs"][0]["conclusion"], "success");
    assert_eq!(caller.github.listen(&blob).err(), Some(Refused::Gone), "a blob is good for one job");
}

#[tokio::test(start_paused = true)]
async fn a_name_is_taken_once_and_labels_are_checked() {
    let caller = Caller::new();
    caller.mint("/orgs/acme", "vm-1", LABELS).await;
    let path = "/orgs/acme/actions/runners/generate-jitconfig";
    let again = caller.call("POST", path, json!({ "name": "VM-1", "runner_group_id": 1, "labels": ["a"] })).await;
    assert_eq!(again.status, 409, "{}", again.body);
    for labels in [json!([]), json!(["a,b"]), json!([" "]), json!("a"), json!(vec!["a"; 101])] {
        let refused =
            caller.call("POST", path, json!({ "name": "vm-2", "runner_group_id": 1, "labels": labels })).await;
        assert_eq!((refused.status, &refused.body["message"]), (422, &json!("Validation Failed")));
    }
    let group = caller.call("POST", path, json!({ "name": "vm-2", "runner_group_id": 77, "labels": ["a"] })).await;
    assert_eq!(group.status, 404);
    assert_eq!(caller.github.runners().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn busy_lags_and_until_then_a_delete_cuts_a_job_off() {
    let caller = Caller::new();
    let long = JobSpec { seconds: 3_600.0, ..JobSpec::new("long", LABELS) };
    let (_, jobs) = caller.github.queue(REPOSITORY, &[long]).unwrap();
    let (id, blob) = caller.mint("/orgs/acme", "vm-1", LABELS).await;
    let listener = caller.github.listen(&blob).unwrap();
    assert!(matches!(listener.next().await, Ok(Errand::Run { .. })));
    let path = format!("/orgs/acme/actions/runners/{id}");
    assert_eq!(caller.get(&path).await.body["busy"], false);
    sleep(Limits::REAL.busy_lag).await;
    assert_eq!(caller.get(&path).await.body["busy"], true);
    assert_eq!(caller.call("DELETE", &path, json!(null)).await.status, 422);

    let (other, blob) = caller.mint("/orgs/acme", "vm-2", LABELS).await;
    let (_, more) = caller.github.queue(REPOSITORY, &[JobSpec::new("short", LABELS)]).unwrap();
    let second = caller.github.listen(&blob).unwrap();
    assert!(matches!(second.next().await, Ok(Errand::Run { .. })));
    assert_eq!(caller.call("DELETE", &format!("/orgs/acme/actions/runners/{other}"), json!(null)).await.status, 204);
    assert_eq!(second.next().await, Err(Refused::Gone));
    sleep(Limits::REAL.lost * 2).await;
    assert_eq!(caller.github.job(more[0]).unwrap().conclusion, Some(Conclusion::Failure));
    // Silent for so long, the first runner has lost its job too.
    assert_eq!(caller.github.job(jobs[0]).unwrap().conclusion, Some(Conclusion::Failure));
}

#[tokio::test(start_paused = true)]
async fn only_a_runner_whose_labels_and_group_fit_gets_a_job() {
    let caller = Caller::new();
    let trusted = JobSpec { group: Some("trusted".to_owned()), ..JobSpec::new("trusted", LABELS) };
    let gpu = JobSpec::new("gpu", &["self-hosted", "gpu"]);
    let (_, jobs) = caller.github.queue(REPOSITORY, &[trusted, gpu]).unwrap();
    let (_, public) = caller.github.queue(PUBLIC_REPOSITORY, &[JobSpec::new("public", LABELS)]).unwrap();
    let (_, blob) = caller.mint("/orgs/acme", "vm-1", LABELS).await;
    let listener = caller.github.listen(&blob).unwrap();
    assert_eq!(listener.next().await, Ok(Errand::Nothing), "nothing fits a runner of the default group");
    for job in jobs.iter().chain(&public) {
        assert_eq!(caller.github.job(*job).unwrap().status, Status::Queued);
    }
    let body = json!({ "name": "vm-2", "runner_group_id": 2, "labels": LABELS });
    let made = caller.call("POST", "/orgs/acme/actions/runners/generate-jitconfig", body).await;
    caller.github.work(made.body["encoded_jit_config"].as_str().unwrap()).await.unwrap();
    assert_eq!(caller.github.job(jobs[0]).unwrap().runner.as_deref(), Some("vm-2"));
    let (_, own) = caller.mint(&format!("/repos/{PUBLIC_REPOSITORY}"), "vm-3", LABELS).await;
    caller.github.work(&own).await.unwrap();
    assert_eq!(caller.github.job(public[0]).unwrap().status, Status::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_run_frees_what_waits_and_stops_what_runs() {
    let caller = Caller::new();
    let long = JobSpec { seconds: 3_600.0, ..JobSpec::new("long", LABELS) };
    let (run, jobs) = caller.github.queue(REPOSITORY, &[long, JobSpec::new("gpu", &["gpu"])]).unwrap();
    let (_, blob) = caller.mint("/orgs/acme", "vm-1", LABELS).await;
    let github = caller.github.clone();
    let (ended, cancelled) = tokio::join!(github.work(&blob), async {
        sleep(Duration::from_secs(30)).await;
        caller.call("POST", &format!("/repos/{REPOSITORY}/actions/runs/{run}/cancel"), json!(null)).await.status
    });
    assert_eq!((ended, cancelled), (Ok(Conclusion::Cancelled), 202));
    for job in jobs {
        assert_eq!(caller.github.job(job).unwrap().conclusion, Some(Conclusion::Cancelled));
    }
    let again = caller.call("POST", &format!("/repos/{REPOSITORY}/actions/runs/{run}/cancel"), json!(null)).await;
    assert_eq!(again.status, 409);
}

#[tokio::test(start_paused = true)]
async fn a_rerun_is_a_new_attempt_with_new_jobs() {
    let caller = Caller::new();
    let failing = JobSpec { conclusion: Conclusion::Failure, ..JobSpec::new("tests", LABELS) };
    let (run, _) = caller.github.queue(REPOSITORY, &[JobSpec::new("build", LABELS), failing]).unwrap();
    let path = format!("/repos/{REPOSITORY}/actions/runs/{run}");
    assert_eq!(caller.call("POST", &format!("{path}/rerun"), json!(null)).await.status, 403, "it has not ended");
    for name in ["vm-1", "vm-2"] {
        let (_, blob) = caller.mint("/orgs/acme", name, LABELS).await;
        caller.github.work(&blob).await.unwrap();
    }
    assert_eq!(caller.get(&path).await.body["conclusion"], "failure");
    assert_eq!(caller.call("POST", &format!("{path}/rerun-failed-jobs"), json!(null)).await.status, 201);
    let listed = caller.get(&format!("{path}/jobs")).await;
    let states: Vec<(&str, &str)> = listed.body["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| (job["name"].as_str().unwrap(), job["status"].as_str().unwrap()))
        .collect();
    assert_eq!(states, [("build", "completed"), ("tests", "queued")]);
    assert_eq!(caller.get(&path).await.body["run_attempt"], 2);
    assert_eq!(caller.get(&format!("{path}/jobs?filter=all")).await.body["total_count"], 4);
    let queued = caller.get(&format!("/repos/{REPOSITORY}/actions/runs?status=in_progress")).await;
    assert_eq!(queued.body["total_count"], 1, "a run with a job that waits and one that is over is in progress");
}

#[tokio::test(start_paused = true)]
async fn a_job_ends_at_its_time_limit_and_in_the_queue_after_a_day() {
    let caller = Caller::new();
    let slow = JobSpec { seconds: 3_600.0, timeout_seconds: Some(60.0), ..JobSpec::new("slow", LABELS) };
    let (_, jobs) = caller.github.queue(REPOSITORY, &[slow, JobSpec::new("gpu", &["gpu"])]).unwrap();
    let (_, blob) = caller.mint("/orgs/acme", "vm-1", LABELS).await;
    caller.github.work(&blob).await.unwrap();
    assert_eq!(caller.github.job(jobs[0]).unwrap().conclusion, Some(Conclusion::TimedOut));
    sleep(Limits::REAL.queue.saturating_sub(Duration::from_mins(10))).await;
    assert_eq!(caller.github.job(jobs[1]).unwrap().status, Status::Queued);
    sleep(Duration::from_mins(10)).await;
    assert_eq!(caller.github.job(jobs[1]).unwrap().conclusion, Some(Conclusion::Cancelled));
}

#[tokio::test(start_paused = true)]
async fn an_offer_that_a_dead_runner_holds_goes_to_another() {
    let caller = Caller::over(sim::github::Options { any_runner: false, ..options() });
    let (_, blob) = caller.mint("/orgs/acme", "dead", LABELS).await;
    let dead = caller.github.listen(&blob).unwrap();
    let (_, jobs) = caller.github.queue(REPOSITORY, &[JobSpec::new("build", LABELS)]).unwrap();
    let (_, blob) = caller.mint("/orgs/acme", "alive", LABELS).await;
    let began = tokio::time::Instant::now();
    caller.github.work(&blob).await.unwrap();
    assert!(began.elapsed() >= Limits::REAL.offline, "the dead runner was believed in for a while");
    assert_eq!(caller.github.job(jobs[0]).unwrap().runner.as_deref(), Some("alive"));
    drop(dead);
    assert_eq!(caller.github.runners().iter().map(|runner| runner.online).collect::<Vec<_>>(), [false]);
    sleep(Limits::REAL.ephemeral_expiry).await;
    assert!(caller.github.runners().is_empty(), "a registration that nobody uses is forgotten after a day");
}

#[tokio::test(start_paused = true)]
async fn a_second_session_of_a_registration_is_a_conflict() {
    let caller = Caller::new();
    let (_, blob) = caller.mint("/orgs/acme", "vm-1", LABELS).await;
    let first = caller.github.listen(&blob).unwrap();
    assert_eq!(caller.github.listen(&blob).err(), Some(Refused::Conflict));
    first.leave();
    assert!(caller.github.listen(&blob).is_ok());
}

#[tokio::test(start_paused = true)]
async fn labels_of_a_runner_are_changed_one_by_one_or_all_at_once() {
    let caller = Caller::new();
    let (id, _) = caller.mint("/orgs/acme", "vm-1", &["self-hosted", "gpu"]).await;
    let path = format!("/orgs/acme/actions/runners/{id}/labels");
    assert_eq!(caller.call("POST", &path, json!({ "labels": ["big"] })).await.body["total_count"], 3);
    assert_eq!(caller.call("DELETE", &format!("{path}/gpu"), json!(null)).await.status, 200);
    assert_eq!(caller.call("DELETE", &format!("{path}/gpu"), json!(null)).await.status, 404);
    assert_eq!(caller.call("DELETE", &format!("{path}/self-hosted"), json!(null)).await.status, 422);
    let set = caller.call("PUT", &path, json!({ "labels": ["small"] })).await;
    let names: Vec<&str> =
        set.body["labels"].as_array().unwrap().iter().map(|label| label["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["self-hosted", "small"]);
}

#[tokio::test(start_paused = true)]
async fn lists_come_in_pages_that_link_to_each_other() {
    let caller = Caller::new();
    for number in 0..5 {
        caller.mint("/orgs/acme", &format!("vm-{number}"), LABELS).await;
    }
    let (mut path, mut names, mut pages) = ("/orgs/acme/actions/runners?per_page=2".to_owned(), Vec::new(), 0);
    loop {
        let page = caller.get(&path).await;
        assert_eq!(page.body["total_count"], 5);
        let runners = page.body["runners"].as_array().unwrap().clone();
        names.extend(runners.iter().map(|runner| runner["name"].as_str().unwrap().to_owned()));
        pages += 1;
        let next = page.header("link").split(", ").find(|link| link.ends_with("rel=\"next\"")).map(|link| {
            let address = link.trim_start_matches('<').split('>').next().unwrap();
            address.trim_start_matches("https://api.github.com").to_owned()
        });
        match next {
            Some(next) => path = next,
            None => break,
        }
    }
    assert_eq!((pages, names), (3, (0..5).map(|number| format!("vm-{number}")).collect()));
    let one = caller.get("/orgs/acme/actions/runners?name=vm-3").await;
    assert_eq!(one.body["total_count"], 1);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_jobs_find_a_thousand_runners() {
    let rates = sim::github::Rates { core: None, ..Limits::REAL.rates };
    let limits = Limits { rates, ..Limits::REAL };
    let caller = Caller::over(sim::github::Options { limits, ..options() });
    let specs: Vec<JobSpec> = (0..1_000).map(|number| JobSpec::new(format!("job-{number}"), LABELS)).collect();
    caller.github.queue(REPOSITORY, &specs).unwrap();
    let mut blobs = Vec::new();
    for number in 0..1_000 {
        blobs.push(caller.mint("/orgs/acme", &format!("vm-{number}"), LABELS).await.1);
    }
    let ended = futures::future::join_all(blobs.iter().map(|blob| caller.github.work(blob))).await;
    assert!(ended.iter().all(|ended| *ended == Ok(Conclusion::Success)));
    assert!(caller.github.runners().is_empty());
}

fn run_virtually<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(test);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever jobs and runners there are: each job runs once, on a runner that covers it, and nothing is left.
    #[test]
    fn every_job_runs_once_on_a_runner_of_its_own(
        seed in 0_u64..1_000,
        kinds in proptest::collection::vec(0_usize..3, 1..12),
        seconds in 1_u32..300,
    ) {
        run_virtually(async move {
            let caller = Caller::over(sim::github::Options { seed, ..options() });
            let labels = [&["a"][..], &["a", "b"][..], &["b", "c"][..]];
            let specs: Vec<JobSpec> = kinds
                .iter()
                .map(|kind| JobSpec { seconds: f64::from(seconds), ..JobSpec::new("job", labels[*kind]) })
                .collect();
            let (_, jobs) = caller.github.queue(REPOSITORY, &specs).unwrap();
            // Any job fits any of these runners, so that none can take another's last chance.
            let mut blobs = Vec::new();
            for number in 0..jobs.len() {
                blobs.push(caller.mint("/orgs/acme", &format!("vm-{number}"), &["a", "b", "c"]).await.1);
            }
            let ended = futures::future::join_all(blobs.iter().map(|blob| caller.github.work(blob))).await;
            assert!(ended.iter().all(|ended| *ended == Ok(Conclusion::Success)), "{ended:?}");
            let mut runners: Vec<String> = caller.github.jobs().into_iter().map(|job| job.runner.unwrap()).collect();
            runners.sort();
            runners.dedup();
            assert_eq!(runners.len(), jobs.len());
            assert!(caller.github.runners().is_empty());
        });
    }
}
