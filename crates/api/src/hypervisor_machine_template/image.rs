//! The image a machine is cloned from; one block per provider.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::names::{ImageName, VmId};

/// An image on the hypervisor; the block of the cluster's provider must be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(validation = Rule::new("has(self.proxmox)")
    .message("proxmox is required: name the image by proxmox.templateId or proxmox.templateName")
    .field_path(".proxmox"))]
pub struct Image {
    /// An image on Proxmox VE.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proxmox: Option<ProxmoxImage>,
}

/// An image on Proxmox VE, by id or by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.templateId) || has(self.templateName)")
        .message("templateId or templateName is required").field_path(".templateId"),
    validation = Rule::new("!(has(self.templateId) && has(self.templateName))")
        .message("templateId and templateName exclude each other: remove one").field_path(".templateName"),
    validation = Rule::new("!self.fallbackToFullClone || self.linkedClone")
        .message("fallbackToFullClone only makes sense with linkedClone: set linkedClone to true or remove it")
        .field_path(".fallbackToFullClone")
)]
pub struct ProxmoxImage {
    /// VMID of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_id: Option<VmId>,
    /// Name of the image; it must be the only image of that name on the cluster's nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template_name: Option<ImageName>,
    /// When true machines share the image's disk and only store what they change, which is fast and small; when false
    /// the whole disk is copied.
    #[serde(default = "linked_by_default")]
    pub linked_clone: bool,
    /// When true a full copy is made where the image's storage cannot make linked clones; when false the template is
    /// not valid there.
    #[serde(default)]
    pub fallback_to_full_clone: bool,
}

fn linked_by_default() -> bool {
    true
}
