//! What new machines on one hypervisor are promised: numbers, room on nodes, places at storages.
//!
//! One ledger per site, asked under its lock by whoever leads. It is worked out from the claims and the listing when a
//! term begins, and everything in it can be lost: what counts is written in the claims.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::time::Duration;

use api::{HypervisorCluster, HypervisorMachineTemplate, NodeName, Reason, Seed, StorageName, VmId, VmIdRange};
use fleet::claim::Obstacle;
use fleet::place::{Candidate, NodeState, Permits, VmIds, choose_node};
use jiff::Timestamp;
use providers::hypervisor::{self, Bytes, Content, Image, Inventory};
use tokio::time::Instant;

use super::machines::bridge;

/// What is promised on one hypervisor.
#[derive(Default)]
pub(super) struct Ledger {
    /// Numbers, once somebody has counted them.
    ids: Option<VmIds>,
    /// By claim.
    promises: BTreeMap<String, Promise>,
    /// Clones under way, by claim, with the storages they keep busy and since when.
    clones: BTreeMap<String, (BTreeSet<StorageName>, Instant)>,
    /// Those who asked for a turn in vain, the first who did first.
    waiting: VecDeque<(String, BTreeSet<StorageName>)>,
    /// Those of them who were told that there is room by now, and have not answered.
    called: BTreeSet<String>,
    /// How long a storage is kept busy by one clone.
    holds: BTreeMap<StorageName, Permits>,
}

/// What one claim was promised.
#[derive(Clone, Debug)]
pub(super) struct Promise {
    pub(super) vm: VmId,
    pub(super) node: NodeName,
    memory: u64,
    /// The id of the allocation.
    pub(super) id: String,
    /// Whether the claim says so by now.
    written: bool,
}

impl Promise {
    /// What a claim says that it was promised.
    pub(super) fn of(allocation: &api::Allocation, memory: u64) -> Self {
        let api::Allocation { id, vm_id, node, .. } = allocation;
        Self { vm: *vm_id, node: node.clone(), memory, id: id.as_str().to_owned(), written: true }
    }
}

/// What a machine needs.
pub(super) struct Need<'a> {
    pub(super) cluster: &'a HypervisorCluster,
    pub(super) template: &'a HypervisorMachineTemplate,
    pub(super) image: &'a Image,
    /// Whether its disk is a copy.
    pub(super) copies: bool,
    /// Nodes that are known not to have its bridge.
    pub(super) unplugged: BTreeSet<NodeName>,
}

impl Ledger {
    /// Forgets everything: another process may have been at work.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// A place for the claim, the same one each time it asks until it is told that the claim has moved on.
    pub(super) fn promise(
        &mut self,
        claim: &str,
        need: &Need<'_>,
        inventory: &Inventory,
        recorded: impl FnOnce() -> Vec<(VmId, NodeName)>,
        fresh: impl FnOnce() -> String,
        now: Timestamp,
    ) -> Result<Promise, Obstacle> {
        if let Some(known) = self.promises.get(claim) {
            return Ok(known.clone());
        }
        let Some(range) = need.cluster.spec.proxmox.as_ref().map(|proxmox| proxmox.vmid_range) else {
            let message = "spec.proxmox of the cluster is missing".to_owned();
            return Err(Obstacle { reason: Reason::ClusterNotReady, message });
        };
        let node = self.node(need, inventory)?;
        let id = fresh();
        let vm = self.number(range, &id, inventory, recorded, now)?;
        let promise = Promise { vm, node, memory: need.template.spec.resources.memory.bytes(), id, written: false };
        self.promises.insert(claim.to_owned(), promise.clone());
        Ok(promise)
    }

    fn number(
        &mut self,
        range: VmIdRange,
        id: &str,
        inventory: &Inventory,
        recorded: impl FnOnce() -> Vec<(VmId, NodeName)>,
        now: Timestamp,
    ) -> Result<VmId, Obstacle> {
        let seen = || inventory.vms.iter().map(|row| VmId(row.vm.id.into()));
        let ids = self.ids.get_or_insert_with(|| VmIds::new([], recorded().into_iter().map(|(vm, _)| vm)));
        ids.observe(seen());
        ids.take(range, id, now).map_err(|full| Obstacle { reason: Reason::NoFreeVmId, message: full.to_string() })
    }

    fn node(&self, need: &Need<'_>, inventory: &Inventory) -> Result<NodeName, Obstacle> {
        let spec = &need.template.spec;
        let storage = spec.storage.as_ref().unwrap_or(&need.cluster.spec.default_storage);
        let listed: HashSet<VmId> = inventory.vms.iter().map(|row| VmId(row.vm.id.into())).collect();
        let nodes = need.cluster.spec.nodes.iter();
        let candidates: Vec<Candidate> =
            nodes.map(|node| self.candidate(node, need, storage, inventory, &listed)).collect();
        let allowed = spec.placement.as_ref().map(|placement| placement.nodes.as_slice()).unwrap_or_default();
        let disk = if need.copies { spec.resources.disk.bytes() } else { 0 };
        let chosen = choose_node(&candidates, allowed, spec.resources.memory.bytes(), disk);
        chosen.cloned().map_err(|none| Obstacle { reason: Reason::NoNodeFits, message: none.to_string() })
    }

    fn candidate(
        &self,
        node: &api::Node,
        need: &Need<'_>,
        storage: &StorageName,
        inventory: &Inventory,
        listed: &HashSet<VmId>,
    ) -> Candidate {
        let row = inventory.nodes.iter().find(|row| row.name.as_str() == node.name.as_str());
        let state = match row {
            _ if node.cordon => NodeState::Cordoned,
            Some(row) if row.maintenance => NodeState::Maintenance,
            Some(row) if row.presence == hypervisor::Presence::Online => NodeState::Open,
            Some(_) | None => NodeState::Offline,
        };
        let promised = || self.promises.values().filter(|promise| promise.node == node.name);
        let unseen: u64 =
            promised().filter(|promise| !listed.contains(&promise.vm)).map(|promise| promise.memory).sum();
        let capacity = row.and_then(|row| inventory.capacity(&row.name));
        // What we may not see is no obstacle.
        let free_memory = capacity.map_or(u64::MAX, |capacity| capacity.unclaimed.0.saturating_sub(unseen));
        Candidate {
            name: node.name.clone(),
            state,
            lacks: lacks(need, storage, inventory, &node.name),
            has_image: need.image.nodes.iter().any(|there| there.as_str() == node.name.as_str()),
            free_memory,
            free_space: space(inventory, storage, &node.name).unwrap_or(u64::MAX),
            machines: promised().count(),
        }
    }

    /// Counts a machine that exists or will, whoever promised it.
    pub(super) fn recall(&mut self, claim: &str, promise: Promise) {
        self.promises.entry(claim.to_owned()).or_insert(promise).written = true;
    }

    /// A promise that was written down and is not any more has been given up.
    pub(super) fn renew(&mut self, claim: &str, now: Timestamp) {
        if self.promises.get(claim).is_some_and(|promise| promise.written) {
            self.forget(claim, now);
        }
    }

    /// The claim has given up what it was promised under this id. What it was promised since stays.
    pub(super) fn give_up(&mut self, claim: &str, id: &str, now: Timestamp) {
        if self.promises.get(claim).is_some_and(|promise| promise.id == id) {
            self.forget(claim, now);
        }
    }

    /// The claim has no machine any more, or gives its number back.
    pub(super) fn forget(&mut self, claim: &str, now: Timestamp) {
        self.clones.remove(claim);
        self.called.remove(claim);
        self.waiting.retain(|(other, _)| other != claim);
        if let (Some(promise), Some(ids)) = (self.promises.remove(claim), self.ids.as_mut()) {
            ids.release(promise.vm, now);
        }
    }

    /// A number is not given out for a while: something of that number was just removed.
    pub(super) fn rest(&mut self, vm: VmId, now: Timestamp) {
        if let Some(ids) = &mut self.ids {
            ids.release(vm, now);
        }
    }

    /// A number is not given out for long: something is in its way that is not ours to remove.
    pub(super) fn poison(&mut self, vm: VmId, now: Timestamp) {
        if let Some(ids) = &mut self.ids {
            ids.poison(vm, now);
        }
    }

    /// A turn for a clone that keeps these storages busy, or why it has to wait.
    pub(super) fn turn(&mut self, claim: &str, storages: &BTreeSet<StorageName>) -> Result<(), String> {
        self.called.remove(claim);
        if self.clones.contains_key(claim) {
            return Ok(());
        }
        let full = storages.iter().find(|storage| self.in_flight(storage) >= self.most(storage));
        if let Some(storage) = full {
            let words = format!(
                "storage {} is busy with {} clones, more would time out",
                storage.as_str(),
                self.in_flight(storage)
            );
            if !self.waiting.iter().any(|(other, _)| other == claim) {
                self.waiting.push_back((claim.to_owned(), storages.clone()));
            }
            return Err(words);
        }
        self.waiting.retain(|(other, _)| other != claim);
        self.clones.insert(claim.to_owned(), (storages.clone(), Instant::now()));
        Ok(())
    }

    fn in_flight(&self, storage: &StorageName) -> usize {
        self.clones.values().filter(|(busy, _)| busy.contains(storage)).count()
    }

    fn most(&self, storage: &StorageName) -> usize {
        self.holds.get(storage).copied().unwrap_or_else(|| Permits::new(0)).most()
    }

    /// The machines of those whose turn has come; they wait no more, and ask again.
    pub(super) fn call(&mut self) -> Vec<VmId> {
        let storages: BTreeSet<&StorageName> = self.waiting.iter().flat_map(|(_, storages)| storages).collect();
        let mut free: BTreeMap<StorageName, usize> = storages
            .into_iter()
            .map(|storage| (storage.clone(), self.most(storage).saturating_sub(self.in_flight(storage))))
            .collect();
        let (mut machines, called) = (Vec::new(), &mut self.called);
        self.waiting.retain(|(claim, storages)| {
            let is_free = storages.iter().all(|storage| free.get(storage).is_some_and(|free| *free > 0));
            if is_free {
                free.iter_mut().filter(|(storage, _)| storages.contains(storage)).for_each(|(_, free)| *free -= 1);
                called.insert(claim.clone());
                machines.extend(self.promises.get(claim).map(|promise| promise.vm));
            }
            !is_free
        });
        machines
    }

    /// A clone has ended, or is not to be made now; how long it took tells how many its storages can serve. Whether it leaves a
    /// place to somebody else: its own, or the one that it was called for.
    pub(super) fn ended(&mut self, claim: &str, well: bool) -> bool {
        self.waiting.retain(|(other, _)| other != claim);
        let was_called = self.called.remove(claim);
        let Some((storages, since)) = self.clones.remove(claim) else { return was_called };
        for storage in storages.into_iter().filter(|_| well) {
            let permits = self.holds.entry(storage).or_insert_with(|| Permits::new(0));
            *permits = permits.measured(since.elapsed().min(LONGEST));
        }
        true
    }
}

/// A full copy holds its storage's lock for a moment only, however long it takes.
const LONGEST: Duration = Duration::from_secs(3);

/// What a node does not have though others do. What we see nowhere may be there all the same.
fn lacks(need: &Need<'_>, storage: &StorageName, inventory: &Inventory, node: &NodeName) -> Option<String> {
    let rows = |name: &StorageName, takes: Content| -> Vec<&hypervisor::StorageRow> {
        let fits = |row: &&hypervisor::StorageRow| {
            row.name.as_str() == name.as_str() && row.available && row.takes.contains(&takes)
        };
        inventory.storages.iter().filter(fits).collect()
    };
    let at = |rows: &[&hypervisor::StorageRow], node: &str| rows.iter().any(|row| row.node.as_str() == node);
    let disks = if need.copies { rows(storage, Content::Disks) } else { Vec::new() };
    // A copy is made where the image is, and goes elsewhere only on storage that both nodes share.
    let home = need.image.image.node.as_str();
    let alone = !disks.iter().any(|row| row.shared) && node.as_str() != home;
    if !disks.is_empty() && (alone || !at(&disks, home) || !at(&disks, node.as_str())) {
        return Some(format!("storage {} in common with {home}, where the image is", storage.as_str()));
    }
    let seeds = need.cluster.spec.proxmox.as_ref().filter(|proxmox| proxmox.seed == Seed::Iso);
    if let Some(name) = seeds.and_then(|proxmox| proxmox.iso_storage.as_ref()) {
        let isos = rows(name, Content::Isos);
        if !isos.is_empty() && !at(&isos, node.as_str()) {
            return Some(format!("storage {}", name.as_str()));
        }
    }
    need.unplugged.contains(node).then(|| format!("bridge {}", bridge(need.cluster, need.template).as_str()))
}

fn space(inventory: &Inventory, storage: &StorageName, node: &NodeName) -> Option<u64> {
    let mine =
        |row: &&hypervisor::StorageRow| row.name.as_str() == storage.as_str() && row.node.as_str() == node.as_str();
    let row = inventory.storages.iter().find(mine)?;
    let (Bytes(total), Bytes(used)) = (row.total?, row.used?);
    Some(total.saturating_sub(used))
}
