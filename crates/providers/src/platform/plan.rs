//! What a machine does to be a runner, in words that its agent knows without knowing the platform.

use std::collections::BTreeMap;
use std::time::Duration;

use secrecy::SecretString;

use super::job::JobResult;

/// How a runner is run. In arguments, variables and files `{files}` stands for the directory of [`RunnerPlan::files`], which
/// is in memory only, `{work}` for the one of its jobs' files, on a disk, and `{home}` for that of the runner's own program.
///
/// Not `Debug`: it carries the credential.
#[derive(Clone)]
pub struct RunnerPlan {
    /// The name of the runner's directory below the one in which images keep runners.
    pub home: &'static str,
    /// Whether the runner writes secrets into its own directory, which must then be in memory.
    pub volatile_home: bool,
    /// Program, relative to `home`, and arguments; no secret is in them.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: BTreeMap<String, SecretString>,
    /// Files that it needs.
    pub files: Vec<Item>,
    /// How to see that a job has begun.
    pub busy: Sign,
    /// How it is ended while it has no job: each signal, and how long it gets.
    pub drain: Vec<(Signal, Duration)>,
    /// What its exit codes mean; others are [`Exit::Broken`].
    pub exits: BTreeMap<i32, Exit>,
    /// How wrong the machine's clock may be.
    pub skew: Duration,
}

/// A file of a plan.
#[derive(Clone)]
pub struct Item {
    /// Where it is, relative to `{files}`.
    pub path: String,
    /// All of its text.
    pub content: SecretString,
    /// Permission bits.
    pub mode: u32,
}

/// How to see that a job has begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sign {
    /// This file appears, relative to `{files}`.
    File(String),
    /// A line of its output contains this.
    Line(String),
}

/// Signals that end a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGINT`.
    Interrupt,
    /// `SIGTERM`.
    Terminate,
    /// `SIGKILL`.
    Kill,
}

/// What an exit code means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The job is done, with its result if the code tells.
    Done(Option<JobResult>),
    /// There was no job.
    NoJob,
    /// It did not work, and a new machine may do better.
    Retry,
    /// It will not work with any machine until something is changed.
    Misconfigured,
    /// The platform does not talk to so old a runner: the image must be made anew.
    TooOld,
    /// Nobody knows what it means.
    Broken,
}
