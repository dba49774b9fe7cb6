//! Letting a runner go: the platform is asked until it says that the runner is gone.
//!
//! The VM does not wait for that, and that does not wait for the VM; only the claim waits for both. What the platform said
//! is remembered by this process and written down with what is written anyway: whoever comes after a crash asks again,
//! and "not found" is as good as "removed".

use std::time::Duration;

use api::condition::find;
use api::registry::annotation::ABANDON;
use api::{ConditionType, MachineClaimStatus, Moment, Reason, Teardown};
use jiff::Timestamp;
use reconcile::{Next, Why};

use super::runner::{Mode, Removal};
use super::{Observed, Step, limit, retry, tell};

/// A registration that was asked for before the end may come about until then: a request has 35 s.
const MINTED: Duration = Duration::from_mins(1);

/// Whoever asks is called when the answer comes; this is a net under calls that are lost.
const CALLED: Duration = Duration::from_secs(30);

/// What is done about a runner that is not gone yet.
pub(super) struct Parting {
    step: Option<Step>,
    next: Next,
    /// Why it is not gone, once the platform has said something.
    stuck: Option<String>,
}

/// Whether the claim may still be registered, by what is written down.
pub(super) fn is_registered(status: &MachineClaimStatus) -> bool {
    let gone = status.teardown.as_ref().is_some_and(|teardown| teardown.runner_gone_at.is_some());
    status.runner.is_some() && !gone
}

/// Whether nothing of the claim is left at the platform, and nothing can come.
pub(super) fn is_over(observed: &Observed) -> bool {
    let farewell = &observed.runner.farewell;
    let gone = farewell.answer.as_ref().filter(|answer| answer.removal == Removal::Gone);
    let late = farewell.since.map(|since| limit::after(since, MINTED));
    let proven = gone.is_some_and(|gone| is_minted(observed.status()) || late.is_some_and(|late| gone.at >= late));
    !is_registered(observed.status()) || proven
}

/// Whether the registration was answered, so that none can come late. What an agent says that had no work proves nothing:
/// it may have waited for its credential.
fn is_minted(status: &MachineClaimStatus) -> bool {
    status.runner.as_ref().is_some_and(|runner| runner.id.is_some()) || status.busy_time.is_some()
}

/// What is next for the runner; nothing when it is gone.
pub(super) fn part(observed: &Observed, mode: Mode, now: Timestamp) -> Option<Parting> {
    let runner = observed.status().runner.as_ref().filter(|_| !is_over(observed))?;
    let farewell = &observed.runner.farewell;
    let stuck = farewell.answer.as_ref().and_then(|answer| sentence(observed, &runner.name, &answer.removal));
    let why = || Why::Task { what: "removing the runner" };
    if farewell.asking {
        return Some(Parting { step: None, next: Next::After(CALLED, why()), stuck });
    }
    if let Some(due) = due(observed, mode, now) {
        let cause = stuck.clone().unwrap_or_else(|| "a registration may still come about".to_owned());
        return Some(Parting { step: None, next: Next::at(due, now, Why::Retry { attempt: 1, cause }), stuck });
    }
    let step = Step::Deregister { name: runner.name.clone(), id: runner.id.clone(), mode };
    Some(Parting { step: Some(step), next: Next::After(CALLED, why()), stuck })
}

/// When the platform is asked again, if it is not time; what it said to a milder question does not count.
fn due(observed: &Observed, mode: Mode, now: Timestamp) -> Option<Timestamp> {
    let farewell = &observed.runner.farewell;
    let answer = farewell.answer.as_ref().filter(|answer| answer.mode >= mode)?;
    match answer.removal {
        Removal::Gone => farewell.since.map(|since| limit::after(since, MINTED)).filter(|due| *due > now),
        Removal::Busy | Removal::Unknown(_) => retry::again(observed, answer.at, answer.times, now),
    }
}

fn sentence(observed: &Observed, name: &str, removal: &Removal) -> Option<String> {
    let id = observed.status().allocation.as_ref().map(|held| held.vm_id.to_string()).unwrap_or_default();
    let remedy = format!(
        "it is asked again; if that cannot help, remove the runner at the platform and annotate the claim with {ABANDON}={id}"
    );
    match removal {
        Removal::Gone => None,
        Removal::Busy => Some(format!("the platform says that runner {name} has a job; {remedy}")),
        Removal::Unknown(why) => Some(format!("runner {name} may still be registered: {why}; {remedy}")),
    }
}

impl Parting {
    /// Whether there is something to tell about it.
    pub(super) const fn is_stuck(&self) -> bool {
        self.stuck.is_some()
    }

    /// The same plan, with what is done about the runner: after everything else, so that nothing waits for it.
    pub(super) fn join(self, observed: &Observed, mut plan: super::ClaimPlan) -> super::ClaimPlan {
        plan.steps.extend(self.step);
        plan.next = plan.next.or_sooner(self.next);
        if let Some(message) = self.stuck {
            let status = plan.status.unwrap_or_else(|| tell::as_is(observed));
            let reason = Reason::RunnerStillListed;
            plan.status = Some(tell::say(status, ConditionType::Deregistered, false, reason, message));
        }
        plan
    }
}

/// The status with a runner that is gone.
pub(super) fn parted(status: MachineClaimStatus, now: Timestamp) -> MachineClaimStatus {
    let Some(runner) = status.runner.as_ref().filter(|_| is_registered(&status)) else { return status };
    let message = format!("runner {} is gone from the platform", runner.name);
    let teardown = Teardown { runner_gone_at: Some(Moment::from(now)), ..status.teardown.clone().unwrap_or_default() };
    let status = MachineClaimStatus { teardown: Some(teardown), ..status };
    tell::say(status, ConditionType::Deregistered, true, Reason::RunnerGone, message)
}

/// Whether the claim says that its runner is not gone.
pub(super) fn is_told_stuck(status: &MachineClaimStatus) -> bool {
    find(&status.conditions, ConditionType::Deregistered).is_some_and(|told| told.status == "False")
}
