//! `HypervisorMachineTemplate`: what a machine is made from and how large it is.

mod image;
mod network;
mod status;

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use image::{Image, ProxmoxImage};
pub use network::{Network, NetworkMode, StaticConfig};
pub use status::{HypervisorMachineTemplateStatus, ResolvedImage};

use crate::grant::NamespaceSelector;
use crate::names::{Digest, NodeName, StorageName};
use crate::quantity::Quantity;
use crate::reference::ObjectRef;
use crate::span::Span;
use crate::words::words;

/// What machines are made from.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "hypervisor.hyperfleet.io",
    version = "v1alpha1",
    kind = "HypervisorMachineTemplate",
    namespaced,
    status = "HypervisorMachineTemplateStatus",
    category = "hyperfleet",
    shortname = "hmt",
    derive = "PartialEq",
    doc = "What machines are made from: an image on a hypervisor, their size, network and proof of identity.",
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.hypervisorClusterRef.name"),
    printcolumn(name = "Template ID", type_ = "integer", json_path = ".status.image.vmId"),
    printcolumn(name = "CPU", type_ = "integer", json_path = ".spec.resources.cpu"),
    printcolumn(name = "Memory", type_ = "string", json_path = ".spec.resources.memory"),
    printcolumn(name = "Available", type_ = "boolean", json_path = ".status.templateAvailable"),
    printcolumn(
        name = "Valid",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="TemplateValid")].status"#
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        priority = 1,
        json_path = r#".status.conditions[?(@.type=="TemplateValid")].reason"#
    ),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.hypervisorClusterRef == oldSelf.hypervisorClusterRef")
    .message("hypervisorClusterRef cannot be changed: create another HypervisorMachineTemplate")
    .field_path(".hypervisorClusterRef"))]
pub struct HypervisorMachineTemplateSpec {
    /// Cluster the machines are made on.
    pub hypervisor_cluster_ref: ObjectRef,
    /// Image the machines are cloned from.
    pub template: Image,
    /// Size of the machines.
    pub resources: Resources,
    /// Storage for the machines' disks; left out, the cluster's `defaultStorage`. A linked clone stays on the storage of
    /// its image, whatever stands here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<StorageName>,
    /// Network of the machines.
    #[serde(default)]
    pub network: Network,
    /// Which nodes may get machines of this template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<Placement>,
    /// How a machine proves who it is before it gets any credential.
    #[serde(default)]
    pub attestation: Attestation,
    /// Cloud-init settings of your own, merged with ours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cloud_init: Option<CloudInit>,
    /// How failed attempts to make a machine are repeated; left out, as the operator is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backoff: Option<RetryPolicy>,
    /// Namespaces whose pools and claims may use this template, beside its own. Left out: none; an empty selector: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allowed_namespaces: Option<NamespaceSelector>,
}

/// Size of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Resources {
    /// Processor cores, 1 to 64.
    #[schemars(range(min = 1, max = 64))]
    pub cpu: u16,
    /// Memory, for example `8Gi`; at least `64Mi`.
    #[x_kube(validation = Rule::new("quantity(self).compareTo(quantity('64Mi')) >= 0")
        .message("memory must be at least 64Mi"))]
    pub memory: Quantity,
    /// Size of the boot disk, for example `50Gi`; at least that of the image, since disks only grow.
    pub disk: Quantity,
}

/// Which nodes may get machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Placement {
    /// Nodes of the cluster that may get machines of this template.
    #[schemars(length(min = 1, max = 64))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub nodes: Vec<NodeName>,
}

/// How a machine proves who it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attestation {
    /// `join-token`: by a token that works once and is bound to the machine. `tpm`: by the token and a virtual TPM 2.0
    /// that is made for this machine alone.
    #[serde(default = "default_method")]
    pub method: AttestationMethod,
    /// How long the token works, from the machine's start; 1m to 24h.
    #[serde(default = "default_token_ttl", rename = "joinTokenTTL")]
    #[x_kube(validation = Rule::new("duration(self) >= duration('1m') && duration(self) <= duration('24h')")
        .message("joinTokenTTL must be between 1m and 24h"))]
    pub join_token_ttl: Span,
    /// SHA-256 of the agent's program in the image, as `sha256sum` prints it. A machine whose agent is another program
    /// powers off before it has used its token. Unset: any agent.
    #[serde(default, rename = "agentSHA256", skip_serializing_if = "Option::is_none")]
    pub agent_sha256: Option<Digest>,
}

words! {
    /// Ways for a machine to prove who it is.
    AttestationMethod {
        /// A single-use token bound to the machine.
        JoinToken = "join-token",
        /// The token and a virtual TPM 2.0 of the machine's own.
        Tpm = "tpm",
    }
}

/// Cloud-init settings of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct CloudInit {
    /// User data: a `#cloud-config` document, whose maps and lists are merged with ours, or a script. Paths under
    /// `/etc/hyperfleet` are reserved. No secrets here: it ends up on the machine's seed.
    #[schemars(length(min = 1, max = 65536))]
    pub user_data: String,
}

/// How failed attempts are repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("duration(self.initial) <= duration(self.max)")
    .message("max must not be shorter than initial").field_path(".max"))]
pub struct RetryPolicy {
    /// Wait before the second attempt; it doubles with each further one.
    #[x_kube(validation = Rule::new("duration(self) >= duration('1s')")
        .message("initial must be at least 1s"))]
    pub initial: Span,
    /// Longest wait between two attempts.
    pub max: Span,
    /// Attempts after which the claim fails, 1 to 100.
    #[schemars(range(min = 1, max = 100))]
    pub max_attempts: u16,
}

impl Default for Attestation {
    fn default() -> Self {
        Self { method: default_method(), join_token_ttl: default_token_ttl(), agent_sha256: None }
    }
}

fn default_method() -> AttestationMethod {
    AttestationMethod::JoinToken
}

fn default_token_ttl() -> Span {
    Span::from_secs(3600)
}
