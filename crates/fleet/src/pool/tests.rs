//! Pools through bursts, lulls, failures and old views.

mod properties;
mod scaling;
mod world;

use std::collections::BTreeMap;

use api::condition::{find, put};
use api::registry::label::RUNNER_POOL;
use api::{
    Allocation, BootstrapRecord, ConditionStatus, JobState, Moment, Phase, RunnerJobSpec, RunnerPoolSpec,
    RunnerSourceSpec, RunnerSourceStatus, Time, condition,
};
use jiff::SignedDuration;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const START: i64 = 1_800_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(START + second).unwrap()
}

fn pool(scaling: &Value) -> RunnerPool {
    let spec: RunnerPoolSpec = serde_json::from_value(json!({
        "sourceRef": { "name": "gh" }, "templateRef": { "name": "small" }, "labels": ["linux", "x64"], "scaling": scaling,
    }))
    .unwrap();
    let mut pool = RunnerPool::new("linux", spec);
    pool.metadata.namespace = Some("ci".to_owned());
    pool.metadata.uid = Some("pool-uid".to_owned());
    pool.metadata.generation = Some(1);
    pool.metadata.finalizers = Some(vec![CLAIMS_CLEANUP.to_owned()]);
    pool
}

fn source() -> RunnerSource {
    let spec: RunnerSourceSpec = serde_json::from_value(json!({
        "platform": "gitea", "url": "https://git.example.com",
        "gitea": { "scope": { "instance": true }, "credentials": { "token": { "name": "gitea", "key": "token" } } },
    }))
    .unwrap_or_else(|error| panic!("{error}"));
    let mut source = RunnerSource::new("gh", spec);
    let ready = condition(ConditionType::Ready, ConditionStatus::True, Reason::PlatformReachable, "it answers", None);
    source.status = Some(RunnerSourceStatus { conditions: vec![ready], ..RunnerSourceStatus::default() });
    source
}

fn job(name: &str, second: i64) -> RunnerJob {
    let spec: RunnerJobSpec = serde_json::from_value(json!({
        "sourceRef": { "name": "gh" }, "key": name, "labels": ["linux"], "queuedAt": at(second).to_string(),
    }))
    .unwrap();
    let mut job = RunnerJob::new(name, spec);
    job.metadata.creation_timestamp = Some(Time(at(second)));
    job.metadata.labels = Some([(RUNNER_POOL.to_owned(), "linux".to_owned())].into());
    job
}

fn allocation() -> Allocation {
    serde_json::from_value(json!({
        "id": "5d1d9be8-aaaa-4000-8000-000000000001", "clusterRef": { "name": "pve" }, "vmId": 6000, "node": "a",
        "templateGeneration": 1, "allocatedAt": at(0).to_string(),
    }))
    .unwrap()
}

fn record(state: &str) -> BootstrapRecord {
    serde_json::from_value(json!({
        "id": "5d1d9be8-bbbb-4000-8000-000000000002", "tokenHash": "a".repeat(64), "state": state,
        "notAfter": at(600).to_string(),
    }))
    .unwrap()
}

/// What a claim says in a phase.
fn in_phase(phase: Phase, second: i64) -> MachineClaimStatus {
    let mut status = MachineClaimStatus { phase: Some(phase), ..MachineClaimStatus::default() };
    if phase != Phase::Pending {
        status.allocation = Some(allocation());
        status.bootstrap = Some(record("Pending"));
    }
    if !matches!(phase, Phase::Pending | Phase::Provisioning) {
        status.first_running_time = Some(Moment::from(at(second)));
    }
    if matches!(phase, Phase::Ready | Phase::Busy) {
        status.bootstrap = Some(record("Bound"));
        status.ready_time = Some(Moment::from(at(second)));
    }
    if phase == Phase::Busy {
        status.busy_time = Some(Moment::from(at(second)));
    }
    status
}

/// The end of a machine that was never ready.
fn dead(second: i64) -> MachineClaimStatus {
    let mut status = MachineClaimStatus { ready_time: None, ..in_phase(Phase::Terminating, second) };
    let mut ready = condition(ConditionType::Ready, ConditionStatus::False, Reason::BootstrapTimeout, "too slow", None);
    ready.last_transition_time = Time(at(second));
    put(&mut status.conditions, ready);
    status
}

fn observed(pool: RunnerPool) -> Observed {
    Observed {
        pool: Arc::new(pool),
        claims: Vec::new(),
        unseen: BTreeSet::new(),
        met: BTreeSet::new(),
        began: at(-1_000),
        jobs: Vec::new(),
        level: None,
        strangers: Vec::new(),
        source: Some(Arc::new(source())),
        gate: Gate::Open { generation: 1 },
        told: None,
    }
}

/// A claim of the pool in a phase, made at a second.
fn member(observed: &mut Observed, name: &str, phase: Phase, second: i64) {
    let mut claim = MachineClaim::new(name, make::spec(observed, None));
    claim.metadata.creation_timestamp = Some(Time(at(second)));
    claim.metadata.uid = Some(format!("uid-{name}"));
    claim.status = Some(in_phase(phase, second));
    observed.claims.push(Arc::new(claim));
}

fn change(observed: &mut Observed, name: &str, change: impl FnOnce(&mut MachineClaim)) {
    let claim = observed.claims.iter_mut().find(|claim| claim.metadata.name.as_deref() == Some(name)).unwrap();
    change(Arc::make_mut(claim));
}

/// The plan, which breaks no promise.
fn decide(observed: &Observed, second: i64) -> PoolPlan {
    let plan = plan(observed, at(second));
    assert_eq!(audit(observed, &plan), []);
    plan
}

fn made(plan: &PoolPlan) -> Vec<String> {
    let births = plan.steps.iter().flat_map(|step| match step {
        Step::Make(births) => births.clone(),
        Step::Delete(_) | Step::Drain { .. } => Vec::new(),
    });
    births.map(|birth| birth.claim.metadata.name.unwrap()).collect()
}

fn retired(plan: &PoolPlan) -> Vec<String> {
    let steps = plan.steps.iter().filter(|step| !matches!(step, Step::Make(_)));
    steps.map(ToString::to_string).collect()
}

fn reason(plan: &PoolPlan) -> &str {
    &find(&plan.status.as_ref().unwrap().conditions, ConditionType::Scaling).unwrap().reason
}
