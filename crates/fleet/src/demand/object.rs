//! The object that stands for a job.

use api::registry::label::{RUNNER_POOL, RUNNER_QUEUE, RUNNER_SOURCE};
use api::{LocalRef, Moment, RunnerJob, RunnerJobSpec, RunnerTag};
use jiff::Timestamp;

use super::{Observed, Sight};
use crate::digest::digest;

/// Hexadecimal digits of a key's hash: with 80 bits, a million jobs of a namespace collide once in 10¹² times.
const DIGITS: usize = 20;

/// Labels the API server takes.
const LABELS: usize = 100;
/// Characters of a name for people.
const NAME: usize = 512;
/// Characters of an address.
const URL: usize = 2048;

/// The name of the object for a key that has come back this many times.
pub fn name(key: &str, generation: u32) -> String {
    let hash = digest(key, DIGITS);
    if generation == 0 { format!("job-{hash}") } else { format!("job-{hash}-{generation}") }
}

/// How many times a job's key had come back when the object was made.
pub(super) fn generation(job: &RunnerJob) -> u32 {
    let first = name(&job.spec.key, 0);
    let rest = job.metadata.name.as_deref().and_then(|name| name.strip_prefix(&first)?.strip_prefix('-'));
    rest.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

/// The object; whatever the platform calls things, the API server takes it.
pub(super) fn new(observed: &Observed, generation: u32, now: Timestamp) -> RunnerJob {
    let Sight { key, labels, queued_at, repository, display_name, url, public_repository, fork, .. } = &observed.sight;
    let spec = RunnerJobSpec {
        source_ref: LocalRef { name: observed.source.clone() },
        key: key.clone(),
        labels: labels.iter().take(LABELS).map(printable).collect(),
        queued_at: Moment::from(queued_at.unwrap_or(now)),
        repository: repository.as_deref().map(clipped),
        display_name: display_name.as_deref().map(clipped),
        // Half an address leads nowhere.
        url: url.clone().filter(|url| url.chars().count() <= URL),
        public_repository: *public_repository,
        fork: *fork,
    };
    let mut job = RunnerJob::new(&name(key, generation), spec);
    job.metadata.namespace = Some(observed.namespace.clone());
    let pool = observed.pool.as_ref().map(|pool| (RUNNER_POOL.to_owned(), pool.as_str().to_owned()));
    let queue = observed.queue.as_ref().map(|pool| (RUNNER_QUEUE.to_owned(), pool.as_str().to_owned()));
    let source = (RUNNER_SOURCE.to_owned(), observed.source.as_str().to_owned());
    job.metadata.labels = Some(pool.into_iter().chain(queue).chain([source]).collect());
    job
}

fn clipped(text: &str) -> String {
    text.chars().take(NAME).collect()
}

/// A label that no pool can have stays one that no pool has.
fn printable(label: &RunnerTag) -> RunnerTag {
    let plain = |letter: char| if letter.is_ascii_graphic() && letter != ',' { letter } else { '?' };
    let text: String = label.as_str().chars().take(RunnerTag::MAX_LENGTH).map(plain).collect();
    RunnerTag::new(if text.is_empty() { "?".to_owned() } else { text })
}
