//! What a claim holds on the hypervisor, written down before anything is asked of it.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::moment::Moment;
use crate::names::{CidrText, NodeName, StorageName, UuidText, VmId};
use crate::reference::ObjectRef;

/// What a claim holds on the hypervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Allocation {
    /// Identity of the allocation; the VM's ownership record is bound to it, and it survives a restore of the claim. It is
    /// also the UUID in the VM's firmware, by which the agent knows that it runs on its own VM.
    pub id: UuidText,
    /// Cluster the VM is on.
    pub cluster_ref: ObjectRef,
    /// VMID of the VM.
    pub vm_id: VmId,
    /// Node the VM is on.
    pub node: NodeName,
    /// Storages that the VM's disks are made on: a clone that fails may leave some there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub storages: Vec<StorageName>,
    /// Generation of the template the VM is made from.
    #[schemars(range(min = 1))]
    pub template_generation: i64,
    /// When the allocation was written down.
    pub allocated_at: Moment,
    /// Address of the VM, where the template gives out static ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<CidrText>,
}
