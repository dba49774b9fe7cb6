//! The real program on a real API server, under exactly the roles that users install.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use api::RunnerJob;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testenv::{ControlPlane, Grant, Program, ServiceAccountRef, Signal, eventually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SOON: Duration = Duration::from_secs(40);

/// The text of a file of this repository.
fn file(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// A namespace with an account that has what `deploy/rbac/fleet.yaml` gives the operator, and nothing else.
struct Site {
    plane: &'static ControlPlane,
    namespace: String,
    account: ServiceAccountRef,
}

impl Site {
    async fn new() -> Self {
        let plane = testenv::shared().await;
        plane.install_crds(&api::crds()).await;
        let namespace = plane.namespace("operator").await;
        let grants: Vec<Grant> = Grant::from_yaml(&file("deploy/rbac/fleet.yaml"))
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
        Self { plane, namespace, account }
    }

    fn operator(&self, flags: &[&str]) -> Program {
        self.operator_at("", flags)
    }

    fn operator_at(&self, level: &str, flags: &[&str]) -> Program {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        command
            .arg("operator")
            .args(flags)
            .env("KUBECONFIG", self.plane.kubeconfig_for(&self.account))
            .env("LOG_LEVEL", level)
            .env("POD_NAMESPACE", &self.namespace);
        Program::start(&command)
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

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
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
    let (health, metrics) = (free_port(), free_port());
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
        let health = free_port();
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

/// What the operator's account must not be able to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn p17_the_operator_s_account_can_do_nothing_else() {
    let site = Site::new().await;
    let user = site.account.username();
    for (verb, resource) in [
        ("list", "secrets"),
        ("get", "secrets"),
        ("create", "pods"),
        ("list", "pods"),
        ("delete", "namespaces"),
        ("create", "runnerjobs.hypervisor.hyperfleet.io"),
        ("update", "runnerpools.hypervisor.hyperfleet.io"),
        ("create", "clusterrolebindings.rbac.authorization.k8s.io"),
        ("delete", "leases.coordination.k8s.io"),
        ("list", "events.events.k8s.io"),
    ] {
        let asked = site.plane.kubectl(&["auth", "can-i", verb, resource, "--as", &user, "--all-namespaces"]).await;
        assert_eq!(asked.stdout.trim(), "no", "{verb} {resource}: {}", asked.stderr);
    }
    let asked = site
        .plane
        .kubectl(&["auth", "can-i", "delete", "runnerjobs.hypervisor.hyperfleet.io", "--as", &user, "--all-namespaces"])
        .await;
    assert_eq!(asked.stdout.trim(), "yes");
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
