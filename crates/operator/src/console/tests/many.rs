//! Thousands of jobs: what is sent has a bound, and one that changes is sent alone.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use api::RunnerJob;
use bytes::Bytes;
use chassis::Clock;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::time::advance;

use super::super::rows::Place;
use super::super::show::{Frame, Show};
use super::super::state::{Objects, State};
use super::claim;
use super::picture::{allocated, job, queued, surroundings};

const JOBS: usize = 5_000;
const MACHINES: usize = 1_000;
const ENDED: usize = 400;

fn now() -> Timestamp {
    "2026-01-01T00:01:00Z".parse().unwrap()
}

/// A job that runs on the machine of its number.
fn running(number: usize) -> Arc<RunnerJob> {
    let status = json!({
        "state": "Running", "poolRef": { "name": "small" }, "claimRef": { "name": format!("m{number}") },
        "startedAt": "2026-01-01T00:00:20Z",
    });
    job(&format!("r{number}"), "build and test", &status)
}

fn waiting(number: usize) -> Arc<RunnerJob> {
    job(&format!("q{number:05}"), "build and test", &queued("AtMaximum", "the pool small has 10 of 10 machines"))
}

fn over(number: usize) -> Arc<RunnerJob> {
    let at = Timestamp::from_second(1_767_225_600 + i64::try_from(number).unwrap()).unwrap();
    job(&format!("e{number}"), "build and test", &json!({ "state": "Completed", "endedAt": at.to_string() }))
}

/// A thousand machines at work, and so many jobs in all: theirs, some that ended, and a queue.
fn crowd(jobs: usize) -> Objects {
    let mut objects = surroundings();
    let busy = |number: usize| Arc::new(claim(&format!("m{number}"), "Busy", Some(allocated())));
    objects.claims = (0..MACHINES).map(busy).collect();
    objects.jobs = (0..MACHINES).map(running).chain((0..ENDED).map(over)).collect();
    objects.jobs.extend((0..jobs - MACHINES - ENDED).map(waiting));
    objects
}

/// Somebody who looks at a crowd.
struct Visit {
    objects: Arc<Mutex<Objects>>,
    show: Show,
    whole: Bytes,
    changes: Receiver<Arc<Frame>>,
}

impl Visit {
    fn to(objects: Objects) -> Self {
        let objects = Arc::new(Mutex::new(objects));
        let seen = Arc::clone(&objects);
        let look = move || State::of(&seen.lock().unwrap(), Place::default());
        let show = Show::new(Clock::starting_at(now()), look);
        let (_, whole, changes) = show.join();
        Self { objects, show, whole, changes }
    }

    fn state(&self) -> Value {
        serde_json::from_slice::<Value>(&self.whole).unwrap()["state"].take()
    }

    /// What is sent when a job is another one than before, and how long it is.
    async fn sent(&mut self, place: usize, job: Arc<RunnerJob>) -> (Value, usize) {
        self.objects.lock().unwrap().jobs[place] = job;
        advance(Duration::from_secs(10)).await;
        self.show.whole();
        let frame = self.changes.try_recv().unwrap();
        assert!(self.changes.try_recv().is_err(), "one change is one frame");
        (serde_json::from_slice::<Value>(&frame.text).unwrap()["change"].take(), frame.text.len())
    }
}

fn keys(part: &Value) -> Vec<&str> {
    part.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn a_queue_of_thousands_is_counted_in_full_and_sent_in_part() {
    let (some, many) = (Visit::to(crowd(JOBS)), Visit::to(crowd(2 * JOBS)));
    let (shown, state) = (some.state(), many.state());
    assert_eq!((keys(&shown["jobs"]).len(), keys(&shown["machines"]).len()), (2_200, 1_000));
    assert_eq!(keys(&shown["jobs"]), keys(&state["jobs"]), "those that wait longest, whoever comes after them");
    assert_eq!((&shown["queue"]["queued"], &state["queue"]["queued"]), (&json!(3_600), &json!(8_600)));
    assert_eq!(state["queue"]["reasons"].as_array().unwrap().len(), 1);
    assert_eq!(state["queue"]["reasons"][0]["number"], 8_600);
    let (less, more) = (some.whole.len(), many.whole.len());
    assert!(more < less + 100, "{less} bytes grow to {more} with the queue");
    assert!(less < 3 << 20, "{less} bytes");
}

#[tokio::test(start_paused = true)]
async fn time_that_passes_sends_nothing_of_jobs_that_run_or_are_over() {
    let mut visit = Visit::to(crowd(JOBS));
    let before = visit.show.whole();
    let why = |job: &str| visit.state()["jobs"][job]["why"].clone();
    assert_eq!(why("ci/r7"), "runs on VM 6001 of node pve1 (machineclaim/m7).");
    assert_eq!(why("ci/e399"), "ended.");
    for _ in 0..10 {
        advance(Duration::from_secs(61)).await;
        assert_eq!(visit.show.whole().0, before.0, "the same picture");
    }
    assert!(visit.changes.try_recv().is_err(), "nothing has happened");
}

#[tokio::test(start_paused = true)]
async fn a_job_that_changes_is_sent_alone_however_many_there_are() {
    let mut visit = Visit::to(crowd(JOBS));
    let (change, length) = visit.sent(7, over(7_000)).await;
    assert_eq!(keys(&change), ["jobs"]);
    // One ended job more is shown, so that the oldest of them is not any longer.
    assert_eq!(keys(&change["jobs"]), ["ci/e200", "ci/e7000", "ci/r7"]);
    assert!(length < 2_000, "{length} bytes");
    let (change, length) = visit.sent(MACHINES + ENDED, running(8_000)).await;
    assert_eq!(keys(&change), ["jobs", "queue"]);
    assert_eq!(keys(&change["jobs"]), ["ci/q00000", "ci/q01000", "ci/r8000"], "the next one in the queue moves up");
    assert_eq!(change["queue"]["queued"], 3_599);
    assert!(length < 4_000, "{length} bytes");
}
