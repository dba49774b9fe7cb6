//! Deliveries of people who are not the platform.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::stream;
use http::Request;
use sim::world::World;

use crate::office::{HOOK, Office, delivery};

const BODY: &str = r#"{"action":"queued"}"#;

async fn nothing_happened(office: &Office, world: &World, before: usize) {
    assert!(office.jobs().await.is_empty());
    let writes = world.history().writes().filter(|call| call.to == "kube" && !call.target.contains("/leases/")).count();
    assert_eq!(writes, before);
}

fn writes(world: &World) -> usize {
    world.history().writes().filter(|call| call.to == "kube" && !call.target.contains("/leases/")).count()
}

/// What nobody should believe, in turn: a wrong secret, no signature, another's address, changed bytes, half a signature.
fn forged(path: &str, number: u32) -> Request<Body> {
    match number % 5 {
        0 => delivery(path, "a guess", BODY),
        1 => Request::post(path).header("content-type", "application/json").body(Body::from(BODY)).unwrap(),
        2 => delivery("/webhooks/00000000-0000-4000-8000-000000000000", HOOK, BODY),
        3 => {
            let mut request = delivery(path, HOOK, BODY);
            *request.body_mut() = Body::from(r#"{"action":"queueD"}"#);
            request
        }
        _ => {
            let mut request = delivery(path, HOOK, BODY);
            request.headers_mut().insert("x-hub-signature-256", "sha256=".parse().unwrap());
            request
        }
    }
}

/// Something that comes a byte a second and never ends.
fn slow(path: &str) -> Request<Body> {
    let drip = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from_static(b"{")), ()))
    });
    Request::post(path).body(Body::from_stream(drip)).unwrap()
}

#[test]
fn class_6_16_a_flood_of_forged_deliveries_changes_nothing_and_learns_nothing() {
    World::run(1, async |world| {
        let office = Office::with_source(&world, &["operator"], "webhook").await;
        let (path, before) = (office.path().await, writes(&world));
        for number in 0..1_000 {
            let answer = office.doors.knock("operator", forged(&path, number)).await;
            assert_eq!(answer, 401, "{}", number % 5);
        }
        nothing_happened(&office, &world, before).await;
        let refused = office.figure("operator", &["hyperfleet_webhook_events_total"]);
        assert!(refused >= 1_000.0, "{refused} were counted");
    });
}

/// The most memory that this process ever had, in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches("kB").trim().parse().unwrap()
}

/// After a tenth of them the process is as large as it gets: the rest must not make it larger by more than a quarter.
#[test]
#[ignore = "minutes: make soak"]
fn soak_a_hundred_thousand_hostile_deliveries_change_nothing_and_take_no_memory() {
    const COUNT: u32 = 100_000;
    World::run(1, async |world| {
        let office = Office::with_source(&world, &["operator"], "webhook").await;
        let (path, before) = (office.path().await, writes(&world));
        let long = "x".repeat((1 << 20) + 1);
        let mut settled = 0;
        for number in 0..COUNT {
            // The slow ones come first: the world writes down what happens in the time that they take.
            let (request, code) = match number % 1_000 {
                0..10 if number < COUNT / 10 => (slow(&path), 408),
                10..30 => (delivery(&path, HOOK, &long), 413),
                30..130 => (delivery(&path, HOOK, "{"), 400),
                _ => (forged(&path, number), 401),
            };
            assert_eq!(office.doors.knock("operator", request).await, code, "{number}");
            if number == COUNT / 10 {
                settled = peak();
            }
        }
        nothing_happened(&office, &world, before).await;
        let refused = office.figure("operator", &["hyperfleet_webhook_events_total"]);
        assert!(refused >= f64::from(COUNT), "{refused} of {COUNT} were counted");
        println!("{COUNT} hostile deliveries: {settled} KiB at most after a tenth of them, {} KiB after all", peak());
        assert!(peak() * 4 <= settled * 5, "from {settled} KiB to {} KiB", peak());
    });
}

#[test]
fn class_6_16_what_is_too_long_too_slow_or_no_event_is_cut_off() {
    World::run(2, async |world| {
        let office = Office::with_source(&world, &["operator"], "webhook").await;
        let (path, before) = (office.path().await, writes(&world));
        let long = "x".repeat((1 << 20) + 1);
        assert_eq!(office.doors.knock("operator", delivery(&path, HOOK, &long)).await, 413);
        let began = tokio::time::Instant::now();
        assert_eq!(office.doors.knock("operator", slow(&path)).await, 408);
        assert!(began.elapsed() <= Duration::from_secs(11));
        let malformed = office.doors.knock("operator", delivery(&path, HOOK, "{")).await;
        assert_eq!(malformed, 400, "signed, and no JSON");
        let get = Request::get(&path).body(Body::empty()).unwrap();
        assert_eq!(office.doors.knock("operator", get).await, 405);
        nothing_happened(&office, &world, before).await;
    });
}

#[test]
fn a_delivery_that_cannot_be_stored_is_not_answered_with_yes() {
    World::run(3, async |world| {
        let office = Office::with_source(&world, &["operator"], "webhook").await;
        world.partition("operator", "kube", sim::world::Direction::Both);
        office.queue(1);
        office.pass(60).await;
        assert!(office.jobs().await.is_empty());
        let refused = office.figure("operator", &["hyperfleet_webhook_events_total", "queued", "unavailable"]);
        assert!(refused > 0.0, "the platform was told");
        world.calm();
        office.pass(400).await;
        assert_eq!(office.jobs().await.len(), 1);
    });
}
