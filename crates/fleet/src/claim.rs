//! What happens to a `MachineClaim`: a VM is made for it, proves itself, works, and is gone without a trace.
//!
//! ```text
//!   gated ─▶ allocated ─▶ cloning ─▶ configuring ─▶ booting ─▶ attesting ─▶ ready ─▶ busy
//!     │          └───────────┴───────────┴─────────────┴───────────┴──────────┴───────┴─▶ draining
//!     ▼                                                                                        │
//!   gone ◀─────────────────────────── destroying ◀─────────────────────────────────────────────┘
//! ```
//!
//! A file per step. Which one a claim is in follows from what is written down and what is seen, never from what was
//! meant: [`stage`] says which. Every change outside is announced by a write before it (the allocation before the clone,
//! the end before the removal), so that whoever comes after a crash finds what there may be. What is under way is known
//! to this process only ([`Errands`]); one that knows nothing looks at the VM instead.
//!
//! What the agent says is written by the bootstrap service; here it is only read. So is the name of a runner, before it is
//! registered at its CI platform: a claim that has one goes only when the platform has let it go too ([`Runner`]), which
//! the VM never waits for.

mod farewell;
mod limit;
mod observed;
mod retry;
mod runner;
mod step;
mod tell;

use std::fmt;

use api::{BootstrapState, ConditionType, MachineClaim, MachineClaimStatus, Phase, Reason};
use jiff::Timestamp;
use reconcile::{Finalizer, Plan, Violation};

pub use observed::{
    Errands, Gate, Job, Kind, Life, Observed, Obstacle, Offer, Place, Policy, Reach, Sight, Terms, Trouble,
};
pub use retry::due;
pub use runner::{Answer, Farewell, JobEnd, Mode, Removal, Runner, RunnerState, Standing, Work};
pub use step::stage;

/// What can be done for a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Clone the image.
    Clone,
    /// Put the seed where the VM finds it.
    StageSeed,
    /// Let the boot disk grow.
    Resize,
    /// Make the VM what it should be.
    Configure,
    /// Turn it on.
    Start,
    /// Take the seed away from the VM, which has read it.
    DetachSeed,
    /// Remove the seed.
    DiscardSeed,
    /// Turn it off.
    Stop,
    /// Remove it.
    Destroy,
    /// Remove a volume that its removal, or a clone that failed, left behind.
    RemoveLeftover(String),
    /// Ask the platform to let the runner go. That is begun and not waited for.
    Deregister {
        /// Its name there.
        name: String,
        /// Its id there, once the platform gave it one.
        id: Option<String>,
        /// Whether it may have a job.
        mode: Mode,
    },
    /// Delete the claim.
    Delete,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Clone => f.write_str("clone the image"),
            Self::StageSeed => f.write_str("stage the seed"),
            Self::Resize => f.write_str("grow the disk"),
            Self::Configure => f.write_str("configure the VM"),
            Self::Start => f.write_str("start the VM"),
            Self::DetachSeed => f.write_str("take the seed out of the VM"),
            Self::DiscardSeed => f.write_str("remove the seed"),
            Self::Stop => f.write_str("stop the VM"),
            Self::Destroy => f.write_str("destroy the VM"),
            Self::RemoveLeftover(volume) => write!(f, "remove the leftover {volume}"),
            Self::Deregister { name, mode: Mode::IfIdle, .. } => write!(f, "deregister runner {name} if it is idle"),
            Self::Deregister { name, mode: Mode::Force, .. } => write!(f, "deregister runner {name}"),
            Self::Delete => f.write_str("delete the claim"),
        }
    }
}

impl Step {
    /// Whether it changes a VM, which needs a look that proved it ours.
    const fn touches_vm(&self) -> bool {
        match self {
            Self::Resize | Self::Configure | Self::Start | Self::DetachSeed | Self::Stop | Self::Destroy => true,
            Self::Clone
            | Self::StageSeed
            | Self::DiscardSeed
            | Self::RemoveLeftover(_)
            | Self::Deregister { .. }
            | Self::Delete => false,
        }
    }
}

/// The conditions that are written here and by the bootstrap service.
pub const CONDITIONS: &[&str] = &[
    ConditionType::Provisioning.as_str(),
    ConditionType::Bootstrapped.as_str(),
    ConditionType::Ready.as_str(),
    ConditionType::VmCleanedUp.as_str(),
    ConditionType::Deregistered.as_str(),
];

type ClaimPlan = Plan<Step, MachineClaimStatus>;

/// Decides what happens to a claim.
pub fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if observed.needs_finalizer() {
        return Plan { finalizer: Finalizer::Add, ..Plan::rest() };
    }
    step::plan(observed, now)
}

/// States what no plan may do for a claim.
pub fn audit(observed: &Observed, plan: &ClaimPlan) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut broken = |invariant, detail: String| violations.push(Violation::new(invariant, detail));
    let status = observed.status();
    for step in &plan.steps {
        if step.touches_vm() && !matches!(observed.sight, Sight::Ours { .. }) {
            broken("a VM is changed only after a look that proved it ours", step.to_string());
        }
        let makes = matches!(step, Step::Clone | Step::StageSeed | Step::Start);
        if makes && (status.allocation.is_none() || !observed.has_finalizer()) {
            broken("nothing is made that is not written down before", step.to_string());
        }
        if makes && observed.is_going() {
            broken("nothing is made for a claim that goes", step.to_string());
        }
        let doomed = observed.is_going() || ended(status.phase);
        if matches!(step, Step::Destroy | Step::Stop) && !doomed {
            broken("no VM is removed whose end is not written down", step.to_string());
        }
        let empty = matches!(observed.sight, Sight::Absent { .. }) && observed.errands.certain;
        if matches!(step, Step::RemoveLeftover(_)) && !empty {
            broken("a volume is a leftover only while no VM has its number or can get it", step.to_string());
        }
        if let Step::Deregister { name, mode, .. } = step {
            let allowed = match mode {
                Mode::Force => doomed,
                Mode::IfIdle => status.drain.is_some() && status.busy_time.is_none(),
            };
            if !allowed || status.runner.as_ref().is_none_or(|runner| runner.name != *name) {
                broken("a runner goes only when it is ours and drains or its end is written down", step.to_string());
            }
        }
    }
    let forgets = plan.status.as_ref().is_some_and(|planned| planned.allocation.is_none());
    if forgets && status.allocation.is_some() && !is_free(observed) {
        broken("a number is given back only when nothing of ours can be there", format!("{:?}", observed.sight));
    }
    if plan.finalizer == Finalizer::Remove && !step::is_gone(observed) {
        let known = format!("{:?}, {:?}", observed.sight, observed.runner.farewell);
        broken("a claim goes only when its VM and its runner are proven gone", known);
    }
    if plan.finalizer == Finalizer::Remove && step::is_awaited(observed) {
        broken("a claim goes only when its job knows that it was lost", format!("{:?}", observed.runner.work));
    }
    if let Some(reason) = retired(observed, plan) {
        if status.busy_time.is_some() {
            broken("a machine that works is never retired", reason.to_string());
        }
        if reason == Reason::Draining && !farewell::is_over(observed) {
            broken("a machine drains until its runner is gone", format!("{:?}", observed.runner.farewell));
        }
    }
    if is_ready(plan.status.as_ref()) && !is_ready(observed.claim.status.as_ref()) {
        broken("a claim becomes ready only by its agent's report", "Ready would be True".to_owned());
    }
    violations
}

/// Why a plan ends a machine that has proven itself and is not needed, or not of use, any more.
fn retired(observed: &Observed, plan: &ClaimPlan) -> Option<Reason> {
    let before = observed.status();
    let bound = before.bootstrap.as_ref().is_some_and(|record| record.state == BootstrapState::Bound);
    let after = plan.status.as_ref().filter(|status| ended(status.phase) && !ended(before.phase))?;
    let ready = api::condition::find(&after.conditions, ConditionType::Ready).filter(|_| bound)?;
    [Reason::Draining, Reason::IdleTimeout, Reason::RunnerGone, Reason::RunnerOffline]
        .into_iter()
        .find(|reason| reason.as_str() == ready.reason)
}

/// Whether nothing of ours is under the claim's number, and nothing can come.
const fn is_free(observed: &Observed) -> bool {
    match &observed.sight {
        Sight::Absent { remains } => remains.is_empty() && observed.errands.certain,
        Sight::Foreign { .. } => observed.errands.certain,
        Sight::Unasked | Sight::Unknown(_) | Sight::Locked { .. } | Sight::Ours { .. } => false,
    }
}

/// Whether a phase is one after the work.
pub const fn ended(phase: Option<Phase>) -> bool {
    matches!(phase, Some(Phase::Terminating | Phase::Succeeded | Phase::Failed))
}

fn is_ready(status: Option<&MachineClaimStatus>) -> bool {
    status.is_some_and(|status| api::condition::holds(&status.conditions, ConditionType::Ready))
}

/// The status of a claim whose machine is not needed any more: its agent takes no more work, and if none had begun, its
/// runner and its VM go. None if that is under way already, or the machine has no agent that could be told.
pub fn drain(claim: &MachineClaim, message: &str, now: Timestamp) -> Option<MachineClaimStatus> {
    let serves = step::stage(claim) == api::Step::Ready;
    serves.then(|| tell::draining(claim, message, now))
}

/// Whether a claim's runner may be at its platform.
pub fn holds_runner(claim: &MachineClaim) -> bool {
    claim.status.as_ref().is_some_and(farewell::is_registered)
}

/// Whether a claim's VM may be on the hypervisor.
pub fn holds_machine(claim: &MachineClaim) -> bool {
    let Some(status) = &claim.status else { return false };
    let gone = status.teardown.as_ref().is_some_and(|teardown| teardown.vm_gone_at.is_some());
    status.allocation.is_some() && !gone
}

#[cfg(test)]
mod tests;
