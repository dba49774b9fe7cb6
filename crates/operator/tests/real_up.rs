//! The real program as a cluster of one: what it has said yes to is there, whatever happens to it.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(clippy::print_stdout, reason = "the lane repeats it")]

#[path = "real_up/backups.rs"]
mod backups;
#[path = "real_up/disks.rs"]
mod disks;
#[path = "real_up/home.rs"]
mod home;
#[path = "real_up/kills.rs"]
mod kills;

use std::os::unix::fs::PermissionsExt as _;

use api::{HypervisorCluster, RunnerPool};
use home::{Home, SOON, run};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use testenv::{Program, Signal, eventually, free_port};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_operator_runs_beside_the_api_and_a_signal_ends_both() {
    let home = Home::new();
    let up = home.up(&[]);
    let client = home.client().await;
    let pool = json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "RunnerPool", "metadata": { "name": "small" },
        "spec": {
            "sourceRef": { "name": "missing" }, "templateRef": { "name": "missing" }, "labels": ["self-hosted"],
            "scaling": { "minReplicas": 0, "maxReplicas": 1 },
        },
    });
    let pools: Api<RunnerPool> = Api::namespaced(client, "default");
    pools.create(&PostParams::default(), &serde_json::from_value(pool).unwrap()).await.unwrap();
    eventually("the operator says what the pool lacks", SOON, async || {
        let conditions = pools.get("small").await.unwrap().status?.conditions;
        conditions.iter().any(|found| found.status == "False").then_some(())
    })
    .await;
    up.signal(Signal::Terminate);
    assert!(up.wait(SOON).await.success(), "{}", up.output());
    assert!(up.output().contains("ended; nothing is left running"), "{}", up.output());
    assert!(!home.path().join("backup.sock").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_says_what_to_do_next_and_nobody_else_reads_its_files() {
    let home = Home::new();
    let port = free_port().unwrap();
    let up = home.up(&["--advertise=localhost", &format!("--bootstrap-listen=127.0.0.1:{port}")]);
    home.client().await;
    for words in [
        format!("is up at https://localhost:{}", home.port()),
        format!("export KUBECONFIG={}", home.path().join("kubeconfig").display()),
        format!("kubectl     from this machine only; --listen 0.0.0.0:{} ", home.port()),
        format!("VMs         call https://localhost:{port}"),
        format!("hyperfleet up backup --data-dir {} FILE", home.path().display()),
    ] {
        up.wait_for_line(&words, SOON).await;
    }
    let mode = |name: &str| std::fs::metadata(home.path().join(name)).unwrap().permissions().mode() & 0o777;
    for name in ["state.redb", "kubeconfig", "backup.sock", "pki/ca.key", "pki/admin.token", "pki/accounts.key"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    assert_eq!((mode(""), mode("pki")), (0o700, 0o700));
    let token = std::fs::read_to_string(home.path().join("pki/admin.token")).unwrap();
    assert!(!up.output().contains(token.trim()), "the token is in what was printed");
}

/// Who follows README types no address again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_doctor_knows_the_address_that_machines_call() {
    let home = Home::new();
    let kubeconfig = home.path().join("kubeconfig");
    let port = free_port().unwrap();
    for (flags, says) in [
        (vec!["--advertise=localhost".to_owned()], "a VM that calls it calls itself"),
        (vec![], "bootstrap.advertise: not set: machines are told no address"),
    ] {
        let listen = format!("--bootstrap-listen=127.0.0.1:{port}");
        let up = home.up(&flags.iter().chain([&listen]).map(String::as_str).collect::<Vec<_>>());
        up.wait_for_line("backup      hyperfleet up backup", SOON).await;
        // Nothing is looked at for nobody.
        let key = json!({ "name": "pve", "key": "any" });
        let cluster = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "HypervisorCluster", "metadata": { "name": "pve" },
            "spec": {
                "provider": "proxmox", "endpoint": "https://pve.example.com:8006", "nodes": [{ "name": "pve1" }],
                "credentials": { "tokenId": key, "tokenSecret": key }, "defaultStorage": "disks",
                "defaultNetwork": "vmbr0",
                "proxmox": { "isoStorage": "local", "vmidRange": { "first": 6000, "last": 6099 } },
            },
        });
        let clusters: Api<HypervisorCluster> = Api::namespaced(home.client().await, "default");
        let cluster = serde_json::from_value(cluster).unwrap();
        clusters.patch("pve", &PatchParams::apply("test"), &Patch::Apply::<HypervisorCluster>(cluster)).await.unwrap();
        let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        doctor.args(["doctor", "-n", "default", "--kubeconfig"]).arg(&kubeconfig).env("NO_COLOR", "1");
        let doctor = Program::start(&doctor);
        assert_eq!(doctor.wait(SOON).await.code(), Some(1), "{}", doctor.output());
        assert!(doctor.output().contains(says), "{flags:?}: {}", doctor.output());
        up.signal(Signal::Terminate);
        assert!(up.wait(SOON).await.success(), "{}", up.output());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_process_is_told_that_the_directory_is_taken() {
    let home = Home::new();
    let _first = home.up(&[]);
    home.client().await;
    let second = home.up(&[]);
    assert!(!second.wait(SOON).await.success());
    assert!(second.output().contains("state.redb: another process uses it: end that first"), "{}", second.output());
}

/// The definitions of an existing cluster are what its administrator put there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_existing_cluster_is_used_as_it_is() {
    let home = Home::new();
    let _there = home.up(&["--controllers=ingress"]);
    let client = home.client().await;
    let before = home.revision(&client).await;
    let kubeconfig = home.path().join("kubeconfig");
    let guest = run(&["up", "--kubeconfig", kubeconfig.to_str().unwrap(), "--controllers=runner-jobs"]);
    guest.wait_for_line("installs nothing there and keeps nothing here", SOON).await;
    guest.wait_for_line("started", SOON).await;
    guest.signal(Signal::Terminate);
    assert!(guest.wait(SOON).await.success(), "{}", guest.output());
    assert_eq!(home.revision(&client).await, before, "something was written");
    let nowhere = run(&["up", "--kubeconfig", "/nonexistent"]);
    assert!(!nowhere.wait(SOON).await.success());
    assert!(nowhere.output().contains("/nonexistent is no kubeconfig"), "{}", nowhere.output());
}

/// An object that says nothing but its name and a number.
fn note(name: &str, number: usize) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "number": number.to_string() } })).unwrap()
}
