//! Jobs and what becomes of them.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// Where a job or run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A protection rule holds it.
    Waiting,
    /// It waits for a runner.
    Queued,
    /// A runner has it.
    InProgress,
    /// It is over.
    Completed,
}

impl Status {
    /// Its word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Queued => "queued",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

/// How a job or run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// All steps passed.
    Success,
    /// A step failed, or the runner was lost.
    Failure,
    /// Somebody cancelled it.
    Cancelled,
    /// A condition left it out.
    Skipped,
    /// It took too long.
    TimedOut,
}

impl Conclusion {
    /// Its word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::TimedOut => "timed_out",
        }
    }

    /// The word that runners and the scale-set service use.
    pub const fn result(self) -> &'static str {
        match self {
            Self::Success => "succeeded",
            Self::Failure | Self::TimedOut => "failed",
            Self::Cancelled => "canceled",
            Self::Skipped => "skipped",
        }
    }

    /// The conclusion that a runner's word stands for.
    pub(crate) fn of_result(word: &str) -> Option<Self> {
        match word.to_ascii_lowercase().as_str() {
            "succeeded" | "success" => Some(Self::Success),
            "failed" | "failure" => Some(Self::Failure),
            "canceled" | "cancelled" => Some(Self::Cancelled),
            "skipped" => Some(Self::Skipped),
            _ => None,
        }
    }

    /// How much it weighs in a run's conclusion.
    pub(crate) const fn weight(self) -> u8 {
        match self {
            Self::Skipped => 0,
            Self::Success => 1,
            Self::TimedOut | Self::Failure => 2,
            Self::Cancelled => 3,
        }
    }
}

/// A job as a workflow asks for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct JobSpec {
    /// Its name.
    pub name: String,
    /// What it runs on.
    pub labels: Vec<String>,
    /// The group that it wants, by name.
    pub group: Option<String>,
    /// How long it runs.
    pub seconds: f64,
    /// How it ends.
    pub conclusion: Conclusion,
    /// After how long it is ended, if it says so.
    pub timeout_seconds: Option<f64>,
    /// Whether a protection rule holds it at first.
    pub waiting: bool,
}

impl Default for JobSpec {
    fn default() -> Self {
        Self {
            name: "build".to_owned(),
            labels: vec!["self-hosted".to_owned(), "linux".to_owned(), "x64".to_owned()],
            group: None,
            seconds: 30.0,
            conclusion: Conclusion::Success,
            timeout_seconds: None,
            waiting: false,
        }
    }
}

impl JobSpec {
    /// A job of this name that runs on these labels.
    pub fn new(name: impl Into<String>, labels: &[&str]) -> Self {
        let labels = labels.iter().map(|label| (*label).to_owned()).collect();
        Self { name: name.into(), labels, ..Self::default() }
    }

    pub(crate) fn span(&self) -> Duration {
        Duration::try_from_secs_f64(self.seconds).unwrap_or_default()
    }

    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout_seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
    }
}

/// A job's place in a scale set.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    pub(crate) set: u64,
    pub(crate) stage: Stage,
    pub(crate) assigned: Option<Timestamp>,
}

/// How far a scale set has got with a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// It was offered.
    Available,
    /// It was acquired, or assigned.
    Assigned,
}

/// The runner that took a job, as it was then.
#[derive(Clone, Debug)]
pub(crate) struct TakenBy {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) group: u64,
    pub(crate) group_name: String,
}

/// A job.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) id: u64,
    pub(crate) run: u64,
    pub(crate) attempt: u64,
    pub(crate) repository: String,
    pub(crate) spec: JobSpec,
    pub(crate) status: Status,
    pub(crate) conclusion: Option<Conclusion>,
    pub(crate) created: Timestamp,
    pub(crate) started: Option<Timestamp>,
    pub(crate) completed: Option<Timestamp>,
    /// The runner it is offered to.
    pub(crate) offered: Option<u64>,
    pub(crate) taken: Option<TakenBy>,
    pub(crate) placement: Option<Placement>,
    /// Whether somebody asked for its end.
    pub(crate) cancelling: bool,
}

impl Job {
    /// Whether it waits for a runner and none has been offered it.
    pub(crate) fn wants_runner(&self) -> bool {
        self.status == Status::Queued && self.offered.is_none()
    }
}
