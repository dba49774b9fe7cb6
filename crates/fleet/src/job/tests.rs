//! Jobs: what they wait for, what they are lost by, and their last hour.

mod last_hour;
mod waiting;
mod waking;

use api::condition::find;
use api::{
    ConditionStatus, ConditionType, JobResult, MachineClaimStatus, Moment, Reason, RunnerJobSpec, RunnerPoolSpec,
    RunnerPoolStatus, RunnerSourceSpec, RunnerSourceStatus, Time, condition,
};
use jiff::SignedDuration;
use proptest::prelude::*;
use reconcile::{Next, Why};
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const START: i64 = 1_800_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(START + second).unwrap()
}

fn source() -> RunnerSource {
    let spec: RunnerSourceSpec = serde_json::from_value(json!({
        "platform": "gitea", "url": "https://git.example.com",
        "gitea": { "scope": { "instance": true }, "credentials": { "token": { "name": "gitea", "key": "token" } } },
    }))
    .unwrap();
    let mut source = RunnerSource::new("gh", spec);
    let ready = condition(ConditionType::Ready, ConditionStatus::True, Reason::PlatformReachable, "it answers", None);
    source.status = Some(RunnerSourceStatus { conditions: vec![ready], ..RunnerSourceStatus::default() });
    source
}

/// A pool with these labels, of which a job lacks some.
fn candidate(name: &str, labels: &[&str], missing: &[&str]) -> Candidate {
    let spec: RunnerPoolSpec = serde_json::from_value(json!({
        "sourceRef": { "name": "gh" }, "templateRef": { "name": "small" }, "labels": labels,
    }))
    .unwrap();
    let missing = missing.iter().map(|label| (*label).to_owned()).collect();
    Candidate { pool: Arc::new(RunnerPool::new(name, spec)), missing }
}

fn change_pool(observed: &mut Observed, change: impl FnOnce(&mut RunnerPool)) {
    change(Arc::make_mut(&mut observed.pools[0].pool));
}

/// What the pool says of itself.
fn pool_says(observed: &mut Observed, holds: bool, reason: Reason, message: &str) {
    let word = if holds { ConditionStatus::True } else { ConditionStatus::False };
    let said = condition(ConditionType::Scaling, word, reason, message, None);
    change_pool(observed, |pool| {
        pool.status = Some(RunnerPoolStatus { conditions: vec![said], ..RunnerPoolStatus::default() });
    });
}

/// A job that waits since the start, whose pool has taken it.
fn waits(status: RunnerJobStatus) -> Observed {
    let spec: RunnerJobSpec = serde_json::from_value(json!({
        "sourceRef": { "name": "gh" }, "key": "gh/1/2", "queuedAt": at(0).to_string(), "labels": ["linux"],
    }))
    .unwrap();
    let mut job = RunnerJob::new("job-1", spec);
    job.metadata.creation_timestamp = Some(Time(at(0)));
    job.metadata.labels = Some([(RUNNER_POOL.to_owned(), "linux".to_owned())].into());
    job.status = Some(status);
    Observed {
        job: Arc::new(job),
        pools: vec![candidate("linux", &["linux"], &[])],
        source: Some(Arc::new(source())),
        claims: Vec::new(),
        node_gone: false,
        can_rerun: false,
        tells: Tells::default(),
        asked: Asked::Nothing,
    }
}

fn fresh() -> Observed {
    waits(RunnerJobStatus::default())
}

/// A job whose pool has made this claim for it, a moment ago.
fn with_claim(status: Value) -> Observed {
    let mut observed = waits(RunnerJobStatus {
        pool_ref: Some(serde_json::from_value(json!({ "name": "linux" })).unwrap()),
        claims_made: Some(1),
        last_claim_at: Some(Moment::from(at(0))),
        ..RunnerJobStatus::default()
    });
    let said = starting("job-1-1", "linux");
    say(Arc::make_mut(&mut observed.job).status.as_mut().unwrap(), said, None, at(0));
    observed.claims = vec![claim(status)];
    observed
}

fn claim(status: Value) -> Arc<MachineClaim> {
    let spec = json!({
        "templateRef": { "name": "small" }, "poolRef": { "name": "linux" },
        "workload": { "runner": { "sourceRef": { "name": "gh" }, "labels": ["linux"] } },
    });
    let mut claim = MachineClaim::new("job-1-1", serde_json::from_value(spec).unwrap());
    claim.status = Some(serde_json::from_value::<MachineClaimStatus>(status).unwrap());
    Arc::new(claim)
}

fn allocation() -> Value {
    json!({
        "id": "5d1d9be8-aaaa-4000-8000-000000000001", "clusterRef": { "name": "pve" }, "vmId": 6000, "node": "a",
        "templateGeneration": 1, "allocatedAt": at(1).to_string(),
    })
}

fn record(state: &str) -> Value {
    json!({
        "id": "5d1d9be8-bbbb-4000-8000-000000000002", "tokenHash": "a".repeat(64), "state": state,
        "notAfter": at(600).to_string(),
    })
}

/// The plan, which breaks no promise and writes what the server takes.
fn decide(observed: &Observed, second: i64) -> JobPlan {
    let plan = plan(observed, at(second));
    assert_eq!(audit(observed, &plan), []);
    if let Some(status) = &plan.status {
        let mut new = (*observed.job).clone();
        new.status = Some(status.clone());
        let (old, new) = (serde_json::to_value(&*observed.job).unwrap(), serde_json::to_value(&new).unwrap());
        api::admit(&new, Some(&old)).unwrap_or_else(|refusal| panic!("{refusal}"));
    }
    plan
}

/// What the job says after a pass.
fn said(observed: &Observed, second: i64) -> (String, String) {
    let plan = decide(observed, second);
    let status = plan.status.or_else(|| observed.job.status.clone()).unwrap_or_default();
    let assigned = find(&status.conditions, ConditionType::Assigned);
    assigned.map_or_else(Default::default, |said| (said.reason.clone(), said.message.clone()))
}

fn after(mut observed: Observed, second: i64) -> Observed {
    if let Some(status) = decide(&observed, second).status {
        Arc::make_mut(&mut observed.job).status = Some(status);
    }
    observed
}
