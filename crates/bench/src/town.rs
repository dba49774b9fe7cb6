//! Where claims and jobs are measured: a namespace, an operator under its own roles, a hypervisor.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
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
use testenv::{ControlPlane, Grant, Program, ServiceAccountRef, eventually, free_port};
use tokio::time::Instant;

use crate::memory::beside_us;

/// The roles that a user installs.
const ROLES: [&str; 3] = [
    include_str!("../../../deploy/rbac/fleet.yaml"),
    include_str!("../../../deploy/rbac/bootstrap.yaml"),
    include_str!("../../../deploy/rbac/ingress.yaml"),
];

/// How long something may take that takes seconds.
pub(crate) const SOON: Duration = Duration::from_mins(2);

/// Where a hypervisor is, and whom its clients must trust.
pub(crate) struct Address {
    pub(crate) endpoint: String,
    pub(crate) authority: String,
}

/// A simulated hypervisor in this process: when a call arrived and when a claim was made is told by one clock.
pub(crate) async fn hypervisor() -> Result<(Simulator, Address)> {
    let options = Options::new(Release::V9, Fixture::Demo, Clock::system());
    let simulator = Simulator::new(options, &Tasks::new());
    let authority = Arc::new(Authority::new(&["127.0.0.1"])?);
    let socket = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let server = Server::start(&simulator, socket, Transport::Tls(Arc::clone(&authority))).await?;
    let endpoint = format!("https://{}", server.address());
    Ok((simulator, Address { endpoint, authority: authority.pem().to_owned() }))
}

/// A hypervisor in a process of its own whose machines run the real agent; `flags` come on top of the usual ones.
pub(crate) async fn inhabited(flags: &[&str]) -> Result<(Program, Address)> {
    let certificate = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(beside_us("hyperfleet-sim")?);
    command.args(["proxmox", "--listen", "127.0.0.1:0", "--faster", "10", "--profile", "zero"]);
    command.arg("--ca-file").arg(certificate.path()).arg("--agent").arg(beside_us("hyperfleet-agent")?).args(flags);
    let simulator = Program::start(&command);
    let line = simulator.wait_for_line("https://", SOON).await;
    let endpoint = line.split_whitespace().find(|word| word.starts_with("https://")).context("an address")?;
    let endpoint = endpoint.trim_end_matches("/api2/json").to_owned();
    let authority = std::fs::read_to_string(certificate.path())?;
    Ok((simulator, Address { endpoint, authority }))
}

/// When each machine was asked for, by its name, counting the first call for each.
pub(crate) fn first_calls(simulator: &Simulator) -> BTreeMap<String, Instant> {
    let mut first = BTreeMap::new();
    for (name, at) in simulator.clones() {
        first.entry(name).or_insert(at);
    }
    first
}

/// A place of its own for one measurement.
pub(crate) struct Town {
    pub(crate) plane: &'static ControlPlane,
    pub(crate) namespace: String,
    pub(crate) operator: Program,
    account: ServiceAccountRef,
}

impl Town {
    /// Starts an operator in an empty namespace and waits until machines can be made; `flags` come on top of the usual
    /// ones.
    pub(crate) async fn new(hypervisor: &Address, flags: &[&str]) -> Result<Self> {
        let town = Self::empty(|command| {
            command.args(flags);
        })
        .await?;
        town.furnish(hypervisor).await?;
        Ok(town)
    }

    /// Starts an operator in an empty namespace, as `dress` wants it on top of the usual.
    pub(crate) async fn empty(dress: impl FnOnce(&mut Command)) -> Result<Self> {
        let plane = testenv::shared().await;
        plane.install_crds(&api::crds()).await;
        let namespace = plane.namespace("claims").await;
        let account = plane.service_account(&namespace, "hyperfleet", &grants(&namespace)).await;
        let mut command = operator(plane, &namespace, &account)?;
        dress(&mut command);
        Ok(Self { plane, namespace, operator: Program::start(&command), account })
    }

    /// Everything that a claim needs, as a user would have applied it; done when machines can be made.
    pub(crate) async fn furnish(&self, hypervisor: &Address) -> Result<()> {
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

    pub(crate) fn claims(&self) -> Api<MachineClaim> {
        Api::namespaced(self.plane.client(), &self.namespace)
    }

    /// Who the operator is to the API server.
    pub(crate) fn user(&self) -> String {
        self.account.username()
    }

    /// The name that the VM of a claim has.
    pub(crate) fn machine(&self, claim: &str) -> String {
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

fn operator(plane: &ControlPlane, namespace: &str, account: &ServiceAccountRef) -> Result<Command> {
    let port = free_port()?;
    let mut command = Command::new(beside_us("hyperfleet")?);
    command
        .args(["operator", "--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"])
        .arg("--hypervisor-allowed-addresses=127.0.0.0/8")
        .arg(format!("--watch-namespaces={namespace}"))
        .arg(format!("--bootstrap-listen=127.0.0.1:{port}"))
        .arg(format!("--bootstrap-advertise=https://127.0.0.1:{port}"))
        .env("KUBECONFIG", plane.kubeconfig_for(account))
        .env("POD_NAMESPACE", namespace);
    Ok(command)
}

/// An object of a kind, from how a user would write it.
pub(crate) fn read<T: serde::de::DeserializeOwned>(object: Value) -> Result<T> {
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
pub(crate) fn claim(name: &str, argv: &[&str]) -> Result<MachineClaim> {
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
