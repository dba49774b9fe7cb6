//! What only Proxmox VE needs to know.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::names::{ResourcePoolName, StorageName, VmId};
use crate::words::words;

/// Settings for Proxmox VE.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.seed != 'iso' || has(self.isoStorage)")
    .message("isoStorage is required when seed is iso: name a storage with content type iso, or set seed to smbios")
    .field_path(".isoStorage"))]
pub struct ProxmoxCluster {
    /// Resource pool the machines are put into. A token that has its rights on this pool alone can touch nothing else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pool: Option<ResourcePoolName>,
    /// VMIDs the machines get. Keep the range for HyperFleet alone: ids are chosen in it, never asked for.
    pub vmid_range: VmIdRange,
    /// Storage for seed images (content type `iso`), on every node that gets machines; needed when `seed` is `iso`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iso_storage: Option<StorageName>,
    /// How a machine gets its seed. `iso`: a small `NoCloud` image per machine, works with every image. `smbios`: in the
    /// firmware, with an address that cloud-init fetches the rest from, once; needs DHCP and no upload right, and for
    /// `cloudInit` an image that trusts our authority. `native`: in the firmware, beside the hypervisor's own cloud-init
    /// drive; only for templates without `cloudInit`.
    #[serde(default = "default_seed")]
    pub seed: Seed,
}

words! {
    /// How a machine gets its seed.
    Seed {
        /// One `NoCloud` image per machine, uploaded and removed by us.
        Iso = "iso",
        /// In the SMBIOS fields, with an address that cloud-init fetches its part from.
        Smbios = "smbios",
        /// In the SMBIOS fields, beside the hypervisor's own cloud-init drive.
        Native = "native",
    }
}

/// A range of VMIDs, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("self.first <= self.last")
    .message("last must not be below first").field_path(".last"))]
pub struct VmIdRange {
    /// Lowest VMID a machine may get.
    pub first: VmId,
    /// Highest VMID a machine may get.
    pub last: VmId,
}

fn default_seed() -> Seed {
    Seed::Iso
}
