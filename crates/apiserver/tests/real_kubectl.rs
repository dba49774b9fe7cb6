//! The real kubectl, against the real server and against ours: it prints the same.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "conformance/suite.rs"]
mod conformance;
#[path = "kubectl/suite.rs"]
mod suite;

use std::path::PathBuf;

use kube::Client;
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use suite::run::{Side, report, run};
use suite::script::script;

/// A namespace of this name on the server of a kubeconfig file.
async fn side(kubeconfig: PathBuf, namespace: &str) -> Side {
    let file = Kubeconfig::read_from(&kubeconfig).unwrap();
    let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(Client::try_from(config).unwrap());
    let object = serde_json::from_value(serde_json::json!({ "metadata": { "name": namespace } })).unwrap();
    namespaces.create(&PostParams::default(), &object).await.unwrap();
    Side { kubeconfig, namespace: namespace.to_owned(), cache: tempfile::tempdir().unwrap() }
}

#[expect(clippy::print_stdout, reason = "the lane repeats it")]
fn say(line: &str) {
    println!("lane: {line}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_prints_the_same_about_ours_as_about_the_real_server() {
    let plane = testenv::shared().await;
    let (_, tag) = conformance::real(plane).await;
    let namespace = format!("kubectl-{tag}");
    let real = side(plane.kubeconfig(), &namespace).await;
    let listening = suite::ours::start().await;
    let ours = side(listening.kubeconfig.clone(), &namespace).await;
    let mismatches = run(&real, &ours, &script()).await;
    say(&format!("{} commands of kubectl on the real server and on ours, {} differ", script().len(), mismatches.len()));
    assert!(mismatches.is_empty(), "{}", report(&mismatches));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "says nothing about ours, and takes as long"]
async fn soak_kubectl_prints_the_same_twice_about_the_real_server() {
    let plane = testenv::shared().await;
    let (_, tag) = conformance::real(plane).await;
    let first = side(plane.kubeconfig(), &format!("kubectl-a{tag}")).await;
    let second = side(plane.kubeconfig(), &format!("kubectl-b{tag}")).await;
    let mismatches = run(&first, &second, &script()).await;
    assert!(mismatches.is_empty(), "{}", report(&mismatches));
}
