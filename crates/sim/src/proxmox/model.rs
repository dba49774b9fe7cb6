//! What the cluster consists of, as plain values behind one lock.

mod cloudinit;
mod config;
mod crypt;
mod drive;
mod node;
mod statistics;
mod storage;
mod task;
mod vm;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use cloudinit::{instance_id, network_text, user_text};
pub(crate) use config::{Config, shown_value};
pub(crate) use crypt::sha256_crypt;
pub(crate) use drive::{Drive, boot_order, format_size, is_drive, parse_size, print_boot_order};
pub(crate) use node::Node;
pub(crate) use statistics::{Statistics, VmFigures};
pub(crate) use storage::{Content, Kind, Storage, Volume, image_name, owner_of};
pub(crate) use task::{Task, upid_parts};
pub(crate) use vm::{Run, Vm};

use jiff::Timestamp;

use super::access::Access;
use super::rng::Rng;

/// Everything there is.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) nodes: BTreeMap<String, Node>,
    pub(crate) storages: BTreeMap<String, Storage>,
    pub(crate) vms: BTreeMap<u32, Vm>,
    /// Every VM that a call ever made, the oldest first.
    pub(crate) lives: Vec<Life>,
    pub(crate) pools: BTreeMap<String, Pool>,
    pub(crate) tasks: BTreeMap<String, Task>,
    /// Keys of `tasks`, oldest first.
    pub(crate) history: Vec<String>,
    pub(crate) access: Access,
    pub(crate) rng: Rng,
    /// Whether the cluster can write.
    pub(crate) quorate: bool,
    /// Whether the cluster file system tells tags and locks, and statistics are broadcast.
    pub(crate) statistics: bool,
    /// Tags that only some may use.
    pub(crate) registered_tags: BTreeSet<String>,
    pub(crate) next_pid: u32,
}

/// What is remembered of a VM, also when it is gone.
#[derive(Clone, Debug)]
pub(crate) struct Life {
    pub(crate) vmid: u32,
    pub(crate) name: Option<String>,
    pub(crate) made: Timestamp,
    pub(crate) removed: Option<Timestamp>,
}

/// A pool of VMs and storages, for permissions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    pub(crate) comment: Option<String>,
    pub(crate) vms: BTreeSet<u32>,
    pub(crate) storages: BTreeSet<String>,
}

impl State {
    /// A call makes a VM that shall have this name.
    pub(crate) fn add_vm(&mut self, vmid: u32, vm: Vm, name: Option<String>, now: Timestamp) {
        self.vms.insert(vmid, vm);
        self.lives.push(Life { vmid, name, made: now, removed: None });
    }

    /// A VM is no more.
    pub(crate) fn take_vm(&mut self, vmid: u32, now: Timestamp) {
        self.vms.remove(&vmid);
        if let Some(life) = self.lives.iter_mut().rfind(|life| life.vmid == vmid && life.removed.is_none()) {
            life.removed = Some(now);
        }
    }

    /// The pool a VM is in.
    pub(crate) fn pool_of(&self, vmid: u32) -> Option<&str> {
        self.pools.iter().find(|(_, pool)| pool.vms.contains(&vmid)).map(|(name, _)| name.as_str())
    }

    /// A VM whose configuration is on this node.
    pub(crate) fn vm_on(&self, node: &str, vmid: u32) -> Option<&Vm> {
        self.vms.get(&vmid).filter(|vm| vm.node == node)
    }

    /// The same, to change it.
    pub(crate) fn vm_on_mut(&mut self, node: &str, vmid: u32) -> Option<&mut Vm> {
        self.vms.get_mut(&vmid).filter(|vm| vm.node == node)
    }

    /// Forgets a VM and its place in pools and permissions.
    pub(crate) fn remove_vm_access(&mut self, vmid: u32) {
        for pool in self.pools.values_mut() {
            pool.vms.remove(&vmid);
        }
        self.access.forget_path(&format!("/vms/{vmid}"));
    }
}
