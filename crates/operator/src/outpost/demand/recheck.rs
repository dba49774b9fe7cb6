//! Asks about jobs of which nothing was heard for long.
//!
//! A queue tells of a job's end once. If the queue itself is lost in between, as platforms forget those that nobody uses,
//! the end is never told; so old jobs are asked about, a few at a time, which costs little however many there are.

use std::sync::Arc;
use std::time::Duration;

use api::{JobState, RunnerJob};
use jiff::SignedDuration;
use kube::ResourceExt;

use super::{Desk, Outpost};
use crate::each::Life;

/// How often some are asked about.
const PERIOD: Duration = Duration::from_mins(5);

/// How old they are then.
const AGE: SignedDuration = SignedDuration::from_mins(10);

/// How many at a time.
const FEW: usize = 10;

/// Asks until `life` is over.
pub(super) async fn run(desk: &Desk, outpost: &Outpost, life: &Life) {
    let go_round = async {
        let mut last = String::new();
        loop {
            tokio::time::sleep(PERIOD).await;
            for job in turn(old(desk), &last) {
                if let Err(fault) = desk.feed.intake.ask(&desk.source, outpost, &job.spec.key).await {
                    chassis::telemetry::report(&fault);
                }
                last = job.name_any();
            }
        }
    };
    tokio::select! {
        biased;
        () = life.over() => {}
        () = go_round => {}
    }
}

/// The jobs of the source that have not ended for long, by name.
fn old(desk: &Desk) -> Vec<Arc<RunnerJob>> {
    let now = desk.outposts.0.parts.clock.now();
    let is_old = |job: &Arc<RunnerJob>| {
        let ended = job.status.as_ref().and_then(|status| status.state) == Some(JobState::Completed);
        let made = job.metadata.creation_timestamp.as_ref();
        !ended && made.is_some_and(|made| now.duration_since(made.0) >= AGE)
    };
    let mut jobs = desk.feed.intake.jobs_of(&desk.source);
    jobs.retain(is_old);
    jobs
}

/// Those whose turn it is after `last`: everybody's comes.
fn turn(mut jobs: Vec<Arc<RunnerJob>>, last: &str) -> Vec<Arc<RunnerJob>> {
    let first = jobs.iter().position(|job| job.name_any().as_str() > last).unwrap_or(0);
    jobs.rotate_left(first);
    jobs.truncate(FEW);
    jobs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everybodys_turn_comes() {
        let jobs: Vec<Arc<RunnerJob>> = (0..25)
            .map(|number| {
                let spec = serde_json::json!({ "sourceRef": { "name": "ci" }, "key": "k", "queuedAt": "2027-01-15T08:00:00Z" });
                Arc::new(RunnerJob::new(&format!("job-{number:02}"), serde_json::from_value(spec).unwrap()))
            })
            .collect();
        let (mut last, mut asked) = (String::new(), Vec::new());
        for _ in 0..3 {
            for job in turn(jobs.clone(), &last) {
                last = job.name_any();
                asked.push(last.clone());
            }
        }
        asked.sort_unstable();
        asked.dedup();
        assert_eq!(asked.len(), 25);
        assert!(turn(Vec::new(), "job-03").is_empty());
    }
}
