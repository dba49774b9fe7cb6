//! How a runner is kept: an agent that can do this can run the runner of any CI platform.
//!
//! In the arguments, the values of variables and the files of a runner's plan `{files}`, `{work}`, `{runners}` and `{root}`
//! stand for the directory of the plan's files, which is in memory, the one for its jobs' files, which is on a disk, the
//! one where the image keeps runners, and the runner's own as it sees it. A command's are taken as they are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Class;

/// What there is to know about a runner beyond what there is about any work. Its working directory is `{work}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Runner {
    /// The runner's own directory, if it writes into that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Root>,
    /// How it is seen that the runner waits for a job; left out, it does from its beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Sign>,
    /// How it is seen that a job has begun: any of these. The earliest that the runner gives belongs here, because a runner
    /// is stopped as long as none is seen.
    pub began: Vec<Sign>,
    /// After this many seconds without the sign that it waits for a job, it is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_seconds: Option<u64>,
    /// After this many seconds of waiting for a job it is drained.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_seconds: Option<u64>,
    /// What makes it exit while it has no job, one after the other; what is left then is killed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drain: Vec<Stop>,
    /// The same while it has a job that must end. Some runners then call the job a success: those get none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abort: Vec<Stop>,
    /// What its exit codes mean; any other is [`Class::RunnerFailed`].
    pub exits: BTreeMap<i32, Class>,
    /// The runner is not begun if the machine's clock is off by more seconds than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skew_seconds: Option<u64>,
}

/// A directory of the image that a runner writes secrets into: what it writes there stays in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Root {
    /// Where it is in the image, below `{runners}`. The runner sees it at `{root}`, and must be started from there.
    pub path: String,
    /// A directory below it that is `{work}`: what jobs write would fill the memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
}

/// How something is seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sign {
    /// A file appears at this path below `{files}`; its first line is told to people. A hook of the runner writes it elsewhere
    /// and moves it there, so that it is never seen in part.
    File(String),
    /// A line of the runner's output contains this.
    Line(String),
}

/// One way to make a runner exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Stop {
    /// What its program gets.
    pub signal: Signal,
    /// How many seconds it has then.
    pub seconds: u64,
}

/// What a program is asked with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    /// `SIGINT`.
    Int,
    /// `SIGTERM`.
    Term,
    /// `SIGQUIT`.
    Quit,
}
