//! Whose code runs run. A delivery says nothing of forks and a queue's message nothing at all; a run says it of all its jobs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::Core;
use super::auth::Need;
use super::budget::Priority;
use super::job::Key;
use super::jobs::{Run, repository_path, unreadable};
use super::rest::{Ask, decode};
use crate::platform::{Error, JobKey, Origin};

/// Runs, and jobs, that are remembered.
const KEPT: usize = 5_000;

/// How long an answer holds. Whose code a run has never changes, but a repository may become public.
const HOLDS: Duration = Duration::from_mins(15);

/// What was learnt of runs.
#[derive(Default)]
pub(super) struct Origins {
    /// Whose code they run; whoever asks first asks for all.
    runs: Mutex<BTreeMap<(String, u64), Place>>,
    /// Which run the jobs of deliveries belong to.
    jobs: Mutex<BTreeMap<JobKey, u64>>,
}

/// What is known of one run, and since when.
type Place = Arc<tokio::sync::Mutex<Option<(Origin, Instant)>>>;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Origins {
    fn place(&self, repository: &str, run: u64) -> Place {
        let mut runs = lock(&self.runs);
        let place = Arc::clone(runs.entry((repository.to_ascii_lowercase(), run)).or_default());
        if runs.len() > KEPT {
            // Numbers of runs only grow: the smallest of a repository is its oldest.
            runs.pop_first();
        }
        place
    }
}

impl Core {
    /// Takes note of which run a job belongs to.
    pub(super) fn note_run(&self, job: &JobKey, run: u64) {
        let mut jobs = lock(&self.origins.jobs);
        jobs.insert(job.clone(), run);
        if jobs.len() > KEPT {
            jobs.pop_first();
        }
    }

    /// Takes note of whose code a run has.
    pub(super) fn remember(&self, repository: &str, run: &Run) {
        let place = self.origins.place(repository, run.id);
        // Somebody who asks right now will know it himself.
        if let Ok(mut known) = place.try_lock() {
            *known = Some((run.origin(), Instant::now()));
        }
    }

    /// Whose code a job runs: by its run, which is asked once for all its jobs.
    pub(super) async fn origin_of(&self, key: &JobKey) -> Result<Option<Origin>, Error> {
        let noted = lock(&self.origins.jobs).get(key).copied();
        let parsed = Key::read(key).ok_or_else(|| unreadable(key))?;
        let (repository, run) = match (&parsed, noted) {
            (Key::Job { repository, .. }, Some(run)) => (repository.clone(), run),
            (Key::Request { repository, run, .. }, _) => (repository.clone(), *run),
            (Key::Job { .. }, None) => match self.resolve(&parsed).await? {
                Some((repository, told)) => (repository, told.run_id),
                None => return Ok(None),
            },
        };
        self.origin(&repository, run).await
    }

    /// Where the code of a run comes from; none if there is no such run, and we may look.
    pub(super) async fn origin(&self, repository: &str, run: u64) -> Result<Option<Origin>, Error> {
        let place = self.origins.place(repository, run);
        let mut known = place.lock().await;
        if let Some((origin, _)) = known.filter(|(_, at)| at.elapsed() < HOLDS) {
            return Ok(Some(origin));
        }
        let path = format!("{}/actions/runs/{run}", repository_path(repository));
        let ask = Ask::get("/repos/{repository}/actions/runs/{id}", path, Need::Jobs, Priority::Demand);
        let run: Run = match self.ask(&ask).await {
            Ok(answer) => decode(&answer)?,
            Err(Error::NotFound { .. }) => return self.may_look(repository).await.map(|()| None),
            Err(error) => return Err(error),
        };
        *known = Some((run.origin(), Instant::now()));
        Ok(Some(run.origin()))
    }
}
