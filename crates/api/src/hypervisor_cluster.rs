//! `HypervisorCluster`: a hypervisor we may make machines on, and how to reach it.

mod access;
mod proxmox;
mod status;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use access::{Credentials, Tls};
pub use proxmox::{ProxmoxCluster, Seed, VmIdRange};
pub use status::{AvailableResources, HypervisorClusterStatus, NodeStatus};

use crate::grant::NamespaceSelector;
use crate::names::{BaseUrl, BridgeName, DomainName, IpText, NodeName, StorageName};
use crate::words::words;

/// A hypervisor cluster that machines are made on.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "hypervisor.hyperfleet.io",
    version = "v1alpha1",
    kind = "HypervisorCluster",
    namespaced,
    status = "HypervisorClusterStatus",
    category = "hyperfleet",
    shortname = "hvc",
    derive = "PartialEq",
    doc = "A hypervisor cluster that machines are made on: how to reach it, which nodes to use, who may share it.",
    printcolumn(name = "Provider", type_ = "string", json_path = ".spec.provider"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".spec.endpoint"),
    printcolumn(name = "Nodes", type_ = "integer", json_path = ".status.connectedNodes"),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(
        name = "Reason",
        type_ = "string",
        priority = 1,
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("(self.provider == 'proxmox') == has(self.proxmox)")
        .message("proxmox is required when provider is proxmox: give at least proxmox.vmidRange")
        .field_path(".proxmox"),
    validation = Rule::new("self.endpoint.startsWith('https://')")
        .message("endpoint must start with https://; for a self-signed certificate set tls.caCertificate or tls.fingerprint")
        .field_path(".endpoint")
)]
pub struct HypervisorClusterSpec {
    /// Kind of hypervisor; decides which of the blocks below applies. `proxmox` is Proxmox VE 8 or 9.
    pub provider: Provider,
    /// URL of the hypervisor's API, for example `https://pve.example.com:8006`; a path such as `/api2/json` and a
    /// trailing slash make no difference.
    pub endpoint: BaseUrl,
    /// How to log in: an API token, or a user with password. The Secrets are in this object's namespace.
    pub credentials: Credentials,
    /// How the endpoint's certificate is verified; left out, with the certificate authorities of the system.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Nodes that may get machines.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub nodes: Vec<Node>,
    /// Storage for disks of full clones and for per-machine disks, unless the template names another.
    pub default_storage: StorageName,
    /// Bridge or virtual network for machines, unless the template names another.
    pub default_network: BridgeName,
    /// Names and name servers of machines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dns: Option<Dns>,
    /// Settings for Proxmox VE; required when `provider` is `proxmox`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxmox: Option<ProxmoxCluster>,
    /// Namespaces whose templates may use this cluster, beside its own. Left out: none; an empty selector: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<NamespaceSelector>,
}

words! {
    /// Kinds of hypervisor.
    Provider {
        /// Proxmox VE.
        Proxmox = "proxmox",
    }
}

/// A node of the hypervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// Name of the node, as the hypervisor spells it.
    pub name: NodeName,
    /// When true the node gets no new machine; those it has stay.
    #[serde(default)]
    pub cordon: bool,
}

/// Names and name servers of machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dns {
    /// Domain of the machines: a machine's full name is its host name and this.
    pub domain: DomainName,
    /// Name servers the machines use; left out, those that DHCP gives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8))]
    #[x_kube(
        merge_strategy = ListMerge::Atomic,
        validation = Rule::new("self.all(server, isIP(server))")
            .message("dns.servers must be IP addresses, such as 10.0.0.53 or 2001:db8::53")
    )]
    pub servers: Vec<IpText>,
}
