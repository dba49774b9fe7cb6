//! What is shown of objects.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::super::rows::Place;
use super::super::state::{Objects, State};
use super::claim;
use crate::departed::Farewell;

fn object<K: serde::de::DeserializeOwned>(kind: &str, name: &str, spec: &Value, status: &Value) -> Arc<K> {
    let metadata = json!({ "name": name, "namespace": "ci", "creationTimestamp": "2026-01-01T00:00:01Z" });
    let whole = json!({
        "apiVersion": api::registry::API_VERSION, "kind": kind, "metadata": metadata, "spec": spec, "status": status,
    });
    Arc::new(serde_json::from_value(whole).unwrap())
}

fn said(about: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": about, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:03Z",
    })
}

pub(super) fn job<K: serde::de::DeserializeOwned>(name: &str, called: &str, status: &Value) -> Arc<K> {
    let spec = json!({
        "sourceRef": { "name": "github" }, "key": name, "labels": ["linux"], "queuedAt": "2026-01-01T00:00:00Z",
        "displayName": called, "repository": "acme/app",
    });
    object("RunnerJob", name, &spec, status)
}

pub(super) fn queued(reason: &str, message: &str) -> Value {
    json!({
        "state": "Queued", "poolRef": { "name": "small" }, "conditions": [said("Assigned", "False", reason, message)],
    })
}

pub(super) fn surroundings() -> Objects {
    let pool = json!({
        "sourceRef": { "name": "github" }, "templateRef": { "name": "ubuntu" }, "labels": ["linux"],
        "scaling": { "minReplicas": 1, "maxReplicas": 10 },
    });
    let pool_status = json!({
        "replicas": 4, "readyReplicas": 1, "busyReplicas": 2, "desiredReplicas": 5, "pendingJobs": 3,
        "conditions": [said("Scaling", "True", "DemandIncreased", "5 are wanted, 4 are there")],
    });
    let template = json!({
        "hypervisorClusterRef": { "name": "pve" }, "template": { "proxmox": { "templateId": 9000 } },
        "resources": { "cpu": 2, "memory": "4Gi", "disk": "20Gi" },
    });
    let cluster = json!({
        "provider": "proxmox", "endpoint": "https://pve:8006", "nodes": [{ "name": "pve1" }, { "name": "pve2", "cordon": true }],
        "credentials": { "tokenId": { "name": "pve", "key": "id" }, "tokenSecret": { "name": "pve", "key": "secret" } },
        "defaultStorage": "fast", "defaultNetwork": "vmbr0", "proxmox": { "vmidRange": { "first": 6000, "last": 6099 } },
    });
    let cluster_status = json!({
        "version": "9.0", "connectedNodes": 1, "nodes": [{ "name": "pve1", "online": true, "cpu": 16, "memory": "64Gi" }],
        "availableResources": { "cpu": 12, "memory": "48Gi", "storage": "1Ti" },
        "conditions": [said("Ready", "True", "ConnectionSuccessful", "connected")],
    });
    let source = json!({
        "platform": "github", "url": "https://github.com",
        "github": { "scope": { "organization": "acme" }, "credentials": { "pat": { "name": "gh", "key": "token" } } },
    });
    let ready = json!({ "conditions": [said("Ready", "False", "RateLimited", "used up until 10:15")] });
    let valid = json!({ "conditions": [said("TemplateValid", "True", "ValidationSucceeded", "machines can be made")] });
    Objects {
        pools: vec![object("RunnerPool", "small", &pool, &pool_status)],
        templates: vec![object("HypervisorMachineTemplate", "ubuntu", &template, &valid)],
        clusters: vec![object("HypervisorCluster", "pve", &cluster, &cluster_status)],
        sources: vec![object("RunnerSource", "github", &source, &ready)],
        ..Objects::default()
    }
}

pub(super) fn allocated() -> Value {
    json!({
        "step": "cloning",
        "allocation": {
            "id": "0b9c5a7e-2a57-4e0c-9a39-0c1d7f0f6a11", "clusterRef": { "name": "pve" }, "vmId": 6001, "node": "pve1",
            "templateGeneration": 1, "allocatedAt": "2026-01-01T00:00:03Z",
        },
        "conditions": [said("Provisioning", "True", "StorageBusy", "4 clones are under way")],
    })
}

fn picture(objects: &Objects) -> Value {
    serde_json::to_value(State::of(objects, Place::default())).unwrap()
}

#[test]
fn pools_clusters_and_sources_are_shown_with_their_numbers_and_words() {
    let mut objects = surroundings();
    objects.claims = vec![Arc::new(claim("job-1-1", "Provisioning", Some(allocated())))];
    let shown = picture(&objects);
    let pool = &shown["pools"]["ci/small"];
    let numbers = ["wanted", "live", "ready", "busy", "queued", "min", "max"].map(|name| pool[name].as_u64().unwrap());
    assert_eq!(numbers, [5, 4, 1, 2, 3, 1, 10]);
    assert_eq!(
        pool["word"],
        json!({ "good": true, "reason": "DemandIncreased", "message": "5 are wanted, 4 are there" })
    );
    let cluster = &shown["clusters"]["ci/pve"];
    assert_eq!((&cluster["cpu"], &cluster["memory"]), (&json!(12), &json!(48_u64 << 30)));
    assert_eq!(
        cluster["nodes"],
        json!([
            {
                "name": "pve1", "online": true, "maintenance": false, "cordoned": false, "cpu": 16,
                "memory": 64_u64 << 30, "vms": 1,
            },
            { "name": "pve2", "maintenance": false, "cordoned": true, "vms": 0 },
        ])
    );
    assert_eq!(shown["sources"]["ci/github"]["word"]["good"], json!(false));
    let machine = &shown["machines"]["ci/job-1-1"];
    assert_eq!(
        (&machine["phase"], &machine["step"], &machine["node"], &machine["vmId"], &machine["job"]),
        (&json!("Provisioning"), &json!("cloning"), &json!("pve1"), &json!(6001), &json!("job-1"))
    );
    assert_eq!(machine["word"]["reason"], json!("StorageBusy"));
    assert!(!shown.to_string().contains("pve:8006"), "where a hypervisor is, is nobody's business here");
}

/// The reason is the one that `hyperfleet why` gives.
#[test]
fn a_job_waits_for_what_the_last_on_its_way_says() {
    let mut objects = surroundings();
    objects.jobs = vec![
        job("job-1", "<img src=x onerror=alert(1)>", &queued("MachineStarting", "a machine is being made")),
        job("job-2", "b", &queued("NoMatchingPool", "no pool serves gpu")),
        job("job-3", "c", &queued("RateLimited", "")),
    ];
    objects.claims = vec![Arc::new(claim("job-1-1", "Provisioning", Some(allocated())))];
    let shown = picture(&objects);
    for (job, standing, reason, why) in [
        (
            "ci/job-1",
            "Waits",
            "StorageBusy",
            "waits for its turn on the storage (machineclaim/job-1-1): 4 clones are under way. Nothing to do.",
        ),
        (
            "ci/job-2",
            "Blocked",
            "NoMatchingPool",
            "is served by no pool: no pool serves gpu. Make a pool with these labels, or ask for others in the workflow.",
        ),
        (
            "ci/job-3",
            "Waits",
            "RateLimited",
            "waits for the platform's request limit (runnersource/github): used up until 10:15. Nothing to do.",
        ),
    ] {
        let row = &shown["jobs"][job];
        assert_eq!((&row["standing"], &row["reason"], &row["why"]), (&json!(standing), &json!(reason), &json!(why)));
    }
    let row = &shown["jobs"]["ci/job-1"];
    assert_eq!((&row["what"], &row["claim"]), (&json!("<img src=x onerror=alert(1)>"), &json!("job-1-1")));
    let marks: Vec<&str> = row["marks"].as_array().unwrap().iter().map(|mark| mark["mark"].as_str().unwrap()).collect();
    assert_eq!(marks, ["queued", "seen", "claimMade", "allocated"]);
}

/// In an outage every claim has an attempt of its own before it: that is told as a time, and in no sentence.
#[test]
fn when_the_next_attempt_is_makes_no_other_reason() {
    let mut objects = surroundings();
    let starts = || queued("MachineStarting", "a machine is being made");
    objects.jobs = vec![job("job-1", "a", &starts()), job("job-2", "b", &starts())];
    let failed = said("Provisioning", "False", "CloneFailed", "attempt 1 of 10 did not succeed: no lock");
    let claim = |number: u32| {
        let retry = format!("2026-01-01T00:01:1{number}Z");
        let mut claim = claim(
            &format!("job-{number}-1"),
            "Pending",
            Some(json!({ "conditions": [failed.clone()], "nextRetryTime": retry })),
        );
        let made_for = format!("job-{number}");
        claim.metadata.labels.as_mut().unwrap().insert("hyperfleet.io/runner-job".to_owned(), made_for.clone());
        claim.spec.workload.runner.as_mut().unwrap().job_ref.as_mut().unwrap().name =
            serde_json::from_value(json!(made_for)).unwrap();
        Arc::new(claim)
    };
    objects.claims = vec![claim(1), claim(2)];
    let shown = picture(&objects);
    let why = "waits for another attempt to clone its VM: attempt 1 of 10 did not succeed: no lock. Nothing to do.";
    assert_eq!(shown["queue"]["reasons"], json!([{ "number": 2, "standing": "Waits", "why": why }]));
    assert_eq!(shown["jobs"]["ci/job-2"]["retryAt"], json!(1_767_225_672_000_i64));
}

#[test]
fn a_job_that_is_over_keeps_the_way_of_its_machine_after_that_is_gone() {
    let mut objects = surroundings();
    let ended = json!({
        "state": "Completed", "result": "Succeeded", "claimRef": { "name": "job-1-1" },
        "startedAt": "2026-01-01T00:00:20Z", "endedAt": "2026-01-01T00:00:30Z",
    });
    objects.jobs = vec![job("job-1", "a", &ended)];
    let bare = picture(&objects);
    let marks = |shown: &Value| {
        let marks = shown["jobs"]["ci/job-1"]["marks"].as_array().unwrap().clone();
        marks.iter().map(|mark| mark["mark"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(marks(&bare), ["queued", "seen", "begun", "ended"]);
    let at = "2026-01-01T00:00:35Z".parse().unwrap();
    objects.departed = vec![Farewell { claim: Arc::new(claim("job-1-1", "Terminating", Some(allocated()))), at }];
    let shown = picture(&objects);
    assert_eq!(marks(&shown), ["queued", "seen", "claimMade", "allocated", "begun", "ended", "vmGone"]);
    assert_eq!(shown["jobs"]["ci/job-1"]["standing"], "Ended");
}

#[test]
fn of_the_ended_jobs_the_last_are_shown() {
    let mut objects = surroundings();
    let ended = |number: i64| {
        let at = Timestamp::from_second(1_767_225_600 + number).unwrap().to_string();
        job(&format!("e{number}"), "a", &json!({ "state": "Completed", "endedAt": at }))
    };
    objects.jobs = (0..250).map(ended).collect();
    objects.jobs.extend((0..250).map(|number| job(&format!("q{number}"), "a", &queued("AtMaximum", ""))));
    let shown = picture(&objects);
    let jobs = shown["jobs"].as_object().unwrap();
    assert_eq!(jobs.len(), 450);
    assert!(jobs.contains_key("ci/e249") && jobs.contains_key("ci/e50") && !jobs.contains_key("ci/e49"));
}
