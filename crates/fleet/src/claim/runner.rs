//! What is known of a claim's runner at its CI platform.

use api::JobResult;
use jiff::Timestamp;

/// What is known of a claim's runner at its platform; all of it may be nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Runner {
    /// How it stands there, as complete listings tell; none while there was no listing since it was registered.
    pub standing: Option<Standing>,
    /// What the platform says of the job that it took.
    pub work: Work,
    /// Whether a job that it took would have to note the loss of the machine and has not; it learns of that by the claim.
    pub unnoted: bool,
    /// How far this process is with letting it go; another process knows none of it.
    pub farewell: Farewell,
}

/// How a runner stands at its platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// What every listing from `since` to `seen` said.
    pub state: RunnerState,
    /// The first of them, begun after the runner's id was known.
    pub since: Timestamp,
    /// The last of them.
    pub seen: Timestamp,
}

/// What a listing says of a runner. That it has no job is no proof: platforms notice late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunnerState {
    /// It waits for a job.
    Idle,
    /// It has one.
    Busy,
    /// It is registered, has no job, and does not call.
    Offline,
    /// It is not listed.
    Gone,
}

/// What the platform says of the job that a runner took, by the `RunnerJobs` whose `claimRef` is the claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Work {
    /// It names none.
    #[default]
    None,
    /// It has given one to the runner that has not ended.
    Current,
    /// Every job that it gave to the runner has ended; this one last.
    Ended(JobEnd),
}

/// The end of a job, as its platform tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobEnd {
    /// How it ended.
    pub result: JobResult,
    /// When, as the `RunnerJob` has it.
    pub ended: Timestamp,
    /// When this process learnt of it.
    pub seen: Timestamp,
}

/// How far letting a runner go is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Farewell {
    /// When the platform was asked for the first time.
    pub since: Option<Timestamp>,
    /// Whether it is being asked now.
    pub asking: bool,
    /// What it said last.
    pub answer: Option<Answer>,
}

/// What the platform said when it was asked to let a runner go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How it was asked.
    pub mode: Mode,
    /// What it said.
    pub removal: Removal,
    /// When.
    pub at: Timestamp,
    /// How often in a row it was asked in this mode and the runner was not gone.
    pub times: u32,
}

/// How a platform is asked to let a runner go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Only if it has no job.
    IfIdle,
    /// Whatever it does: its machine goes, or is gone.
    Force,
}

/// What became of a registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Removal {
    /// It is removed, or was not there.
    Gone,
    /// It has a job and stays.
    Busy,
    /// Nobody knows, for this reason.
    Unknown(String),
}
