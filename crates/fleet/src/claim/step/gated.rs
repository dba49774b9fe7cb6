//! *gated*: nothing exists yet; references, grants and room are looked at.

use std::time::Duration;

use api::{
    Allocation, BootstrapRecord, BootstrapState, ConditionType, MachineClaimStatus, Moment, Phase, Reason, Step,
};
use jiff::Timestamp;
use reconcile::{Next, Plan, Why};

use super::super::observed::{Gate, Observed, Obstacle, Offer, Place, Terms};
use super::super::{ClaimPlan, limit, retry, tell};

/// What is in the way may go without anybody telling us.
const RECHECK: Duration = Duration::from_secs(30);

pub(super) fn plan(observed: &Observed, now: Timestamp) -> ClaimPlan {
    if let Some(plan) = retry::paused(observed, now) {
        return plan;
    }
    match (&observed.gate, &observed.offer) {
        (Gate::Closed(obstacle), _) | (_, Offer::None(obstacle)) => closed(observed, obstacle, now),
        (Gate::Open(terms), Offer::Place(place)) => {
            Plan { status: Some(allocate(observed, terms, place, now)), ..Plan::rest() }
        }
        (Gate::Open(_), Offer::Unasked) | (Gate::Unasked, Offer::Place(_) | Offer::Unasked) => {
            Plan::wait(Next::After(RECHECK, Why::Recheck))
        }
    }
}

fn closed(observed: &Observed, obstacle: &Obstacle, now: Timestamp) -> ClaimPlan {
    let Obstacle { reason, message } = obstacle;
    let why = Why::Gate { obstacle: message.clone() };
    Plan {
        status: Some(tell::pending(observed, *reason, message.clone())),
        next: Next::After(RECHECK, why).or_sooner(limit::next(observed, now)),
        ..Plan::rest()
    }
}

/// Writes down what will be made, before it is.
fn allocate(observed: &Observed, terms: &Terms, place: &Place, now: Timestamp) -> MachineClaimStatus {
    let Place { id, vm_id, node, storages, address, bootstrap, token_hash, seed_hash } = place;
    let allocation = Allocation {
        id: id.clone(),
        cluster_ref: terms.cluster.clone(),
        vm_id: *vm_id,
        node: node.clone(),
        storages: storages.clone(),
        template_generation: terms.template_generation,
        allocated_at: Moment::from(now),
        address: address.clone(),
    };
    let record = BootstrapRecord {
        id: bootstrap.clone(),
        token_hash: token_hash.clone(),
        seed_hash: Some(seed_hash.clone()),
        served: Vec::new(),
        served_to: None,
        state: BootstrapState::Pending,
        not_after: Moment::from(limit::after(now, terms.token_ttl)),
        bound_key_hash: None,
        endorsement_key_hash: None,
        bound_at: None,
    };
    let status = MachineClaimStatus {
        allocation: Some(allocation),
        bootstrap: Some(record),
        next_retry_time: None,
        ..tell::entering(observed, Phase::Provisioning, Step::Allocated)
    };
    let message = format!("VM {vm_id} on node {} is being made from image {}", node.as_str(), terms.image);
    tell::say(status, ConditionType::Provisioning, true, Reason::Cloning, message)
}
