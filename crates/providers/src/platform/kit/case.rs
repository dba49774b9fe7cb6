//! The cases, each a promise of the trait.

mod demand;
mod hook;
mod queue;
mod runner;

use super::bench::{Bench, Unavailable};
use super::workshop::{Failure, Workshop};
use crate::hypervisor::kit::Outcome;
use crate::platform::Platform;

/// One promise, tried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// It answers, and we may do what we need to.
    Health,
    /// A credential that is nobody's is told apart from everything else.
    RefusedCredential,
    /// What the credential lacks is named.
    MissingPermission,
    /// A delivery is believed if its very bytes were signed, and only then.
    Signature,
    /// A job has one key, however it is learnt of.
    OneKey,
    /// A job is told of from the queue to its end.
    JobStates,
    /// A job that was cancelled is over.
    CancelledJob,
    /// There is no job only if the platform says so.
    UnknownJob,
    /// What was not delivered can be asked for.
    Recovery,
    /// A runner gets the jobs that it matches, and no others.
    Matching,
    /// Only the machine that was ordered becomes a runner.
    OtherMachine,
    /// A runner is listed under its marker and removed; others are left alone.
    Registration,
    /// A name is taken once.
    TakenName,
    /// A registration whose answer was lost is found by its name and removed.
    LostAnswer,
    /// Removing a runner again does no harm.
    DeregisterTwice,
    /// A busy runner is not removed as an idle one.
    BusyRunner,
    /// Too much is reported with how long to wait.
    RateLimit,
    /// A job runs again when asked.
    Rerun,
    /// One process listens to a queue at a time.
    OneHolder,
    /// News come again until they are acknowledged, to whoever listens.
    AtLeastOnce,
    /// A runner of a queue takes the queue's jobs.
    QueueRunner,
}

impl Case {
    /// Every case, in the order they run.
    pub const ALL: [Self; 21] = [
        Self::Health,
        Self::RefusedCredential,
        Self::MissingPermission,
        Self::Signature,
        Self::OneKey,
        Self::JobStates,
        Self::CancelledJob,
        Self::UnknownJob,
        Self::Recovery,
        Self::Matching,
        Self::OtherMachine,
        Self::Registration,
        Self::TakenName,
        Self::LostAnswer,
        Self::DeregisterTwice,
        Self::BusyRunner,
        Self::RateLimit,
        Self::Rerun,
        Self::OneHolder,
        Self::AtLeastOnce,
        Self::QueueRunner,
    ];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::RefusedCredential => "refused-credential",
            Self::MissingPermission => "missing-permission",
            Self::Signature => "signature",
            Self::OneKey => "one-key",
            Self::JobStates => "job-states",
            Self::CancelledJob => "cancelled-job",
            Self::UnknownJob => "unknown-job",
            Self::Recovery => "recovery",
            Self::Matching => "matching",
            Self::OtherMachine => "other-machine",
            Self::Registration => "registration",
            Self::TakenName => "taken-name",
            Self::LostAnswer => "lost-answer",
            Self::DeregisterTwice => "deregister-twice",
            Self::BusyRunner => "busy-runner",
            Self::RateLimit => "rate-limit",
            Self::Rerun => "rerun",
            Self::OneHolder => "one-holder",
            Self::AtLeastOnce => "at-least-once",
            Self::QueueRunner => "queue-runner",
        }
    }

    /// Tries the promise out.
    pub(super) async fn run<P: Platform, B: Bench>(self, shop: &Workshop<'_, P, B>) -> Outcome {
        let observed = match self {
            Self::Health => demand::health(shop).await,
            Self::RefusedCredential => demand::refused_credential(shop).await,
            Self::MissingPermission => demand::missing_permission(shop).await,
            Self::Signature => hook::signature(shop).await,
            Self::OneKey => hook::one_key(shop).await,
            Self::JobStates => demand::states(shop).await,
            Self::CancelledJob => demand::cancelled(shop).await,
            Self::UnknownJob => demand::unknown(shop).await,
            Self::Recovery => hook::recovery(shop).await,
            Self::Matching => demand::matching(shop).await,
            Self::OtherMachine => runner::other_machine(shop).await,
            Self::Registration => runner::registration(shop).await,
            Self::TakenName => runner::taken_name(shop).await,
            Self::LostAnswer => runner::lost_answer(shop).await,
            Self::DeregisterTwice => runner::deregister_twice(shop).await,
            Self::BusyRunner => runner::busy(shop).await,
            Self::RateLimit => demand::rate_limit(shop).await,
            Self::Rerun => demand::rerun(shop).await,
            Self::OneHolder => queue::one_holder(shop).await,
            Self::AtLeastOnce => queue::at_least_once(shop).await,
            Self::QueueRunner => queue::runner(shop).await,
        };
        match observed {
            Ok(observed) => Outcome::Passed(observed),
            Err(Failure::Unavailable(Unavailable(why))) => Outcome::Skipped(why),
            Err(failure @ (Failure::Platform(_) | Failure::Unmet(_))) => Outcome::Failed(failure.to_string()),
        }
    }
}
