//! Everything a hypervisor has, from one call.

use std::collections::BTreeSet;

use super::id::{NodeName, PoolName, StorageName};
use super::number::{VmIdRange, VmRef};
use super::size::Bytes;
use super::tag::Tag;
use super::vm::{Lock, Power};

/// What the hypervisor lists. Some of it lags behind by seconds, and what we may not see is left out: absence here is
/// no proof.
#[derive(Clone, Debug, Default)]
pub struct Inventory {
    /// Every guest we may see, images included.
    pub vms: Vec<VmRow>,
    /// Every node.
    pub nodes: Vec<NodeRow>,
    /// Every storage, once per node it is on.
    pub storages: Vec<StorageRow>,
    /// Every resource pool we may see.
    pub pools: BTreeSet<PoolName>,
}

/// One guest.
#[derive(Clone, Debug)]
pub struct VmRow {
    /// The guest.
    pub vm: VmRef,
    /// A VM, or something else that takes up its number.
    pub kind: Kind,
    /// Its name, if the hypervisor knows it already.
    pub name: Option<String>,
    /// Whether it runs, as of some seconds ago.
    pub power: Power,
    /// What holds it.
    pub lock: Option<Lock>,
    /// Its tags.
    pub tags: BTreeSet<Tag>,
    /// The resource pool it is in.
    pub pool: Option<PoolName>,
    /// Processor cores it may use.
    pub cores: Option<u32>,
    /// Memory it may use.
    pub memory: Option<Bytes>,
}

/// What a row of guests is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A VM.
    Machine,
    /// An image that VMs are made from.
    Image,
    /// A container: never ours, but its number is taken.
    Container,
}

/// One node.
#[derive(Clone, Debug)]
pub struct NodeRow {
    /// Its name.
    pub name: NodeName,
    /// Whether it is there.
    pub presence: Presence,
    /// Whether an administrator is emptying it.
    pub maintenance: bool,
    /// Processor cores, if we may see them.
    pub cores: Option<u32>,
    /// Memory, if we may see it.
    pub memory: Option<Bytes>,
}

/// Whether a node is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It answers.
    Online,
    /// It does not.
    Offline,
    /// The hypervisor does not know.
    Unknown,
}

/// One storage on one node.
#[derive(Clone, Debug)]
pub struct StorageRow {
    /// Its name.
    pub name: StorageName,
    /// The node.
    pub node: NodeName,
    /// Whether it can be used there now.
    pub available: bool,
    /// Whether the same volumes are there on other nodes.
    pub shared: bool,
    /// What it takes.
    pub takes: BTreeSet<Content>,
    /// Its size, if we may see it.
    pub total: Option<Bytes>,
    /// What is used of it.
    pub used: Option<Bytes>,
}

/// What a storage can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    /// Disks.
    Disks,
    /// ISO images.
    Isos,
}

/// What a node still has for VMs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Processor cores it has.
    pub cores: u32,
    /// Memory it has.
    pub memory: Bytes,
    /// Memory that its guests do not lay claim to, whether they run or not.
    pub unclaimed: Bytes,
}

impl Inventory {
    /// What a node has for VMs; `None` if we may not see its numbers.
    pub fn capacity(&self, node: &NodeName) -> Option<Capacity> {
        let row = self.nodes.iter().find(|row| row.name == *node)?;
        let (cores, memory) = (row.cores?, row.memory?);
        let guests = self.vms.iter().filter(|row| row.vm.node == *node && row.kind != Kind::Image);
        let claimed: u64 = guests.filter_map(|row| row.memory).map(|Bytes(bytes)| bytes).sum();
        Some(Capacity { cores, memory, unclaimed: Bytes(memory.0.saturating_sub(claimed)) })
    }

    /// The VMs whose numbers lie in the range: those that may be ours.
    pub fn within(&self, range: VmIdRange) -> impl Iterator<Item = &VmRow> {
        self.vms.iter().filter(move |row| range.contains(row.vm.id) && row.kind == Kind::Machine)
    }
}
