//! Jobs as GitHub writes them, and the keys that we know them by.

use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::hex;
use crate::platform::{Error, Job, JobKey, JobResult, JobState, Origin};

/// What a key stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// A job of the REST API and of webhooks. An attempt has jobs of its own.
    Job { repository: String, id: u64, attempt: u64 },
    /// A job of a queue session, which has another number there. Its run and its name lead to it.
    Request { repository: String, run: u64, request: u64, name: String },
}

impl Key {
    pub(super) fn job(repository: &str, id: u64, attempt: u64) -> JobKey {
        JobKey::new(format!("{}/job/{id}/{attempt}", repository.to_ascii_lowercase()))
    }

    pub(super) fn request(repository: &str, run: u64, request: u64, name: &str) -> JobKey {
        JobKey::new(format!("{}/request/{run}/{request}/{}", repository.to_ascii_lowercase(), digest(name)))
    }

    pub(super) fn read(key: &JobKey) -> Option<Self> {
        let parts: Vec<&str> = key.as_str().split('/').collect();
        let number = |text: &str| text.parse::<u64>().ok();
        match parts.as_slice() {
            [owner, name, "job", id, attempt] => {
                let repository = format!("{owner}/{name}");
                Some(Self::Job { repository, id: number(id)?, attempt: number(attempt)? })
            }
            [owner, name, "request", run, request, digest] => Some(Self::Request {
                repository: format!("{owner}/{name}"),
                run: number(run)?,
                request: number(request)?,
                name: (*digest).to_owned(),
            }),
            _ => None,
        }
    }
}

/// A short mark of a job's name.
pub(super) fn digest(name: &str) -> String {
    hex::encode(&Sha256::digest(name.as_bytes())[..6])
}

/// A job of the REST API or of a webhook.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Told {
    pub(super) id: u64,
    pub(super) run_id: u64,
    #[serde(default)]
    run_attempt: Option<u64>,
    #[serde(default)]
    pub(super) name: Option<String>,
    #[serde(default)]
    pub(super) status: Option<String>,
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    labels: Vec<String>,
    #[serde(default)]
    runner_name: Option<String>,
    #[serde(default)]
    html_url: Option<String>,
    #[serde(default)]
    created_at: Option<Timestamp>,
    #[serde(default)]
    started_at: Option<Timestamp>,
    #[serde(default)]
    completed_at: Option<Timestamp>,
}

impl Told {
    /// How far it is, by its status and by what was said to have happened to it. Neither alone is enough: a delivery may
    /// say `queued` of a job that waits for an approval.
    pub(super) fn state(&self, action: Option<&str>) -> Option<JobState> {
        let status = self.status.as_deref();
        let is = |word: &str| status == Some(word) || action == Some(word);
        if is("completed") {
            return Some(JobState::Done(result(self.conclusion.as_deref())));
        }
        if is("waiting") || is("pending") || is("requested") {
            return Some(JobState::Blocked);
        }
        if is("in_progress") {
            return Some(JobState::Running);
        }
        is("queued").then_some(JobState::Queued)
    }

    /// Which attempt of its run it is of.
    pub(super) fn attempt(&self) -> u64 {
        self.run_attempt.unwrap_or(1)
    }

    /// Whether it is the same job, as it ran in an earlier attempt.
    pub(super) fn is_earlier_try_of(&self, other: &Self) -> bool {
        let ran = self.runner_name.as_deref().is_some_and(|name| !name.is_empty());
        ran && self.name == other.name && self.attempt() < other.attempt() && self.started_at != other.started_at
    }

    /// How far it is; a status that is none of GitHub's is no answer.
    pub(super) fn known_state(&self, key: &JobKey) -> Result<JobState, Error> {
        let unknown = || Error::Protocol { detail: format!("{key} has status {:?}", self.status) };
        self.state(None).ok_or_else(unknown)
    }

    /// The job in our words.
    pub(super) fn job(self, state: JobState, repository: &str, origin: Origin) -> Job {
        let begun = matches!(state, JobState::Running | JobState::Done(_));
        Job {
            key: Key::job(repository, self.id, self.attempt()),
            state,
            labels: self.labels,
            queued_at: self.created_at,
            // The field is filled before anything has begun.
            started_at: self.started_at.filter(|_| begun),
            ended_at: self.completed_at.filter(|_| matches!(state, JobState::Done(_))),
            runner: self.runner_name.filter(|name| begun && !name.is_empty()),
            repository: Some(repository.to_owned()),
            display_name: self.name,
            url: self.html_url,
            public: origin.public,
            fork: origin.fork,
        }
    }
}

/// How a job ended, in the words of the REST API and of the scale-set service.
pub(super) fn result(word: Option<&str>) -> JobResult {
    match word.unwrap_or_default().to_ascii_lowercase().as_str() {
        "success" | "succeeded" | "succeededwithissues" | "neutral" => JobResult::Succeeded,
        "failure" | "failed" | "timed_out" | "startup_failure" | "action_required" => JobResult::Failed,
        "cancelled" | "canceled" | "skipped" => JobResult::Cancelled,
        _ => JobResult::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

    fn told(status: &str, conclusion: Option<&str>) -> Told {
        serde_json::from_value(serde_json::json!({
            "id": 7, "run_id": 3, "status": status, "conclusion": conclusion, "runner_name": "",
            "started_at": "2026-01-01T00:00:00Z",
        }))
        .unwrap()
    }

    #[rstest]
    #[case("queued", "queued", Some(JobState::Queued))]
    #[case("queued", "waiting", Some(JobState::Blocked))]
    #[case("waiting", "waiting", Some(JobState::Blocked))]
    #[case("queued", "pending", Some(JobState::Blocked))]
    #[case("queued", "requested", Some(JobState::Blocked))]
    #[case("waiting", "queued", Some(JobState::Blocked))]
    #[case("in_progress", "in_progress", Some(JobState::Running))]
    #[case("queued", "in_progress", Some(JobState::Running))]
    #[case("queued", "completed", Some(JobState::Done(JobResult::Unknown)))]
    #[case("completed", "completed", Some(JobState::Done(JobResult::Unknown)))]
    #[case("invented", "invented", None)]
    fn action_and_status_decide_together(
        #[case] action: &str,
        #[case] status: &str,
        #[case] expected: Option<JobState>,
    ) {
        assert_eq!(told(status, None).state(Some(action)), expected);
    }

    #[rstest]
    #[case("success", JobResult::Succeeded)]
    #[case("failure", JobResult::Failed)]
    #[case("timed_out", JobResult::Failed)]
    #[case("cancelled", JobResult::Cancelled)]
    #[case("canceled", JobResult::Cancelled)]
    #[case("skipped", JobResult::Cancelled)]
    #[case("stale", JobResult::Unknown)]
    fn every_conclusion_has_a_meaning(#[case] word: &str, #[case] expected: JobResult) {
        assert_eq!(told("completed", Some(word)).state(None), Some(JobState::Done(expected)));
    }

    #[test]
    fn a_queued_job_has_neither_begun_nor_a_runner_whatever_its_fields_say() {
        let job = told("queued", None).job(JobState::Queued, "Acme/Widgets", Origin::default());
        assert_eq!((job.started_at, job.runner, job.key.as_str()), (None, None, "acme/widgets/job/7/1"));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn keys_read_back(owner in "[a-z0-9-]{1,8}", name in "[a-z0-9._-]{1,8}", id: u64, run: u64, attempt in 1_u64..50, title in ".{0,30}") {
            let repository = format!("{owner}/{name}");
            let job = Key::read(&Key::job(&repository, id, attempt));
            prop_assert_eq!(job, Some(Key::Job { repository: repository.clone(), id, attempt }));
            let request = Key::read(&Key::request(&repository, run, id, &title));
            prop_assert_eq!(request, Some(Key::Request { repository, run, request: id, name: digest(&title) }));
        }

        #[test]
        fn what_is_no_key_is_read_as_none_without_a_panic(text in ".{0,60}") {
            let _ = Key::read(&JobKey::new(text));
        }
    }
}
