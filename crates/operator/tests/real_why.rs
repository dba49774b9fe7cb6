//! `hyperfleet why` and `hyperfleet top` as a person runs them, with no more rights than `view` in their own namespace.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::needless_pass_by_value, reason = "objects are written down where they are used")]

#[path = "real_why/terminal.rs"]
mod terminal;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim, RunnerJob, RunnerPool, RunnerSource};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use terminal::Terminal;
use testenv::{ControlPlane, Grant, Program, ServiceAccountRef, Signal, Stream};

const SOON: Duration = Duration::from_secs(40);

/// A namespace of a person, who may look at it, and one of the administrators, at which they may not.
struct Site {
    plane: &'static ControlPlane,
    namespace: String,
    infra: String,
    person: ServiceAccountRef,
}

/// What a program said and how it ended.
struct Said {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Site {
    async fn new() -> Self {
        let plane = testenv::shared().await;
        plane.install_crds(&api::crds()).await;
        let (namespace, infra) = (plane.namespace("ci").await, plane.namespace("infra").await);
        let roles = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/rbac/users.yaml");
        let view = |grant: Grant| match grant {
            Grant::ClusterWide(role) if role.metadata.name.as_deref() == Some("hyperfleet-operator-view") => {
                Some(Grant::Within(namespace.clone(), role))
            }
            Grant::ClusterWide(_) | Grant::Within(..) | Grant::Namespaced(_) => None,
        };
        let grants: Vec<Grant> =
            Grant::from_yaml(&std::fs::read_to_string(roles).unwrap()).into_iter().filter_map(view).collect();
        assert_eq!(grants.len(), 1, "the role for people who look");
        let person = plane.service_account(&namespace, "person", &grants).await;
        Self { plane, namespace, infra, person }
    }

    async fn put<K>(&self, namespace: &str, object: Value)
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>,
        K: Clone + std::fmt::Debug + DeserializeOwned + Serialize,
    {
        let objects: Api<K> = Api::namespaced(self.plane.client(), namespace);
        let mut whole = json!({ "apiVersion": api::registry::API_VERSION, "kind": K::kind(&()) });
        whole.as_object_mut().unwrap().extend(object.as_object().unwrap().clone());
        let name = whole["metadata"]["name"].as_str().unwrap().to_owned();
        let status = whole.as_object_mut().unwrap().remove("status").unwrap();
        objects.create(&PostParams::default(), &serde_json::from_value(whole).unwrap()).await.unwrap();
        let patch = Patch::Merge(json!({ "status": status }));
        objects.patch_status(&name, &PatchParams::default(), &patch).await.unwrap();
    }

    /// A job whose machine waits for the storage, and everything around it.
    async fn furnish(&self) {
        self.put::<HypervisorCluster>(&self.infra, json!({
            "metadata": { "name": "pve" },
            "spec": {
                "provider": "proxmox", "endpoint": "https://pve.example.com:8006", "nodes": [{ "name": "pve1" }],
                "credentials": { "tokenId": { "name": "pve", "key": "id" }, "tokenSecret": { "name": "pve", "key": "secret" } },
                "defaultStorage": "fast", "defaultNetwork": "vmbr0", "allowedNamespaces": {},
                "proxmox": { "vmidRange": { "first": 6000, "last": 6099 }, "isoStorage": "shared" },
            },
            "status": { "conditions": [said("Ready", "True", "ConnectionSuccessful", "connected to version 9.0")] },
        })).await;
        self.put::<HypervisorMachineTemplate>(&self.namespace, json!({
            "metadata": { "name": "ubuntu" },
            "spec": {
                "hypervisorClusterRef": { "name": "pve", "namespace": self.infra },
                "template": { "proxmox": { "templateId": 9000 } },
                "resources": { "cpu": 2, "memory": "4Gi", "disk": "20Gi" },
            },
            "status": { "conditions": [said("TemplateValid", "True", "ValidationSucceeded", "machines can be made")] },
        })).await;
        self.put::<RunnerSource>(&self.namespace, json!({
            "metadata": { "name": "github" },
            "spec": {
                "platform": "github", "url": "https://github.com",
                "github": { "scope": { "organization": "acme" }, "credentials": { "pat": { "name": "gh", "key": "token" } } },
            },
            "status": { "conditions": [said("Ready", "True", "PlatformReachable", "it answers")] },
        })).await;
        self.put::<RunnerPool>(
            &self.namespace,
            json!({
                "metadata": { "name": "small" },
                "spec": { "sourceRef": { "name": "github" }, "templateRef": { "name": "ubuntu" }, "labels": ["linux"] },
                "status": {
                    "desiredReplicas": 1, "replicas": 1, "pendingJobs": 1,
                    "conditions": [said("Scaling", "True", "DemandIncreased", "1 is wanted, 0 are ready")],
                },
            }),
        )
        .await;
        self.queue().await;
    }

    async fn queue(&self) {
        self.put::<RunnerJob>(&self.namespace, json!({
            "metadata": { "name": "job-1" },
            "spec": {
                "sourceRef": { "name": "github" }, "key": "github/1", "labels": ["linux"], "queuedAt": "2026-01-01T00:00:00Z",
                "repository": "acme/app", "displayName": "build \u{1b}[2J",
            },
            "status": {
                "state": "Queued", "poolRef": { "name": "small" }, "claimsMade": 1,
                "conditions": [said("Assigned", "False", "MachineStarting", "a machine is being made for it")],
            },
        })).await;
        let workload = json!({ "runner": {
            "sourceRef": { "name": "github" }, "labels": ["linux"], "jobRef": { "name": "job-1" },
        } });
        self.put::<MachineClaim>(&self.namespace, json!({
            "metadata": {
                "name": "job-1-1",
                "labels": { "hyperfleet.io/runner-job": "job-1", "hyperfleet.io/runner-pool": "small" },
            },
            "spec": { "templateRef": { "name": "ubuntu" }, "poolRef": { "name": "small" }, "workload": workload },
            "status": {
                "phase": "Provisioning", "step": "allocated",
                "allocation": {
                    "id": "0b9c5a7e-2a57-4e0c-9a39-0c1d7f0f6a11", "clusterRef": { "name": "pve", "namespace": self.infra },
                    "vmId": 6001, "node": "pve1", "templateGeneration": 1, "allocatedAt": "2026-01-01T00:00:05Z",
                },
                "conditions": [said("Provisioning", "True", "StorageBusy", "4 clones are under way on storage fast")],
            },
        })).await;
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        command
            .args(arguments)
            .args(["-n", &self.namespace])
            .env("KUBECONFIG", self.plane.kubeconfig_for(&self.person));
        command
    }

    async fn ask(&self, arguments: &[&str]) -> Said {
        let program = Program::start(&self.command(arguments));
        let code = program.wait(SOON).await.code();
        let text = |stream| {
            let lines = program.lines().into_iter().filter(|line| line.stream == stream);
            lines.map(|line| line.text + "\n").collect::<String>()
        };
        Said { code, out: text(Stream::Out), err: text(Stream::Err) }
    }
}

fn said(about: &str, status: &str, reason: &str, message: &str) -> Value {
    json!({
        "type": about, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z",
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn somebody_who_may_only_look_learns_why_a_job_waits() {
    let site = Site::new().await;
    site.furnish().await;
    let line = "waits for its turn on the storage (machineclaim/job-1-1): 4 clones are under way on storage fast. Nothing to do.";
    for asked in ["job-1", "rjob/job-1", "RunnerJob/job-1"] {
        let Said { code, out, err } = site.ask(&["why", asked]).await;
        assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
        assert_eq!(out.lines().next(), Some(format!("runnerjob/job-1 {line}").as_str()));
        for words in ["acme/app, build", "2026-01-01T00:00:00Z", "VM 6001 on node pve1", "unreadable", "is forbidden"] {
            assert!(out.contains(words), "{words} is missing in\n{out}");
        }
        assert!(!out.contains('\u{1b}'), "{out:?}");
    }
    let pool = site.ask(&["why", "rpool/small"]).await;
    assert_eq!(pool.out.lines().next(), Some(format!("runnerpool/small {line}").as_str()));
    let claim = site.ask(&["why", "mclaim/job-1-1", "-o", "json"]).await;
    let told: Value = serde_json::from_str(&claim.out).unwrap();
    assert_eq!((&told["answer"]["standing"], &told["answer"]["reason"]), (&json!("Waits"), &json!("StorageBusy")));
    assert_eq!(told["links"].as_array().unwrap().len(), 6, "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_asks_for_what_is_not_there_is_offered_what_is() {
    let site = Site::new().await;
    site.furnish().await;
    let namespace = &site.namespace;
    let missing = site.ask(&["why", "rjob/jop-1"]).await;
    let says = format!("error: namespace {namespace} has no RunnerJob named jop-1; there is job-1\n");
    assert_eq!((missing.code, missing.err), (Some(1), says));
    site.put::<RunnerPool>(
        namespace,
        json!({
            "metadata": { "name": "job-1" },
            "spec": { "sourceRef": { "name": "github" }, "templateRef": { "name": "ubuntu" }, "labels": ["linux"] },
            "status": {},
        }),
    )
    .await;
    let several = site.ask(&["why", "job-1"]).await;
    assert_eq!(several.code, Some(2));
    assert!(
        several.err.contains("runnerjob/job-1 or runnerpool/job-1")
            || several.err.contains("runnerpool/job-1 or runnerjob/job-1"),
        "{}",
        several.err
    );
    let wrong = site.ask(&["why", "pod/a"]).await;
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("name a runnerjob, a machineclaim or a runnerpool"), "{}", wrong.err);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pools_queue_and_vms_are_seen_at_a_glance() {
    let site = Site::new().await;
    site.furnish().await;
    // Standard output is no terminal here, so that one frame is printed either way.
    for flags in [&["top", "--once"][..], &["top"]] {
        let Said { code, out, err } = site.ask(flags).await;
        assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
        for words in [
            "Pools 1",
            "DemandIncreased",
            "Queue 1",
            "acme/app build",
            "MachineStarting",
            "VMs 1",
            "6001",
            "Provisioning",
        ] {
            assert!(out.contains(words), "{words} is missing in\n{out}");
        }
        assert!(!out.contains('\u{1b}'), "{out:?}");
    }
    let everywhere = Program::start(
        Command::new(env!("CARGO_BIN_EXE_hyperfleet"))
            .args(["top", "--once", "-A"])
            .env("KUBECONFIG", site.plane.kubeconfig_for(&site.person)),
    );
    assert_eq!(everywhere.wait(SOON).await.code(), Some(1));
    assert!(everywhere.output().contains("runnerpools cannot be listed"), "{}", everywhere.output());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_terminal_is_given_back_whoever_ends_it() {
    let site = Site::new().await;
    site.furnish().await;
    for end in ["q", "\u{1b}", "\u{3}", "terminate", "interrupt", "hangup"] {
        let mut terminal = Terminal::start(&mut site.command(&["top"]), 80, 24);
        terminal.wait_for("job-1-1", SOON).await;
        assert!(terminal.is_raw(), "keys must come one by one");
        match end {
            "terminate" => terminal.signal(Signal::Terminate),
            "interrupt" => terminal.signal(Signal::Interrupt),
            "hangup" => terminal.signal(Signal::HangUp),
            key => terminal.press(key),
        }
        assert_eq!(terminal.ended(SOON).await, Some(0), "{end:?}: {}", terminal.seen());
        assert!(!terminal.is_raw(), "{end:?} left the terminal raw");
        assert!(terminal.seen().contains("\u{1b}[?1049l"), "{end:?} left the other screen");
    }
}

/// What happens is shown without being asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_view_follows_what_happens() {
    let site = Site::new().await;
    site.furnish().await;
    let mut terminal = Terminal::start(&mut site.command(&["top"]), 80, 24);
    terminal.wait_for("Provisioning", SOON).await;
    let claims: Api<MachineClaim> = Api::namespaced(site.plane.client(), &site.namespace);
    let patch = Patch::Merge(json!({ "status": { "phase": "Bootstrapping" } }));
    claims.patch_status("job-1-1", &PatchParams::default(), &patch).await.unwrap();
    // Only what differs is drawn again.
    terminal.wait_for("tstrap", SOON).await;
    terminal.press("q");
    assert_eq!(terminal.ended(SOON).await, Some(0), "{}", terminal.seen());
}
