//! Whether somebody is the claim's machine.

use api::{BootstrapRecord, BootstrapState, ConditionStatus, ConditionType, IpText, MachineClaim, MachineClaimStatus};
use api::{Moment, NetworkStatus, Phase, Reason, Step};
use jiff::{SignedDuration, Timestamp};

use super::{Presented, is_over, same, say};

/// How long the key that used a token gets the same answer again, in case the first was lost.
const AGAIN: SignedDuration = SignedDuration::from_secs(60);

/// Somebody is believed.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// For the first time: the status that makes it so must be written before anything is answered.
    First(Box<MachineClaimStatus>),
    /// Again, with the same key and soon enough: the same answer, and nothing to write.
    Again,
}

/// Somebody is not believed. Why is for logs and metrics, never for the caller.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// It is not the claim's token, or the claim has none.
    UnknownToken,
    /// The caller's firmware has another UUID than the claim's machine.
    WrongMachine,
    /// The token was not used in time.
    Expired,
    /// The claim is at its end.
    Ended,
    /// Evidence was asked for, and a token alone is none.
    Challenged,
    /// Another key has used the token: the status that shuts both out must be written.
    Stolen(Box<MachineClaimStatus>),
    /// The same key used the token too long ago.
    Spent,
    /// The token was presented by two: both are shut out for ever.
    Revoked,
}

impl Refusal {
    /// The word in logs and metrics.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::UnknownToken => "unknown-token",
            Self::WrongMachine => "wrong-machine",
            Self::Expired => "expired",
            Self::Ended => "ended",
            Self::Challenged => "challenged",
            Self::Stolen(_) => "stolen",
            Self::Spent => "spent",
            Self::Revoked => "revoked",
        }
    }
}

/// Decides whether `presented` is the claim's machine.
pub fn bind(claim: &MachineClaim, presented: &Presented<'_>, now: Timestamp) -> Result<Bound, Refusal> {
    let status = claim.status.as_ref().ok_or(Refusal::UnknownToken)?;
    let record = status.bootstrap.as_ref().ok_or(Refusal::UnknownToken)?;
    if !same(&record.token_hash, presented.token_hash) {
        return Err(Refusal::UnknownToken);
    }
    match record.state {
        BootstrapState::Revoked => Err(Refusal::Revoked),
        BootstrapState::Released | BootstrapState::Expired => Err(Refusal::Ended),
        BootstrapState::Challenged | BootstrapState::Bound | BootstrapState::Pending if is_over(claim, now) => {
            Err(Refusal::Ended)
        }
        BootstrapState::Challenged => Err(Refusal::Challenged),
        BootstrapState::Bound => rebind(claim, status, record, presented, now),
        BootstrapState::Pending => first(claim, status, record, presented, now),
    }
}

/// The token is spent. Whoever shows it with another key has stolen it, or was stolen from: nobody can tell which.
fn rebind(
    claim: &MachineClaim,
    status: &MachineClaimStatus,
    record: &BootstrapRecord,
    presented: &Presented<'_>,
    now: Timestamp,
) -> Result<Bound, Refusal> {
    if !record.bound_key_hash.as_ref().is_some_and(|bound| same(bound, presented.key_hash)) {
        return Err(Refusal::Stolen(Box::new(revoked(claim, status, presented))));
    }
    if !is_machine(status, presented) {
        return Err(Refusal::WrongMachine);
    }
    let soon = |bound: &Moment| now.duration_since(bound.timestamp()) <= AGAIN;
    if record.bound_at.as_ref().is_some_and(soon) || waits(claim, status, record, now) {
        return Ok(Bound::Again);
    }
    Err(Refusal::Spent)
}

/// Whether the machine is to be a runner and has been given nothing yet: its platform may take longer than a minute.
fn waits(claim: &MachineClaim, status: &MachineClaimStatus, record: &BootstrapRecord, now: Timestamp) -> bool {
    let registered = status.runner.as_ref().is_some_and(|runner| runner.id.is_some());
    claim.spec.workload.runner.is_some() && !registered && now <= record.not_after.timestamp()
}

fn first(
    claim: &MachineClaim,
    status: &MachineClaimStatus,
    record: &BootstrapRecord,
    presented: &Presented<'_>,
    now: Timestamp,
) -> Result<Bound, Refusal> {
    if !is_machine(status, presented) {
        return Err(Refusal::WrongMachine);
    }
    if now > record.not_after.timestamp() {
        return Err(Refusal::Expired);
    }
    // A machine that is being given up gets no work.
    if status.drain.is_some() || status.phase == Some(Phase::Draining) {
        return Err(Refusal::Ended);
    }
    Ok(Bound::First(Box::new(bound(claim, status, record, presented, now))))
}

fn is_machine(status: &MachineClaimStatus, presented: &Presented<'_>) -> bool {
    status.allocation.as_ref().is_some_and(|ours| ours.id.as_str().eq_ignore_ascii_case(presented.machine))
}

fn bound(
    claim: &MachineClaim,
    before: &MachineClaimStatus,
    record: &BootstrapRecord,
    presented: &Presented<'_>,
    now: Timestamp,
) -> MachineClaimStatus {
    let (moment, from) = (Moment::from(now), presented.from);
    let mut status = MachineClaimStatus {
        phase: Some(Phase::Ready),
        step: Some(Step::Ready),
        ready_time: Some(moment.clone()),
        first_running_time: before.first_running_time.clone().or_else(|| Some(moment.clone())),
        network: Some(NetworkStatus { ip_address: IpText::new(from.to_string()) }),
        bootstrap: Some(BootstrapRecord {
            state: BootstrapState::Bound,
            bound_key_hash: Some(presented.key_hash.clone()),
            bound_at: Some(moment),
            ..record.clone()
        }),
        ..before.clone()
    };
    let still_made = api::condition::holds(&before.conditions, ConditionType::Provisioning);
    let mut tell = |about, holds, message| say(&mut status, claim, about, holds, Reason::AgentAttested, message);
    // Whoever watches the start of the VM may not have had time to say that it runs.
    if still_made {
        let made = format!("the VM runs; its agent called from {from}");
        tell(ConditionType::Provisioning, ConditionStatus::False, made);
    }
    tell(ConditionType::Bootstrapped, ConditionStatus::True, format!("the agent proved itself from {from}"));
    tell(ConditionType::Ready, ConditionStatus::True, format!("the machine at {from} has its work"));
    status
}

fn revoked(claim: &MachineClaim, before: &MachineClaimStatus, presented: &Presented<'_>) -> MachineClaimStatus {
    let record = before.bootstrap.clone();
    let record = record.map(|record| BootstrapRecord { state: BootstrapState::Revoked, ..record });
    let mut status = MachineClaimStatus { bootstrap: record, ..before.clone() };
    let earlier = before.network.as_ref().map(|known| format!(" from {}", known.ip_address)).unwrap_or_default();
    let message = format!(
        "the token was used{earlier} and then shown with another key from {}: one of the two has stolen it, so that \
         neither is trusted any more",
        presented.from
    );
    for about in [ConditionType::Bootstrapped, ConditionType::Ready] {
        say(&mut status, claim, about, ConditionStatus::False, Reason::AttestationFailed, message.clone());
    }
    status
}
