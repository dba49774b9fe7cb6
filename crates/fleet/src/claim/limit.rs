//! How long a claim may stay what it is.

use std::time::Duration;

use api::{BootstrapState, Moment, Reason};
use jiff::Timestamp;
use reconcile::{Next, Why};

use super::Observed;

/// The end of something.
pub(super) struct Limit {
    pub(super) due: Timestamp,
    pub(super) reason: Reason,
    /// What is over, for the log.
    what: &'static str,
    /// What a person reads.
    pub(super) message: String,
}

/// What is over by now, the earliest first.
pub(super) fn passed(observed: &Observed, now: Timestamp) -> Option<Limit> {
    earliest(observed).filter(|limit| limit.due <= now)
}

/// When the next limit wants to be looked at.
pub(super) fn next(observed: &Observed, now: Timestamp) -> Next {
    earliest(observed).map_or(Next::OnChange, |limit| Next::at(limit.due, now, Why::Deadline { what: limit.what }))
}

fn earliest(observed: &Observed) -> Option<Limit> {
    [lifetime, bootstrap, token, job, idle]
        .into_iter()
        .filter_map(|limit| limit(observed))
        .min_by_key(|limit| limit.due)
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

/// Longest life; a busy machine may have a while to finish.
fn lifetime(observed: &Observed) -> Option<Limit> {
    let lifecycle = &observed.claim.spec.lifecycle;
    let (most, start) = (lifecycle.max_lifetime?, observed.claim.metadata.creation_timestamp.as_ref()?);
    let busy = is_bound(observed) && observed.status().busy_time.is_some();
    let drain = lifecycle.drain_timeout.filter(|_| busy).map_or(Duration::ZERO, api::Span::as_duration);
    let message = format!("the machine has lived for {most}, as long as lifecycle.maxLifetime allows");
    let due = after(after(start.0, most.as_duration()), drain);
    Some(Limit { due, reason: Reason::LifetimeExceeded, what: "maxLifetime ends", message })
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

/// Ready without work.
fn idle(observed: &Observed) -> Option<Limit> {
    let most = observed.claim.spec.lifecycle.idle_timeout?;
    let idle = is_bound(observed) && observed.status().busy_time.is_none();
    let start = since(observed.status().ready_time.as_ref()).filter(|_| idle)?;
    let message = format!("the machine waited for work for {most}, as long as lifecycle.idleTimeout allows");
    Some(Limit {
        due: after(start, most.as_duration()),
        reason: Reason::IdleTimeout,
        what: "idleTimeout ends",
        message,
    })
}
