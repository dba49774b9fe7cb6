//! What the hypervisor says about a template.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::names::{ImageName, NodeName, VmId};
use crate::quantity::Quantity;

/// What the hypervisor says about a template.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HypervisorMachineTemplateStatus {
    /// Generation of the spec that this status speaks of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub observed_generation: Option<i64>,
    /// `TemplateValid`: machines can be made from it now. `InUse`: pools or claims still refer to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "crate::condition::list_schema")]
    pub conditions: Vec<Condition>,
    /// Whether the image exists on the hypervisor now.
    #[serde(default)]
    pub template_available: bool,
    /// The image that the template resolves to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<ResolvedImage>,
}

/// The image that a template resolves to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResolvedImage {
    /// VMID of the image.
    pub vm_id: VmId,
    /// Name of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<ImageName>,
    /// Node the image is on.
    pub node: NodeName,
    /// Size of its boot disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<Quantity>,
    /// Whether machines are linked clones of it.
    pub linked_clone: bool,
}
