//! What a scale set's queue says.

use jiff::Timestamp;
use serde::Deserialize;

use super::job::{Key, result};
use crate::platform::{Error, Job, JobState, Statistics};

/// The level of a scale set.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Level {
    #[serde(rename = "totalAssignedJobs")]
    assigned: u32,
    #[serde(rename = "totalRunningJobs")]
    running: u32,
    #[serde(rename = "totalRegisteredRunners")]
    pub(super) runners: u32,
}

impl From<Level> for Statistics {
    fn from(level: Level) -> Self {
        Self { jobs: level.assigned, running: level.running }
    }
}

/// A message, whose body is text again.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Told {
    pub(super) message_id: u64,
    #[serde(default)]
    body: String,
    #[serde(default)]
    pub(super) statistics: Option<Level>,
}

/// What is said of one job.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct News {
    message_type: String,
    runner_request_id: u64,
    owner_name: String,
    repository_name: String,
    job_display_name: String,
    workflow_run_id: u64,
    request_labels: Vec<String>,
    queue_time: Option<String>,
    runner_assign_time: Option<String>,
    finish_time: Option<String>,
    runner_name: String,
    result: Option<String>,
}

/// What a message asks of us.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Content {
    /// Jobs that may be had.
    pub(super) offers: Vec<u64>,
    /// Jobs that are ours, as they are.
    pub(super) jobs: Vec<Job>,
}

impl Told {
    /// Reads the text. A kind of news that we do not know is about nothing that we do.
    pub(super) fn content(&self) -> Result<Content, Error> {
        let mut content = Content::default();
        if self.body.is_empty() {
            return Ok(content);
        }
        let news: Vec<News> = serde_json::from_str(self.body.trim_start_matches('\u{feff}'))
            .map_err(|error| Error::Protocol { detail: format!("unexpected message at column {}", error.column()) })?;
        for news in news {
            match news.message_type.as_str() {
                // Assigned to the scale set, that is: no runner has it yet.
                "JobAvailable" => content.offers.push(news.runner_request_id),
                "JobAssigned" => content.jobs.push(news.job(JobState::Queued)),
                "JobStarted" => content.jobs.push(news.job(JobState::Running)),
                "JobCompleted" => {
                    let state = JobState::Done(result(news.result.as_deref()));
                    content.jobs.push(news.job(state));
                }
                _ => {}
            }
        }
        Ok(content)
    }
}

impl News {
    fn job(self, state: JobState) -> Job {
        let repository = format!("{}/{}", self.owner_name, self.repository_name);
        let begun = matches!(state, JobState::Running | JobState::Done(_));
        Job {
            key: Key::request(&repository, self.workflow_run_id, self.runner_request_id, &self.job_display_name),
            state,
            labels: self.request_labels,
            queued_at: moment(self.queue_time),
            started_at: moment(self.runner_assign_time).filter(|_| begun),
            ended_at: moment(self.finish_time).filter(|_| matches!(state, JobState::Done(_))),
            runner: Some(self.runner_name).filter(|name| begun && !name.is_empty()),
            repository: Some(repository),
            display_name: Some(self.job_display_name).filter(|name| !name.is_empty()),
            url: None,
            // Nothing is said of either: who needs to know asks for the job.
            public: None,
            fork: None,
        }
    }
}

/// A moment; what has not happened yet did so in the year one.
fn moment(text: Option<String>) -> Option<Timestamp> {
    text.and_then(|text| text.parse::<Timestamp>().ok()).filter(|at| at.as_second() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::JobResult;
    use proptest::prelude::*;
    use serde_json::json;

    fn told(body: &str) -> Told {
        Told { message_id: 1, body: body.to_owned(), statistics: None }
    }

    #[test]
    fn every_kind_of_news_is_understood_and_others_are_passed_over() {
        let news = |kind: &str| {
            json!({
                "messageType": kind, "runnerRequestId": 7, "ownerName": "Acme", "repositoryName": "Widgets",
                "workflowRunId": 3, "jobDisplayName": "build (a)", "requestLabels": ["pool"], "runnerName": "vm-1",
                "queueTime": "2026-11-15T12:00:00Z", "runnerAssignTime": "0001-01-01T00:00:00Z", "result": "canceled",
            })
        };
        let body = json!(["JobAvailable", "JobAssigned", "JobStarted", "JobCompleted", "JobInvented"].map(news));
        let Content { offers, jobs } = told(&format!("\u{feff}{body}")).content().unwrap();
        assert_eq!(offers, [7]);
        let states: Vec<JobState> = jobs.iter().map(|job| job.state).collect();
        assert_eq!(states, [JobState::Queued, JobState::Running, JobState::Done(JobResult::Cancelled)]);
        assert!(jobs.iter().all(|job| job.key == jobs[0].key));
        assert_eq!((jobs[0].runner.as_deref(), jobs[1].runner.as_deref()), (None, Some("vm-1")));
        assert_eq!((jobs[1].started_at, jobs[0].queued_at), (None, "2026-11-15T12:00:00Z".parse().ok()));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn no_text_makes_the_parser_panic(body in ".{0,200}|\\[\\{\"messageType\":\"Job(Available|Completed)\",.{0,80}\\}\\]") {
            let _ = told(&body).content();
        }
    }
}
