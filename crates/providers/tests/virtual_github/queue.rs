//! Queue sessions: lost, handed over, and for hours on end.

use std::time::Duration;

use providers::platform::{Batch, Error, JobState, Mode, Platform as _, Removal, Session, SessionOrder, Statistics};
use secrecy::ExposeSecret as _;
use sim::github::{FaultKind, FaultRule, JobSpec, REPOSITORY};

use crate::limits::{mint, order};
use crate::world::{Caller, World, organization};

fn wanted(holder: &str) -> SessionOrder {
    SessionOrder { name: "pool".into(), labels: vec!["self-hosted".into(), "pool".into()], holder: holder.into() }
}

fn queue(world: &World, count: usize) {
    let jobs: Vec<JobSpec> = (0..count).map(|number| JobSpec::new(format!("job-{number}"), &["pool"])).collect();
    world.sim.queue(REPOSITORY, &jobs).unwrap();
}

async fn news<S: Session>(session: &mut S, capacity: u32) -> Batch {
    for _ in 0..5 {
        let batch = session.next(capacity).await.unwrap();
        if batch.message.is_some() {
            return batch;
        }
    }
    panic!("nothing came");
}

#[tokio::test(start_paused = true)]
async fn r5_4_a_session_that_is_lost_is_said_to_be_and_the_next_one_knows_the_level() {
    let world = World::new(Caller::App, organization(), true);
    let mut session = world.github.open_session(&wanted("one")).await.unwrap();
    assert_eq!(session.statistics(), Statistics::default());
    queue(&world, 3);
    let told = news(&mut session, 5).await;
    assert_eq!((told.jobs.len(), told.statistics), (3, Some(Statistics { jobs: 3, running: 0 })));
    let set = world.sim.scale_sets()[0].id;
    assert!(world.sim.break_session(set));
    let lost = session.next(5).await.unwrap_err();
    assert!(matches!(lost, Error::NotFound { .. }), "{lost}");
    let mut session = world.github.open_session(&wanted("one")).await.unwrap();
    assert_eq!(session.statistics(), Statistics { jobs: 3, running: 0 });
    assert_eq!(news(&mut session, 5).await.jobs, told.jobs, "what was not acknowledged comes again");
}

#[tokio::test(start_paused = true)]
async fn r5_4_a_holder_that_fell_silent_is_replaced_after_a_while() {
    let world = World::new(Caller::App, organization(), true);
    let session = world.github.open_session(&wanted("one")).await.unwrap();
    drop(session);
    let mut waited = Duration::ZERO;
    loop {
        match world.github.open_session(&wanted("two")).await {
            Ok(_) => break,
            Err(Error::Conflict { .. }) => tokio::time::sleep(Duration::from_secs(30)).await,
            Err(error) => panic!("{error}"),
        }
        waited += Duration::from_secs(30);
    }
    assert_eq!(waited, Duration::from_mins(5));
    assert_eq!(world.sim.scale_sets()[0].session.as_deref(), Some("two"));
}

#[tokio::test(start_paused = true)]
async fn r5_4_a_session_lives_for_hours_through_every_token_that_ends() {
    let world = World::new(Caller::App, organization(), true);
    let mut session = world.github.open_session(&wanted("one")).await.unwrap();
    let (began, mut seen) = (world.clock.now(), 0);
    let mut next = began;
    while world.clock.now().duration_since(began) < jiff::SignedDuration::from_hours(3) {
        if world.clock.now() >= next {
            queue(&world, 1);
            next = world.clock.now() + jiff::SignedDuration::from_mins(20);
        }
        let batch = session.next(100).await.unwrap();
        seen += batch.jobs.len();
        if let Some(message) = batch.message {
            session.acknowledge(message).await.unwrap();
        }
    }
    assert_eq!(seen, 9);
    session.close().await.unwrap();
    assert_eq!((world.sim.scale_sets()[0].session.as_deref(), world.sim.scale_sets()[0].unacknowledged), (None, 0));
}

#[tokio::test(start_paused = true)]
async fn a_token_of_the_queue_that_is_refused_is_renewed_and_marks_before_answers_are_read_over() {
    let world = World::new(Caller::App, organization(), true);
    let mut session = world.github.open_session(&wanted("one")).await.unwrap();
    queue(&world, 1);
    world.sim.set_faults(vec![
        FaultRule::new(FaultKind::QueueTokenExpired),
        FaultRule { times: Some(0), ..FaultRule::new(FaultKind::ByteOrderMark) },
    ]);
    assert_eq!(news(&mut session, 1).await.jobs.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_scale_set_that_the_service_forgot_is_made_again() {
    let world = World::new(Caller::App, organization(), true);
    world.github.open_session(&wanted("one")).await.unwrap().close().await.unwrap();
    let old = world.sim.scale_sets()[0].id;
    assert!(world.sim.forget_scale_set(old));
    mint(&world, &order(1, Some(wanted("one")))).await.map(drop).unwrap();
    let sets = world.sim.scale_sets();
    assert!(sets.len() == 1 && sets[0].id != old, "{sets:?}");
}

#[tokio::test(start_paused = true)]
async fn other_labels_make_a_scale_set_anew_unless_it_has_runners() {
    let world = World::new(Caller::App, organization(), true);
    world.github.open_session(&wanted("one")).await.unwrap().close().await.unwrap();
    let grant = mint(&world, &order(1, Some(wanted("one")))).await.unwrap();
    let other = SessionOrder { labels: vec!["gpu".into()], ..wanted("one") };
    let kept = world.github.open_session(&other).await.map(drop).unwrap_err();
    assert!(matches!(kept, Error::Conflict { .. }), "{kept}");
    world.github.deregister(&grant.runner, Mode::IfIdle).await.unwrap();
    world.github.open_session(&other).await.map(drop).unwrap();
    assert_eq!(world.sim.scale_sets().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn c6_4_a_busy_runner_of_a_scale_set_is_never_removed() {
    let world = World::new(Caller::App, organization(), true);
    let mut session = world.github.open_session(&wanted("one")).await.unwrap();
    let grant = mint(&world, &order(1, Some(wanted("one")))).await.unwrap();
    let runner = world.sim.listen(grant.credential.expose_secret()).unwrap();
    queue(&world, 1);
    let told = news(&mut session, 1).await;
    let key = told.jobs[0].key.clone();
    assert!(matches!(runner.next().await, Ok(sim::github::Errand::Run { .. })));
    for mode in [Mode::IfIdle, Mode::Force] {
        assert_eq!(world.github.deregister(&grant.runner, mode).await, Ok(Removal::Busy), "at once, without a lag");
    }
    let asked = world.github.job(&key).await.unwrap().unwrap();
    assert_eq!((asked.state, &asked.key), (JobState::Running, &key), "a job of a queue can be asked for");
    assert_eq!((asked.public, asked.runner), (Some(false), Some(grant.runner.name)));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_not_there_any_more_counts_as_acknowledged() {
    let world = World::new(Caller::App, organization(), true);
    let mut session = world.github.open_session(&wanted("one")).await.unwrap();
    queue(&world, 1);
    let told = news(&mut session, 5).await;
    // Deleted, and the answer lost: whoever deletes it again is told that it is not there.
    let gone = FaultRule { status: Some(404), ..FaultRule::new(FaultKind::Answer) };
    world.fault(gone.on("DELETE", "/messagequeue/"));
    session.acknowledge(told.message.unwrap()).await.unwrap();
    assert_eq!(session.next(5).await.unwrap(), Batch::default(), "it does not come again");
    let set = world.sim.scale_sets()[0].id;
    assert!(world.sim.break_session(set));
    session.acknowledge(told.message.unwrap()).await.unwrap();
    let lost = session.next(5).await.unwrap_err();
    assert!(matches!(lost, Error::NotFound { .. }), "a session that is lost is said to be by the next poll: {lost}");
}
