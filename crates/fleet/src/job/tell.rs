//! What the status of a job says.

use api::condition::{find, holds, put};
use api::{
    Condition, ConditionStatus, ConditionType, InfrastructureLoss, JobResult, JobState, LossClass, Reason,
    RunnerJobStatus, Time, condition,
};
use jiff::Timestamp;

use super::Observed;

/// What the `Assigned` condition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) holds: bool,
    pub(crate) reason: Reason,
    pub(crate) message: String,
}

impl Verdict {
    /// It waits, for this.
    pub(super) fn waits(reason: Reason, message: impl Into<String>) -> Self {
        Self { holds: false, reason, message: message.into() }
    }
}

/// A machine is on its way: the words with which its pool makes it, so that nothing has to be written until it is slow.
pub(crate) fn starting(claim: &str, pool: &str) -> Verdict {
    Verdict::waits(Reason::MachineStarting, format!("machine {claim} of pool {pool} is starting"))
}

/// Says what follows from how far the job is, if a runner has it or it has ended.
pub(crate) fn settle(status: &mut RunnerJobStatus, generation: Option<i64>, now: Timestamp) {
    let worked = matches!(status.result, Some(JobResult::Succeeded | JobResult::Failed));
    let known = status.claim_ref.is_some() || status.started_at.is_some();
    let taken = worked || known || holds(&status.conditions, ConditionType::Assigned);
    if status.result == Some(JobResult::Succeeded) {
        status.infrastructure_loss = None;
    }
    let verdict = match (status.state, &status.infrastructure_loss) {
        (None | Some(JobState::Queued), _) => return,
        (Some(_), Some(loss)) => lost(loss),
        (Some(JobState::Assigned | JobState::Running), None) => taken_by(status),
        (Some(JobState::Completed), None) if taken => taken_by(status),
        (Some(JobState::Completed), None) => Verdict::waits(Reason::Cancelled, "the job ended before a runner took it"),
    };
    say(status, verdict, generation, now);
}

fn taken_by(status: &RunnerJobStatus) -> Verdict {
    let message = match (&status.claim_ref, &status.runner) {
        (Some(claim), _) => format!("the runner of machine {} has taken the job", claim.name),
        (None, Some(runner)) => format!("runner {runner} has taken the job"),
        (None, None) => "a runner has taken the job".to_owned(),
    };
    Verdict { holds: true, reason: Reason::RunnerAssigned, message }
}

fn lost(loss: &InfrastructureLoss) -> Verdict {
    let reason = match loss.class {
        LossClass::HostDied => Reason::HostDied,
        LossClass::VmGone => Reason::VmGone,
        LossClass::OutOfMemory => Reason::OutOfMemory,
        LossClass::DiskFull => Reason::DiskFull,
        LossClass::AgentLost => Reason::AgentLost,
        LossClass::RunnerDied => Reason::RunnerDied,
    };
    Verdict::waits(reason, format!("the job was lost with its machine and did not fail by itself: {}", loss.evidence))
}

/// Puts the condition, with the time at which its status flipped: whoever writes it may not be its object's driver.
pub(crate) fn say(status: &mut RunnerJobStatus, verdict: Verdict, generation: Option<i64>, now: Timestamp) {
    let word = if verdict.holds { ConditionStatus::True } else { ConditionStatus::False };
    let about = ConditionType::Assigned;
    let old = find(&status.conditions, about).filter(|old| old.status == word.as_str());
    let since = old.map_or(Time(now), |old| old.last_transition_time.clone());
    let new = condition(about, word, verdict.reason, verdict.message, generation);
    put(&mut status.conditions, Condition { last_transition_time: since, ..new });
}

/// The status, settled, if it differs from what the job says now.
pub(super) fn told(observed: &Observed, mut status: RunnerJobStatus, now: Timestamp) -> Option<RunnerJobStatus> {
    settle(&mut status, observed.job.metadata.generation, now);
    (Some(&status) != observed.job.status.as_ref()).then_some(status)
}
