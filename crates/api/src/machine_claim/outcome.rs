//! How the work of a machine ended.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::words::words;

words! {
    /// What kind of end work came to; what was lost with its machine differs from what failed by itself.
    OutcomeClass {
        /// A command exited by itself.
        Exited = "Exited",
        /// The job came to its end, and well.
        JobSucceeded = "JobSucceeded",
        /// The job came to its end; how, the platform knows.
        JobDone = "JobDone",
        /// No job had begun.
        NoJob = "NoJob",
        /// The job that the runner was for was not there any more.
        DemandGone = "DemandGone",
        /// The runner could not go on there; another machine may.
        RetryFreshVm = "RetryFreshVM",
        /// The runner cannot go on with what it was given.
        ConfigError = "ConfigError",
        /// The platform does not take this version of the runner any more.
        VersionTooOld = "VersionTooOld",
        /// The runner ended in a way that nobody foresaw.
        RunnerFailed = "RunnerFailed",
        /// The kernel killed a program for lack of memory.
        OutOfMemory = "OutOfMemory",
        /// The disk for the job's files was full.
        DiskFull = "DiskFull",
        /// The work took longer than it may.
        DeadlinePassed = "DeadlinePassed",
        /// The machine was told to end.
        Ended = "Ended",
        /// The machine could not ask whether it may go on.
        LeaseLost = "LeaseLost",
        /// The work could not begin.
        Unprepared = "Unprepared",
    }
}

/// How the work ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// When the work ended.
    pub ended_at: Moment,
    /// Kind of end, as the machine's agent saw it: `Exited`, `JobSucceeded`, `JobDone`, `NoJob`, `DemandGone`,
    /// `RetryFreshVM`, `ConfigError`, `VersionTooOld`, `RunnerFailed`, `OutOfMemory`, `DiskFull`, `DeadlinePassed`,
    /// `Ended`, `LeaseLost` or `Unprepared`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<OutcomeClass>,
    /// What shows that, where it was not the work's own exit.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256))]
    pub evidence: Option<String>,
    /// Exit code of the command or runner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = -1, max = 255))]
    pub exit_code: Option<i32>,
    /// End of the command's output, at most 2 KiB, if `captureOutput` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048))]
    pub output: Option<String>,
}
