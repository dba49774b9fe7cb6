//! Jobs in Gitea's words, and their keys.

use jiff::Timestamp;
use serde::{Deserialize, Deserializer};

use super::api::Paged;
use crate::platform::{Job, JobKey, JobResult, JobState};

/// A job as hooks and lists tell of it.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct WorkflowJob {
    id: u64,
    /// Its address in the API, which is the only thing in a list that names its repository.
    url: String,
    #[serde(default)]
    html_url: String,
    pub(super) run_id: u64,
    #[serde(default)]
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    labels: Vec<String>,
    #[serde(default)]
    run_attempt: u64,
    status: String,
    #[serde(default, deserialize_with = "or_default")]
    conclusion: String,
    #[serde(default, deserialize_with = "or_default")]
    runner_id: u64,
    #[serde(default, deserialize_with = "or_default")]
    runner_name: String,
    #[serde(default, deserialize_with = "or_default")]
    created_at: String,
    #[serde(default, deserialize_with = "or_default")]
    started_at: String,
    #[serde(default, deserialize_with = "or_default")]
    completed_at: String,
}

/// A page of the list of jobs.
#[derive(Deserialize)]
pub(super) struct Jobs {
    #[serde(default, deserialize_with = "or_default")]
    jobs: Vec<WorkflowJob>,
    total_count: usize,
}

/// What is null in Gitea's answers stands for nothing.
pub(super) fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(from: D) -> Result<T, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

impl Paged for Jobs {
    type Entry = WorkflowJob;

    fn unfold(self) -> (usize, Vec<(u64, WorkflowJob)>) {
        (self.total_count, self.jobs.into_iter().map(|job| (job.id, job)).collect())
    }
}

impl WorkflowJob {
    /// How far it is; none for a word that is not known. Gitea calls *waiting* what waits for other jobs.
    pub(super) fn state(&self) -> Option<JobState> {
        Some(match self.status.as_str() {
            "waiting" => JobState::Blocked,
            "queued" => JobState::Queued,
            "in_progress" => JobState::Running,
            "completed" => JobState::Done(match self.conclusion.as_str() {
                "success" => JobResult::Succeeded,
                "failure" => JobResult::Failed,
                "cancelled" | "skipped" => JobResult::Cancelled,
                _ => JobResult::Unknown,
            }),
            _ => return None,
        })
    }

    /// Whether this is not its first try, once it has begun.
    pub(super) const fn was_tried_before(&self) -> bool {
        self.run_attempt > 1
    }

    /// The runner that has or had it.
    pub(super) const fn runner_id(&self) -> u64 {
        self.runner_id
    }

    /// Where it is and what it is; none if that cannot be read.
    pub(super) fn read(&self, site: &str) -> Option<(Place, Job)> {
        let place = Place::at(&self.url).filter(|place| place.id == self.id)?;
        let started_at = moment(&self.started_at);
        // An attempt is counted when it begins.
        let earlier = self.run_attempt.saturating_sub(u64::from(started_at.is_some()));
        let job = Job {
            key: place.key(site),
            state: self.state()?,
            labels: self.labels.clone(),
            // A job that is run again was created long ago; since when it waits now nobody says.
            queued_at: moment(&self.created_at).filter(|_| earlier == 0),
            started_at,
            ended_at: moment(&self.completed_at),
            runner: some(&self.runner_name),
            repository: Some(format!("{}/{}", place.owner, place.name)),
            display_name: some(&self.name),
            url: some(&self.html_url),
            public: None,
            fork: None,
        };
        Some((place, job))
    }
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// A moment that has come; those that have not are 1970.
fn moment(text: &str) -> Option<Timestamp> {
    text.parse().ok().filter(|moment| *moment > Timestamp::UNIX_EPOCH)
}

/// Where a job is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) owner: String,
    pub(super) name: String,
    id: u64,
}

impl Place {
    /// The place of a job with this address in the API.
    fn at(url: &str) -> Option<Self> {
        let (_, below) = url.rsplit_once("/api/v1/repos/")?;
        let mut parts = below.split('/');
        let (owner, name) = (plain(parts.next()?)?, plain(parts.next()?)?);
        let rest = (parts.next()?, parts.next()?, parts.next()?.parse().ok()?, parts.next());
        let ("actions", "jobs", id, None) = rest else { return None };
        Some(Self { owner, name, id })
    }

    /// The place of the job with this key, if it is one of this site.
    pub(super) fn named(site: &str, key: &JobKey) -> Option<Self> {
        let mut parts = key.as_str().strip_prefix(site)?.strip_prefix('/')?.split('/');
        let (owner, name) = (plain(parts.next()?)?, plain(parts.next()?)?);
        let ("jobs", id, None) = (parts.next()?, parts.next()?.parse().ok()?, parts.next()) else { return None };
        Some(Self { owner, name, id })
    }

    /// What tells the job from every other.
    pub(super) fn key(&self, site: &str) -> JobKey {
        JobKey::new(format!("{site}/{}/{}/jobs/{}", self.owner, self.name, self.id))
    }

    /// The path of its repository.
    pub(super) fn repository_path(&self) -> String {
        format!("/api/v1/repos/{}/{}", self.owner, self.name)
    }

    pub(super) fn path(&self) -> String {
        format!("{}/actions/jobs/{}", self.repository_path(), self.id)
    }

    pub(super) fn rerun_path(&self, run: u64) -> String {
        format!("{}/actions/runs/{run}/jobs/{}/rerun", self.repository_path(), self.id)
    }
}

/// A name of an owner or a repository, which is safe in a path as it is.
fn plain(name: &str) -> Option<String> {
    let allowed = |sign: u8| sign.is_ascii_alphanumeric() || matches!(sign, b'-' | b'_' | b'.');
    (!matches!(name, "" | "." | "..") && name.bytes().all(allowed)).then(|| name.to_owned())
}
