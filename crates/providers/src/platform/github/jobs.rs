//! One job: looked at, and run again.

use ::http::Method;
use jiff::Timestamp;
use serde::Deserialize;

use super::Core;
use super::auth::Need;
use super::budget::Priority;
use super::job::{Key, Told, digest};
use super::rest::{Ask, decode};
use super::site::encoded;
use crate::platform::{Error, Job, JobKey, Origin};

#[derive(Deserialize)]
pub(super) struct Run {
    pub(super) id: u64,
    repository: RunRepository,
    #[serde(default)]
    head_repository: Option<RunRepository>,
}

#[derive(Deserialize)]
pub(super) struct RunRepository {
    id: u64,
    #[serde(default)]
    private: Option<bool>,
}

#[derive(Deserialize)]
pub(super) struct Page {
    pub(super) jobs: Vec<Told>,
}

impl Run {
    /// Whose code it runs. A head that is gone was a fork: a repository does not lose itself.
    pub(super) fn origin(&self) -> Origin {
        let fork = self.head_repository.as_ref().is_none_or(|head| head.id != self.repository.id);
        Origin { public: self.repository.private.map(|private| !private), fork: Some(fork) }
    }
}

/// The path of a repository's calls.
pub(super) fn repository_path(repository: &str) -> String {
    let parts: Vec<String> = repository.split('/').map(encoded).collect();
    format!("/repos/{}", parts.join("/"))
}

pub(super) fn unreadable(key: &JobKey) -> Error {
    Error::Invalid { what: "the key of a job", detail: format!("{key} is none of GitHub's") }
}

impl Core {
    /// A job as it is now; none only if the platform lets us look and has none.
    pub(super) async fn job(&self, key: &JobKey) -> Result<Option<Job>, Error> {
        let parsed = Key::read(key).ok_or_else(|| unreadable(key))?;
        let Some((repository, told)) = self.resolve(&parsed).await? else { return Ok(None) };
        let state = told.known_state(key)?;
        let origin = self.origin(&repository, told.run_id).await?.unwrap_or_default();
        Ok(Some(Job { key: key.clone(), ..told.job(state, &repository, origin) }))
    }

    /// The job that a key stands for, and its repository.
    pub(super) async fn resolve(&self, key: &Key) -> Result<Option<(String, Told)>, Error> {
        let (repository, found) = match key {
            Key::Job { repository, id, attempt: _ } => {
                let path = format!("{}/actions/jobs/{id}", repository_path(repository));
                let route = "/repos/{repository}/actions/jobs/{id}";
                let answer = self.ask(&Ask::get(route, path, Need::Jobs, Priority::Demand)).await;
                (repository, answer.and_then(|answer| decode(&answer).map(Some)))
            }
            Key::Request { repository, run, request: _, name } => {
                let jobs = self.jobs_of(repository, *run).await;
                (repository, jobs.and_then(|jobs| named(jobs, name)))
            }
        };
        match found {
            Ok(told) => Ok(told.map(|told| (repository.clone(), told))),
            Err(Error::NotFound { .. }) => self.may_look(repository).await.map(|()| None),
            Err(error) => Err(error),
        }
    }

    /// The jobs of a run's newest attempt.
    pub(super) async fn jobs_of(&self, repository: &str, run: u64) -> Result<Vec<Told>, Error> {
        self.list_jobs(repository, run, "latest").await
    }

    async fn list_jobs(&self, repository: &str, run: u64, filter: &str) -> Result<Vec<Told>, Error> {
        let path = format!("{}/actions/runs/{run}/jobs?filter={filter}&per_page=100", repository_path(repository));
        let route = "/repos/{repository}/actions/runs/{id}/jobs";
        let mut jobs = Vec::new();
        for page in self.pages(&Ask::get(route, path, Need::Jobs, Priority::Demand)).await? {
            jobs.extend(decode::<Page>(&page)?.jobs);
        }
        Ok(jobs)
    }

    /// Whether the credential sees the runs of a repository, so that what is not there is not hidden from us.
    pub(super) async fn may_look(&self, repository: &str) -> Result<(), Error> {
        let path = format!("{}/actions/runs?per_page=1", repository_path(repository));
        let ask = Ask::get("/repos/{repository}/actions/runs", path, Need::Jobs, Priority::Demand);
        self.look(&ask).await.map(drop).map_err(|error| self.unseen(error, Need::Jobs))
    }

    /// The job that a key stands for, as the newest attempt of its run has it. An attempt copies what it does not run, under
    /// numbers of its own.
    async fn newest(&self, key: &Key) -> Result<Option<(String, Told)>, Error> {
        let Some((repository, told)) = self.resolve(key).await? else { return Ok(None) };
        // A request is found in the newest attempt in the first place.
        if matches!(key, Key::Request { .. }) {
            return Ok(Some((repository, told)));
        }
        let jobs = self.jobs_of(&repository, told.run_id).await?;
        if jobs.iter().any(|job| job.id == told.id) {
            return Ok(Some((repository, told)));
        }
        let copy = named(jobs, &digest(told.name.as_deref().unwrap_or_default()))?;
        Ok(Some((repository, copy.unwrap_or(told))))
    }

    /// Whether a job had another try in an earlier attempt of its run. An attempt that was made for other jobs has a copy of
    /// this one, which began when it did.
    async fn had_another_try(&self, repository: &str, told: &Told) -> Result<bool, Error> {
        if told.attempt() == 1 {
            return Ok(false);
        }
        let jobs = self.list_jobs(repository, told.run_id, "all").await?;
        Ok(jobs.iter().any(|other| other.is_earlier_try_of(told)))
    }

    /// Asks for the job that ended then to be run again, unless it waits or has begun since, or was another try itself.
    pub(super) async fn rerun(&self, key: &JobKey, ended: Timestamp) -> Result<(), Error> {
        let parsed = Key::read(key).ok_or_else(|| unreadable(key))?;
        let gone = || Error::NotFound { object: format!("job {key}") };
        let (repository, told) = self.newest(&parsed).await?.ok_or_else(gone)?;
        let (id, state) = (told.id, told.known_state(key)?);
        if self.had_another_try(&repository, &told).await? {
            return Ok(());
        }
        if !told.job(state, &repository, Origin::default()).is_what_ended(ended) {
            return Ok(());
        }
        let route = "/repos/{repository}/actions/jobs/{id}/rerun";
        let path = format!("{}/actions/jobs/{id}/rerun", repository_path(&repository));
        let ask = Ask {
            method: Method::POST,
            change: Some("running a job again"),
            ..Ask::get(route, path, Need::Reruns, Priority::Demand)
        };
        self.ask(&ask).await.map(drop).map_err(|error| self.unseen(error, Need::Reruns))
    }
}

/// The job of a run that has this name. Jobs of one name are told apart by nothing.
fn named(jobs: Vec<Told>, mark: &str) -> Result<Option<Told>, Error> {
    let mut found = jobs.into_iter().filter(|told| told.name.as_deref().is_some_and(|name| digest(name) == mark));
    let first = found.next();
    match (found.next(), first) {
        (None, first) => Ok(first),
        (Some(_), _) => Err(Error::Unsupported { what: "tell jobs of one name in one run apart" }),
    }
}
