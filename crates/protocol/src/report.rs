//! What the work does.

use serde::{Deserialize, Serialize};

/// What a machine says about its work, in this order, each once; saying one again is fine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "report")]
pub enum Report {
    /// The runner waits for a job. A command never says this.
    Listening,
    /// The command has begun, or the runner's job.
    #[serde(rename_all = "camelCase")]
    Started {
        /// What the runner's hook says about the job, for people: one line.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<String>,
    },
    /// It has ended; the machine powers off as soon as this is acknowledged. That no job had begun, as a drain wants to know,
    /// is said by [`Class::NoJob`]: the runner is gone for good then.
    Finished(Finish),
}

/// How the work ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finish {
    /// What kind of end it was.
    pub class: Class,
    /// The exit code; none if a signal or the agent ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// What ended it, if it was not its own exit, and what shows that: a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
    /// The end of its output, if the plan asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// What kind of end work came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A command exited by itself.
    Exited,
    /// The job came to its end, and well.
    JobSucceeded,
    /// The job came to its end; how, the platform knows.
    JobDone,
    /// No job had begun, and none will.
    NoJob,
    /// The job that the runner was for is not there any more.
    DemandGone,
    /// The runner could not go on here; another machine may.
    RetryFreshVm,
    /// The runner cannot go on with what it was given: a person has to change that.
    ConfigError,
    /// The platform does not take this version of the runner any more.
    VersionTooOld,
    /// The runner ended in a way that nobody foresaw.
    RunnerFailed,
    /// The kernel killed a program for lack of memory.
    OutOfMemory,
    /// The disk for the job's files was full.
    DiskFull,
    /// The work took longer than it may.
    DeadlinePassed,
    /// The service ordered the end.
    Ended,
    /// The service did not let the machine go on, or could not be asked for too long.
    LeaseLost,
    /// The work could not begin.
    Unprepared,
}
