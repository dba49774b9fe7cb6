//! What a site knows and decides about single machines.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{BridgeName, HypervisorCluster, HypervisorMachineTemplate, NodeName, Reason, StorageName, VmId};
use fleet::claim::{Life, Obstacle};
use jiff::Timestamp;
use providers::hypervisor::{
    self, AllocationId, CloneMode, Error, Image, Inventory, Kind, Object, Power, VmRef, VmRow,
};
use secrecy::SecretString;

use super::ledger::{Need, Promise};
use super::{Hypervisor, Site, lock};
use crate::chance::{Chance, uuid};

/// What a claim wants a machine for.
pub struct Want<'a> {
    /// The claim's uid.
    pub claim: &'a str,
    /// The cluster.
    pub cluster: &'a HypervisorCluster,
    /// The template.
    pub template: &'a HypervisorMachineTemplate,
    /// The image, as inspected.
    pub image: &'a Image,
}

/// The machines that differ between two listings: all of them if there was none before.
pub(super) fn moved(before: Option<&Inventory>, after: &Inventory) -> Vec<VmId> {
    let known: BTreeMap<u32, &VmRow> =
        before.iter().flat_map(|listing| &listing.vms).map(|row| (u32::from(row.vm.id), row)).collect();
    let is_same = |row: &VmRow| {
        known
            .get(&u32::from(row.vm.id))
            .is_some_and(|old| (old.power, &old.lock, &old.vm.node) == (row.power, &row.lock, &row.vm.node))
    };
    let changed = after.vms.iter().filter(|row| !is_same(row)).map(|row| VmId(row.vm.id.into()));
    let now: BTreeSet<u32> = after.vms.iter().map(|row| row.vm.id.into()).collect();
    let vanished = known.keys().filter(|id| !now.contains(id)).map(|id| VmId(*id));
    changed.chain(vanished).collect()
}

impl Site {
    /// The way to the hypervisor.
    pub fn hypervisor(&self) -> &Hypervisor {
        &self.hypervisor
    }

    /// Calls the claims of these machines.
    pub(super) fn call(&self, vms: &[VmId]) {
        let register = lock(&self.register);
        let Some(numbers) = register.get(&self.key) else { return };
        let claims: Vec<_> = vms.iter().filter_map(|vm| numbers.get(vm)).cloned().collect();
        drop(register);
        for claim in claims {
            self.machines.ring(&claim);
        }
    }

    /// The listing calls a machine stopped that is not. Its claim is called after the next one whatever that shows: a
    /// machine that ran between two listings looks the same in both.
    pub fn doubt(&self, vm: VmId) {
        lock(&self.doubted).insert(vm);
    }

    /// The last complete listing.
    pub fn inventory(&self) -> Option<Arc<Inventory>> {
        lock(&self.view).inventory.clone()
    }

    /// A machine as the last listing shows it.
    pub fn row(&self, vm: VmId) -> Option<VmRow> {
        self.inventory()?.vms.iter().find(|row| u32::from(row.vm.id) == vm.0 && row.kind == Kind::Machine).cloned()
    }

    /// Where a machine is: where it was last listed, or where it was made.
    pub fn whereabouts(&self, vm: VmId, node: &NodeName) -> Result<VmRef, Obstacle> {
        let listed = self.row(vm).map(|row| row.vm);
        let parsed = || Some(VmRef { id: vm.0.try_into().ok()?, node: node.as_str().parse().ok()? });
        listed.or_else(parsed).ok_or_else(|| Obstacle {
            reason: Reason::Refused,
            message: format!("status.allocation names {vm} on {}, which no hypervisor can have", node.as_str()),
        })
    }

    /// The image that machines of a template are made from.
    pub async fn image_of(&self, template: &HypervisorMachineTemplate) -> Result<Image, Error> {
        let missing = || Error::NotFound { object: Object::Hypervisor };
        let resolved = template.status.as_ref().and_then(|status| status.image.as_ref()).ok_or_else(missing)?;
        let id = resolved.vm_id.0.try_into().map_err(|_| missing())?;
        let listed =
            self.inventory().and_then(|all| all.vms.iter().find(|row| row.vm.id == id).map(|row| row.vm.clone()));
        self.inspected(&listed.ok_or(Error::NotFound { object: Object::Image(id) })?).await
    }

    /// A number and a node for a claim; the same until it is forgotten.
    pub fn offer(
        &self,
        want: &Want<'_>,
        recorded: impl FnOnce() -> Vec<(VmId, NodeName)>,
        chance: &Chance,
        now: Timestamp,
    ) -> Result<(String, VmId, NodeName), Obstacle> {
        let Some(inventory) = self.inventory() else {
            let message = "the hypervisor has not answered yet".to_owned();
            return Err(Obstacle { reason: Reason::ClusterNotReady, message });
        };
        let copies = !(want.image.linkable && links(want.template));
        let Want { cluster, template, image, .. } = *want;
        let need = Need { cluster, template, image, copies, unplugged: self.without(bridge(cluster, template)) };
        let promise = lock(&self.ledger).promise(want.claim, &need, &inventory, recorded, || uuid(chance), now)?;
        Ok((promise.id, promise.vm, promise.node))
    }

    /// Counts a machine that this process did not promise.
    pub fn recall(&self, claim: &str, allocation: &api::Allocation, memory: u64) {
        let promise = Promise::of(allocation, memory);
        lock(&self.ledger).recall(claim, promise);
    }

    /// A claim's number and its place at a storage are free again.
    pub fn forget(&self, claim: &str, now: Timestamp) {
        lock(&self.ledger).forget(claim, now);
        self.call_waiting();
    }

    /// The same for what a claim was given under this allocation, if it has not got another since.
    pub fn give_up(&self, claim: &str, allocation: &str, now: Timestamp) {
        lock(&self.ledger).give_up(claim, allocation, now);
        self.call_waiting();
    }

    /// Calls those who wait for a storage that has room for them by now.
    fn call_waiting(&self) {
        let called = lock(&self.ledger).call();
        self.call(&called);
    }

    /// A claim that wants a place again after it had one gets another.
    pub fn renew(&self, claim: &str, now: Timestamp) {
        lock(&self.ledger).renew(claim, now);
    }

    /// Where disks go unless a template says otherwise.
    pub fn storages(&self) -> Option<hypervisor::StorageName> {
        lock(&self.usage).storage.as_str().parse().ok()
    }

    /// A turn for a clone, or why it has to wait.
    pub fn turn(&self, want: &Want<'_>) -> Result<(), String> {
        lock(&self.ledger).turn(want.claim, &disks(want.cluster, want.template, want.image))
    }

    /// A claim's clone has ended, well or not; or it is not to be made now. Nothing, if it had no turn.
    pub fn cloned(&self, claim: &str, well: bool) {
        let leaves_room = lock(&self.ledger).ended(claim, well);
        if leaves_room {
            self.call_waiting();
        }
    }

    /// Something that is not ours is in the way of whoever has this number.
    pub fn poison(&self, vm: VmId, now: Timestamp) {
        lock(&self.ledger).poison(vm, now);
    }

    /// The name under which a machine's cloud-init fetches its files.
    pub fn seed_name(&self, allocation: &AllocationId, bootstrap: &str) -> SecretString {
        lock(&self.owner).seed_name(allocation, bootstrap)
    }

    /// The token of a machine.
    pub fn token(&self, allocation: &AllocationId, bootstrap: &str) -> SecretString {
        lock(&self.owner).token(allocation, bootstrap)
    }
}

/// Whether a template's machines share the disks of their image where that is possible.
pub(crate) fn links(template: &HypervisorMachineTemplate) -> bool {
    template.spec.template.proxmox.as_ref().is_some_and(|image| image.linked_clone)
}

/// The bridge that a template's machines are plugged into.
pub(crate) fn bridge<'a>(cluster: &'a HypervisorCluster, template: &'a HypervisorMachineTemplate) -> &'a BridgeName {
    template.spec.network.bridge.as_ref().unwrap_or(&cluster.spec.default_network)
}

/// How the disks of a template's machines come about.
pub(crate) fn mode(cluster: &HypervisorCluster, template: &HypervisorMachineTemplate) -> CloneMode {
    let storage = template.spec.storage.as_ref().unwrap_or(&cluster.spec.default_storage);
    let storage = storage.as_str().parse().ok();
    let falls_back = template.spec.template.proxmox.as_ref().is_some_and(|image| image.fallback_to_full_clone);
    match (links(template), falls_back) {
        (true, true) => CloneMode::LinkedOrFull(storage),
        (true, false) => CloneMode::Linked,
        (false, _) => CloneMode::Full(storage),
    }
}

/// The storages that the disks of a template's machines are made on.
pub(crate) fn disks(
    cluster: &HypervisorCluster,
    template: &HypervisorMachineTemplate,
    image: &Image,
) -> BTreeSet<StorageName> {
    let storages = mode(cluster, template).storages(image);
    storages.iter().map(|storage| StorageName::new(storage.as_str())).collect()
}

/// Whether a machine runs, as a direct question was answered.
pub(crate) const fn life(power: Power) -> Life {
    match power {
        Power::Running | Power::Paused | Power::Faulted => Life::Running,
        Power::Stopped => Life::Stopped,
        Power::Unknown => Life::Unknown,
    }
}
