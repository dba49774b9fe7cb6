//! The same hands for who holds the simulator as a value.

use std::collections::BTreeMap;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::time::Instant;

use super::faults::{FaultId, FaultRule};
use super::{Logged, view};
use crate::proxmox::Simulator;
use crate::proxmox::model::{Config, Vm};

impl Simulator {
    /// Puts these faults in force in place of those before.
    pub fn set_faults(&self, rules: Vec<FaultRule>) {
        self.world.set_faults(rules);
    }

    /// How many calls each fault has struck so far.
    pub fn struck(&self) -> BTreeMap<FaultId, usize> {
        self.world.faults.lock().unwrap_or_else(PoisonError::into_inner).struck.clone()
    }

    /// Every task takes at least this long from now on.
    pub fn slow_down(&self, span: Duration) {
        *self.world.slow.lock().unwrap_or_else(PoisonError::into_inner) = span;
    }

    /// Gives a token (`user@realm!id`) another secret; the old one is not accepted any more. Nothing, if there is no such
    /// token.
    pub fn renew_secret(&self, token: &str) -> Option<String> {
        let (user, id) = token.split_once('!')?;
        let mut state = self.world.state();
        let secret = state.rng.uuid();
        let known = state.access.users.get_mut(user)?.tokens.get_mut(id)?;
        known.secret.clone_from(&secret);
        Some(secret)
    }

    /// Takes a privilege out of every role but the administrator's; whether any had it.
    pub fn revoke(&self, privilege: &str) -> bool {
        let mut state = self.world.state();
        let roles = state.access.roles.iter_mut().filter(|(name, _)| *name != "Administrator");
        roles.filter_map(|(_, privileges)| privileges.take(privilege)).count() > 0
    }

    /// Takes every right away that a user or token was given itself.
    pub fn disown(&self, who: &str) {
        self.world.state().access.disown(who);
    }

    /// Gives a user another password; whether there is such a user.
    pub fn set_password(&self, user: &str, password: &str) -> bool {
        let mut state = self.world.state();
        state.access.users.get_mut(user).map(|user| password.clone_into(&mut user.password)).is_some()
    }

    /// Somebody changes a setting of a VM by hand, whatever it is; whether there is such a VM.
    pub fn put_setting(&self, vmid: u32, name: &str, value: &str) -> bool {
        let mut state = self.world.state();
        state.vms.get_mut(&vmid).map(|vm| vm.config.set(name, value.to_owned())).is_some()
    }

    /// Somebody makes a resource pool.
    pub fn add_pool(&self, pool: &str) {
        self.world.state().pools.entry(pool.to_owned()).or_default();
    }

    /// Roles, users with their tokens, access list and pools, without secrets.
    pub fn rights(&self) -> serde_json::Value {
        let state = self.world.state();
        let users: serde_json::Map<String, serde_json::Value> = state
            .access
            .users
            .iter()
            .map(|(name, user)| (name.clone(), serde_json::json!(user.tokens.keys().collect::<Vec<_>>())))
            .collect();
        let acl: Vec<_> = state.access.entries().collect();
        serde_json::json!({
            "roles": state.access.roles, "users": users, "acl": acl, "pools": state.pools.keys().collect::<Vec<_>>(),
        })
    }

    /// Puts a node into maintenance mode, or takes it out; whether there is such a node.
    pub fn maintain(&self, node: &str, maintenance: bool) -> bool {
        let mut state = self.world.state();
        state.nodes.get_mut(node).map(|node| node.maintenance = maintenance).is_some()
    }

    /// Somebody else makes VMs with these numbers, all on one node.
    pub fn crowd(&self, vmids: impl IntoIterator<Item = u32>, node: &str) {
        let now = self.world.now();
        let mut state = self.world.state();
        for vmid in vmids {
            let mut config = Config::default();
            config.set("name", format!("other-{vmid}"));
            state.vms.entry(vmid).or_insert_with(|| Vm::new(node, config, now));
        }
    }

    /// Whoever made VMs with these numbers takes them away again.
    pub fn disperse(&self, vmids: impl IntoIterator<Item = u32>) {
        let mut state = self.world.state();
        for vmid in vmids {
            state.vms.remove(&vmid);
        }
    }

    /// Somebody takes a VM or image away; whether it was there. [`Simulator::show`] brings it back as it was.
    pub fn hide(&self, vmid: u32) -> bool {
        let hidden = self.world.state().vms.remove(&vmid);
        let found = hidden.is_some();
        self.world.hidden.lock().unwrap_or_else(PoisonError::into_inner).extend(hidden.map(|vm| (vmid, vm)));
        found
    }

    /// Brings back what was hidden; whether it was.
    pub fn show(&self, vmid: u32) -> bool {
        let shown = self.world.hidden.lock().unwrap_or_else(PoisonError::into_inner).remove(&vmid);
        let found = shown.is_some();
        self.world.state().vms.extend(shown.map(|vm| (vmid, vm)));
        found
    }

    /// The guest of a VM powers it off; whether it ran.
    pub fn power_off(&self, vmid: u32) -> bool {
        self.world.power_off(vmid)
    }

    /// Somebody writes another description over a VM's; whether there is such a VM.
    pub fn describe(&self, vmid: u32, text: &str) -> bool {
        let mut state = self.world.state();
        state.vms.get_mut(&vmid).map(|vm| vm.config.set("description", text.to_owned())).is_some()
    }

    /// The VMs there are, without images: number and name.
    pub fn machines(&self) -> Vec<(u32, Option<String>)> {
        let state = self.world.state();
        let vms = state.vms.iter().filter(|(_, vm)| !vm.is_template());
        vms.map(|(vmid, vm)| (*vmid, vm.config.get("name").map(str::to_owned))).collect()
    }

    /// Somebody copies a VM with everything that is written on it, though without its disks; whether there is such a VM.
    pub fn copy(&self, vmid: u32, to: u32) -> bool {
        let now = self.world.now();
        let mut state = self.world.state();
        let Some((node, mut config)) = state.vms.get(&vmid).map(|vm| (vm.node.clone(), vm.config.clone())) else {
            return false;
        };
        let drives: Vec<String> = config.drives().into_iter().map(|(slot, _)| slot).collect();
        for slot in drives {
            config.remove(&slot);
        }
        state.vms.insert(to, Vm::new(&node, config, now));
        true
    }

    /// Somebody locks a VM in this way, or unlocks it; whether there is such a VM.
    pub fn lock(&self, vmid: u32, kind: Option<&str>) -> bool {
        let mut state = self.world.state();
        let Some(vm) = state.vms.get_mut(&vmid) else { return false };
        match kind {
            Some(kind) => vm.config.set("lock", kind),
            None => drop(vm.config.remove("lock")),
        }
        true
    }

    /// Somebody takes a storage out of use, or back into it; whether there is one.
    pub fn switch_storage(&self, storage: &str, on: bool) -> bool {
        self.world.state().storages.get_mut(storage).map(|storage| storage.disabled = !on).is_some()
    }

    /// Somebody leaves a storage to these nodes alone; whether there is one.
    pub fn confine_storage(&self, storage: &str, nodes: &[&str]) -> bool {
        let nodes = nodes.iter().map(|node| (*node).to_owned()).collect();
        self.world.state().storages.get_mut(storage).map(|storage| storage.nodes = Some(nodes)).is_some()
    }

    /// Somebody gives a node these bridges and no others; whether there is such a node.
    pub fn rewire(&self, node: &str, bridges: &[&str]) -> bool {
        let bridges = bridges.iter().map(|bridge| (*bridge).to_owned()).collect();
        self.world.state().nodes.get_mut(node).map(|node| node.bridges = bridges).is_some()
    }

    /// What a setting of a VM says.
    pub fn setting(&self, vmid: u32, name: &str) -> Option<String> {
        self.world.state().vms.get(&vmid)?.config.get(name).map(str::to_owned)
    }

    /// Every place that a text is found in: on media, in settings of VMs and pools, in what tasks have told, in the log.
    pub fn search(&self, text: &str) -> Vec<String> {
        let has = |bytes: &[u8]| bytes.windows(text.len()).any(|part| part == text.as_bytes());
        let mut found = Vec::new();
        let mut note = |place: String, bytes: &[u8]| found.extend(has(bytes).then_some(place));
        let state = self.world.state();
        for (storage, name, volume) in
            state.storages.values().flat_map(|storage| storage.everything().map(move |(_, name, v)| (storage, name, v)))
        {
            note(format!("volume {}:{name}", storage.id), volume.bytes.as_deref().unwrap_or_default());
            note(format!("the name of volume {}:{name}", storage.id), name.as_bytes());
        }
        for (vmid, vm) in &state.vms {
            note(format!("settings of VM {vmid}"), format!("{:?}", vm.config).as_bytes());
        }
        for (name, pool) in &state.pools {
            note(format!("pool {name}"), format!("{pool:?}").as_bytes());
        }
        for task in state.tasks.values() {
            note(format!("task {}", task.upid), format!("{:?} {:?}", task.log, task.end).as_bytes());
        }
        drop(state);
        for call in self.log() {
            note(format!("call {}", call.number), format!("{call:?}").as_bytes());
        }
        found
    }

    /// Everything there is, as `GET /sim/state` shows it.
    pub fn state(&self) -> serde_json::Value {
        view::state(&self.world)
    }

    /// Calls so far whose path contains all of these words, and none of those.
    pub fn calls(&self, with: &[&str], without: &[&str]) -> usize {
        let calls = self.world.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let counts =
            |path: &str| with.iter().all(|word| path.contains(word)) && !without.iter().any(|word| path.contains(word));
        calls.recent.iter().filter(|call| counts(&call.path)).count()
    }

    /// The calls so far, the oldest first, as far as they are kept.
    pub fn log(&self) -> Vec<Logged> {
        let calls = self.world.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.recent.iter().cloned().collect()
    }

    /// All calls so far, those that are not kept in full any more included.
    pub fn asked(&self) -> u64 {
        self.world.calls.lock().unwrap_or_else(PoisonError::into_inner).total
    }

    /// The names that clones were asked for under so far, and when each call arrived, the oldest first.
    pub fn clones(&self) -> Vec<(String, Instant)> {
        let calls = self.world.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.clones.iter().cloned().collect()
    }

    /// How long a storage was locked in all.
    pub fn locked(&self, storage: &str) -> Duration {
        let locked = self.world.locked.lock().unwrap_or_else(PoisonError::into_inner);
        locked.get(storage).copied().unwrap_or_default()
    }
}
