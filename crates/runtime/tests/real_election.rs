//! Leader election between real processes on a real API server: killed, frozen, and ended in order.

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

use std::collections::BTreeMap;
use std::time::Duration;

use room::Room;
use serde_json::json;
use testenv::{Signal, eventually};
use worker::{Worker, holder, lease, successor};

const SOON: Duration = Duration::from_secs(40);

/// What a busy machine may add to a promise about time.
const NOISE: Duration = Duration::from_secs(2);

/// Kills the leader again and again; each time the other one takes over within lease duration + renew period, by the
/// times in the Lease itself.
async fn kill_leaders(rounds: usize, start: impl Fn(&Room<'_>, &str) -> Worker, limit: Duration) {
    let room = Room::open(testenv::shared().await).await;
    let mut workers: BTreeMap<String, Worker> = BTreeMap::new();
    for name in ["ada", "bob"] {
        workers.insert(name.to_owned(), start(&room, name));
    }
    let mut leader = successor(&room, "").await;
    for round in 0..rounds {
        // The other must have seen the leader's Lease at least once, as it has in any cluster.
        tokio::time::sleep(Duration::from_secs(2)).await;
        workers[&leader].program.kill();
        let last = lease(&room).await.unwrap().renew_time.unwrap().0;
        let next = successor(&room, &leader).await;
        let taken = lease(&room).await.unwrap().acquire_time.unwrap().0;
        let gap = Duration::try_from(taken.duration_since(last)).unwrap();
        assert!(gap <= limit + NOISE, "round {round}: {next} took over {gap:?} after the last renewal of {leader}");
        workers.insert(leader.clone(), start(&room, &leader));
        leader = next;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_1_a_killed_leader_is_replaced_in_time_five_times() {
    kill_leaders(5, |room, name| Worker::candidate(room, name, &[]), Duration::from_secs(3 + 1)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "twenty kills at the default lease take eight minutes: part of `make soak`"]
async fn soak_a_killed_leader_is_replaced_in_time_twenty_times_at_the_defaults() {
    let start = |room: &Room<'_>, name: &str| Worker::start(room, name, &["--leader-elect=true"], &[]);
    kill_leaders(20, start, Duration::from_secs(15 + 2)).await;
}

/// The leader is frozen between its check for the lease and the wire. When it thaws, its write arrives late, at an object
/// that the new leader has changed: the API server refuses it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_1_a_frozen_leader_s_late_write_fails_by_its_own_precondition() {
    let room = Room::open(testenv::shared().await).await;
    let old = Worker::candidate(&room, "old", &[("LAMPS_STALL_MS", "1500")]);
    assert_eq!(successor(&room, "").await, "old");
    let new = Worker::candidate(&room, "new", &[]);
    new.readiness(200, "controller/lamps").await;
    room.add("lamp", "red", 1).await;
    old.program.wait_for_line("write held back", SOON).await;
    old.program.signal(Signal::Stop);

    assert_eq!(successor(&room, "old").await, "new");
    room.reads("lamp", "Lit", "True", "AllBulbsShine").await;
    let settled = room.lamps().get("lamp").await.unwrap();
    let mark = room.plane.audit_mark().await;
    old.program.signal(Signal::Continue);
    old.program.wait_for_line("write let go", SOON).await;
    let refused = eventually("the late write reaches the server", SOON, async || {
        let audit = room.plane.audit_since(mark).await.user(&room.account.username()).verb("patch").resource("lamps");
        audit.lines().first().map(|line| line.code)
    })
    .await;
    assert_eq!(refused, 409, "the late write is refused for its precondition");
    tokio::time::sleep(Duration::from_secs(3)).await;
    let later = room.lamps().get("lamp").await.unwrap();
    assert_eq!(later.metadata.resource_version, settled.metadata.resource_version, "nothing changed");
    assert_eq!(holder(&room).await.as_deref(), Some("new"));
    drop(new);
}

/// A process that leads for the second time takes up every object again, also one whose last version is its own complaint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_1_a_leader_that_comes_back_looks_at_every_object_again() {
    let room = Room::open(testenv::shared().await).await;
    let old = Worker::candidate(&room, "old", &[]);
    assert_eq!(successor(&room, "").await, "old");
    room.add("lamp", "red", 1).await;
    room.reads("lamp", "Lit", "True", "AllBulbsShine").await;
    room.patch("lamp", json!({ "spec": { "fault": "refused" } })).await;
    room.reads("lamp", "Stalled", "True", "Refused").await;

    let new = Worker::candidate(&room, "new", &[]);
    new.readiness(200, "controller/lamps").await;
    old.program.signal(Signal::Stop);
    assert_eq!(successor(&room, "old").await, "new");
    old.program.signal(Signal::Continue);
    old.program.wait_for_line("no longer leading", SOON).await;
    let mark = old.program.mark();
    new.program.kill();
    old.program.wait_for_line_after(mark, "no such socket", SOON).await;
}

/// SIGTERM: work under way is finished, the lease is given back, the other leads at its next look, and nothing is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_1_a_clean_shutdown_hands_over_at_once_and_leaves_nothing_running() {
    let room = Room::open(testenv::shared().await).await;
    let first = Worker::candidate(&room, "first", &[]);
    assert_eq!(successor(&room, "").await, "first");
    let second = Worker::candidate(&room, "second", &[]);
    second.readiness(200, "controller/lamps").await;
    room.add("lamp", "red", 2).await;
    room.reads("lamp", "Lit", "True", "AllBulbsShine").await;

    let before = lease(&room).await.unwrap().renew_time.unwrap().0;
    first.program.signal(Signal::Terminate);
    let status = first.program.wait(SOON).await;
    assert!(status.success(), "{status}: {}", first.program.output());
    first.program.wait_for_line("ended; nothing is left running", SOON).await;
    assert_eq!(successor(&room, "first").await, "second");
    let taken = lease(&room).await.unwrap().acquire_time.unwrap().0;
    let gap = Duration::try_from(taken.duration_since(before)).unwrap();
    assert!(gap < Duration::from_secs(3) + NOISE, "well before the lease of 3 s would have run out twice: {gap:?}");
    room.patch("lamp", json!({ "spec": { "bulbs": 3 } })).await;
    eventually("the successor works", SOON, async || (room.shining().await.len() == 3).then_some(())).await;
}
