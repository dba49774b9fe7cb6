//! Bad jobs.

use serde_json::{Value, json};

use super::Way::{Create, Status, Update};
use super::{Row, drop_field, long, put};

/// A job as the ingress makes it; no person writes one, so no example has one.
pub(super) fn good() -> Value {
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "RunnerJob",
        "metadata": { "name": "job-3f9a" },
        "spec": {
            "sourceRef": { "name": "github" },
            "key": "github.com/example-org/1234567/1",
            "labels": ["self-hosted", "linux"],
            "queuedAt": "2026-01-01T00:00:00Z",
            "repository": "example-org/example-repo",
            "displayName": "build",
            "publicRepository": false,
        },
    })
}

fn running() -> Value {
    let mut job = good();
    put(&mut job, "/status", json!({ "state": "Running", "claimsMade": 2, "startedAt": "2026-01-01T00:01:00Z" }));
    job
}

fn create(name: &'static str, change: fn(&mut Value), field: &'static str) -> Row {
    Row::new(name, Create, good(), change, field)
}

fn report(name: &'static str, change: fn(&mut Value), field: &'static str) -> Row {
    Row::new(name, Status, running(), change, field)
}

pub(super) fn rows() -> Vec<Row> {
    vec![
        create("a job has a source", |o| drop_field(o, "/spec/sourceRef"), "spec.sourceRef"),
        create("a job has a key", |o| drop_field(o, "/spec/key"), "spec.key"),
        create("a key is not empty", |o| put(o, "/spec/key", json!("")), "spec.key"),
        create("a key has a bound", |o| put(o, "/spec/key", long(513)), "spec.key"),
        create("a job waits since a moment", |o| drop_field(o, "/spec/queuedAt"), "spec.queuedAt"),
        create("a moment has a time", |o| put(o, "/spec/queuedAt", json!("2026-01-01")), "spec.queuedAt"),
        create("a moment is in UTC", |o| put(o, "/spec/queuedAt", json!("2026-01-01T00:00:00+01:00")), "spec.queuedAt"),
        create("a moment is on a day", |o| put(o, "/spec/queuedAt", json!("2026-02-30T00:00:00Z")), "spec.queuedAt"),
        create("a moment is in our time", |o| put(o, "/spec/queuedAt", json!("1969-12-31T23:59:59Z")), "spec.queuedAt"),
        create("a fork is a fact", |o| put(o, "/spec/fork", json!("maybe")), "spec.fork"),
        create("a wish has no blank", |o| put(o, "/spec/labels", json!(["my label"])), "spec.labels[0]"),
        create(
            "there are at most 100 wishes",
            |o| put(o, "/spec/labels", (0..101).map(|n| json!(format!("l{n}"))).collect()),
            "spec.labels",
        ),
        Row::new("a job stays the job it was", Update, good(), |o| put(o, "/spec/key", json!("other")), "spec"),
        report("a job does not run backwards", |o| put(o, "/status/state", json!("Queued")), "status.state"),
        report("a state is not forgotten", |o| drop_field(o, "/status/state"), "status.state"),
        report("a state is a known one", |o| put(o, "/status/state", json!("Paused")), "status.state"),
        report("a running job has no result", |o| put(o, "/status/result", json!("Succeeded")), "status.result"),
        report(
            "a result is a known one",
            |o| put(o, "/status", json!({ "state": "Completed", "claimsMade": 2, "result": "Green" })),
            "status.result",
        ),
        report("claims are never made again", |o| put(o, "/status/claimsMade", json!(1)), "status.claimsMade"),
        report("a count of claims is not forgotten", |o| drop_field(o, "/status/claimsMade"), "status.claimsMade"),
        report(
            "a loss has evidence",
            |o| put(o, "/status/infrastructureLoss", json!({ "class": "VMGone", "at": "2026-01-01T00:00:00Z" })),
            "status.infrastructureLoss.evidence",
        ),
        report(
            "a loss is of a known class",
            |o| {
                let loss = json!({ "class": "Flaky", "at": "2026-01-01T00:00:00Z", "evidence": "it was red" });
                put(o, "/status/infrastructureLoss", loss);
            },
            "status.infrastructureLoss.class",
        ),
    ]
}
