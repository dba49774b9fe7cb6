//! Jobs as a platform tells of them.

use std::fmt;

use jiff::Timestamp;

/// What tells a job from every other, at this platform and for ever; only the platform's module reads it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobKey(String);

impl JobKey {
    /// A key that a platform's module made, or that was kept since.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, to be kept.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Which one.
    pub key: JobKey,
    /// How far it is.
    pub state: JobState,
    /// What it asks for.
    pub labels: Vec<String>,
    /// Since when it waits.
    pub queued_at: Option<Timestamp>,
    /// When it began.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// The name of the runner that has it, where the platform says so.
    pub runner: Option<String>,
    /// Its repository, for people.
    pub repository: Option<String>,
    /// Its name, for people.
    pub display_name: Option<String>,
    /// Its page.
    pub url: Option<String>,
    /// Whether its repository is public.
    pub public: Option<bool>,
    /// Whether it runs code of a fork.
    pub fork: Option<bool>,
}

impl Job {
    /// Whether it is still what ended then: anything that has begun since is another try. By whole seconds, which is all that
    /// some platforms tell, so that one that took less than a second is known by its end.
    pub(super) fn is_what_ended(&self, then: Timestamp) -> bool {
        let second = then.as_second();
        let began_before = self.started_at.is_some_and(|began| began.as_second() < second);
        let ended_then = self.ended_at.is_some_and(|ended| ended.as_second() == second);
        matches!(self.state, JobState::Done(_)) && (began_before || ended_then)
    }
}

/// Whose code a job runs, as far as its platform tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Whether its repository is public.
    pub public: Option<bool>,
    /// Whether it runs code of a fork.
    pub fork: Option<bool>,
}

/// How far a job is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobState {
    /// It waits for something else than a runner: other jobs, an approval.
    Blocked,
    /// It waits for a runner.
    Queued,
    /// A runner has it and has not begun.
    Assigned,
    /// It runs.
    Running,
    /// It ended.
    Done(JobResult),
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum JobResult {
    /// It passed.
    Succeeded,
    /// It failed.
    Failed,
    /// Somebody cancelled it, or it was skipped.
    Cancelled,
    /// The platform does not say.
    Unknown,
}

/// The jobs of a scope at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Those that wait or run.
    pub jobs: Vec<Job>,
    /// Whether these are all of them.
    pub complete: bool,
}
