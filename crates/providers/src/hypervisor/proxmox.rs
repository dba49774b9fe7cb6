//! Proxmox VE 8 and 9.
//!
//! ```text
//!   Hypervisor method ─▶ form · config · shape (pure) ─▶ api ─▶ slots, session ─▶ http::Client
//!                                                         └─▶ decode · classify · task (pure)
//! ```
//!
//! What only the server can tell is asked of it; everything else is a pure function beside its tests. A whole life
//! costs eleven calls: clone, look, resize, look, configure, start, look, stop, look, destroy, leftovers; two more with
//! a seed image. Tasks are asked about apart.

mod admin;
mod api;
mod classify;
mod config;
mod decode;
mod form;
mod grants;
mod guard;
mod image;
mod look;
mod permissions;
mod property;
#[cfg(test)]
mod recorded;
mod resources;
mod session;
mod shape;
mod smbios;
mod task;
mod upid;
mod upload;
mod volume;

use std::collections::BTreeSet;

use http::Method;
use serde::Deserialize;

pub use admin::{Admin, Gap};
pub use grants::{Extra, Generation, Grants, Role};
pub use guard::Limits;
pub use session::Credentials;
pub use upid::{Upid, UpidError};

use self::api::{Api, Request};
use self::form::Form;
use self::guard::{Clones, Slots};
use self::resources::Resource;
use self::session::Session;
use self::shape::Changes;
use super::error::Error;
use super::id::{AllocationId, BridgeName, NodeName, StorageName, TaskRef, VolumeId};
use super::number::VmRef;
use super::object::Object;
use super::{
    Bytes, CloneOrder, Gib, Health, Hypervisor, Image, ImageRow, Inventory, Keyring, Missing, Needs, NoCloud, Power,
    PowerAction, Seen, Shape, TaskState, Whose,
};
use crate::http::Client;

const RESOURCES: &str = "/cluster/resources";

/// How a Proxmox VE is used, beside how it is reached.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Signs and verifies what is ours.
    pub owner: Keyring,
    /// The storage for seed images.
    pub seeds: Option<StorageName>,
    /// How much is asked of it at once.
    pub limits: Limits,
}

/// A Proxmox VE, or a cluster of them.
pub struct Proxmox {
    api: Api,
    settings: Settings,
    clones: Clones,
}

impl Proxmox {
    /// A Proxmox VE behind `client`.
    pub fn new(client: Client, credentials: Credentials, settings: Settings) -> Self {
        let Limits { calls_per_node, clones_per_storage } = settings.limits;
        let api = Api::new(client, Session::new(credentials), Slots::new(calls_per_node));
        Self { api, settings, clones: Clones::new(clones_per_storage) }
    }

    /// From the next call on these credentials are used; calls under way are tried again with them if refused.
    pub async fn rotate(&self, credentials: Credentials) {
        self.api.session().rotate(credentials).await;
    }

    /// One update of a VM's settings, if there is anything to change.
    async fn update(&self, seen: &Seen, changes: Changes<'_>) -> Result<(), Error> {
        let Some(form) = changes.form() else { return Ok(()) };
        let request = Request::vm(Method::PUT, "/nodes/{node}/qemu/{vmid}/config", unlocked(seen)?).with(form);
        self.settled(seen.vm(), self.api.order(request).await).await
    }
}

/// The VM, unless an operation holds it: then every change would fail anyway.
fn unlocked(seen: &Seen) -> Result<&VmRef, Error> {
    match &seen.facts().lock {
        Some(kind) => Err(Error::Locked { object: Object::Vm(seen.vm().id), kind: kind.clone() }),
        None => Ok(seen.vm()),
    }
}

#[derive(Deserialize)]
struct Interface {
    iface: String,
}

#[derive(Deserialize)]
struct Version {
    version: String,
}

impl Hypervisor for Proxmox {
    async fn health(&self) -> Result<Health, Error> {
        let request = Request::get("/version", &[], Object::Hypervisor).probe();
        let Version { version } = self.api.call(request).await?;
        Ok(Health { version, identity: self.api.session().identity().await })
    }

    async fn permissions(&self, needs: &Needs) -> Result<Vec<Missing>, Error> {
        let request = Request::get("/access/permissions", &[], Object::Hypervisor).probe();
        let granted = self.api.call(request).await?;
        Ok(permissions::missing(&granted, needs, &self.api.session().identity().await))
    }

    async fn inventory(&self) -> Result<Inventory, Error> {
        let request = Request::get(RESOURCES, &[], Object::Hypervisor).probe();
        self.api.call::<Vec<Resource>>(request).await.map(resources::inventory)
    }

    async fn networks(&self, node: &NodeName) -> Result<BTreeSet<BridgeName>, Error> {
        let request = Request::get("/nodes/{node}/network", &[node], Object::Node(node.clone())).at(node).probe();
        let rows: Vec<Interface> = self.api.call(request.with(Form::new().put("type", "any_bridge"))).await?;
        // A name that no machine of ours can be given is none to us.
        Ok(rows.into_iter().filter_map(|row| row.iface.parse().ok()).collect())
    }

    async fn images(&self) -> Result<Vec<ImageRow>, Error> {
        let request = Request::get(RESOURCES, &[], Object::Hypervisor).with(Form::new().put("type", "vm")).probe();
        self.api.call::<Vec<Resource>>(request).await.map(resources::images)
    }

    async fn inspect(&self, image: &VmRef) -> Result<Image, Error> {
        self.inspect_image(image).await
    }

    async fn clone_image(&self, order: &CloneOrder<'_>) -> Result<TaskRef, Error> {
        self.begin_clone(order).await
    }

    async fn look(&self, vm: &VmRef, whose: Whose<'_>) -> Result<Seen, Error> {
        let config = self.settled(vm, self.config(vm, Object::Vm(vm.id)).await).await;
        if matches!(config, Err(Error::NotFound { .. })) {
            self.clones.settled(vm.id);
        }
        let seen = self.prove(vm, config?, whose)?;
        if seen.facts().lock.is_none() {
            self.clones.settled(vm.id);
        }
        Ok(seen)
    }

    async fn power_state(&self, vm: &VmRef) -> Result<Power, Error> {
        self.current_power(vm).await
    }

    async fn configure(&self, seen: &Seen, shape: &Shape) -> Result<(), Error> {
        let iso = self.seed_volume(seen.vm().id, seen.allocation());
        self.update(seen, Changes::of(seen).shape(shape, iso.as_ref())?).await
    }

    async fn resize(&self, seen: &Seen, disk: Gib) -> Result<Option<TaskRef>, Error> {
        let Some(slot) = shape::growth(seen, Bytes::from(disk))? else { return Ok(None) };
        let size = format!("{}G", disk.0);
        let form = Form::new().put("disk", slot).put("size", size).put("digest", &seen.facts().digest);
        let request = Request::vm(Method::PUT, "/nodes/{node}/qemu/{vmid}/resize", unlocked(seen)?).with(form);
        self.settled(seen.vm(), self.api.maybe_task(request).await).await
    }

    async fn stage_seed(
        &self,
        vm: &VmRef,
        allocation: &AllocationId,
        files: &NoCloud,
    ) -> Result<Option<TaskRef>, Error> {
        self.upload_seed(vm, allocation, files).await
    }

    async fn detach_seed(&self, seen: &Seen) -> Result<(), Error> {
        let ours = self.seed_volume(seen.vm().id, seen.allocation());
        self.update(seen, Changes::of(seen).without_seed(|volume| ours.as_ref() == Some(volume))).await
    }

    async fn discard_seed(&self, vm: &VmRef, allocation: &AllocationId) -> Result<Option<TaskRef>, Error> {
        match self.seed_volume(vm.id, allocation) {
            Some(volume) => self.remove_volume(&vm.node, &volume).await,
            None => Ok(None),
        }
    }

    async fn power(&self, seen: &Seen, action: PowerAction) -> Result<TaskRef, Error> {
        let route = match action {
            PowerAction::Start => "/nodes/{node}/qemu/{vmid}/status/start",
            PowerAction::Shutdown => "/nodes/{node}/qemu/{vmid}/status/shutdown",
            PowerAction::Stop => "/nodes/{node}/qemu/{vmid}/status/stop",
        };
        let request = Request::vm(Method::POST, route, unlocked(seen)?);
        self.settled(seen.vm(), self.api.task(request).await).await
    }

    async fn destroy(&self, seen: &Seen) -> Result<TaskRef, Error> {
        let form = Form::new().flag("purge", true).flag("destroy-unreferenced-disks", true);
        let request = Request::vm(Method::DELETE, "/nodes/{node}/qemu/{vmid}", unlocked(seen)?).with(form);
        self.settled(seen.vm(), self.api.task(request).await).await
    }

    async fn leftovers(&self, vm: &VmRef, storages: &[StorageName]) -> Result<Vec<VolumeId>, Error> {
        self.list_disks(vm, storages).await
    }

    async fn remove_leftover(&self, vm: &VmRef, volume: &VolumeId) -> Result<Option<TaskRef>, Error> {
        self.remove_disk(vm, volume).await
    }

    async fn task(&self, task: &TaskRef) -> Result<TaskState, Error> {
        self.task_state(task).await
    }

    async fn task_log(&self, task: &TaskRef, lines: u32) -> Result<Vec<String>, Error> {
        self.log_tail(task, lines).await
    }
}

#[cfg(test)]
mod tests;
