//! *configuring*: the VM is whole; it gets its size, network and seed, and is started.

use std::time::Duration;

use api::{BootstrapRecord, ConditionType, MachineClaimStatus, Moment};
use jiff::Timestamp;
use reconcile::{Next, Plan, Why};

use super::super::observed::{Gate, Job, Observed, Obstacle, Terms};
use super::super::{ClaimPlan, Step, limit, tell};

/// When a closed gate is looked at again.
const RECHECK: Duration = Duration::from_secs(30);

pub(super) fn plan(observed: &Observed, grows: bool, now: Timestamp) -> ClaimPlan {
    let terms = match &observed.gate {
        Gate::Open(terms) => terms,
        Gate::Closed(obstacle) => return held(observed, obstacle, now),
        Gate::Unasked => return Plan::wait(Next::After(RECHECK, Why::Recheck)),
    };
    let staged = !terms.stages_seed || observed.errands.done.contains(&Job::Stage);
    let first: Vec<Step> = [(grows, Step::Resize), (!staged, Step::StageSeed)]
        .into_iter()
        .filter_map(|(is, step)| is.then_some(step))
        .collect();
    if !first.is_empty() {
        return Plan {
            steps: first,
            next: Next::After(super::FIRST, Why::Task { what: "preparing the VM" }),
            ..Plan::rest()
        };
    }
    if let Some(status) = renewed(observed, terms, now) {
        return Plan { status: Some(status), ..Plan::rest() };
    }
    Plan {
        steps: vec![Step::Configure, Step::Start],
        next: Next::After(super::FIRST, Why::Task { what: Job::Start.as_str() }),
        ..Plan::rest()
    }
}

/// The status with more time for the token, if a long clone has used up half of it.
fn renewed(observed: &Observed, terms: &Terms, now: Timestamp) -> Option<MachineClaimStatus> {
    let record = observed.status().bootstrap.as_ref()?;
    let enough = limit::after(now, terms.token_ttl / 2);
    (record.not_after.timestamp() < enough).then(|| {
        let not_after = Moment::from(limit::after(now, terms.token_ttl));
        let bootstrap = Some(BootstrapRecord { not_after, ..record.clone() });
        MachineClaimStatus { bootstrap, ..tell::as_is(observed) }
    })
}

fn held(observed: &Observed, obstacle: &Obstacle, now: Timestamp) -> ClaimPlan {
    let Obstacle { reason, message } = obstacle;
    let status = tell::say(tell::as_is(observed), ConditionType::Provisioning, false, *reason, message.clone());
    let why = Why::Gate { obstacle: message.clone() };
    Plan { status: Some(status), next: Next::After(RECHECK, why).or_sooner(limit::next(observed, now)), ..Plan::rest() }
}
