//! What faults do at once, rather than to a later call.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use super::faults::{FaultId, FaultRule};
use crate::proxmox::lock::Name;
use crate::proxmox::model::{Config, Run, Vm, Volume};
use crate::proxmox::world::World;
use crate::proxmox::{Release, model::State};

impl World {
    /// Puts these faults in force in place of those before.
    pub(crate) fn set_faults(self: &Arc<Self>, rules: Vec<FaultRule>) {
        self.standing(&rules);
        for rule in &rules {
            self.at_once(rule);
        }
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.rules = rules.into_iter().map(|rule| (rule, 0)).collect();
    }

    /// Conditions that last as long as their rule does.
    fn standing(&self, rules: &[FaultRule]) {
        let now = self.now();
        let of = |id: FaultId| rules.iter().filter(move |rule| rule.id == id);
        let mut state = self.state();
        state.quorate = of(FaultId::F11).next().is_none();
        state.registered_tags =
            of(FaultId::F26).filter(|rule| rule.vmid.is_none()).filter_map(|rule| rule.variant.clone()).collect();
        let mut back = BTreeSet::new();
        for (name, node) in &mut state.nodes {
            let down = of(FaultId::F09).any(|rule| rule.node.as_deref().is_none_or(|node| node == name));
            if node.online == down {
                node.online = !down;
                node.since = now;
                if !down {
                    back.insert(name.clone());
                }
            }
            node.release = of(FaultId::F32)
                .find(|rule| rule.node.as_ref() == Some(name))
                .map(|rule| if rule.is(Release::V8.name()) { Release::V8 } else { Release::V9 });
        }
        // A node that is back broadcasts what became of its VMs; nobody did while it was away.
        state.vms.values_mut().filter(|vm| back.contains(&vm.node)).for_each(|vm| vm.note(now));
        for (name, storage) in &mut state.storages {
            storage.full = of(FaultId::F19).any(|rule| rule.storage.as_deref().is_none_or(|id| id == name));
        }
        drop(state);
        for node in of(FaultId::F09).filter_map(|rule| rule.node.clone()) {
            self.node_crashed(&node);
        }
    }

    /// What ran on a node is gone; what was locked stays locked.
    fn node_crashed(&self, node: &str) {
        let now = self.now();
        let mut state = self.state();
        for vm in state.vms.values_mut().filter(|vm| vm.node == node) {
            vm.run = Run::Stopped;
        }
        let running: Vec<_> = state.tasks.values_mut().filter(|task| task.node == node && task.end.is_none()).collect();
        for task in running {
            task.end = Some((now.as_second(), "unexpected status".to_owned()));
            if let Some(abort) = task.abort.take() {
                abort.abort();
            }
        }
    }

    fn at_once(self: &Arc<Self>, rule: &FaultRule) {
        let now = self.now();
        match rule.id {
            FaultId::F02 | FaultId::F03 | FaultId::F29 => self.hold(rule),
            FaultId::F04 => self.change(rule, |vm| vm.config.set("lock", "clone")),
            FaultId::F05 => self.backup(rule),
            FaultId::F06 => {
                if let Some(vmid) = rule.vmid {
                    self.state().take_vm(vmid, now);
                }
            }
            FaultId::F13 => self.leave_volume(rule),
            FaultId::F26 if rule.vmid.is_some() => self.change(rule, |vm| vm.config.set("tags", "somebody-else")),
            FaultId::F30 => self.migrate(rule),
            FaultId::F33 => {
                let Some(vmid) = rule.vmid else { return };
                let mut state = self.state();
                let node = rule.node.clone().or_else(|| state.nodes.keys().next().cloned()).unwrap_or_default();
                let mut config = Config::default();
                config.set("name", "made-by-a-person");
                state.vms.entry(vmid).or_insert_with(|| Vm::new(&node, config, now));
            }
            FaultId::F34 => {
                let mac = self.state().rng.mac();
                self.change(rule, |vm| {
                    let bridge = "bridge=vmbr0".to_owned();
                    let rest =
                        vm.config.get("net0").and_then(|net| net.split_once(',')).map_or(bridge, |(_, r)| r.to_owned());
                    vm.config.set("net0", format!("virtio={mac},{rest}"));
                });
            }
            FaultId::F23 => {
                let mut state = self.state();
                let State { tasks, history, .. } = &mut *state;
                tasks.retain(|_, task| {
                    if let Some(abort) = task.abort.as_ref().filter(|_| rule.is("crash")) {
                        abort.abort();
                    }
                    task.end.is_none() && !rule.is("crash")
                });
                history.retain(|upid| tasks.contains_key(upid));
            }
            // These wait for a call, last, or happen on the socket.
            FaultId::F01
            | FaultId::F07
            | FaultId::F08
            | FaultId::F09
            | FaultId::F10
            | FaultId::F11
            | FaultId::F12
            | FaultId::F14
            | FaultId::F15
            | FaultId::F16
            | FaultId::F17
            | FaultId::F18
            | FaultId::F19
            | FaultId::F20
            | FaultId::F21
            | FaultId::F22
            | FaultId::F24
            | FaultId::F25
            | FaultId::F26
            | FaultId::F27
            | FaultId::F28
            | FaultId::F31
            | FaultId::F32
            | FaultId::F35
            | FaultId::F36 => {}
        }
    }

    fn change(&self, rule: &FaultRule, change: impl FnOnce(&mut Vm)) {
        let now = self.now();
        let mut state = self.state();
        if let Some(vm) = rule.vmid.and_then(|vmid| state.vms.get_mut(&vmid)) {
            change(vm);
            vm.note(now);
        }
    }

    fn migrate(&self, rule: &FaultRule) {
        let (Some(vmid), Some(node)) = (rule.vmid, rule.node.clone()) else { return };
        let from = self.state().vms.get(&vmid).map(|vm| vm.node.clone()).unwrap_or_default();
        self.change(rule, |vm| vm.node.clone_from(&node));
        for storage in self.state().storages.values_mut() {
            storage.follow(vmid, &from, &node);
        }
    }

    /// Holds a lock for a while.
    fn hold(self: &Arc<Self>, rule: &FaultRule) {
        let node = self.state().nodes.keys().next().cloned().unwrap_or_default();
        let name = match (rule.id, rule.vmid, &rule.storage) {
            (FaultId::F03, Some(vmid), _) => Name::Vm(vmid),
            (FaultId::F02, _, Some(storage)) => self.storage_lock(rule.node.as_deref().unwrap_or(&node), storage),
            (FaultId::F29, _, _) => Name::Users,
            _ => return,
        };
        let (world, span) = (Arc::clone(self), rule.span(12.0));
        self.tasks.spawn("proxmox outsider", async move {
            world.locks.seize(name.clone()).await;
            tokio::time::sleep(span).await;
            world.locks.release(&name);
        });
    }

    fn backup(self: &Arc<Self>, rule: &FaultRule) {
        let Some(vmid) = rule.vmid else { return };
        self.change(rule, |vm| vm.config.set("lock", "backup"));
        let (world, span) = (Arc::clone(self), rule.span(120.0));
        self.tasks.spawn("proxmox backup", async move {
            tokio::time::sleep(span).await;
            if let Some(vm) = world.state().vms.get_mut(&vmid) {
                vm.config.remove("lock");
            }
        });
    }

    fn leave_volume(&self, rule: &FaultRule) {
        let (Some(vmid), now) = (rule.vmid, self.now().as_second()) else { return };
        let mut state = self.state();
        let node = rule.node.clone().or_else(|| state.nodes.keys().next().cloned()).unwrap_or_default();
        let id = rule.storage.clone().or_else(|| {
            state
                .storages
                .iter()
                .find(|(_, storage)| storage.holds("images") && !storage.disabled)
                .map(|(id, _)| id.clone())
        });
        if let Some(storage) = id.and_then(|id| state.storages.get_mut(&id)) {
            let name = storage.cloud_init_name(vmid);
            storage.put(&node, &name, Volume::image(vmid, "qcow2", 4 << 20, now));
        }
    }
}
