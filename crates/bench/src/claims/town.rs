//! Where claims are measured: a namespace, an operator under its own roles, a hypervisor.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use api::{HypervisorCluster, HypervisorMachineTemplate, MachineClaim};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use sim::proxmox::{Authority, Fixture, Options, Release, Server, Simulator, Transport};
use sim::{Clock, Tasks};
use testenv::{ControlPlane, Grant, Program, ServiceAccountRef, eventually};

use crate::memory::beside_us;

/// The roles that a user installs.
const ROLES: [&str; 2] =
    [include_str!("../../../../deploy/rbac/fleet.yaml"), include_str!("../../../../deploy/rbac/bootstrap.yaml")];

/// How long something may take that takes seconds.
pub(super) const SOON: Duration = Duration::from_mins(2);

/// Where a hypervisor is, and whom its clients must trust.
pub(super) struct Address {
    pub(super) endpoint: String,
    pub(super) authority: String,
}

/// A simulated hypervisor in this process: when a call arrived and when a claim was made is told by one clock.
pub(super) async fn hypervisor() -> Result<(Simulator, Address)> {
    let options = Options::new(Release::V9, Fixture::Demo, Clock::system());
    let simulator = Simulator::new(options, &Tasks::new());
    let authority = Arc::new(Authority::new(&["127.0.0.1"])?);
    let socket = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::start(&simulator, socket, Transport::Tls(Arc::clone(&authority))).await?;
    let endpoint = format!("https://{}", server.address());
    Ok((simulator, Address { endpoint, authority: authority.pem().to_owned() }))
}

/// A place of its own for one measurement.
pub(super) struct Town {
    pub(super) plane: &'static ControlPlane,
    pub(super) namespace: String,
    pub(super) operator: Program,
    account: ServiceAccountRef,
}

impl Town {
    /// Starts an operator in an empty namespace and waits until machines can be made; `flags` come on top of the usual
    /// ones.
    pub(super) async fn new(hypervisor: &Address, flags: &[&str]) -> Result<Self> {
        let plane = testenv::shared().await;
        plane.install_crds(&api::crds()).await;
        let namespace = plane.namespace("claims").await;
        let account = plane.service_account(&namespace, "hyperfleet", &grants(&namespace)).await;
        let operator = Program::start(&operator(plane, &namespace, &account, flags)?);
        let town = Self { plane, namespace, operator, account };
        town.furnish(hypervisor).await?;
        Ok(town)
    }

    /// Everything that a claim needs, as a user would have applied it.
    async fn furnish(&self, hypervisor: &Address) -> Result<()> {
        let client = self.plane.client();
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &self.namespace);
        secrets.create(&PostParams::default(), &read(credentials(hypervisor))?).await?;
        let clusters: Api<HypervisorCluster> = Api::namespaced(client.clone(), &self.namespace);
        clusters.create(&PostParams::default(), &read(cluster(hypervisor))?).await?;
        let templates: Api<HypervisorMachineTemplate> = Api::namespaced(client, &self.namespace);
        templates.create(&PostParams::default(), &read(template())?).await?;
        eventually("the template can be used", SOON, async || {
            let status = templates.get("small").await.ok()?.status?;
            status.conditions.iter().any(|found| found.type_ == "TemplateValid" && found.status == "True").then_some(())
        })
        .await;
        Ok(())
    }

    pub(super) fn claims(&self) -> Api<MachineClaim> {
        Api::namespaced(self.plane.client(), &self.namespace)
    }

    /// Who the operator is to the API server.
    pub(super) fn user(&self) -> String {
        self.account.username()
    }

    /// The name that the VM of a claim has.
    pub(super) fn machine(&self, claim: &str) -> String {
        format!("{}-{claim}", self.namespace)
    }
}

/// The roles, with the installation's namespace in the place of the usual one.
fn grants(namespace: &str) -> Vec<Grant> {
    let here = |grant| match grant {
        Grant::Namespaced(mut role) => {
            role.metadata.namespace = Some(namespace.to_owned());
            Grant::Namespaced(role)
        }
        other @ (Grant::ClusterWide(_) | Grant::Within(..)) => other,
    };
    ROLES.iter().flat_map(|roles| Grant::from_yaml(roles)).map(here).collect()
}

fn operator(plane: &ControlPlane, namespace: &str, account: &ServiceAccountRef, flags: &[&str]) -> Result<Command> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let mut command = Command::new(beside_us("hyperfleet")?);
    command
        .args(["operator", "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"])
        .arg("--hypervisor-allowed-addresses=127.0.0.0/8")
        .arg(format!("--watch-namespaces={namespace}"))
        .arg(format!("--bootstrap-listen=127.0.0.1:{port}"))
        .arg(format!("--bootstrap-advertise=https://127.0.0.1:{port}"))
        .args(flags)
        .env("KUBECONFIG", plane.kubeconfig_for(account))
        .env("POD_NAMESPACE", namespace);
    Ok(command)
}

fn read<T: serde::de::DeserializeOwned>(object: Value) -> Result<T> {
    serde_json::from_value(object).context("an object of the expected form")
}

fn credentials(hypervisor: &Address) -> Value {
    json!({
        "metadata": { "name": "pve" },
        "stringData": {
            "tokenId": "op@pve!hf",
            "tokenSecret": "11111111-1111-4111-8111-111111111111",
            "ca.crt": hypervisor.authority,
        },
    })
}

fn cluster(hypervisor: &Address) -> Value {
    let secret = |key: &str| json!({ "name": "pve", "key": key });
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "HypervisorCluster",
        "metadata": { "name": "pve" },
        "spec": {
            "provider": "proxmox",
            "endpoint": hypervisor.endpoint,
            "credentials": { "tokenId": secret("tokenId"), "tokenSecret": secret("tokenSecret") },
            "tls": { "caCertificate": secret("ca.crt") },
            "nodes": [{ "name": "pve1" }, { "name": "pve2" }, { "name": "pve3" }],
            "defaultStorage": "disks",
            "defaultNetwork": "vmbr0",
            "proxmox": { "vmidRange": { "first": 100_000, "last": 109_999 }, "pool": "hf", "isoStorage": "shared" },
        },
    })
}

/// Small machines: a node of the demo has memory for thousands of them.
fn template() -> Value {
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "HypervisorMachineTemplate",
        "metadata": { "name": "small" },
        "spec": {
            "hypervisorClusterRef": { "name": "pve" },
            "resources": { "cpu": 1, "memory": "64Mi", "disk": "20Gi" },
            "template": { "proxmox": { "templateId": 9000 } },
        },
    })
}

/// A claim whose machine runs a command; nothing is kept of it afterwards.
pub(super) fn claim(name: &str, argv: &[&str]) -> Result<MachineClaim> {
    read(json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1",
        "kind": "MachineClaim",
        "metadata": { "name": name },
        "spec": {
            "templateRef": { "name": "small" },
            "lifecycle": { "ttl": "0s" },
            "workload": { "command": { "argv": argv } },
        },
    }))
}
