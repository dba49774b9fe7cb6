//! What a CI platform does for us, whichever it is.
//!
//! ```text
//!   validate                                            may we, and with whom do we speak
//!   Hook::verify ─▶ Hook::parse ─▶ Hint                 the platform calls us (any replica, no call of ours)
//!   poll · job · recover · open_session ─▶ Hint         we ask, or listen (the leader)
//!   mint ─▶ Grant ─▶ plan                               a machine that has proven itself becomes a runner
//!   state · drain · deregister · registrations          and is none any more
//! ```
//!
//! Promises that hold for every platform:
//!
//! * Demand is *capacity for labels*: a runner takes whichever job fits it. What is learnt of a job carries the job's own
//!   key, so that learning it twice, in any order and on any way makes no difference.
//! * Nothing is registered without an [`Attested`] machine. The runner's name is chosen and written down before: if the
//!   answer to a mint is lost, what it made is found under that name and removed.
//! * Absence is no proof: a listing says whether it is complete, and [`Removal::Unknown`] is kept apart from gone.
//! * Errors are typed and retried by the caller, never in here.

mod capability;
mod error;
pub mod gitea;
pub mod github;
mod health;
mod hearing;
mod hook;
mod job;
pub mod kit;
mod plan;
mod quota;
mod runner;
mod session;

use std::future::Future;

use jiff::{SignedDuration, Timestamp};

pub use capability::{Capabilities, Targeting};
pub use error::{Bucket, Error};
pub use health::{Health, Missing};
pub use hearing::Hearing;
pub use hook::{Hint, Hook, Rejected, Verified};
pub use job::{Job, JobKey, JobResult, JobState, Origin, Snapshot};
pub use plan::{Exit, Item, RunnerPlan, Sign, Signal};
pub use quota::Quota;
pub use runner::{Grant, Listing, Marker, Mode, Removal, Runner, RunnerOrder, RunnerState};
pub use session::{Batch, Message, Session, SessionOrder, Statistics};

use crate::attestor::Attested;

/// A CI platform, with a credential and a scope.
///
/// Dispatch is an enum where things are wired together, so the trait need not be object-safe.
pub trait Platform: Hook + Send + Sync {
    /// A queue session of this platform.
    type Session: Session;

    /// What this platform can do.
    fn capabilities(&self) -> Capabilities;

    /// Probes the platform: its version, whether the credential works and suffices, when it runs out.
    fn validate(&self) -> impl Future<Output = Result<Health, Error>> + Send;

    /// The jobs of the scope that wait or run. Only a complete answer says that a job is not among them.
    fn poll(&self, now: Timestamp) -> impl Future<Output = Result<Snapshot, Error>> + Send;

    /// One job as it is now; none only if the platform says that there is no such job.
    fn job(&self, key: &JobKey) -> impl Future<Output = Result<Option<Job>, Error>> + Send;

    /// Whose code one job runs; none only if the platform says that there is no such job. Asked of many jobs of one run at
    /// once, it costs what one of them costs.
    fn origin(&self, key: &JobKey) -> impl Future<Output = Result<Option<Origin>, Error>> + Send {
        async move { Ok(self.job(key).await?.map(|job| Origin { public: job.public, fork: job.fork })) }
    }

    /// What the platform failed to deliver to us since then; empty where it does not remember.
    fn recover(&self, since: Timestamp) -> impl Future<Output = Result<Vec<Hint>, Error>> + Send;

    /// Begins to listen to the queue of one kind of runners; [`Error::Conflict`] while somebody else does.
    fn open_session(&self, order: &SessionOrder) -> impl Future<Output = Result<Self::Session, Error>> + Send;

    /// Registers a machine as a runner for one job.
    ///
    /// [`Error::Conflict`] if the name is taken, which after a lost answer it is by ourselves: deregister that name and
    /// take a new one. [`Error::UnknownOutcome`] if the answer was lost: the same.
    fn mint(
        &self,
        order: &RunnerOrder,
        machine: &Attested,
        now: Timestamp,
    ) -> impl Future<Output = Result<Grant, Error>> + Send;

    /// What the machine has to do to be that runner. The machine's agent carries it out without knowing the platform.
    fn plan(&self, grant: &Grant) -> RunnerPlan;

    /// What the platform thinks of a runner.
    fn state(&self, runner: &Runner) -> impl Future<Output = Result<RunnerState, Error>> + Send;

    /// Asks the platform to give the runner no more jobs, where it can be asked.
    fn drain(&self, runner: &Runner) -> impl Future<Output = Result<Removal, Error>> + Send;

    /// Removes a registration, by its id or, if a mint's answer was lost, by its name; one that is not there is gone.
    fn deregister(&self, runner: &Runner, mode: Mode) -> impl Future<Output = Result<Removal, Error>> + Send;

    /// The registrations of the scope that carry the marker.
    fn registrations(&self, marker: &Marker) -> impl Future<Output = Result<Listing, Error>> + Send;

    /// Asks for the job that ended then to be run again, unless it waits or has begun since, or was another try itself:
    /// what fills its machine's memory would do so in every try. [`Error::Transient`] while the
    /// platform would refuse because others of its run go on, [`Error::Unsupported`] where it has no way to ask.
    fn rerun(&self, key: &JobKey, ended: Timestamp) -> impl Future<Output = Result<(), Error>> + Send;

    /// The labels that runners of a pool with these labels have: its own and those that the platform expects of any.
    fn offered(&self, pool: &[String]) -> Vec<String>;

    /// Whether a runner with the labels `offered` would be given a job that asks for `wanted`.
    fn matches(&self, wanted: &[String], offered: &[String]) -> bool;

    /// Whether the platform may have machines of its own for a job that asks for `wanted`, so that it need not be for us.
    fn may_serve(&self, wanted: &[String]) -> bool {
        let _ = wanted;
        false
    }

    /// What is left of the platform's limits, as far as it was told; for gauges.
    fn quotas(&self) -> Vec<Quota> {
        Vec::new()
    }

    /// How far the platform's clock is ahead of ours, where it was seen.
    fn skew(&self) -> Option<SignedDuration> {
        None
    }
}
