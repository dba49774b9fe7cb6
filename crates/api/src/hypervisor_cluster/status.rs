//! What we found out about a hypervisor.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::names::NodeName;
use crate::quantity::Quantity;

/// What we found out about a hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HypervisorClusterStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// `Ready`: the endpoint answers, its certificate verifies, the login works and the privileges suffice.
    /// `InUse`: machines still exist on it. `OrphanStorm`: too many machines look orphaned at once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::condition::list_schema")]
    pub conditions: Vec<Condition>,
    /// Version the hypervisor reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 64))]
    pub version: Option<String>,
    /// How many of the configured nodes are online.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 64))]
    pub connected_nodes: Option<u16>,
    /// The configured nodes as the hypervisor reports them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub nodes: Vec<NodeStatus>,
    /// What all online nodes have together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available_resources: Option<AvailableResources>,
}

/// A configured node as the hypervisor reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// Name of the node.
    pub name: NodeName,
    /// Whether the node is online.
    pub online: bool,
    /// Whether the node is in the hypervisor's maintenance mode and gets no new machine.
    #[serde(default)]
    pub maintenance: bool,
    /// Processor cores of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 65535))]
    pub cpu: Option<u32>,
    /// Memory of the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
}

/// Capacity in total.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AvailableResources {
    /// Processor cores of all online nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 4_000_000))]
    pub cpu: Option<u32>,
    /// Memory of all online nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Quantity>,
    /// Space on the default storage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub storage: Option<Quantity>,
}
