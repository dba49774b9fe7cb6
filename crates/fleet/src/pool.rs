//! What happens to a `RunnerPool`: as many machines as its jobs need, no more than it may have, and none taken from a job.
//!
//! ```text
//!   wanted = clamp(warm + max(jobs that wait + jobs that run, level), min, max)
//!
//!   serving < wanted ─▶ Make: for the jobs that wait longest, then for nobody in particular
//!   serving > wanted for scaleDownDelay ─▶ Delete what has no runner yet, Drain what is ready, newest first
//!   made from an older template ─▶ Drain a few that nobody needs now
//! ```
//!
//! A machine is not bound to a job: the platform gives any job to any runner that fits, so what counts is how many there
//! are. A claim is named for the job it was made for and that job's count of claims, which is written into the job before
//! (`claimsMade`): whoever plans with an old view makes the same claim again, which changes nothing. Claims that no job
//! asked for have the pool's name and the lowest free number. What this process has made and its cache does not show yet
//! is counted by name ([`Observed::unseen`]).
//!
//! Because any runner may be given any job that fits, none is made while a job waits that the pool must not run
//! ([`Observed::strangers`]); and a level, which does not say whose jobs it counts, is only for pools that serve everybody.
//! A level that was not heard for [`census::HOLDS`] makes nothing new, and nothing goes for its absence.
//!
//! `max` bounds the claims that may still take a job; those and the ones being destroyed together are at most
//! `max + maxTerminating`. A machine that failed counts for neither once its VM is gone, and never as capacity; after
//! several in a row the pool takes longer and longer before it makes the next.

mod audit;
mod census;
mod failing;
mod leave;
mod make;
mod retire;
mod tell;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use api::condition::{find, holds};
use api::registry::finalizer::CLAIMS_CLEANUP;
use api::{
    ConditionType, Level, MachineClaim, MachineClaimStatus, ObjectName, Reason, RunnerJob, RunnerJobStatus, RunnerPool,
    RunnerPoolStatus, RunnerSource,
};
use jiff::Timestamp;
use reconcile::{Finalizer, Next, Plan, Why};

use crate::claim::Obstacle;
use census::Census;

pub use audit::audit;
pub use census::EARLY;
pub(crate) use make::claim_name;

/// A pool as it is.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The object.
    pub pool: Arc<RunnerPool>,
    /// Every claim whose `spec.poolRef` is this pool.
    pub claims: Vec<Arc<MachineClaim>>,
    /// Names of claims that this process made for the pool and that the cache of claims has not shown yet.
    pub unseen: BTreeSet<String>,
    /// Names of claims that were shown in the [first moments](EARLY) of its term: what of them is not there has come and
    /// gone, and is not on its way.
    pub met: BTreeSet<String>,
    /// When this process began to lead; what was announced before that may still be on its way.
    pub began: Timestamp,
    /// Every job whose pool this is by [`crate::job::pool_of`], or whose `status.claimRef` is one of its claims.
    pub jobs: Vec<Arc<RunnerJob>>,
    /// What the platform's statistics said last, if this process has heard any.
    pub level: Option<Heard>,
    /// Jobs that wait and [endanger](crate::job::endangers) the pool: a runner of its could be given one.
    pub strangers: Vec<Arc<RunnerJob>>,
    /// The source it refers to, if there is one.
    pub source: Option<Arc<RunnerSource>>,
    /// Whether machines can be made from its template.
    pub gate: Gate,
    /// When this process last planned another status than the object had: counts are told once a second, not with every
    /// claim that moves.
    pub told: Option<Timestamp>,
}

/// A number that the platform gave instead of jobs, and when it was last known to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The number.
    pub level: Level,
    /// When the platform last answered without giving another.
    pub at: Timestamp,
}

/// Whether machines can be made from a pool's template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gate {
    /// They cannot, and why.
    Closed(Obstacle),
    /// They can.
    Open {
        /// The template's generation.
        generation: i64,
    },
}

/// What can be done for a pool.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Make these claims, several at a time: each is one write-ahead, if it has one, and one creation.
    Make(Vec<Birth>),
    /// Delete a claim that has no runner yet, if it is still what was seen (uid and resource version).
    Delete(Arc<MachineClaim>),
    /// Give a claim a status that asks it to drain, if it is still what was seen (uid and resource version).
    Drain {
        /// The claim as it was seen.
        claim: Arc<MachineClaim>,
        /// The whole status.
        status: Box<MachineClaimStatus>,
    },
}

/// One claim to make.
#[derive(Clone, Debug, PartialEq)]
pub struct Birth {
    /// What has to be written into the job before; a conflict there means that this claim is not made now.
    pub ahead: Option<Ahead>,
    /// The claim; one of its name that exists already is fine.
    pub claim: Box<MachineClaim>,
}

/// The intent to make a claim, written into the job it is made for.
#[derive(Clone, Debug, PartialEq)]
pub struct Ahead {
    /// The job as it was seen.
    pub job: Arc<RunnerJob>,
    /// The whole status, with the new count; its conditions have their times.
    pub status: Box<RunnerJobStatus>,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |claim: &MachineClaim| claim.metadata.name.clone().unwrap_or_default();
        match self {
            Self::Make(births) => {
                let names: Vec<String> = births.iter().map(|birth| name(&birth.claim)).collect();
                write!(f, "make {}", crate::few::few(&names))
            }
            Self::Delete(claim) => write!(f, "delete {}, which has no runner yet", name(claim)),
            Self::Drain { claim, .. } => write!(f, "drain {}", name(claim)),
        }
    }
}

/// The conditions that are written here.
pub const CONDITIONS: &[&str] = &[ConditionType::Scaling.as_str()];

type PoolPlan = Plan<Step, RunnerPoolStatus>;

/// Decides what happens to a pool.
pub fn plan(observed: &Observed, now: Timestamp) -> PoolPlan {
    let meta = &observed.pool.metadata;
    if meta.deletion_timestamp.is_some() {
        return leave::plan(observed, now);
    }
    if !meta.finalizers.iter().flatten().any(|name| name == CLAIMS_CLEANUP) {
        return Plan { finalizer: Finalizer::Add, ..Plan::rest() };
    }
    serve(observed, now)
}

fn serve(observed: &Observed, now: Timestamp) -> PoolPlan {
    let census = Census::take(observed, now);
    let failures = failing::count(observed, &census, now);
    let held = obstacle(observed);
    let paused = failures.as_ref().and_then(|failures| failing::pause(failures, now));
    let births = if held.is_none() && paused.is_none() { make::births(observed, &census, now) } else { Vec::new() };
    let mut steps = retire::surplus(observed, &census, now);
    if held.is_none() && steps.is_empty() {
        steps = retire::roll(observed, &census, now);
    }
    if !births.is_empty() {
        steps.insert(0, Step::Make(births));
    }
    let status = tell::status(observed, &census, &tell::State { failures, held, paused }, now);
    let (status, again) = tell::paced(observed, status, now);
    let next = [
        paused.map(|due| (due, "the next machine is made")),
        census.resting().map(|due| (due, "a job gets its next machine")),
    ];
    let next = next.into_iter().flatten().map(|(due, what)| Next::at(due, now, Why::Deadline { what }));
    let next = next.fold(again.or_sooner(retire::next(observed, &census, now)), Next::or_sooner);
    Plan { steps, status, next, ..Plan::rest() }
}

/// What stands between the pool and a new machine.
fn obstacle(observed: &Observed) -> Option<Obstacle> {
    let source = source_obstacle(observed.source.as_deref(), &observed.pool.spec.source_ref.name);
    source.or_else(|| endangered(observed)).or_else(|| match &observed.gate {
        Gate::Open { .. } => None,
        Gate::Closed(Obstacle { reason, message }) => {
            let cluster = matches!(reason, Reason::ClusterNotReady | Reason::ClusterNotFound);
            let reason = if cluster { Reason::ClusterNotReady } else { Reason::TemplateNotReady };
            Some(Obstacle { reason, message: message.clone() })
        }
    })
}

/// A job waits that any runner could be given which is registered now, and that must not run here.
fn endangered(observed: &Observed) -> Option<Obstacle> {
    let job = observed.strangers.iter().min_by_key(|job| &job.metadata.name)?;
    let name = job.metadata.name.as_deref().unwrap_or_default();
    let whose = job.spec.repository.as_deref().map(|repository| format!(" of {repository}")).unwrap_or_default();
    let message = format!(
        "job {name}{whose} waits, which is not trusted here, and the platform would give it to any runner that is registered \
         now: cancel it there, or allow it in spec.trust"
    );
    Some(Obstacle { reason: Reason::UntrustedJobWaits, message })
}

/// Why a source cannot be used now.
pub(crate) fn source_obstacle(source: Option<&RunnerSource>, name: &ObjectName) -> Option<Obstacle> {
    let Some(source) = source else {
        let message = format!("RunnerSource {name} does not exist: create it, or delete what refers to it");
        return Some(Obstacle { reason: Reason::SourceNotFound, message });
    };
    let conditions = source.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    if holds(conditions, ConditionType::Ready) {
        return None;
    }
    let ready = find(conditions, ConditionType::Ready);
    let why = ready.map_or("it has not been looked at yet", |ready| &ready.message);
    let limited = ready.is_some_and(|ready| ready.reason == Reason::RateLimited.as_str());
    let reason = if limited { Reason::RateLimited } else { Reason::SourceNotReady };
    Some(Obstacle { reason, message: format!("RunnerSource {name} cannot be used: {why}") })
}

#[cfg(test)]
mod tests;
