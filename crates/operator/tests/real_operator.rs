//! The real program on a real API server, under exactly the roles that users install.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "bootstrap_wire/caller.rs"]
#[allow(dead_code, reason = "shared with the tests of the bootstrap service, which use the rest")]
mod caller;
#[path = "verify/site.rs"]
#[allow(dead_code, reason = "shared with the tests of `hyperfleet verify`, which use the rest")]
mod hypervisor;
#[path = "real_operator/installed.rs"]
mod installed;
#[path = "real_demo/typed.rs"]
mod typed;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use api::{HypervisorCluster, MachineClaim, RunnerJob};
use caller::{Caller, Identity};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, Patch, PatchParams, PostParams};
use operator::bootstrap::{Authority, digest};
use serde_json::{Value, json};
use sim::proxmox::{Profile, Release};
use testenv::{ControlPlane, Grant, Program, ServiceAccountRef, Signal, eventually, free_port};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SOON: Duration = Duration::from_secs(40);

/// The text of a file of this repository.
fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// A namespace with an account that has what `deploy/rbac` gives the operator, and nothing else.
struct Site {
    plane: &'static ControlPlane,
    namespace: String,
    account: ServiceAccountRef,
    set: String,
}

impl Site {
    /// One for the fleet's controllers.
    async fn new() -> Self {
        Self::of("fleet").await
    }

    /// One for a set of controllers.
    async fn of(set: &str) -> Self {
        let plane = testenv::shared().await;
        plane.install_crds(&api::crds()).await;
        let namespace = plane.namespace("operator").await;
        let grants: Vec<Grant> = Grant::from_yaml(&file(&format!("deploy/rbac/{set}.yaml")))
            .into_iter()
            .map(|grant| match grant {
                // The installation's namespace is the test's.
                Grant::Namespaced(mut role) => {
                    role.metadata.namespace = Some(namespace.clone());
                    Grant::Namespaced(role)
                }
                other @ (Grant::ClusterWide(_) | Grant::Within(..)) => other,
            })
            .collect();
        let account = plane.service_account(&namespace, "hyperfleet", &grants).await;
        Self { plane, namespace, account, set: set.to_owned() }
    }

    fn operator(&self, flags: &[&str]) -> Program {
        self.operator_at("", flags)
    }

    fn operator_at(&self, level: &str, flags: &[&str]) -> Program {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        command
            .arg("operator")
            .args(flags)
            .env("CONTROLLERS", &self.set)
            .env("KUBECONFIG", self.plane.kubeconfig_for(&self.account))
            .env("LOG_LEVEL", level)
            .env("POD_NAMESPACE", &self.namespace);
        Program::start(&command)
    }

    async fn secret(&self, name: &str, secret: &str, ca: &str) {
        let secret = json!({
            "metadata": { "name": name }, "stringData": { "id": "op@pve!hf", "secret": secret, "ca": ca },
        });
        let secrets: Api<Secret> = Api::namespaced(self.plane.client(), &self.namespace);
        secrets.create(&PostParams::default(), &serde_json::from_value(secret).unwrap()).await.unwrap();
    }

    async fn cluster(&self, name: &str, at: &hypervisor::Site, tls: Value) {
        let cluster = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "HypervisorCluster", "metadata": { "name": name },
            "spec": {
                "provider": "proxmox", "endpoint": format!("https://127.0.0.1:{}", at.port()), "tls": tls,
                "credentials": { "tokenId": { "name": "pve", "key": "id" }, "tokenSecret": { "name": "pve", "key": "secret" } },
                "nodes": [{ "name": "pve1" }, { "name": "pve2" }], "defaultStorage": "disks", "defaultNetwork": "vmbr0",
                "proxmox": { "vmidRange": { "first": 6000, "last": 6099 }, "pool": "hf", "isoStorage": "shared" },
            },
        });
        let clusters: Api<HypervisorCluster> = Api::namespaced(self.plane.client(), &self.namespace);
        clusters.create(&PostParams::default(), &serde_json::from_value(cluster).unwrap()).await.unwrap();
    }

    /// Waits until the cluster's `Ready` has this reason; its message.
    async fn verdict(&self, name: &str, reason: &str) -> String {
        let clusters: Api<HypervisorCluster> = Api::namespaced(self.plane.client(), &self.namespace);
        eventually(&format!("{name} says {reason}"), SOON, async || {
            let conditions = clusters.get(name).await.unwrap().status?.conditions;
            conditions
                .into_iter()
                .find(|found| found.type_ == "Ready" && found.reason == reason)
                .map(|found| found.message)
        })
        .await
    }

    fn jobs(&self) -> Api<RunnerJob> {
        Api::namespaced(self.plane.client(), &self.namespace)
    }

    async fn job(&self, name: &str, status: Value) {
        let spec = json!({ "sourceRef": { "name": "github" }, "key": format!("github/{name}"), "queuedAt": "2026-01-01T00:00:00Z" });
        let job: RunnerJob = serde_json::from_value(json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "RunnerJob",
            "metadata": { "name": name }, "spec": spec,
        }))
        .unwrap();
        self.jobs().create(&PostParams::default(), &job).await.unwrap();
        let patch = Patch::Merge(json!({ "status": status }));
        self.jobs().patch_status(name, &PatchParams::default(), &patch).await.unwrap();
    }
}

/// Status line and body of a plain http page.
async fn page(port: u16, path: &str) -> Option<String> {
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer)
}

/// Jobs that ended over an hour ago go, others stay; the process becomes ready, is counted in its metrics, and ends well.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_4_the_operator_does_its_work_under_exactly_the_generated_roles() {
    let site = Site::new().await;
    let (health, metrics) = (free_port().unwrap(), free_port().unwrap());
    site.job("old", json!({ "state": "Completed", "result": "Succeeded", "endedAt": "2026-01-01T01:00:00Z" })).await;
    site.job("unstamped", json!({ "state": "Completed" })).await;
    site.job("running", json!({ "state": "Running" })).await;
    let flags = [
        "--leader-elect".to_owned(),
        format!("--watch-namespaces={}", site.namespace),
        format!("--health-probe-bind-address=127.0.0.1:{health}"),
        format!("--metrics-bind-address=127.0.0.1:{metrics}"),
        "--metrics-secure=false".to_owned(),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let operator = site.operator(&flags);
    eventually("the old job goes", SOON, async || site.jobs().get_opt("old").await.unwrap().is_none().then_some(()))
        .await;
    eventually("the end of the other gets a time", SOON, async || {
        site.jobs().get("unstamped").await.unwrap().status?.ended_at
    })
    .await;
    assert!(site.jobs().get_opt("running").await.unwrap().is_some());
    let ready = page(health, "/readyz").await.unwrap();
    assert!(ready.starts_with("HTTP/1.1 200") && ready.contains("[+]controller/runner-jobs ok"), "{ready}");
    let counted = page(metrics, "/metrics").await.unwrap();
    for name in [
        "controller_runtime_reconcile_total{controller=\"runner-jobs\",result=\"success\"}",
        "hyperfleet_leader{lease=\"hyperfleet-fleet\"} 1",
    ] {
        assert!(counted.contains(name), "{name} is missing in {counted}");
    }
    operator.signal(Signal::Terminate);
    assert!(operator.wait(SOON).await.success(), "{}", operator.output());
    let refused = site.plane.audit().await.user(&site.account.username()).filter(|line| line.code == 403);
    assert!(refused.is_empty(), "a right is missing: {refused:?}");
}

/// A cluster is connected over TLS with what its Secret holds, and everything a person looks at tells the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r1_1_a_cluster_is_connected_over_tls_and_people_see_it() {
    let (site, pve) = (Site::new().await, hypervisor::Site::new(Release::V9, Profile::ZERO).await);
    let metrics = free_port().unwrap();
    let flags = [
        format!("--watch-namespaces={}", site.namespace),
        "--hypervisor-allowed-addresses=127.0.0.0/8".to_owned(),
        "--hypervisor-period=1s".to_owned(),
        "--health-probe-bind-address=0".to_owned(),
        format!("--metrics-bind-address=127.0.0.1:{metrics}"),
        "--metrics-secure=false".to_owned(),
    ];
    let operator = site.operator(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    site.cluster("pve", &pve, json!({ "caCertificate": { "name": "pve", "key": "ca" } })).await;
    site.verdict("pve", "CredentialsMissing").await;
    site.secret("pve", hypervisor::SECRET, &std::fs::read_to_string(pve.ca()).unwrap()).await;
    let message = site.verdict("pve", "ConnectionSuccessful").await;
    assert_eq!(message, "connected to version 9.2.11");
    let got = site.plane.kubectl(&["get", "hvc", "-n", &site.namespace]).await;
    let words: Vec<&str> = got.stdout.split_whitespace().collect();
    assert_eq!(words[..6], ["NAME", "PROVIDER", "ENDPOINT", "NODES", "READY", "AGE"], "{}", got.stdout);
    assert_eq!((words[6], words[7], words[9], words[10]), ("pve", "proxmox", "2", "True"), "{}", got.stdout);
    let described = site.plane.kubectl(&["describe", "hvc", "pve", "-n", &site.namespace]).await;
    for word in ["CredentialsMissing", "ConnectionSuccessful", "Secret pve does not exist"] {
        assert!(described.stdout.contains(word), "{word} is missing in {}", described.stdout);
    }
    // Somebody else answers at the address.
    site.cluster("other", &pve, json!({ "fingerprint": vec!["AB"; 32].join(":") })).await;
    let message = site.verdict("other", "TLSVerificationFailed").await;
    assert!(message.contains("its fingerprint is ") && !message.contains("Other("), "{message}");
    let counted = page(metrics, "/metrics").await.unwrap();
    let call = "hyperfleet_provider_request_duration_seconds_count{provider=\"proxmox\",operation=\"GET /cluster/resources\",code=\"200\"}";
    assert!(counted.contains(call), "{call} is missing in {counted}");
    operator.signal(Signal::Terminate);
    assert!(operator.wait(SOON).await.success(), "{}", operator.output());
    assert!(!operator.output().contains(hypervisor::SECRET), "a secret is in the log");
    let refused = site.plane.audit().await.user(&site.account.username()).filter(|line| line.code == 403);
    assert!(refused.is_empty(), "a right is missing: {refused:?}");
}

/// A person who names the operator's own machine as hypervisor is told why that is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hypervisor_on_the_operator_s_own_machine_is_refused_unless_allowed() {
    let (site, pve) = (Site::new().await, hypervisor::Site::new(Release::V9, Profile::ZERO).await);
    let flags = [
        format!("--watch-namespaces={}", site.namespace),
        "--health-probe-bind-address=0".to_owned(),
        "--metrics-bind-address=0".to_owned(),
    ];
    let operator = site.operator(&flags.iter().map(String::as_str).collect::<Vec<_>>());
    site.secret("pve", hypervisor::SECRET, &std::fs::read_to_string(pve.ca()).unwrap()).await;
    site.cluster("pve", &pve, json!({ "caCertificate": { "name": "pve", "key": "ca" } })).await;
    let message = site.verdict("pve", "ConnectionFailed").await;
    assert!(message.contains("127.0.0.1 is a loopback address"), "{message}");
    operator.signal(Signal::Terminate);
    assert!(operator.wait(SOON).await.success(), "{}", operator.output());
}

/// Whatever `LOG_LEVEL` says, every line is a JSON record, none is below the level, and what cannot be read means INFO.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r10_1_r10_2_r10_3_every_line_is_a_record_at_or_above_the_level_asked_for() {
    let site = Site::new().await;
    site.job("running", json!({ "state": "Running" })).await;
    let severity = |level: &str| ["ERROR", "WARN", "INFO", "DEBUG"].iter().position(|known| *known == level).unwrap();
    let cases = [
        ("DEBUG", "DEBUG"),
        ("debug", "DEBUG"),
        ("INFO", "INFO"),
        ("", "INFO"),
        ("loud", "INFO"),
        ("WARN", "WARN"),
        ("ERROR", "ERROR"),
    ];
    for (given, in_force) in cases {
        let health = free_port().unwrap();
        let flags = [
            format!("--watch-namespaces={}", site.namespace),
            format!("--health-probe-bind-address=127.0.0.1:{health}"),
            "--metrics-bind-address=0".to_owned(),
        ];
        let operator = site.operator_at(given, &flags.iter().map(String::as_str).collect::<Vec<_>>());
        eventually("the operator is ready", SOON, async || {
            page(health, "/readyz").await.filter(|answer| answer.starts_with("HTTP/1.1 200"))
        })
        .await;
        if in_force == "DEBUG" {
            operator.wait_for_line("settled", SOON).await;
        }
        operator.signal(Signal::Terminate);
        assert!(operator.wait(SOON).await.success(), "{}", operator.output());
        let records: Vec<Value> =
            operator.lines().iter().map(|line| serde_json::from_str(&line.text).unwrap()).collect();
        let levels: Vec<&str> = records.iter().map(|record| record["level"].as_str().unwrap()).collect();
        assert!(levels.iter().all(|level| severity(level) <= severity(in_force)), "{given:?}: {levels:?}");
        assert_eq!(levels.contains(&"DEBUG"), in_force == "DEBUG", "{given:?}: {levels:?}");
        assert_eq!(levels.contains(&"INFO"), severity(in_force) >= severity("INFO"), "{given:?}: {levels:?}");
        let warned = records.iter().any(|record| record["message"].as_str().unwrap().contains("using INFO"));
        assert_eq!(warned, given == "loud", "{given:?}");
    }
}

/// The bootstrap service in a process of its own: it makes its authority, believes a machine, and needs no other right.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p14_the_bootstrap_service_believes_a_machine_under_exactly_its_own_roles() {
    let site = Site::of("bootstrap").await;
    let (health, port) = (free_port().unwrap(), free_port().unwrap());
    let token = "canary-of-a-token";
    let claims: Api<MachineClaim> = Api::namespaced(site.plane.client(), &site.namespace);
    let claim = json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "MachineClaim", "metadata": { "name": "one" },
        "spec": { "templateRef": { "name": "small" }, "workload": { "command": { "argv": ["true"] } } },
    });
    claims.create(&PostParams::default(), &serde_json::from_value(claim).unwrap()).await.unwrap();
    let (id, machine) = ("aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000001");
    let status = json!({
        "phase": "Bootstrapping",
        "allocation": {
            "id": machine, "clusterRef": { "name": "pve" }, "vmId": 6000, "node": "pve1", "templateGeneration": 1,
            "allocatedAt": "2026-01-01T00:00:00Z",
        },
        "bootstrap": {
            "id": id, "tokenHash": digest(token.as_bytes()), "state": "Pending", "notAfter": "2100-01-01T00:00:00Z",
        },
    });
    let patch = Patch::Merge(json!({ "status": status }));
    claims.patch_status("one", &PatchParams::default(), &patch).await.unwrap();
    let flags = [
        format!("--watch-namespaces={}", site.namespace),
        format!("--health-probe-bind-address=127.0.0.1:{health}"),
        "--metrics-bind-address=0".to_owned(),
        format!("--bootstrap-listen=127.0.0.1:{port}"),
    ];
    let operator = site.operator_at("DEBUG", &flags.iter().map(String::as_str).collect::<Vec<_>>());
    let ready = eventually("the service is ready", SOON, async || {
        page(health, "/readyz").await.filter(|answer| answer.starts_with("HTTP/1.1 200"))
    })
    .await;
    assert!(ready.contains("[+]bootstrap ok"), "{ready}");
    let clock = chassis::Clock::system();
    let authority = Authority::load(&site.plane.client(), &site.namespace, clock).await.unwrap().unwrap();
    let agent = Caller::at(([127, 0, 0, 1], port).into(), &authority).with(&Identity::new());
    let start = json!({ "token": token, "machine": machine, "agent": "test" });
    let (code, welcome) = agent.post(&protocol::path::start(id), &start).await.unwrap();
    assert_eq!((code, &welcome["plan"]["argv"]), (200, &json!(["true"])), "{}", operator.output());
    let finish = json!({ "report": "finished", "class": "exited", "exitCode": 0 });
    assert_eq!(agent.post(protocol::path::STATUS, &finish).await.unwrap().0, 200);
    let thief = Caller::at(([127, 0, 0, 1], port).into(), &authority).with(&Identity::new());
    assert_eq!(thief.post(&protocol::path::start(id), &start).await.unwrap().0, 403);
    let described = site.plane.kubectl(&["describe", "mclaim", "one", "-n", &site.namespace]).await;
    for word in ["AgentAttested", "Finished", "the command ended with exit code 0", "127.0.0.1"] {
        assert!(described.stdout.contains(word), "{word} is missing in {}", described.stdout);
    }
    operator.signal(Signal::Terminate);
    assert!(operator.wait(SOON).await.success(), "{}", operator.output());
    assert!(!operator.output().contains(token), "a token is in the log");
    let refused = site.plane.audit().await.user(&site.account.username()).filter(|line| line.code == 403);
    assert!(refused.is_empty(), "a right is missing: {refused:?}");
}

/// A mistake in the address that machines are told is found at the start, by its name.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_that_machines_cannot_use_is_refused_at_the_start() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
    command.args(["operator", "--bootstrap-advertise=http://10.0.0.1:8444"]);
    let operator = Program::start(&command);
    assert!(!operator.wait(SOON).await.success());
    assert!(operator.output().contains("bootstrap.advertise: \"http://10.0.0.1:8444\" does not begin with https://"));
}

/// What the operator's account must not be able to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p17_the_operator_s_account_can_do_nothing_else() {
    let site = Site::new().await;
    let user = site.account.username();
    for (verb, resource) in [
        ("list", "secrets"),
        ("watch", "secrets"),
        ("update", "secrets"),
        ("patch", "secrets"),
        ("delete", "secrets"),
        ("create", "secrets"),
        ("create", "pods"),
        ("list", "pods"),
        ("delete", "namespaces"),
        ("create", "runnerpools.hypervisor.hyperfleet.io"),
        ("update", "runnerpools.hypervisor.hyperfleet.io"),
        ("delete", "runnersources.hypervisor.hyperfleet.io"),
        ("create", "clusterrolebindings.rbac.authorization.k8s.io"),
        ("delete", "leases.coordination.k8s.io"),
        ("list", "events.events.k8s.io"),
    ] {
        let asked = site.plane.kubectl(&["auth", "can-i", verb, resource, "--as", &user, "--all-namespaces"]).await;
        assert_eq!(asked.stdout.trim(), "no", "{verb} {resource}: {}", asked.stderr);
    }
    // Jobs are its own objects: whoever hears of one makes it, and it goes an hour after its end.
    for verb in ["create", "delete"] {
        let can = ["auth", "can-i", verb, "runnerjobs.hypervisor.hyperfleet.io", "--as", &user, "--all-namespaces"];
        assert_eq!(site.plane.kubectl(&can).await.stdout.trim(), "yes");
    }
}

/// `hyperfleet crds | kubectl apply` is all it takes to install the definitions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_printed_definitions_install_with_kubectl() {
    let plane = testenv::shared().await;
    let printed = Command::new(env!("CARGO_BIN_EXE_hyperfleet")).arg("crds").output().unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    let applied = plane.kubectl_with_input(&["apply", "--server-side", "--force-conflicts", "-f", "-"], &text).await;
    assert!(applied.success(), "{}", applied.stderr);
    assert_eq!(applied.stdout.lines().count(), api::crds().len(), "{}", applied.stdout);
}
