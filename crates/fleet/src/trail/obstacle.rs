//! What is in the way, and who can say no more about it.

use api::condition::{find, holds};
use api::{
    BootstrapState, Condition, ConditionStatus, ConditionType, JobState, MachineClaim, Phase, Reason, RunnerJob,
};

use super::object::Speaks;
use super::sense::{Sense, sense};
use super::{Found, Kind, Scene, link};

/// What is in the way, and who says so.
pub(super) struct Obstacle<'a> {
    pub(super) kind: Kind,
    pub(super) cause: Cause<'a>,
}

/// What somebody has to say about it.
pub(super) enum Cause<'a> {
    /// There is no such object.
    Missing,
    /// Nobody has said anything yet.
    Silence,
    /// A reason we know.
    Said { reason: Reason, sense: Sense, message: &'a str },
    /// A reason of another version.
    Foreign { message: &'a str },
}

/// What an object says for itself.
enum Word<'a> {
    /// Nothing is in its way.
    Content,
    /// Nobody has looked at it.
    Silence,
    /// This condition.
    Condition(&'a Condition),
    /// What follows from another part of its status.
    Plain(Reason, &'static str),
}

/// Goes where the reasons point, down from an object, until one points no further.
pub(super) fn deepest(scene: &Scene, kind: Kind) -> Option<Obstacle<'_>> {
    let own = met(scene, kind);
    let next = match &own {
        Some(Obstacle { cause: Cause::Said { sense, .. }, .. }) => sense.toward,
        // What passes quickly is not written on a job; its machine or its pool may know.
        Some(Obstacle { cause: Cause::Silence, .. }) if kind == Kind::Job => {
            Some(if scene.claim.there().is_some() { Kind::Claim } else { Kind::Pool })
        }
        // A pool that is content may have a machine that is not.
        None if kind == Kind::Pool => Some(Kind::Claim),
        Some(_) | None => None,
    };
    // While its hypervisor cannot be used, whatever else a machine waits for follows from that.
    let under = own.as_ref().filter(|_| kind == Kind::Claim).map(|_| Kind::Cluster);
    // Down only, so that it ends.
    let down = |next: Option<Kind>| next.filter(|next| *next > kind).and_then(|next| deepest(scene, next));
    down(next).or_else(|| down(under)).or(own)
}

/// What is in the way of one object, by its own word.
fn met(scene: &Scene, kind: Kind) -> Option<Obstacle<'_>> {
    let cause = match kind {
        Kind::Job => at(kind, &scene.job, of_job),
        Kind::Pool => at(kind, &scene.pool, |pool| {
            if pool.is_going() {
                return Word::Plain(Reason::PoolDeleted, "the pool is being deleted and makes no more machines");
            }
            usable(pool, ConditionType::Scaling)
        }),
        Kind::Claim => at(kind, &scene.claim, of_claim),
        Kind::Source => at(kind, &scene.source, |source| usable(source, ConditionType::Ready)),
        Kind::Template => at(kind, &scene.template, |template| usable(template, ConditionType::TemplateValid)),
        Kind::Cluster => at(kind, &scene.cluster, |cluster| usable(cluster, ConditionType::Ready)),
    }?;
    Some(Obstacle { kind, cause })
}

fn at<'a, T: Speaks>(kind: Kind, found: &'a Found<T>, word: impl FnOnce(&'a T) -> Word<'a>) -> Option<Cause<'a>> {
    let object = match found {
        // Of what we may not read, whoever refers to it says enough.
        Found::Unnamed | Found::Hidden { .. } => return None,
        Found::Missing(_) => return Some(Cause::Missing),
        Found::There(object) => object,
    };
    let stalled = find(object.conditions(), ConditionType::Stalled);
    let stalled = stalled.filter(|known| known.status == ConditionStatus::True.as_str());
    match stalled.map_or_else(|| word(object), Word::Condition) {
        Word::Content => None,
        Word::Silence => Some(Cause::Silence),
        Word::Plain(reason, message) => said(kind, reason, message),
        Word::Condition(condition) => {
            let message = condition.message.as_str();
            match Reason::ALL.iter().find(|reason| reason.as_str() == condition.reason) {
                Some(reason) => said(kind, *reason, message),
                None => Some(Cause::Foreign { message }),
            }
        }
    }
}

fn said(kind: Kind, reason: Reason, message: &str) -> Option<Cause<'_>> {
    sense(kind, reason).map(|sense| Cause::Said { reason, sense, message })
}

/// What an object says that either can be used or cannot.
fn usable<T: Speaks>(object: &T, about: ConditionType) -> Word<'_> {
    if holds(object.conditions(), about) {
        return Word::Content;
    }
    find(object.conditions(), about).map_or(Word::Silence, Word::Condition)
}

fn of_job(job: &RunnerJob) -> Word<'_> {
    match job.status.as_ref().and_then(|status| status.state) {
        Some(JobState::Assigned | JobState::Running | JobState::Completed) => Word::Content,
        Some(JobState::Queued) | None => usable(job, ConditionType::Assigned),
    }
}

fn of_claim(claim: &MachineClaim) -> Word<'_> {
    let Some(status) = &claim.status else { return Word::Silence };
    let told = || link::telling(claim).map_or(Word::Silence, Word::Condition);
    match status.phase {
        None => Word::Silence,
        Some(Phase::Pending | Phase::Provisioning) => told(),
        Some(Phase::Bootstrapping) => match status.bootstrap.as_ref().map(|record| record.state) {
            Some(BootstrapState::Challenged) => Word::Plain(Reason::Attesting, "it was asked for evidence"),
            Some(
                BootstrapState::Pending
                | BootstrapState::Bound
                | BootstrapState::Released
                | BootstrapState::Expired
                | BootstrapState::Revoked,
            )
            | None => told(),
        },
        Some(Phase::Ready | Phase::Draining) => usable(claim, ConditionType::Ready),
        // Why it ends is no obstacle; what keeps it from ending is.
        Some(Phase::Terminating) => match link::telling(claim) {
            Some(left) if left.type_ != ConditionType::Ready.as_str() => Word::Condition(left),
            Some(_) | None => Word::Content,
        },
        Some(Phase::Busy | Phase::Succeeded | Phase::Failed) => Word::Content,
    }
}
