//! What happens to a `RunnerJob`: it gets a pool, says the one thing it waits for, and is kept for an hour after its end.
//!
//! ```text
//!   which pool? ([`select`]) ─▶ is its machine on the way? what does the pool wait for? ─▶ Assigned, with one reason
//!   lost with its machine? ─▶ evidence, and once more at the platform where the pool wants it
//!   ended for an hour? ─▶ forgotten
//! ```
//!
//! How far the job is, the platform says ([`crate::demand`]); how many machines there are, the pool decides
//! ([`crate::pool`]). Nothing here makes a machine. A job whose pool is about to take it is left alone, so that the one
//! write with which the pool does so is the only one; and what passes quickly is not written at all.

mod end;
mod holder;
mod loss;
mod pause;
mod select;
mod tell;
mod wait;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::condition::find;
use api::registry::label::RUNNER_POOL;
use api::{ConditionType, JobState, MachineClaim, Reason, RunnerJob, RunnerJobStatus, RunnerPool, RunnerSource};
use jiff::Timestamp;
use reconcile::{Plan, Violation};

pub(crate) use loss::is_lost;
pub use loss::would_note;
pub use pause::pause;
pub use select::{Choice, Fact, Origin, Tells, endangers, queue_of, select};
pub(crate) use select::{either, facts, trusts_all};

use tell::told;
pub(crate) use tell::{Verdict, say, settle, starting};

/// A job as it is.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The object.
    pub job: Arc<RunnerJob>,
    /// Every pool of its source, in its namespace.
    pub pools: Vec<Candidate>,
    /// The source it came from, if that is still there.
    pub source: Option<Arc<RunnerSource>>,
    /// The claims made for it (by label), the one that `status.claimRef` names, and the one whose runner has it.
    pub claims: Vec<Arc<MachineClaim>>,
    /// Whether the node is gone on which the claim of `status.claimRef` has its VM, as its cluster says.
    pub node_gone: bool,
    /// Whether the platform can start this very job again and has not done so before.
    pub can_rerun: bool,
    /// What the platform can be asked of where code comes from; nothing while it is not connected.
    pub tells: Tells,
    /// What it answered, if [`is_unsure`] said that it has to be asked.
    pub asked: Asked,
}

/// What became of asking the platform where a job's code comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Asked {
    /// There was no need to.
    #[default]
    Nothing,
    /// It told.
    Told {
        /// Whether the repository is public.
        public_repository: Option<bool>,
        /// Whether it is a fork's code.
        fork: Option<bool>,
    },
    /// It did not tell.
    Silent {
        /// Why, for people.
        why: String,
        /// After how long it is asked again.
        pause: Duration,
    },
}

/// A pool that might serve a job.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The pool.
    pub pool: Arc<RunnerPool>,
    /// What the job asks for and the pool's runners do not have, by the platform's own rules; empty if they fit.
    pub missing: Vec<String>,
}

/// What can be done to a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Ask the platform to start the job again, unless it has begun since it ended then.
    Rerun {
        /// The platform's key.
        key: String,
        /// When it ended.
        ended: Timestamp,
    },
    /// Delete the object.
    Forget,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rerun { key, ended: _ } => write!(f, "ask the platform to start job {key} again"),
            Self::Forget => f.write_str("forget the job"),
        }
    }
}

/// The conditions that are written here and by whoever saw the job.
pub const CONDITIONS: &[&str] = &[ConditionType::Assigned.as_str()];

/// Decides what happens to a job.
pub fn plan(observed: &Observed, now: Timestamp) -> JobPlan {
    let job = &observed.job;
    if job.metadata.deletion_timestamp.is_some() {
        return Plan::rest();
    }
    match job.status.as_ref().and_then(|status| status.state) {
        None | Some(JobState::Queued) => wait::plan(observed, now),
        Some(JobState::Assigned | JobState::Running) => running(observed, now),
        Some(JobState::Completed) => end::plan(observed, now),
    }
}

/// Whether a job waits for a pool that has to know first whose code it is, so that the platform must be asked.
pub fn is_unsure(job: &RunnerJob, pools: &[Candidate], tells: Tells) -> bool {
    let waits = matches!(job.status.as_ref().and_then(|status| status.state), None | Some(JobState::Queued));
    waits && matches!(wait::choose(job, pools, Origin::of(job, tells)), Choice::Unsure { .. })
}

type JobPlan = Plan<Step, RunnerJobStatus>;

/// A runner has it: all that can be said is whether it was lost with its machine.
fn running(observed: &Observed, now: Timestamp) -> JobPlan {
    let status = loss::noted(observed, holder::found(observed), now);
    Plan { status: told(observed, status, now), ..Plan::rest() }
}

/// The pool of a job: the one it was given to, or the one that whoever saw it first thought of, unless it was found since
/// that none serves it.
pub fn pool_of(job: &RunnerJob) -> Option<&str> {
    let status = job.status.as_ref();
    let given = status.and_then(|status| status.pool_ref.as_ref()).map(|pool| pool.name.as_str());
    let said = status.and_then(|status| find(&status.conditions, ConditionType::Assigned));
    let unserved = [Reason::NoMatchingPool, Reason::TrustDenied, Reason::TrustUnknown];
    let denied = said.is_some_and(|said| unserved.iter().any(|reason| reason.as_str() == said.reason));
    let thought = job.metadata.labels.as_ref().and_then(|labels| labels.get(RUNNER_POOL)).map(String::as_str);
    given.or_else(|| thought.filter(|_| !denied))
}

/// States what no plan may do to a job.
pub fn audit(observed: &Observed, plan: &JobPlan) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut broken = |invariant, detail: String| violations.push(Violation::new(invariant, detail));
    let before = observed.job.status.clone().unwrap_or_default();
    let ended = before.state == Some(JobState::Completed);
    for step in &plan.steps {
        match step {
            Step::Forget if !ended => broken("a job that has not ended is never forgotten", step.to_string()),
            Step::Rerun { .. } if !ended => broken("a job is started again only after its end", step.to_string()),
            Step::Rerun { .. } if before.infrastructure_loss.as_ref().is_none_or(|loss| loss.rerun_requested) => {
                broken("a job is started again once, and only if it was lost", step.to_string());
            }
            Step::Forget | Step::Rerun { .. } => {}
        }
    }
    if let Some(after) = &plan.status {
        if after.state < before.state {
            broken("a job's state only moves forward", format!("{:?} to {:?}", before.state, after.state));
        }
        if after.claims_made != before.claims_made {
            broken("only its pool counts a job's claims", format!("{:?}", after.claims_made));
        }
    }
    violations
}

#[cfg(test)]
mod tests;
