//! A whole operator process and what can go wrong around it: it keeps working and says what it waits for.

#![allow(missing_docs, unreachable_pub, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "../examples/lamps/lamp.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod lamp;
#[path = "lamps/room.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod room;
#[path = "lamps/worker.rs"]
#[allow(dead_code, reason = "each test uses its part")]
mod worker;

use std::time::Duration;

use room::{Room, lenient_crd};
use serde_json::json;
use testenv::{ControlPlane, Options, Signal, eventually};
use worker::Worker;

const SOON: Duration = Duration::from_secs(40);

/// Without its CRD the process is alive, not ready, and names the CRD; once it is there, work begins by itself. When
/// the API server restarts, the process says so and goes on where it was.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_2_a_missing_crd_and_a_restarted_server_are_waited_for_by_name() {
    let plane = ControlPlane::start(Options::default()).await;
    let room = Room::without_crd(&plane).await;
    let worker = Worker::start(&room, "worker", &[], &[]);
    worker.readiness(503, "the CRD lamps.example.hyperfleet.io").await;
    assert_eq!(worker.page("/healthz").await.unwrap().0, 200);

    plane.install_crds(&[lenient_crd()]).await;
    worker.readiness(200, "[+]controller/lamps ok").await;
    room.add("first", "red", 1).await;
    room.reads("first", "Lit", "True", "AllBulbsShine").await;

    plane.stop_apiserver();
    worker.readiness(503, "API server").await;
    assert_eq!(worker.page("/healthz").await.unwrap().0, 200);
    plane.start_apiserver().await;
    worker.readiness(200, "[+]controller/lamps ok").await;
    room.patch("first", json!({ "spec": { "colour": "green" } })).await;
    room.add("second", "blue", 1).await;
    let expected =
        [("first-0", "green"), ("second-0", "blue")].map(|(name, colour)| (name.to_owned(), colour.to_owned()));
    eventually("work goes on after the restart", SOON, async || (room.shining().await == expected).then_some(())).await;

    worker.program.signal(Signal::Terminate);
    assert!(worker.program.wait(SOON).await.success(), "{}", worker.program.output());
}

/// The complaint that a failure writes into the object comes back as a change of it; that must not count as a reason to
/// try again at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p8_retries_keep_their_distance_although_each_failure_is_written_down() {
    let room = Room::open(testenv::shared().await).await;
    let worker = Worker::start(&room, "worker", &[], &[]);
    room.add("lamp", "red", 1).await;
    room.reads("lamp", "Lit", "True", "AllBulbsShine").await;
    room.patch("lamp", json!({ "spec": { "fault": "unavailable" } })).await;
    let is_error = |line: &testenv::Line| line.text.contains(r#""level":"ERROR""#);
    worker
        .program
        .wait_until("three attempts", SOON, |lines| lines.iter().filter(|line| is_error(line)).count() >= 3)
        .await;
    let times: Vec<jiff::Timestamp> = worker
        .program
        .lines()
        .iter()
        .filter(|line| is_error(line))
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(&line.text).unwrap()["timestamp"]
                .as_str()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    let gap = |first: usize| times[first + 1].duration_since(times[first]).as_secs_f64();
    assert!(gap(0) >= 1.0 && gap(1) >= 2.0, "the schedule is 1 s, 2 s, …: {times:?}");
}

/// The settings file is followed: a good change takes effect, a bad one is told and changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r9_1_the_settings_file_is_followed_and_a_bad_one_keeps_the_previous_values() {
    let room = Room::open(testenv::shared().await).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, "log:\n  level: INFO\n").unwrap();
    let environment = [("LAMPS_CONFIG", file.to_str().unwrap()), ("LOG_LEVEL", "")];
    let worker = Worker::start(&room, "worker", &[], &environment);
    worker.readiness(200, "[+]settings ok").await;
    let debug = |lines: &[testenv::Line]| lines.iter().any(|line| line.text.contains(r#""level":"DEBUG""#));
    assert!(!debug(&worker.program.lines()), "{}", worker.program.output());

    std::fs::write(&file, "log:\n  levle: DEBUG\n").unwrap();
    worker.readiness(200, "log.levle: unknown").await;
    worker.readiness(200, "the nearest known one is log.level").await;

    std::fs::write(&file, "log:\n  level: DEBUG\n").unwrap();
    room.add("lamp", "red", 1).await;
    room.reads("lamp", "Lit", "True", "AllBulbsShine").await;
    let mut turn = 0;
    eventually("DEBUG records appear", SOON, async || {
        turn += 1;
        room.patch("lamp", json!({ "metadata": { "annotations": { "turn": turn.to_string() } } })).await;
        debug(&worker.program.lines()).then_some(())
    })
    .await;
}

/// Settings that are wrong from the start end the process at once, with every mistake on a line.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r9_1_wrong_settings_are_all_named_at_the_start() {
    let room = Room::open(testenv::shared().await).await;
    let environment = [("METRICS_SECURE", "perhaps")];
    let worker =
        Worker::start(&room, "worker", &["--leader-election-retry-periot=1s", "--zap-devel=true"], &environment);
    assert!(!worker.program.wait(SOON).await.success());
    let said = worker.program.output();
    for expected in [
        "--leader-election-retry-periot: unknown",
        "the nearest known one is --leader-election-retry-period",
        "--zap-devel: has no meaning here; use --log-level and --log-format",
        r#"metrics.secure: "perhaps" from environment variable METRICS_SECURE is not true or false"#,
    ] {
        assert!(said.contains(expected), "{expected} is missing in: {said}");
    }
}
