//! Queue sessions: one holder, nothing lost when it changes.

use std::time::Duration;

use api::JobState;
use sim::world::World;

use crate::office::{Office, POOLS};

/// Who listens to the pool's queue, as the platform sees it.
fn holder(office: &Office) -> Option<String> {
    office.github.scale_sets().first().and_then(|set| set.session.clone())
}

fn scale_set(office: &Office) -> u64 {
    office.github.scale_sets()[0].id
}

#[test]
fn a_session_tells_of_every_job_and_of_how_many_there_are() {
    World::run(1, async |world| {
        let office = Office::with_source(&world, &["operator"], "session").await;
        assert_eq!(office.ready("ci").await.1, "PlatformReachable");
        office.queue(20);
        office.pass(60).await;
        assert_eq!(office.jobs().await.len(), 20);
        assert!(office.jobs().await.iter().all(|job| {
            job.metadata.labels.as_ref().is_some_and(|labels| labels["hyperfleet.io/runner-pool"] == "gpu")
        }));
    });
}

#[test]
fn class_6_14_when_the_leader_is_killed_another_listens_and_no_job_is_lost() {
    World::run(2, async |world| {
        let office = Office::with_source(&world, &["operator", "replica"], "session").await;
        office.queue(5);
        office.pass(30).await;
        let leader = office.leader().await;
        office.kill(&leader);
        office.queue(5);
        office.pass(60).await;
        // The dead one's session outlives it at the platform, and people can see that.
        assert_eq!(office.ready("ci").await.1, "SessionTaken");
        office.pass(600).await;
        assert_eq!(office.jobs().await.len(), 10);
        assert_eq!(office.ready("ci").await.1, "PlatformReachable");
        assert_ne!(office.leader().await, leader);
    });
}

#[test]
fn a_leader_that_ends_in_order_hands_its_session_over_at_once() {
    World::run(3, async |world| {
        let office = Office::with_source(&world, &["operator", "replica"], "session").await;
        let leader = office.leader().await;
        world.stop(&leader, Duration::from_secs(8)).await;
        office.doors.close(&leader);
        office.queue(3);
        office.pass(60).await;
        assert_eq!(office.jobs().await.len(), 3);
    });
}

#[test]
fn a_session_that_breaks_is_opened_again() {
    World::run(4, async |world| {
        let office = Office::with_source(&world, &["operator"], "session").await;
        for _ in 0..3 {
            office.github.break_session(scale_set(&office));
            office.queue(2);
            office.pass(90).await;
        }
        assert_eq!(office.jobs().await.len(), 6);
        assert_eq!(office.count(JobState::Completed).await, 0);
    });
}

#[test]
fn a_pool_that_goes_is_not_listened_to_any_more() {
    World::run(5, async |world| {
        let office = Office::with_source(&world, &["operator"], "session").await;
        assert!(holder(&office).is_some());
        office.person.delete(&format!("{POOLS}/gpu")).await.unwrap();
        office.pass(30).await;
        assert_eq!(holder(&office), None);
    });
}

#[test]
fn class_6_14_a_job_whose_end_nobody_told_is_asked_about() {
    World::run(6, async |world| {
        let office = Office::with_source(&world, &["operator"], "session").await;
        let runs = office.queue(2);
        office.pass(60).await;
        assert_eq!(office.jobs().await.len(), 2);
        // The service forgets the queue, and with it what it had to say.
        assert!(office.github.forget_scale_set(scale_set(&office)));
        assert!(office.github.cancel(runs[0]));
        office.pass(20 * 60).await;
        assert_eq!(office.count(JobState::Completed).await, 1);
    });
}
