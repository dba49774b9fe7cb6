//! How a machine's agent is believed, works and ends: what the bootstrap service decides about a claim.
//!
//! ```text
//!   Pending ── token and key ──▶ Bound ── listening, started, finished ──▶ Released
//!                                  └── the token again, with another key ──▶ Revoked: nobody is believed any more
//! ```
//!
//! Total functions from a claim to the status it should get. The service writes that by compare-and-swap and decides
//! again on what is true then, so that a token works once however many replicas hear it.

mod bind;
mod report;
mod serve;
mod work;

use std::net::IpAddr;

use api::condition::put;
use api::{BootstrapState, ConditionStatus, ConditionType, Digest, MachineClaim, MachineClaimStatus, Phase};
use api::{Reason, condition};
use jiff::{SignedDuration, Timestamp};

pub use bind::{Bound, Refusal, bind};
pub use report::{Ended, complain, finished, listening, plain, started, started_job};
pub use serve::{Withheld, serve};
pub use work::{Limits, OUTPUT_BYTES, Work, limits, wanted};

/// The conditions that are written here.
pub const CONDITIONS: &[&str] =
    &[ConditionType::Provisioning.as_str(), ConditionType::Bootstrapped.as_str(), ConditionType::Ready.as_str()];

/// What somebody shows who wants to be believed.
#[derive(Clone, Copy, Debug)]
pub struct Presented<'a> {
    /// SHA-256 of the token.
    pub token_hash: &'a Digest,
    /// SHA-256 of the public key of the handshake.
    pub key_hash: &'a Digest,
    /// The UUID in the machine's firmware, as the machine reads it.
    pub machine: &'a str,
    /// Where it calls from.
    pub from: IpAddr,
}

/// What a machine should do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Go on.
    GoOn,
    /// Take no more work; finish what has begun.
    Drain,
    /// Stop the work and power off.
    End,
}

/// Whether this token is the claim's; says nothing about whether it still works.
pub fn is_token_of(claim: &MachineClaim, token_hash: &Digest) -> bool {
    let record = claim.status.as_ref().and_then(|status| status.bootstrap.as_ref());
    record.is_some_and(|record| same(&record.token_hash, token_hash))
}

/// Whether this key is bound to the claim and still counts.
pub fn by_key(claim: &MachineClaim, key_hash: &Digest) -> bool {
    state_of(claim) == Some(BootstrapState::Bound) && is_key_of(claim, key_hash)
}

/// Whether this key has reported the claim's end, so that saying it again is fine.
pub fn released_by_key(claim: &MachineClaim, key_hash: &Digest) -> bool {
    state_of(claim) == Some(BootstrapState::Released) && is_key_of(claim, key_hash)
}

/// What the claim's machine should do now.
pub fn order(claim: &MachineClaim, now: Timestamp) -> Order {
    if state_of(claim) != Some(BootstrapState::Bound) || is_over(claim, now) {
        return Order::End;
    }
    let status = claim.status.as_ref();
    let draining = status.is_some_and(|status| status.drain.is_some() || status.phase == Some(Phase::Draining));
    if draining || age_exceeds(claim, now, std::time::Duration::ZERO) { Order::Drain } else { Order::GoOn }
}

/// Whether the claim is at its end, whatever its agent says.
fn is_over(claim: &MachineClaim, now: Timestamp) -> bool {
    let phase = claim.status.as_ref().and_then(|status| status.phase);
    let patience = claim.spec.lifecycle.drain_timeout.map_or(std::time::Duration::ZERO, api::Span::as_duration);
    claim.metadata.deletion_timestamp.is_some() || phase.is_some_and(ends) || age_exceeds(claim, now, patience)
}

/// Whether a claim in this phase needs no agent any more.
const fn ends(phase: Phase) -> bool {
    match phase {
        Phase::Terminating | Phase::Succeeded | Phase::Failed => true,
        Phase::Pending | Phase::Provisioning | Phase::Bootstrapping | Phase::Ready | Phase::Busy | Phase::Draining => {
            false
        }
    }
}

/// Whether the claim has lived longer than it may, and `patience` on top.
fn age_exceeds(claim: &MachineClaim, now: Timestamp, patience: std::time::Duration) -> bool {
    let (Some(limit), Some(created)) = (claim.spec.lifecycle.max_lifetime, &claim.metadata.creation_timestamp) else {
        return false;
    };
    let most = limit.as_duration().saturating_add(patience);
    now.duration_since(created.0) > SignedDuration::try_from(most).unwrap_or(SignedDuration::MAX)
}

fn state_of(claim: &MachineClaim) -> Option<BootstrapState> {
    Some(claim.status.as_ref()?.bootstrap.as_ref()?.state)
}

fn is_key_of(claim: &MachineClaim, key_hash: &Digest) -> bool {
    let record = claim.status.as_ref().and_then(|status| status.bootstrap.as_ref());
    record.and_then(|record| record.bound_key_hash.as_ref()).is_some_and(|bound| same(bound, key_hash))
}

/// Compares without telling by its duration how much agrees.
fn same(one: &Digest, other: &Digest) -> bool {
    let (one, other) = (one.as_str().as_bytes(), other.as_str().as_bytes());
    let differs = one.iter().zip(other).fold(0, |differs, (left, right)| differs | (left ^ right));
    one.len() == other.len() && differs == 0
}

/// Puts a condition in the place of the one of its type.
fn say(
    status: &mut MachineClaimStatus,
    claim: &MachineClaim,
    about: ConditionType,
    holds: ConditionStatus,
    reason: Reason,
    message: impl Into<String>,
) {
    put(&mut status.conditions, condition(about, holds, reason, message, claim.metadata.generation));
}

#[cfg(test)]
mod tests;
