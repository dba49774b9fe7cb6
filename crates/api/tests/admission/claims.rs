//! Bad claims.

use serde_json::{Value, json};

use super::Way::{Create, Status, Update};
use super::{Row, drop_field, example, long, put};

fn good() -> Value {
    example("first-vm", "MachineClaim")
}

fn runner() -> Value {
    let mut claim = good();
    drop_field(&mut claim, "/spec/captureOutput");
    put(&mut claim, "/spec/poolRef", json!({ "name": "linux-x64" }));
    put(&mut claim, "/spec/workload", json!({ "runner": { "sourceRef": { "name": "github" }, "labels": ["linux"] } }));
    claim
}

fn allocated() -> Value {
    let mut claim = good();
    let status = json!({
        "phase": "Provisioning",
        "step": "cloning",
        "allocation": {
            "id": "00000000-0000-4000-8000-000000000000",
            "clusterRef": { "name": "pve" },
            "vmId": 100_001,
            "node": "pve1",
            "templateGeneration": 1,
            "allocatedAt": "2026-01-01T00:00:00Z",
        },
        "bootstrap": {
            "id": "00000000-0000-4000-8000-000000000001",
            "tokenHash": "0".repeat(64),
            "state": "Pending",
            "notAfter": "2026-01-01T00:10:00Z",
        },
        "attempts": 1,
    });
    put(&mut claim, "/status", status);
    claim
}

fn create(name: &'static str, change: fn(&mut Value), field: &'static str) -> Row {
    Row::new(name, Create, good(), change, field)
}

fn report(name: &'static str, change: fn(&mut Value), field: &'static str) -> Row {
    Row::new(name, Status, allocated(), change, field)
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = workloads();
    rows.extend(changes());
    rows.extend(reports());
    rows
}

fn workloads() -> Vec<Row> {
    let of_pool = |name: &'static str, change: fn(&mut Value), field: &'static str| {
        Row::new(name, Create, runner(), change, field)
    };
    vec![
        create("a claim needs a template", |o| drop_field(o, "/spec/templateRef"), "spec.templateRef"),
        create("a claim needs work", |o| drop_field(o, "/spec/workload"), "spec.workload"),
        create("work is something", |o| put(o, "/spec/workload", json!({})), "spec.workload"),
        create(
            "work is one thing",
            |o| {
                let runner = json!({ "sourceRef": { "name": "github" }, "labels": ["linux"] });
                put(o, "/spec/workload/runner", runner);
            },
            "spec.workload",
        ),
        create(
            "a command has arguments",
            |o| drop_field(o, "/spec/workload/command/argv"),
            "spec.workload.command.argv",
        ),
        create(
            "a command has a program",
            |o| put(o, "/spec/workload/command/argv", json!([])),
            "spec.workload.command.argv",
        ),
        create(
            "a program has a name",
            |o| put(o, "/spec/workload/command/argv", json!([""])),
            "spec.workload.command.argv",
        ),
        create(
            "a command is no line of text",
            |o| put(o, "/spec/workload/command/argv", json!("echo hello")),
            "spec.workload.command.argv",
        ),
        create(
            "an argument has a bound",
            |o| put(o, "/spec/workload/command/argv/0", long(8193)),
            "spec.workload.command.argv[0]",
        ),
        create(
            "a variable's name has no dash",
            |o| put(o, "/spec/workload/command/env", json!([{ "name": "MY-VAR", "value": "" }])),
            "spec.workload.command.env[0].name",
        ),
        create(
            "a variable has a value",
            |o| put(o, "/spec/workload/command/env", json!([{ "name": "HOME" }])),
            "spec.workload.command.env[0].value",
        ),
        create(
            "a variable stands there once",
            |o| {
                put(
                    o,
                    "/spec/workload/command/env",
                    json!([{ "name": "A", "value": "" }, { "name": "A", "value": "b" }]),
                );
            },
            "spec.workload.command.env[1]",
        ),
        create("a user is a user", |o| put(o, "/spec/workload/command/user", json!("0")), "spec.workload.command.user"),
        create("a command is of no pool", |o| put(o, "/spec/poolRef", json!({ "name": "p" })), "spec.workload.runner"),
        create(
            "a claim's life has a unit",
            |o| put(o, "/spec/lifecycle/maxLifetime", json!("100")),
            "spec.lifecycle.maxLifetime",
        ),
        of_pool(
            "a runner's output is not captured",
            |o| put(o, "/spec/captureOutput", json!(true)),
            "spec.captureOutput",
        ),
        of_pool(
            "a runner has a source",
            |o| drop_field(o, "/spec/workload/runner/sourceRef"),
            "spec.workload.runner.sourceRef",
        ),
        of_pool(
            "a runner serves something",
            |o| drop_field(o, "/spec/workload/runner/labels"),
            "spec.workload.runner.labels",
        ),
        of_pool(
            "a runner has labels or a queue",
            |o| put(o, "/spec/workload/runner/queue", json!("linux")),
            "spec.workload.runner.labels",
        ),
    ]
}

fn changes() -> Vec<Row> {
    let update = |name: &'static str, change: fn(&mut Value)| Row::new(name, Update, good(), change, "spec");
    vec![
        update("a claim keeps its template", |o| put(o, "/spec/templateRef/name", json!("other"))),
        update("a claim keeps its command", |o| put(o, "/spec/workload/command/argv/0", json!("/bin/bash"))),
        update("a claim gets no further limits", |o| put(o, "/spec/lifecycle/maxLifetime", json!("1h"))),
        update("a claim loses no limit", |o| drop_field(o, "/spec/lifecycle/jobTimeout")),
        update("a claim joins no pool later", |o| put(o, "/spec/poolRef", json!({ "name": "p" }))),
    ]
}

fn reports() -> Vec<Row> {
    vec![
        report("a phase is a known one", |o| put(o, "/status/phase", json!("Sleeping")), "status.phase"),
        report("a step is a known one", |o| put(o, "/status/step", json!("waiting")), "status.step"),
        report("an allocation has an id", |o| drop_field(o, "/status/allocation/id"), "status.allocation.id"),
        report("an allocation's id is a UUID", |o| put(o, "/status/allocation/id", json!("1")), "status.allocation.id"),
        report("an allocation has a VMID", |o| drop_field(o, "/status/allocation/vmId"), "status.allocation.vmId"),
        report(
            "an allocation's VMID is one",
            |o| put(o, "/status/allocation/vmId", json!(7)),
            "status.allocation.vmId",
        ),
        report(
            "a token itself is never written down",
            |o| put(o, "/status/bootstrap/tokenHash", json!("the-token-itself")),
            "status.bootstrap.tokenHash",
        ),
        report(
            "a proof's state is a known one",
            |o| put(o, "/status/bootstrap/state", json!("Done")),
            "status.bootstrap.state",
        ),
        report(
            "an output has at most 2 KiB",
            |o| put(o, "/status/outcome", json!({ "endedAt": "2026-01-01T00:00:00Z", "output": "x".repeat(2049) })),
            "status.outcome.output",
        ),
        report(
            "an exit code fits a byte",
            |o| put(o, "/status/outcome", json!({ "endedAt": "2026-01-01T00:00:00Z", "exitCode": 256 })),
            "status.outcome.exitCode",
        ),
    ]
}
