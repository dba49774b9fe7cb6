//! Every mode learns of every job, whatever gets lost.

use api::JobState;
use sim::github::{HookWeather, PERSONAL_TOKEN};
use sim::world::{World, across, seeds};

use crate::office::{Office, POOLS, SOURCES};

/// Queues jobs, waits, cancels some, waits: every job has one object, in the right state.
async fn every_job_is_known_once(office: &Office, wait: u64) {
    let runs = office.queue(20);
    office.pass(wait).await;
    let jobs = office.jobs().await;
    let mut keys: Vec<&str> = jobs.iter().map(|job| job.spec.key.as_str()).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((jobs.len(), keys.len()), (20, 20), "one object for each job");
    assert_eq!(office.count(JobState::Completed).await, 0);
    for run in &runs[..5] {
        assert!(office.github.cancel(*run));
    }
    office.pass(wait).await;
    assert_eq!((office.count(JobState::Completed).await, office.jobs().await.len()), (5, 20));
}

#[test]
fn jobs_of_a_poll_are_known_within_its_period() {
    World::run(1, async |world| {
        let office = Office::with_source(&world, &["operator"], "poll").await;
        assert_eq!(office.ready("ci").await.1, "PlatformReachable");
        every_job_is_known_once(&office, 130).await;
        assert!(office.figure("operator", &["hyperfleet_demand_snapshot_age_seconds", "default/ci"]) < 120.0);
        assert!(office.figure("operator", &["hyperfleet_source_up", "default/ci"]) > 0.0);
    });
}

#[test]
fn jobs_of_a_webhook_are_known_within_seconds() {
    World::run(2, async |world| {
        let office = Office::with_source(&world, &["operator"], "webhook").await;
        every_job_is_known_once(&office, 5).await;
        assert!(office.figure("operator", &["hyperfleet_webhook_events_total", "queued"]) >= 20.0);
    });
}

#[test]
fn class_6_1_with_every_webhook_lost_polling_finds_every_job() {
    World::run(3, async |world| {
        let office = Office::with_source(&world, &["operator"], "webhook").await;
        office.github.set_weather(HookWeather { lose: 1.0, ..HookWeather::default() });
        every_job_is_known_once(&office, 130).await;
    });
}

#[test]
fn class_6_1_deliveries_that_failed_are_asked_for() {
    World::run(4, async |world| {
        let office = Office::with_source(&world, &["operator"], "webhook").await;
        office.github.set_weather(HookWeather { fail: 1.0, ..HookWeather::default() });
        every_job_is_known_once(&office, 310).await;
    });
}

#[test]
fn class_6_1_with_webhooks_lost_doubled_and_late_every_job_is_known_once() {
    let runs = across(&seeds(10, 12), |seed| {
        World::run(seed, async |world| {
            let office = Office::with_source(&world, &["operator", "replica"], "webhook").await;
            let weather = HookWeather { lose: 0.3, duplicate: 0.3, delay_seconds: 20.0, ..HookWeather::default() };
            office.github.set_weather(weather);
            every_job_is_known_once(&office, 160).await;
        });
    });
    println!("{} worlds with webhooks lost, doubled and late", runs.len());
}

#[test]
fn at_rest_nothing_is_written() {
    for mode in ["poll", "webhook", "session"] {
        World::run(5, async |world| {
            let office = Office::with_source(&world, &["operator"], mode).await;
            office.queue(3);
            office.pass(300).await;
            let before = writes(&world);
            office.pass(3_600).await;
            assert_eq!(writes(&world) - before, 0, "{mode}");
        });
    }
}

/// Writes but for renewals of the lease.
fn writes(world: &World) -> usize {
    world.history().writes().filter(|call| call.to == "kube" && !call.target.contains("/leases/")).count()
}

#[test]
fn a_source_stays_while_a_pool_takes_jobs_from_it() {
    World::run(6, async |world| {
        let office = Office::with_source(&world, &["operator"], "poll").await;
        office.person.delete(&format!("{SOURCES}/ci")).await.unwrap();
        office.pass(10).await;
        let (status, reason, message) = office.condition("ci", "InUse").await;
        assert_eq!((status.as_str(), reason.as_str()), ("True", "InUse"));
        assert!(message.contains("default/gpu"), "{message}");
        office.person.delete(&format!("{POOLS}/gpu")).await.unwrap();
        office.pass(10).await;
        assert!(office.person.get(&format!("{SOURCES}/ci")).await.is_err());
        office.queue(1);
        office.pass(200).await;
        assert!(office.jobs().await.is_empty(), "nobody listens any more");
    });
}

#[test]
fn a_platform_that_we_have_no_client_of_is_said_to_be_unsupported() {
    World::run(7, async |world| {
        let office = Office::new(&world, &["operator"]).await;
        office.secret("ci", PERSONAL_TOKEN).await;
        let key = serde_json::json!({ "name": "ci", "key": "token" });
        office
            .source("ci", "poll", |object| {
                object["spec"]["platform"] = "forgejo".into();
                object["spec"].as_object_mut().unwrap().remove("github");
                object["spec"]["forgejo"] =
                    serde_json::json!({ "scope": { "instance": true }, "credentials": { "token": key } });
            })
            .await;
        office.pass(10).await;
        let (status, _, message) = office.ready("ci").await;
        assert_eq!(status, "False");
        assert!(message.contains("not supported by this version"), "{message}");
    });
}

#[test]
fn a_source_made_anew_under_its_name_is_connected_anew() {
    World::run(8, async |world| {
        let office = Office::new(&world, &["operator"]).await;
        office.secret("ci", PERSONAL_TOKEN).await;
        for _ in 0..3 {
            office.source("ci", "poll", |_| {}).await;
            office.pass(5).await;
            assert_eq!(office.ready("ci").await.0, "True");
            office.person.delete(&format!("{SOURCES}/ci")).await.unwrap();
            while office.person.get(&format!("{SOURCES}/ci")).await.is_ok() {
                world.pass(std::time::Duration::from_millis(10)).await;
            }
        }
        office.source("ci", "poll", |_| {}).await;
        office.queue(2);
        office.pass(130).await;
        assert_eq!((office.ready("ci").await.0.as_str(), office.jobs().await.len()), ("True", 2));
    });
}
