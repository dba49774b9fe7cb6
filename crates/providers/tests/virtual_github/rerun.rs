//! Jobs that are run again: once, by whichever key they are known, and as soon as GitHub takes it.

use std::time::Duration;

use jiff::Timestamp;
use providers::platform::github::QueueSession;
use providers::platform::{Error, JobKey, JobState, Platform as _, Session as _, SessionOrder};
use rstest::rstest;
use secrecy::ExposeSecret as _;
use sim::github::{Conclusion, JobSpec, JobView, REPOSITORY, Status};

use crate::limits::{mint, order};
use crate::world::{Caller, World, organization};

const ASKED: &str = "POST /repos/{owner}/{repo}/actions/jobs/{job_id}/rerun";

fn fails(name: &str, seconds: f64) -> JobSpec {
    JobSpec { seconds, conclusion: Conclusion::Failure, ..JobSpec::new(name, &["kit"]) }
}

fn wanted() -> SessionOrder {
    let labels = ["self-hosted", "kit"].map(str::to_owned).to_vec();
    SessionOrder { name: "kit".into(), labels, holder: "one".into() }
}

/// What a runner needs to be one.
async fn runner(world: &World, number: usize, sessions: bool) -> String {
    let grant = mint(world, &order(number, sessions.then(wanted))).await.unwrap();
    grant.credential.expose_secret().to_owned()
}

/// The next job that waits, as a session tells of it or a look shows it.
async fn queued(world: &World, session: &mut Option<QueueSession>) -> JobKey {
    loop {
        let jobs = match session {
            Some(session) => {
                let batch = session.next(1).await.unwrap();
                if let Some(message) = batch.message {
                    session.acknowledge(message).await.unwrap();
                }
                batch.jobs
            }
            None => world.github.poll(world.clock.now()).await.unwrap().jobs,
        };
        if let Some(job) = jobs.into_iter().find(|job| job.state == JobState::Queued) {
            return job.key;
        }
    }
}

async fn ended(world: &World, key: &JobKey) -> Timestamp {
    world.github.job(key).await.unwrap().unwrap().ended_at.unwrap()
}

/// The jobs of the newest attempt, by name, and which attempt that is.
fn newest(world: &World) -> (u64, Vec<JobView>) {
    let jobs = world.sim.jobs();
    let attempt = jobs.iter().map(|job| job.attempt).max().unwrap();
    let mut newest: Vec<JobView> = jobs.into_iter().filter(|job| job.attempt == attempt).collect();
    newest.sort_by(|a, b| a.name.cmp(&b.name));
    (attempt, newest)
}

#[rstest]
#[case::of_a_queue_session(true)]
#[case::of_hooks_and_polls(false)]
#[tokio::test(start_paused = true)]
async fn whoever_does_not_know_whether_he_has_asked_may_ask_again_at_any_time(#[case] sessions: bool) {
    let world = World::new(Caller::App, organization(), sessions);
    let mut session = None;
    if sessions {
        session = Some(world.github.open_session(&wanted()).await.unwrap());
    }
    let first = runner(&world, 1, sessions).await;
    world.sim.queue(REPOSITORY, &[fails("tests", 30.0)]).unwrap();
    let key = queued(&world, &mut session).await;
    assert_eq!(world.sim.work(&first).await, Ok(Conclusion::Failure));
    let at = ended(&world, &key).await;
    world.github.rerun(&key, at).await.unwrap();
    let again = queued(&world, &mut session).await;
    assert_ne!(again, key, "another try has a key of its own");
    world.github.rerun(&key, at).await.expect("it waits already");
    let second = runner(&world, 2, sessions).await;
    assert_eq!(world.sim.work(&second).await, Ok(Conclusion::Failure));
    world.github.rerun(&key, at).await.expect("it has had its other try");
    let at = ended(&world, &again).await;
    world.github.rerun(&again, at).await.expect("it was the other try");
    assert_eq!((newest(&world).0, world.sim.count(ASKED)), (2, 1), "{:?}", world.sim.jobs());
}

#[tokio::test(start_paused = true)]
async fn a_job_is_refused_for_now_while_others_of_its_run_go_on() {
    let world = World::new(Caller::App, organization(), false);
    world.sim.queue(REPOSITORY, &[fails("long", 300.0), fails("tests", 30.0)]).unwrap();
    let jobs = world.github.poll(world.clock.now()).await.unwrap().jobs;
    let key = jobs.iter().find(|job| job.display_name.as_deref() == Some("tests")).unwrap().key.clone();
    let (one, other) = (runner(&world, 1, false).await, runner(&world, 2, false).await);
    let asks = async {
        tokio::time::sleep(Duration::from_mins(1)).await;
        let at = ended(&world, &key).await;
        (at, world.github.rerun(&key, at).await)
    };
    let (_, _, (at, early)) = tokio::join!(world.sim.work(&one), world.sim.work(&other), asks);
    let Err(Error::Transient { detail }) = early else {
        panic!("it would be asked for again after a pause: {early:?}")
    };
    assert_eq!(detail, "The workflow run containing this job is already running");
    world.github.rerun(&key, at).await.unwrap();
    let (attempt, jobs) = newest(&world);
    let states: Vec<(&str, Status)> = jobs.iter().map(|job| (job.name.as_str(), job.status)).collect();
    assert_eq!((attempt, states), (2, vec![("long", Status::Completed), ("tests", Status::Queued)]));
}

/// An attempt that was made for another job has a copy of this one, which has not run.
#[tokio::test(start_paused = true)]
async fn a_job_whose_run_was_started_again_for_another_is_still_run_again() {
    let world = World::new(Caller::App, organization(), false);
    world.sim.queue(REPOSITORY, &[fails("lint", 30.0), fails("tests", 30.0)]).unwrap();
    let jobs = world.github.poll(world.clock.now()).await.unwrap().jobs;
    let keys: Vec<JobKey> = ["lint", "tests"]
        .map(|name| jobs.iter().find(|job| job.display_name.as_deref() == Some(name)).unwrap().key.clone())
        .to_vec();
    for number in 1..=2 {
        let one = runner(&world, number, false).await;
        world.sim.work(&one).await.unwrap();
    }
    let ends = [ended(&world, &keys[0]).await, ended(&world, &keys[1]).await];
    world.github.rerun(&keys[0], ends[0]).await.unwrap();
    let one = runner(&world, 3, false).await;
    world.sim.work(&one).await.unwrap();
    world.github.rerun(&keys[1], ends[1]).await.unwrap();
    let (attempt, jobs) = newest(&world);
    let states: Vec<(&str, Status)> = jobs.iter().map(|job| (job.name.as_str(), job.status)).collect();
    assert_eq!((attempt, states), (3, vec![("lint", Status::Completed), ("tests", Status::Queued)]));
}
