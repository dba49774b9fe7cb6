//! Each reason to wait, and the one line somebody reads who asks why.

#![allow(clippy::needless_pass_by_value, reason = "objects are written down where they are used")]

mod way;

use jiff::Timestamp;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

const NOW: i64 = 1_000_000;

/// The moment so many seconds before now, as objects write it.
fn ago(seconds: i64) -> String {
    at(NOW - seconds).to_string()
}

fn said(about: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({ "type": about, "status": status, "reason": reason, "message": message, "lastTransitionTime": ago(30) })
}

fn object(kind: &str, name: &str, spec: Value, status: Value) -> Value {
    let created = ago(60);
    let metadata = json!({ "name": name, "namespace": "ci", "creationTimestamp": created });
    json!({ "apiVersion": api::registry::API_VERSION, "kind": kind, "metadata": metadata, "spec": spec, "status": status })
}

fn there<T: serde::de::DeserializeOwned>(object: Value) -> Found<T> {
    Found::There(Box::new(serde_json::from_value(object).unwrap()))
}

fn job(status: Value) -> Found<RunnerJob> {
    let spec = json!({
        "sourceRef": { "name": "github" }, "key": "github/1", "labels": ["linux", "x64"], "queuedAt": ago(64),
    });
    there(object("RunnerJob", "job-1", spec, status))
}

/// A queued job that gives this reason.
fn queued(reason: &str, message: &str) -> Found<RunnerJob> {
    job(json!({
        "state": "Queued", "poolRef": { "name": "small" }, "conditions": [said("Assigned", "False", reason, message)],
    }))
}

/// A pool that has what it wants, or waits.
fn pool(reason: &str, message: &str) -> Found<RunnerPool> {
    let spec = json!({
        "sourceRef": { "name": "github" }, "templateRef": { "name": "ubuntu" }, "labels": ["linux", "x64"],
        "scaling": { "maxReplicas": 10 }, "lifecycle": {},
    });
    let status = if ["Steady", "DemandIncreased"].contains(&reason) { "True" } else { "False" };
    let status = json!({
        "replicas": 10, "readyReplicas": 0, "busyReplicas": 10, "desiredReplicas": 10, "pendingJobs": 3,
        "conditions": [said("Scaling", status, reason, message)],
    });
    there(object("RunnerPool", "small", spec, status))
}

fn claim(phase: &str, more: Value, conditions: &[Value]) -> Found<MachineClaim> {
    let spec = json!({
        "templateRef": { "name": "ubuntu" }, "poolRef": { "name": "small" },
        "workload": { "runner": { "sourceRef": { "name": "github" }, "labels": ["linux"], "jobRef": { "name": "job-1" } } },
    });
    let mut status = json!({ "phase": phase, "conditions": conditions });
    status.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    there(object("MachineClaim", "job-1-1", spec, status))
}

fn source(status: &str, reason: &str, message: &str) -> Found<RunnerSource> {
    let spec = json!({
        "platform": "github", "url": "https://github.com",
        "github": { "scope": { "organization": "acme" }, "credentials": { "pat": { "name": "gh", "key": "token" } } },
    });
    there(object("RunnerSource", "github", spec, json!({ "conditions": [said("Ready", status, reason, message)] })))
}

fn template(status: &str, reason: &str, message: &str) -> Found<HypervisorMachineTemplate> {
    let spec = json!({
        "hypervisorClusterRef": { "name": "pve", "namespace": "infra" }, "template": { "proxmox": { "templateId": 9000 } },
        "resources": { "cpu": 2, "memory": "4Gi", "disk": "20Gi" },
    });
    let status = json!({ "conditions": [said("TemplateValid", status, reason, message)] });
    there(object("HypervisorMachineTemplate", "ubuntu", spec, status))
}

fn cluster(status: &str, reason: &str, message: &str) -> Found<HypervisorCluster> {
    let spec = json!({
        "provider": "proxmox", "endpoint": "https://pve:8006", "nodes": [{ "name": "pve1" }], "defaultStorage": "fast",
        "credentials": { "tokenId": { "name": "pve", "key": "id" }, "tokenSecret": { "name": "pve", "key": "secret" } },
        "defaultNetwork": "vmbr0", "proxmox": { "vmidRange": { "first": 6000, "last": 6099 } },
    });
    let status = json!({ "conditions": [said("Ready", status, reason, message)] });
    let mut object = object("HypervisorCluster", "pve", spec, status);
    object["metadata"]["namespace"] = json!("infra");
    there(object)
}

fn allocated() -> Value {
    json!({ "allocation": {
        "id": "0b9c5a7e-2a57-4e0c-9a39-0c1d7f0f6a11", "clusterRef": { "name": "pve", "namespace": "infra" },
        "vmId": 6001, "node": "pve1", "templateGeneration": 1, "allocatedAt": ago(50),
    } })
}

/// A job in good surroundings.
fn scene(job: Found<RunnerJob>) -> Scene {
    Scene {
        job,
        pool: pool("DemandIncreased", "10 machines are wanted, 9 are there"),
        source: source("True", "PlatformReachable", "octocat may do what is needed"),
        template: template("True", "ValidationSucceeded", "machines can be made"),
        cluster: cluster("True", "ConnectionSuccessful", "connected to version 9.0"),
        ..Scene::of(Kind::Job, "ci")
    }
}

fn starting() -> Scene {
    scene(queued("MachineStarting", "a machine is being made for it"))
}

fn provisioning(status: &str, reason: &str, message: &str) -> Scene {
    Scene { claim: claim("Pending", json!({}), &[said("Provisioning", status, reason, message)]), ..starting() }
}

fn bootstrapping(state: &str, conditions: &[Value]) -> Scene {
    let record = json!({ "bootstrap": {
        "id": "0b9c5a7e-2a57-4e0c-9a39-0c1d7f0f6a12", "tokenHash": "0".repeat(64), "state": state, "notAfter": ago(-600),
    } });
    Scene { claim: claim("Bootstrapping", record, conditions), ..starting() }
}

fn booted() -> Value {
    said("Provisioning", "False", "Booting", "VM 6001 runs; its agent has to prove itself")
}

fn down() -> Scene {
    let unready = "HypervisorCluster infra/pve cannot be used: no answer from https://pve:8006 within 35s";
    let cluster = cluster("False", "Unreachable", "no answer from https://pve:8006 within 35s");
    Scene { cluster, ..provisioning("False", "ClusterNotReady", unready) }
}

#[rstest]
#[case::quota(
    Scene { pool: pool("AtMaximum", "all 10 machines that the pool may have are busy"), ..scene(queued("AtMaximum", "the pool is full")) },
    "runnerjob/job-1 waits for a machine to become free (runnerpool/small): all 10 machines that the pool may have are busy. \
     Nothing to do; if it lasts, raise spec.scaling.maxReplicas of the pool."
)]
#[case::quota_of_machines_that_go(
    Scene { pool: pool("TooManyTerminating", "3 machines are being destroyed, as many as may be"), ..scene(queued("TooManyTerminating", "")) },
    "runnerjob/job-1 waits for old machines to go (runnerpool/small): 3 machines are being destroyed, as many as may be. \
     Nothing to do; if it lasts, see why their claims stay, or raise spec.scaling.maxTerminating."
)]
#[case::no_node_fits(
    provisioning(
        "False",
        "NoNodeFits",
        "no node can take the machine: pve1 has 512Mi of memory left, 4096Mi are needed"
    ),
    "runnerjob/job-1 waits for a node with room (machineclaim/job-1-1): no node can take the machine: pve1 has 512Mi of \
     memory left, 4096Mi are needed. Free memory or space, start or uncordon a node, or ask for less in the template."
)]
#[case::cluster_down(
    down(),
    "runnerjob/job-1 waits for its hypervisor cluster (hypervisorcluster/infra/pve): no answer from https://pve:8006 within \
     35s. It is tried again by itself; see to the endpoint and the way there."
)]
#[case::storage_busy(
    provisioning("True", "StorageBusy", "4 clones are under way on the storage, which can serve 4 in time"),
    "runnerjob/job-1 waits for its turn on the storage (machineclaim/job-1-1): 4 clones are under way on the storage, which \
     can serve 4 in time. Nothing to do."
)]
#[case::booting(
    bootstrapping("Pending", &[booted()]),
    "runnerjob/job-1 waits for its VM to boot (machineclaim/job-1-1): VM 6001 runs; its agent has to prove itself. Nothing \
     to do; if it lasts, look at the VM's console."
)]
#[case::attesting_with_a_complaint(
    bootstrapping("Pending", &[booted(), said("Bootstrapped", "False", "Attesting", "the clock is 3 h wrong")]),
    "runnerjob/job-1 waits for its agent to prove itself (machineclaim/job-1-1): the clock is 3 h wrong. Nothing to do; \
     if it lasts, look at the VM's console."
)]
#[case::attesting(
    bootstrapping("Challenged", &[booted()]),
    "runnerjob/job-1 waits for its agent to prove itself (machineclaim/job-1-1): it was asked for evidence. Nothing \
     to do; if it lasts, look at the VM's console."
)]
#[case::rate_limit(
    Scene { source: source("False", "RateLimited", "GitHub's core limit is used up until 10:15"), ..scene(queued("RateLimited", "")) },
    "runnerjob/job-1 waits for the platform's request limit (runnersource/github): GitHub's core limit is used up until \
     10:15. Nothing to do."
)]
#[case::trust(
    scene(queued(
        "TrustDenied",
        "the job is of a fork, which pool small does not serve: set spec.trust.forks there if its code may run"
    )),
    "runnerjob/job-1 is allowed in no pool: the job is of a fork, which pool small does not serve: set spec.trust.forks there \
     if its code may run."
)]
#[case::trust_unknown(
    scene(queued(
        "TrustUnknown",
        "whether the job is of a fork, which pool small does not serve, the platform has to say: no answer"
    )),
    "runnerjob/job-1 waits for the platform to say whose code it is: whether the job is of a fork, which pool small does not \
     serve, the platform has to say: no answer."
)]
#[case::no_pool(
    scene(queued("NoMatchingPool", "no pool serves gpu; the closest is small, which lacks gpu")),
    "runnerjob/job-1 is served by no pool: no pool serves gpu; the closest is small, which lacks gpu. Make a pool with these \
     labels, or ask for others in the workflow."
)]
fn every_reason_to_wait_has_its_line(#[case] scene: Scene, #[case] line: &str) {
    assert_eq!(follow(&scene, at(NOW)).answer.text, line);
}
