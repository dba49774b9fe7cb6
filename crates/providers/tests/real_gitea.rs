//! Gitea as a platform, held to a real server and real runners.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::wildcard_enum_match_arm, reason = "a test names what it expects")]

#[path = "gitea/bench.rs"]
mod bench;
#[path = "gitea/ground.rs"]
mod ground;
#[path = "gitea/machine.rs"]
mod machine;
#[path = "gitea/receiver.rs"]
mod receiver;

use std::time::Duration;

use providers::attestor::{self, Attested, Expected, Shown};
use providers::platform::kit::{Kit, Outcome};
use providers::platform::{
    Grant, Hint, Hook, Job, JobResult, JobState, Mode, Platform, Removal, Runner, RunnerOrder, RunnerState,
};
use testenv::eventually;

use bench::GiteaBench;
use ground::{Ground, SECRET, SOON, now};
use machine::Machine;

const MACHINE: &str = "5e3c1b6a-0000-4000-8000-000000000001";

fn labels() -> Vec<String> {
    vec!["hyperfleet".to_owned()]
}

fn proven() -> Attested {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let expected = Expected { token_hash: hash, key_hash: hash, machine: MACHINE };
    let shown = Shown { token_hash: hash, key_hash: hash, machine: MACHINE };
    attestor::join_token(&expected, &shown).expect("it is what is expected")
}

async fn mint(ground: &Ground) -> Grant {
    let name = format!("hf-0a1b2c3d-{}", ground.repository.replace('/', "-"));
    let order = RunnerOrder { name, labels: labels(), session: None, machine: MACHINE.to_owned() };
    ground.platform.mint(&order, &proven(), now()).await.expect("a registration")
}

/// What the server told the hook of, in the order in which it came.
async fn told(ground: &Ground, least: usize) -> Vec<Job> {
    let deliveries = ground.receiver.deliveries(least).await;
    let read = |delivery: &providers::platform::kit::Delivery| {
        let verified = ground.platform.verify(&delivery.headers, &delivery.body, &[SECRET.into()]);
        ground.platform.parse(&verified.expect("it is signed"))
    };
    let job = |hint| match hint {
        Hint::Job(job) => *job,
        other => panic!("it tells of a job: {other:?}"),
    };
    deliveries.iter().flat_map(read).map(job).collect()
}

async fn done(ground: &Ground, job: &Job) -> Job {
    eventually("the job is done", SOON, async || {
        let job = ground.platform.job(&job.key).await.expect("an answer").expect("the job is known");
        matches!(job.state, JobState::Done(_)).then_some(job)
    })
    .await
}

#[tokio::test]
async fn a_real_gitea_passes_the_kit() {
    let ground = Ground::new("kit").await;
    let report = Kit::new(&ground.platform, &GiteaBench::new(&ground)).run().await;
    println!("{report}");
    let of = |is: fn(&Outcome) -> bool| -> Vec<&str> {
        report.entries.iter().filter(|entry| is(&entry.outcome)).map(|entry| entry.case).collect()
    };
    assert_eq!(of(|outcome| matches!(outcome, Outcome::Failed(_))), [""; 0], "{}", ground.server.log());
    let skipped = of(|outcome| matches!(outcome, Outcome::Skipped(_)));
    assert_eq!(skipped, ["recovery", "busy-runner", "one-holder", "at-least-once", "queue-runner"]);
    assert_eq!(report.residue, [""; 0]);
}

#[tokio::test]
async fn a_job_is_the_same_one_by_hook_and_poll_from_the_queue_to_its_end_and_again() {
    let ground = Ground::new("life").await;
    ground.queue(&labels()).await;
    let queued = ground.only_job(JobState::Queued).await;
    assert_eq!(told(&ground, 1).await, std::slice::from_ref(&queued), "hook and poll say the same");

    let grant = mint(&ground).await;
    let machine = Machine::start(&ground.platform.plan(&grant)).await;
    let running = ground.only_job(JobState::Running).await;
    assert_eq!((&running.key, running.runner.as_deref()), (&queued.key, Some(grant.runner.name.as_str())));
    eventually("the runner says that it has a job", SOON, async || machine.is_busy().then_some(())).await;
    assert_eq!(ground.platform.deregister(&grant.runner, Mode::IfIdle).await, Ok(Removal::Busy));

    assert_eq!(machine.finish().await.code(), Some(0));
    let ended = done(&ground, &queued).await;
    assert_eq!((ended.state, &ended.key), (JobState::Done(JobResult::Succeeded), &queued.key));
    assert_eq!(told(&ground, 2).await.last(), Some(&ended), "hook and look say the same");
    assert_eq!(ground.platform.state(&grant.runner).await, Ok(RunnerState::Gone), "one job, and the row is gone");
    assert_eq!(ground.platform.deregister(&grant.runner, Mode::IfIdle).await, Ok(Removal::Gone));

    ground.platform.rerun(&queued.key, ended.ended_at.expect("it says when")).await.expect("it runs again");
    let again = ground.only_job(JobState::Queued).await;
    assert_eq!((&again.key, again.queued_at), (&queued.key, None));
    for run in ground.server.unfinished_runs(&ground.repository).await {
        ground.server.cancel(&ground.repository, run).await;
    }
    let cancelled = done(&ground, &queued).await;
    assert_eq!((cancelled.state, cancelled.runner), (JobState::Done(JobResult::Cancelled), None));
    assert!(told(&ground, 2).await.iter().all(|job| job.key == queued.key));
}

#[tokio::test]
async fn a_drained_runner_takes_no_job_and_an_idle_one_stays_until_it_is_removed() {
    let ground = Ground::new("idle").await;
    let grant = mint(&ground).await;
    let machine = Machine::start(&ground.platform.plan(&grant)).await;
    assert_eq!(ground.platform.state(&grant.runner).await, Ok(RunnerState::Idle));
    assert_eq!(ground.platform.drain(&grant.runner).await, Ok(Removal::Drained));
    ground.queue(&labels()).await;
    // It asks for a job every second.
    tokio::time::sleep(Duration::from_millis(2500)).await;
    ground.only_job(JobState::Queued).await;
    assert!(!machine.is_busy());
    assert_eq!(machine.drain().await.code(), Some(0));
    assert_ne!(ground.platform.state(&grant.runner).await, Ok(RunnerState::Gone), "Gitea never removes it");
    let lost = Runner { id: None, ..grant.runner.clone() };
    assert_eq!(ground.platform.deregister(&lost, Mode::IfIdle).await, Ok(Removal::Gone));
    assert_eq!(ground.platform.state(&grant.runner).await, Ok(RunnerState::Gone));
}

#[tokio::test]
async fn a_job_that_was_cancelled_or_whose_runner_died_is_over_although_nobody_told_the_runner() {
    let ground = Ground::new("loss").await;
    let run = ground.queue(&labels()).await;
    let grant = mint(&ground).await;
    let machine = Machine::start(&ground.platform.plan(&grant)).await;
    let running = ground.only_job(JobState::Running).await;
    ground.server.cancel(&ground.repository, run).await;
    assert_eq!(done(&ground, &running).await.state, JobState::Done(JobResult::Cancelled));
    assert_eq!(ground.platform.state(&grant.runner).await, Ok(RunnerState::Gone), "the row goes at once");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(!machine.has_ended(), "whoever owns the machine must end it");
    machine.kill();

    ground.queue(&labels()).await;
    let grant = mint(&ground).await;
    let machine = Machine::start(&ground.platform.plan(&grant)).await;
    let running = ground.only_job(JobState::Running).await;
    machine.kill();
    let failed = eventually("the server gives up on it", SOON, async || {
        ground.server.cron("stop_zombie_tasks").await;
        let job = ground.platform.job(&running.key).await.expect("an answer").expect("the job is known");
        matches!(job.state, JobState::Done(_)).then_some(job)
    });
    assert_eq!(failed.await.state, JobState::Done(JobResult::Failed));
    assert_eq!(ground.platform.state(&grant.runner).await, Ok(RunnerState::Gone));
}
