//! The end of a pool: its claims go, those with a job when that is done, and then the pool.

use std::sync::Arc;

use api::{ConditionStatus, ConditionType, Reason, RunnerPoolStatus, condition};
use jiff::Timestamp;
use reconcile::{Finalizer, Plan};

use super::census::{Census, Member, Standing};
use super::{Observed, PoolPlan, Step, retire, tell};

pub(super) fn plan(observed: &Observed, now: Timestamp) -> PoolPlan {
    if observed.claims.is_empty() && observed.unseen.is_empty() {
        return Plan { finalizer: Finalizer::Remove, ..Plan::rest() };
    }
    let census = Census::take(observed, now);
    let steps = census.members.iter().filter_map(|one| step(one, now)).collect();
    let (status, next) = tell::paced(observed, status(observed, &census, now), now);
    Plan { steps, status, next, ..Plan::rest() }
}

fn step(one: &Member<'_>, now: Timestamp) -> Option<Step> {
    let going = one.claim.metadata.deletion_timestamp.is_some();
    match one.standing {
        Standing::Early | Standing::Ready => Some(retire::retired(one, now)),
        // It has its job until the claim says otherwise, or is on its way.
        Standing::Busy | Standing::Leaving => None,
        Standing::Ending | Standing::Over if going || is_working(one) => None,
        Standing::Ending | Standing::Over => Some(Step::Delete(Arc::clone(one.claim))),
    }
}

/// Whether its end is not written down: a platform's word that the job has ended is for the claim to act on.
fn is_working(one: &Member<'_>) -> bool {
    !crate::claim::ended(one.claim.status.as_ref().and_then(|status| status.phase))
}

fn status(observed: &Observed, census: &Census<'_>, now: Timestamp) -> RunnerPoolStatus {
    let none = tell::State { failures: None, held: None, paused: None };
    let status = tell::status(observed, census, &none, now);
    let message = match census.count(Standing::Busy) {
        0 => "the pool goes when its claims are gone",
        _ => {
            "the pool goes when its claims are gone; those with a job finish it first. To stop them, delete their claims"
        }
    };
    let about = ConditionType::Scaling;
    let generation = observed.pool.metadata.generation;
    let said = condition(about, ConditionStatus::False, Reason::PoolDeleted, message, generation);
    RunnerPoolStatus { conditions: vec![said], desired_replicas: 0, surplus_since: None, ..status }
}
