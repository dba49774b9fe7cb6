//! How a machine that has proven itself becomes a runner: what is written down before its platform is asked, and after.
//!
//! ```text
//!   bound, with a name written ahead ─▶ registered ─▶ its id written ─▶ the credential is handed over, once
//!        ▲                                  └── the answer is lost, the name is taken, or the machine asks again
//!        └────────── the next name ◀── removed under the old name ◀──┘
//! ```
//!
//! A credential is kept nowhere. A machine that asks again gets another one under another name, and what may be registered
//! under the old one is removed before. Names are never used twice, so that nothing registered late can be taken for
//! something else; whoever registered a name that the claim has left removes it himself.

use api::{ConditionStatus, ConditionType, Drain, MachineClaim, MachineClaimStatus, Moment, Reason};
use api::{RunnerPool, RunnerRegistration, condition};
use jiff::Timestamp;

use crate::bootstrap::{Order, order};

/// Letters of a pool's name that a runner's name shows: with marker, digits and count it stays below 64.
const SHOWN: usize = 30;

/// Digits of a claim's uid that tell its runners from those of others.
const DIGITS: usize = 12;

/// The same claim with the next name for its runner written ahead in `status`.
pub fn ahead(claim: &MachineClaim, status: MachineClaimStatus, marker: &str) -> MachineClaimStatus {
    let count = status.runner.as_ref().map_or(0, |runner| count_of(&runner.name)).saturating_add(1);
    let name = name(claim, marker, count);
    MachineClaimStatus { runner: Some(RunnerRegistration { name, id: None, credential_expires_at: None }), ..status }
}

/// The status of a claim whose runner under the name `old` was removed, because its credential may never have arrived: the
/// next name is written ahead. None if the claim has left that name, has begun its job, or must not go on.
pub fn again(claim: &MachineClaim, old: &str, marker: &str, now: Timestamp) -> Option<MachineClaimStatus> {
    let status = claim.status.as_ref().filter(|status| status.busy_time.is_none())?;
    is_named(claim, old).then_some(())?;
    (order(claim, now) == Order::GoOn).then(|| ahead(claim, status.clone(), marker))
}

/// The status of a claim whose runner was registered. None if the claim has left that name or must not go on: the runner
/// has to be removed then, and its credential is nobody's.
pub fn registered(claim: &MachineClaim, runner: &RunnerRegistration, now: Timestamp) -> Option<MachineClaimStatus> {
    let status = claim.status.as_ref()?;
    let goes_on = is_named(claim, &runner.name) && order(claim, now) == Order::GoOn;
    goes_on.then(|| MachineClaimStatus { runner: Some(runner.clone()), ..status.clone() })
}

/// Whether a pool needs no runner any more, however many of its machines are on their way.
pub fn is_unwanted(pool: &RunnerPool) -> bool {
    let wants = pool.status.as_ref().map(|status| status.desired_replicas);
    pool.metadata.deletion_timestamp.is_some() || pool.spec.scaling.max_replicas == 0 || wants == Some(0)
}

/// What a pool says of a waiting job that it must not run and that any runner registered now could be given.
pub fn danger(pool: &RunnerPool) -> Option<&str> {
    let conditions = pool.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
    let said = condition::find(conditions, ConditionType::Scaling)?;
    (said.reason == Reason::UntrustedJobWaits.as_str()).then_some(said.message.as_str())
}

/// The status of a claim whose machine came too late to be of use: it drains, and since it never was a runner nothing can
/// have begun.
pub fn dismissed(claim: &MachineClaim, now: Timestamp) -> Option<MachineClaimStatus> {
    let status = claim.status.as_ref().filter(|status| status.runner.is_none())?;
    let at = Moment::from(now);
    let requested_at = status.drain.as_ref().map_or_else(|| at.clone(), |drain| drain.requested_at.clone());
    Some(MachineClaimStatus { drain: Some(Drain { requested_at, confirmed_at: Some(at) }), ..status.clone() })
}

/// The status of a claim that was asked to drain while its machine was being registered. What was registered under the name
/// `old` is removed, and a machine that asks again never had its credential: nothing can have begun. None if the claim has left
/// that name, has begun its job, or was not asked.
pub fn withdrawn(claim: &MachineClaim, old: &str, now: Timestamp) -> Option<MachineClaimStatus> {
    let status = claim.status.as_ref().filter(|status| status.busy_time.is_none() && is_named(claim, old))?;
    let drain = status.drain.clone().filter(|drain| drain.confirmed_at.is_none())?;
    let drain = Some(Drain { confirmed_at: Some(Moment::from(now)), ..drain });
    Some(MachineClaimStatus { drain, ..status.clone() })
}

/// The status of a claim whose runner cannot be registered now, and why; none if it says so already or goes.
pub fn hindered(claim: &MachineClaim, reason: Reason, message: &str, now: Timestamp) -> Option<MachineClaimStatus> {
    let status = claim.status.as_ref()?;
    let known = condition::find(&status.conditions, ConditionType::Ready);
    let said = known.is_some_and(|known| known.reason == reason.as_str() && known.message == message);
    if said || order(claim, now) != Order::GoOn || status.busy_time.is_some() {
        return None;
    }
    let mut status = status.clone();
    let generation = claim.metadata.generation;
    let says = api::condition(ConditionType::Ready, ConditionStatus::False, reason, message, generation);
    condition::put(&mut status.conditions, says);
    Some(status)
}

fn is_named(claim: &MachineClaim, name: &str) -> bool {
    let runner = claim.status.as_ref().and_then(|status| status.runner.as_ref());
    runner.is_some_and(|runner| runner.name == name)
}

/// The name of a claim's runner: whose it is, what it serves, which claim's, and which of that claim's.
fn name(claim: &MachineClaim, marker: &str, count: u32) -> String {
    let own = claim.metadata.name.as_deref().unwrap_or_default();
    let shown = claim.spec.pool_ref.as_ref().map_or(own, |pool| pool.name.as_str());
    let shown: String = shown.chars().take(SHOWN).collect();
    let uid = claim.metadata.uid.as_deref().unwrap_or_default();
    let digits: String = uid.chars().filter(char::is_ascii_alphanumeric).take(DIGITS).collect();
    format!("{marker}{}-{digits}-{count}", shown.trim_end_matches(['-', '.']))
}

/// Which of its claim's names a name is.
fn count_of(name: &str) -> u32 {
    name.rsplit('-').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests;
