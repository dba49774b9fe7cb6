//! Workflow runs.

use jiff::Timestamp;

use super::{Conclusion, Job, Status};

/// A workflow run; its jobs know it by its number.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) id: u64,
    pub(crate) repository: String,
    pub(crate) workflow: String,
    pub(crate) number: u64,
    pub(crate) attempt: u64,
    pub(crate) event: String,
    pub(crate) branch: String,
    pub(crate) sha: String,
    /// Whether it runs code of a fork of its repository.
    pub(crate) fork: bool,
    pub(crate) created: Timestamp,
    pub(crate) updated: Timestamp,
}

/// What a run's jobs make of it.
pub(crate) fn verdict<'a>(jobs: impl Iterator<Item = &'a Job> + Clone) -> (Status, Option<Conclusion>) {
    let any = |wanted: Status| jobs.clone().any(|job| job.status == wanted);
    if any(Status::InProgress) || (any(Status::Completed) && any(Status::Queued)) {
        return (Status::InProgress, None);
    }
    if any(Status::Queued) {
        return (Status::Queued, None);
    }
    if any(Status::Waiting) {
        return (Status::Waiting, None);
    }
    let worst = jobs.filter_map(|job| job.conclusion).max_by_key(|conclusion| conclusion.weight());
    (Status::Completed, Some(worst.unwrap_or(Conclusion::Success)))
}
