//! What waits and runs, asked for repository by repository: there is no list for an organisation.
//!
//! A few repositories are asked about each time. Of many, those where something happened lately are, and all of them every
//! quarter of an hour. What has not changed since costs nothing of the hour's requests. Only a sweep over all is complete.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use tokio::time::Instant;

use super::Core;
use super::auth::Need;
use super::budget::Priority;
use super::jobs::{Run, repository_path};
use super::rest::{Ask, decode};
use super::site::{Scope, encoded};
use crate::platform::{Error, Job, JobState, Snapshot};

/// States of runs that may have jobs that wait or run.
const OPEN: [&str; 5] = ["queued", "in_progress", "waiting", "pending", "requested"];
/// How long a repository counts as one where something happens.
const LATELY: Duration = Duration::from_mins(30);
/// How often all of them are asked about.
const RARELY: Duration = Duration::from_mins(15);
/// As many as can be asked about each time: five looks each, within a third of what a minute allows.
const FEW: usize = 50;

/// What earlier polls found.
#[derive(Default)]
pub(super) struct Sweep {
    /// When a repository last had a job that was not over.
    active: BTreeMap<String, Instant>,
    whole: Option<Instant>,
}

#[derive(Deserialize)]
struct Runs {
    workflow_runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Listed {
    full_name: String,
    #[serde(default)]
    archived: bool,
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    pushed_at: Option<Timestamp>,
}

impl Core {
    /// The jobs of the scope that wait or run.
    pub(super) async fn poll(&self) -> Result<Snapshot, Error> {
        let mut sweep = self.sweep.lock().await;
        let due = sweep.whole.is_none_or(|at| at.elapsed() >= RARELY);
        let (repositories, all) = match &self.scope {
            Scope::Repository { owner, name } => (vec![format!("{owner}/{name}")], true),
            Scope::Organization(name) => self.repositories(name, &sweep, due).await?,
            Scope::Enterprise(_) => return Err(Error::Unsupported { what: "list the jobs of an enterprise" }),
        };
        let (mut jobs, mut complete) = (Vec::new(), all);
        for repository in repositories {
            match self.open_jobs(&repository).await {
                Ok(found) => {
                    if !found.is_empty() {
                        sweep.active.insert(repository, Instant::now());
                    }
                    jobs.extend(found);
                }
                // What was found until here is worth telling.
                Err(Error::RateLimited { .. }) if !jobs.is_empty() => {
                    complete = false;
                    break;
                }
                // A repository that went away while we were asking.
                Err(Error::NotFound { .. }) if !matches!(self.scope, Scope::Repository { .. }) => {}
                Err(error) => return Err(self.unseen(error, Need::Jobs)),
            }
        }
        if complete && all {
            sweep.whole = Some(Instant::now());
        }
        sweep.active.retain(|_, at| at.elapsed() < LATELY);
        Ok(Snapshot { jobs, complete })
    }

    /// The repositories to ask about, and whether these are all: those where something happened lately, unless all are due.
    async fn repositories(&self, owner: &str, sweep: &Sweep, due: bool) -> Result<(Vec<String>, bool), Error> {
        let path = format!("/orgs/{}/repos?per_page=100&sort=pushed", encoded(owner));
        let ask = Ask::get("/orgs/{org}/repos", path, Need::Jobs, Priority::Demand);
        let lately = self.their_time().saturating_sub(LATELY).unwrap_or(Timestamp::MIN);
        let mut listed: Vec<Listed> = Vec::new();
        for page in self.pages(&ask).await.map_err(|error| self.unseen(error, Need::Jobs))? {
            listed.extend(decode::<Vec<Listed>>(&page)?);
        }
        listed.retain(|listed| !listed.archived && !listed.disabled);
        let all = due || listed.len() <= FEW;
        let is_chosen = |listed: &Listed| {
            all || listed.pushed_at.is_some_and(|at| at >= lately) || sweep.active.contains_key(&listed.full_name)
        };
        Ok((listed.into_iter().filter(is_chosen).map(|listed| listed.full_name).collect(), all))
    }

    /// The jobs of a repository that are not over.
    async fn open_jobs(&self, repository: &str) -> Result<Vec<Job>, Error> {
        let mut jobs: Vec<Job> = Vec::new();
        for status in OPEN {
            let path = format!("{}/actions/runs?status={status}&per_page=100", repository_path(repository));
            let ask = Ask::get("/repos/{repository}/actions/runs", path, Need::Jobs, Priority::Demand);
            for page in self.pages(&ask).await? {
                for run in decode::<Runs>(&page)?.workflow_runs {
                    self.remember(repository, &run);
                    for told in self.jobs_of(repository, run.id).await? {
                        let Some(state) = told.state(None) else { continue };
                        let job = told.job(state, repository, run.origin());
                        // A run that moved on while we asked is met twice.
                        if !matches!(state, JobState::Done(_)) && !jobs.iter().any(|known| known.key == job.key) {
                            jobs.push(job);
                        }
                    }
                }
            }
        }
        Ok(jobs)
    }
}
