//! Volumes that outlive their VM: seed images, and disks that a removal left behind.

use serde::Deserialize;

use super::api::Request;
use super::decode::text;
use super::form::Form;
use super::{Proxmox, upload};
use crate::hypervisor::error::Error;
use crate::hypervisor::id::{AllocationId, NodeName, StorageName, TaskRef, VolumeId};
use crate::hypervisor::number::{VmId, VmRef};
use crate::hypervisor::object::Object;
use crate::hypervisor::seed::NoCloud;

#[derive(Deserialize)]
struct Content {
    volid: String,
    #[serde(default, deserialize_with = "text")]
    vmid: Option<String>,
}

impl Proxmox {
    /// The volume of a VM's seed image.
    pub(super) fn seed_volume(&self, vm: VmId, allocation: &AllocationId) -> Option<VolumeId> {
        let storage = self.settings.seeds.as_ref()?;
        format!("{storage}:iso/{}", seed_file(vm, allocation)).parse().ok()
    }

    /// Uploads a seed image; one of the same name is replaced.
    pub(super) async fn upload_seed(
        &self,
        vm: &VmRef,
        allocation: &AllocationId,
        files: &NoCloud,
    ) -> Result<Option<TaskRef>, Error> {
        let Some(storage) = &self.settings.seeds else {
            return Err(Error::invalid(Object::Vm(vm.id), "seed", "no storage for seed images is configured"));
        };
        let (boundary, body) = upload::iso(&seed_file(vm.id, allocation), &files.image());
        let route = "/nodes/{node}/storage/{storage}/upload";
        let request = Request::post(route, &[&vm.node, storage], Object::Storage(storage.to_string()));
        self.api.maybe_task(request.multipart(boundary, body).at(&vm.node)).await
    }

    /// The disks of a VM's number on these storages.
    pub(super) async fn list_disks(&self, vm: &VmRef, storages: &[StorageName]) -> Result<Vec<VolumeId>, Error> {
        let mut volumes = Vec::new();
        for storage in storages {
            let route = "/nodes/{node}/storage/{storage}/content";
            let request = Request::get(route, &[&vm.node, storage], Object::Storage(storage.to_string()));
            let rows: Vec<Content> = self.api.call(request.with(Form::new().put("vmid", vm.id)).at(&vm.node)).await?;
            let own = rows.into_iter().filter(|row| row.vmid.as_deref().is_none_or(|id| id == vm.id.to_string()));
            volumes.extend(own.filter_map(|row| row.volid.parse().ok()).filter(|volume| belongs_to(volume, vm.id)));
        }
        Ok(volumes)
    }

    /// Removes a disk of a VM that is gone.
    pub(super) async fn remove_disk(&self, vm: &VmRef, volume: &VolumeId) -> Result<Option<TaskRef>, Error> {
        if !belongs_to(volume, vm.id) {
            let says = format!("it is not a disk of VM {}", vm.id);
            return Err(Error::invalid(Object::Volume(volume.to_string()), "volume", says));
        }
        if self.is_taken(vm.id).await? {
            let detail = "so its disks are in use".into();
            return Err(Error::AlreadyExists { object: Object::Vm(vm.id), detail });
        }
        self.remove_volume(&vm.node, volume).await
    }

    /// Removes a volume; one that is not there is fine.
    pub(super) async fn remove_volume(&self, node: &NodeName, volume: &VolumeId) -> Result<Option<TaskRef>, Error> {
        let route = "/nodes/{node}/storage/{storage}/content/{volume}";
        let object = Object::Volume(volume.to_string());
        let request = Request::delete(route, &[node, &volume.storage(), volume], object).at(node);
        match self.api.maybe_task(request).await {
            Err(Error::NotFound { object: Object::Volume(_) }) => Ok(None),
            outcome => outcome,
        }
    }
}

fn seed_file(vm: VmId, allocation: &AllocationId) -> String {
    format!("hyperfleet-{vm}-{allocation}.iso")
}

/// Whether a volume is a disk of this VM's own, by the name Proxmox gives such; never a base that others build on.
fn belongs_to(volume: &VolumeId, vm: VmId) -> bool {
    let file = volume.as_str().rsplit(['/', ':']).next().unwrap_or_default();
    file.starts_with(&format!("vm-{vm}-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("store:101/vm-101-cloudinit.qcow2", true)]
    #[case("store:9000/base-9000-disk-0.qcow2/101/vm-101-disk-0.qcow2", true)]
    #[case("local-lvm:vm-101-disk-0", true)]
    #[case("ceph:base-9000-disk-0/vm-101-disk-0", true)]
    #[case("store:1010/vm-1010-disk-0.qcow2", false)]
    #[case("store:101/base-101-disk-0.qcow2", false)]
    #[case("local:iso/vm-1010-disk.iso", false)]
    fn a_disk_is_told_by_its_name(#[case] volume: &str, #[case] ours: bool) {
        assert_eq!(belongs_to(&volume.parse().unwrap(), VmId::try_from(101).unwrap()), ours);
    }
}
