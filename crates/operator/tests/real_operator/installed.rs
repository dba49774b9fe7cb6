//! The guide's installation in a cluster: exactly its commands, and then what a kubelet would start.

use std::collections::BTreeMap;
use std::process::Command;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Container};
use kube::ResourceExt;
use kube::api::{Api, ListParams};
use testenv::{ControlPlane, Options, Program, ServiceAccountRef, Signal, free_port};

use super::{SOON, page, typed};

const GUIDE: &str = include_str!("../../../../docs/guide/installation.md");
const NAMESPACE: &str = "hyperfleet-operator-system";

/// What a container gets as variables.
async fn variables(plane: &ControlPlane, container: &Container) -> BTreeMap<String, String> {
    let maps: Api<ConfigMap> = Api::namespaced(plane.client(), NAMESPACE);
    let mut all = BTreeMap::new();
    for source in container.env_from.iter().flatten() {
        let name = &source.config_map_ref.as_ref().unwrap().name;
        all.extend(maps.get(name).await.unwrap().data.unwrap());
    }
    for variable in container.env.iter().flatten() {
        let value = variable.value.clone().unwrap_or_else(|| {
            let field = variable.value_from.as_ref().unwrap().field_ref.as_ref().unwrap();
            assert_eq!(field.field_path, "metadata.namespace");
            NAMESPACE.to_owned()
        });
        all.insert(variable.name.clone(), value);
    }
    all
}

/// A program as its pod would run, but that its ports are free ones of this machine.
async fn start(plane: &ControlPlane, container: &Container, account: &ServiceAccountRef, health: u16) -> Program {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
    assert_eq!(container.command.as_deref(), Some(["hyperfleet".to_owned()].as_slice()));
    let variables = variables(plane, container).await;
    command.args(container.args.iter().flatten()).envs(&variables).env("KUBECONFIG", plane.kubeconfig_for(account));
    command.arg(format!("--health-probe-bind-address=127.0.0.1:{health}")).arg("--metrics-bind-address=127.0.0.1:0");
    command.arg("--bootstrap-listen=127.0.0.1:0");
    if variables.contains_key("INGRESS_LISTEN") {
        command.arg("--ingress-listen=127.0.0.1:0");
    }
    Program::start(&command)
}

/// An own control plane: this one looks after all namespaces.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_guide_installs_becomes_ready_with_the_rights_that_it_installs() {
    let plane = ControlPlane::start(Options::default()).await;
    let lines = typed::lines(GUIDE, "sh install");
    assert_eq!(lines.len(), 5);
    for line in lines {
        let kubeconfig = plane.kubeconfig();
        let (well, said) = tokio::task::spawn_blocking(move || typed::shell(&kubeconfig, line)).await.unwrap();
        assert!(well, "{line}\n{said}");
    }
    let deployments: Api<Deployment> = Api::namespaced(plane.client(), NAMESPACE);
    let deployments = deployments.list(&ListParams::default()).await.unwrap().items;
    assert_eq!(deployments.len(), 3);
    for deployment in deployments {
        let name = deployment.name_any();
        let pod = deployment.spec.unwrap().template.spec.unwrap();
        let account = plane.service_account(NAMESPACE, pod.service_account_name.as_deref().unwrap(), &[]).await;
        let health = free_port().unwrap();
        let program = start(&plane, &pod.containers[0], &account, health).await;
        program
            .eventually(&format!("{name} is ready"), SOON, async || {
                page(health, "/readyz").await.filter(|answer| answer.starts_with("HTTP/1.1 200"))
            })
            .await;
        program.signal(Signal::Terminate);
        assert!(program.wait(SOON).await.success(), "{}", program.output());
        let refused = plane.audit().await.user(&account.username()).filter(|line| line.code == 403);
        assert!(refused.is_empty(), "{name} lacks a right: {refused:?}");
    }
}
