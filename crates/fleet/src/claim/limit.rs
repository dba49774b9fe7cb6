//! How long a claim may stay what it is.

use std::time::Duration;

use api::{BootstrapState, JobResult, Moment, Reason};
use jiff::Timestamp;
use reconcile::{Next, Why};

use super::runner::{RunnerState, Standing, Work};
use super::{Observed, farewell};

/// The end of something.
pub(super) struct Limit {
    pub(super) due: Timestamp,
    pub(super) reason: Reason,
    /// What is over, for the log.
    what: &'static str,
    /// What a person reads.
    pub(super) message: String,
}

type Find = fn(&Observed) -> Option<Limit>;

/// Limits that end a machine, whatever it does.
const HARD: [Find; 7] = [lifetime, bootstrap, token, job, idle, finished, lost];

/// Limits after which a machine takes no more work; what it has begun, it may end.
const SOFT: [Find; 2] = [retirement, boredom];

/// What is over by now, the earliest first.
pub(super) fn passed(observed: &Observed, now: Timestamp) -> Option<Limit> {
    earliest(observed, &HARD).filter(|limit| limit.due <= now)
}

/// What asks for a drain by now, unless somebody has asked.
pub(super) fn drains(observed: &Observed, now: Timestamp) -> Option<Limit> {
    earliest(observed, &SOFT).filter(|limit| limit.due <= now)
}

/// When the next limit wants to be looked at.
pub(super) fn next(observed: &Observed, now: Timestamp) -> Next {
    let first =
        [earliest(observed, &HARD), earliest(observed, &SOFT)].into_iter().flatten().min_by_key(|limit| limit.due);
    first.map_or(Next::OnChange, |limit| Next::at(limit.due, now, Why::Deadline { what: limit.what }))
}

fn earliest(observed: &Observed, limits: &[Find]) -> Option<Limit> {
    limits.iter().filter_map(|limit| limit(observed)).min_by_key(|limit| limit.due)
}

/// A moment and a span after it; a span too long for the calendar never ends.
pub(super) fn after(start: Timestamp, span: Duration) -> Timestamp {
    start.saturating_add(span).unwrap_or(Timestamp::MAX)
}

fn since(moment: Option<&Moment>) -> Option<Timestamp> {
    moment.map(Moment::timestamp)
}

fn is_bound(observed: &Observed) -> bool {
    observed.status().bootstrap.as_ref().is_some_and(|record| record.state == BootstrapState::Bound)
}

/// Whether its agent has not proven itself, and still could or should have.
fn is_unproven(observed: &Observed) -> bool {
    observed.status().bootstrap.as_ref().is_none_or(|record| match record.state {
        BootstrapState::Pending | BootstrapState::Challenged | BootstrapState::Expired => true,
        BootstrapState::Bound | BootstrapState::Released | BootstrapState::Revoked => false,
    })
}

/// Whether there is, or may be, work that a drain lets end: a registered runner can be given a job at any moment.
fn may_work(observed: &Observed) -> bool {
    let status = observed.status();
    is_bound(observed) && (status.busy_time.is_some() || farewell::is_registered(status))
}

/// Longest life; a machine that may work has a while to finish.
fn lifetime(observed: &Observed) -> Option<Limit> {
    let lifecycle = &observed.claim.spec.lifecycle;
    let (most, start) = (lifecycle.max_lifetime?, observed.claim.metadata.creation_timestamp.as_ref()?);
    let works = may_work(observed);
    let drain = lifecycle.drain_timeout.filter(|_| works).map_or(Duration::ZERO, api::Span::as_duration);
    let message = format!("the machine has lived for {most}, as long as lifecycle.maxLifetime allows");
    let due = after(after(start.0, most.as_duration()), drain);
    Some(Limit { due, reason: Reason::LifetimeExceeded, what: "maxLifetime ends", message })
}

/// The same, where a while to finish is allowed: its begin.
fn retirement(observed: &Observed) -> Option<Limit> {
    let lifecycle = &observed.claim.spec.lifecycle;
    let (most, start) = (lifecycle.max_lifetime?, observed.claim.metadata.creation_timestamp.as_ref()?);
    lifecycle.drain_timeout.filter(|_| may_work(observed) && observed.status().drain.is_none())?;
    let message = format!("the machine has lived for {most} (lifecycle.maxLifetime); it may finish its work");
    let due = after(start.0, most.as_duration());
    Some(Limit { due, reason: Reason::Draining, what: "maxLifetime ends", message })
}

/// From the first start until the agent has proven itself.
fn bootstrap(observed: &Observed) -> Option<Limit> {
    let most = observed.claim.spec.lifecycle.bootstrap_timeout?;
    let start = since(observed.status().first_running_time.as_ref()).filter(|_| is_unproven(observed))?;
    let message =
        format!("the agent did not prove itself within {most} (lifecycle.bootstrapTimeout); {}", last(observed));
    let due = after(start, most.as_duration());
    Some(Limit { due, reason: Reason::BootstrapTimeout, what: "bootstrapTimeout ends", message })
}

/// Until then the token works; a VM without one never gets anywhere.
fn token(observed: &Observed) -> Option<Limit> {
    let record = observed.status().bootstrap.as_ref().filter(|_| is_unproven(observed))?;
    observed.status().first_running_time.as_ref()?;
    let message =
        format!("the agent did not prove itself while its token worked (attestation.joinTokenTTL); {}", last(observed));
    let due = record.not_after.timestamp();
    Some(Limit { due, reason: Reason::CredentialExpired, what: "the token's time ends", message })
}

/// What is known of why it does not come up.
fn last(observed: &Observed) -> String {
    let heard = api::condition::find(&observed.status().conditions, api::ConditionType::Bootstrapped);
    let heard = heard.filter(|condition| condition.status == "False").map(|condition| condition.message.clone());
    heard.unwrap_or_else(|| {
        "it never reached us: check that the image has the agent and can reach bootstrap.advertise".to_owned()
    })
}

/// One job or command.
fn job(observed: &Observed) -> Option<Limit> {
    let most = observed.claim.spec.lifecycle.job_timeout?;
    let start = since(observed.status().busy_time.as_ref()).filter(|_| is_bound(observed))?;
    let message = format!("the work ran for {most}, as long as lifecycle.jobTimeout allows");
    // The agent ends it by itself; this is for one that does not.
    let due = after(after(start, most.as_duration()), GRACE);
    Some(Limit { due, reason: Reason::JobTimeout, what: "jobTimeout ends", message })
}

/// What an agent has to end its work by itself and to say so.
const GRACE: Duration = Duration::from_secs(30);

/// Ready without work, and without a runner that could be given a job.
fn idle(observed: &Observed) -> Option<Limit> {
    waiting(observed, Duration::ZERO).filter(|_| !farewell::is_registered(observed.status()))
}

/// The same with one: the platform may have given it a job that we do not know of yet. The agent's own limit comes first.
fn boredom(observed: &Observed) -> Option<Limit> {
    let status = observed.status();
    waiting(observed, GRACE).filter(|_| farewell::is_registered(status) && status.drain.is_none())
}

fn waiting(observed: &Observed, grace: Duration) -> Option<Limit> {
    let most = observed.claim.spec.lifecycle.idle_timeout?;
    let idle = is_bound(observed) && observed.status().busy_time.is_none();
    let start = since(observed.status().ready_time.as_ref()).filter(|_| idle)?;
    let message = format!("the machine waited for work for {most}, as long as lifecycle.idleTimeout allows");
    let due = after(after(start, most.as_duration()), grace);
    Some(Limit { due, reason: Reason::IdleTimeout, what: "idleTimeout ends", message })
}

/// A cancelled job's runner may never learn of it, so that its agent has little to report.
const CANCELLED: Duration = Duration::from_secs(5);

/// The platform says that the job is over: its machine has no more to do than to say so.
fn finished(observed: &Observed) -> Option<Limit> {
    let Work::Ended(end) = &observed.runner.work else { return None };
    let began = since(observed.status().busy_time.as_ref()).filter(|_| is_bound(observed))?;
    let (grace, how) = match end.result {
        JobResult::Cancelled => (CANCELLED, "was cancelled"),
        JobResult::Succeeded => (GRACE, "succeeded"),
        JobResult::Failed => (GRACE, "failed"),
        JobResult::Unknown => (GRACE, "ended"),
    };
    // A job that ended before the work began was another one, unless the platform does not know the runner any more.
    let due = if end.ended < began { gone_since(observed)? } else { after(end.seen, grace) };
    let message = format!("the platform says that the job {how}; the machine did not end by itself");
    Some(Limit { due, reason: Reason::Finished, what: "the agent has to report", message })
}

/// Since when it is certain that the platform does not list the runner.
fn gone_since(observed: &Observed) -> Option<Timestamp> {
    let Standing { state, since, seen } = observed.runner.standing?;
    let due = after(since, TWICE);
    (state == RunnerState::Gone && due <= seen).then_some(due)
}

/// Listings that say the same over this long are believed: one alone may be behind the times.
pub(super) const TWICE: Duration = Duration::from_mins(1);

/// A runner that does not call for this long does not come back: its machine or its network is broken.
const OFFLINE: Duration = Duration::from_mins(5);

/// An idle runner that the platform does not know any more, or does not hear of: it will never get a job.
fn lost(observed: &Observed) -> Option<Limit> {
    let status = observed.status();
    let runner = status.runner.as_ref().filter(|runner| runner.id.is_some() && farewell::is_registered(status))?;
    if !is_bound(observed) || status.busy_time.is_some() || observed.runner.work == Work::Current {
        return None;
    }
    let Standing { state, since, seen } = observed.runner.standing?;
    let (patience, reason, message) = match state {
        RunnerState::Idle | RunnerState::Busy => return None,
        RunnerState::Gone => (TWICE, Reason::RunnerGone, "somebody removed runner {} at the platform"),
        RunnerState::Offline => (OFFLINE, Reason::RunnerOffline, "the platform has not heard of runner {} for minutes"),
    };
    let message = message.replace("{}", &runner.name);
    let due = after(since, patience);
    (due <= seen).then_some(Limit { due, reason, what: "the runner is given up", message })
}
