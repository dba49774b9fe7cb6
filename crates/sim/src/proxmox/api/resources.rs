//! The cluster's own listing: who exists is live, how they are is what was last broadcast.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::Call;
use crate::proxmox::control::FaultId;
use crate::proxmox::model::{Node, State, Vm};
use crate::proxmox::world::World;
use crate::proxmox::{Limits, Release};

/// What a reader sees of everything that he may see.
pub(super) fn list(call: &Call) -> Value {
    let wanted = call.params.get("type");
    let lag = call.fault(FaultId::F25).map_or(std::time::Duration::ZERO, |fault| fault.span(30.0));
    let now = View::of(&call.world);
    let view = View { broadcast: now.broadcast - lag, ..now };
    let may = |path: &str, privilege: &str| call.world.check(&call.who, path, &[privilege]).is_ok();
    let names: Vec<(Option<u32>, String)> = {
        let state = call.world.state();
        let vms = state.vms.keys().map(|vmid| (Some(*vmid), format!("/vms/{vmid}")));
        let storages = state.storages.keys().map(|id| (None, format!("/storage/{id}")));
        vms.chain(storages).collect()
    };
    let visible: std::collections::BTreeSet<String> = names
        .into_iter()
        .filter(|(vmid, path)| may(path, if vmid.is_some() { "VM.Audit" } else { "Datastore.Audit" }))
        .map(|(_, path)| path)
        .collect();
    let pools: Vec<String> = call.world.state().pools.keys().cloned().collect();
    let pools: Vec<String> = pools.into_iter().filter(|pool| may(&format!("/pool/{pool}"), "Pool.Audit")).collect();
    let nodes: Vec<String> = call.world.state().nodes.keys().cloned().collect();
    let audited: Vec<String> = nodes.into_iter().filter(|node| may(&format!("/nodes/{node}"), "Sys.Audit")).collect();

    let state = call.world.state();
    let mut entries = Vec::new();
    if wanted.is_none() {
        entries.extend(pools.iter().map(|pool| json!({ "id": format!("/pool/{pool}"), "type": "pool", "pool": pool })));
    }
    if wanted.is_none_or(|wanted| wanted == "vm") {
        let vms = state.vms.iter().filter(|(vmid, _)| visible.contains(&format!("/vms/{vmid}")));
        entries.extend(vms.map(|(vmid, vm)| view.vm(&state, *vmid, vm, &pools)));
    }
    if wanted.is_none_or(|wanted| wanted == "node") {
        entries.extend(state.nodes.iter().map(|(name, node)| view.node(&state, name, node, audited.contains(name))));
    }
    if wanted.is_none_or(|wanted| wanted == "storage") {
        let seen = |id: &str| visible.contains(&format!("/storage/{id}"));
        entries.extend(storages(&state).into_iter().filter(|entry| entry["storage"].as_str().is_some_and(seen)));
    }
    Value::Array(entries)
}

/// A moment of broadcast statistics.
pub(super) struct View {
    broadcast: Timestamp,
    now: Timestamp,
    limits: Limits,
    release: Release,
}

impl View {
    /// What is seen now.
    pub(super) fn of(world: &World) -> Self {
        Self { broadcast: world.broadcast(), now: world.now(), limits: world.limits, release: world.release }
    }

    /// A VM: its place, lock, tags and pool are live, everything else is as it was broadcast.
    pub(super) fn vm(&self, state: &State, vmid: u32, vm: &Vm, pools: &[String]) -> Value {
        let mut entry = json!({
            "id": format!("qemu/{vmid}"), "type": "qemu", "vmid": vmid, "node": vm.node, "status": "unknown",
        });
        if let Some(pool) = state.pool_of(vmid).filter(|pool| pools.iter().any(|known| known == pool)) {
            entry["pool"] = json!(pool);
        }
        if !state.statistics {
            return entry;
        }
        for name in ["lock", "tags"] {
            if let Some(value) = vm.config.get(name) {
                entry[name] = json!(value);
            }
        }
        let Some(figures) = self.moment(state.nodes.get(&vm.node)).and_then(|moment| vm.statistics.at(moment)) else {
            return entry;
        };
        entry["name"] = json!(figures.name.clone().unwrap_or_else(|| format!("VM {vmid}")));
        entry["status"] = json!(figures.status);
        entry["template"] = json!(u8::from(figures.template));
        entry["maxcpu"] = json!(figures.cpus);
        entry["maxmem"] = json!(figures.memory);
        entry["maxdisk"] = json!(figures.disk);
        entry["uptime"] = json!(figures.since.map_or(0, |since| self.broadcast.as_second() - since.as_second()));
        for name in ["cpu", "mem", "disk", "netin", "netout", "diskread", "diskwrite"] {
            entry[name] = json!(0);
        }
        if self.release == Release::V9 {
            entry["memhost"] = json!(0);
        }
        entry
    }

    /// Which broadcast still counts for a node: its last one, until it is too old.
    fn moment(&self, node: Option<&Node>) -> Option<Timestamp> {
        let node = node?;
        if node.online {
            return Some(self.broadcast);
        }
        let silent = self.now.duration_since(node.since);
        let expiry = jiff::SignedDuration::try_from(self.limits.statistics_expiry).ok()?;
        (silent <= expiry).then_some(node.since)
    }

    /// A node; its figures need a right of their own.
    pub(super) fn node(&self, state: &State, name: &str, node: &Node, audited: bool) -> Value {
        let mut entry = json!({ "id": format!("node/{name}"), "type": "node", "node": name, "status": "unknown" });
        if !state.statistics {
            return entry;
        }
        entry["status"] = json!(if node.online { "online" } else { "offline" });
        entry["level"] = json!("");
        if node.maintenance {
            entry["hastate"] = json!("maintenance");
        }
        if audited && node.online {
            let running = state.vms.values().filter(|vm| vm.node == name && vm.is_running());
            let memory: u64 = running.map(|vm| vm.config.memory() << 20).sum();
            for (key, value) in [
                ("maxcpu", json!(node.cpus)),
                ("cpu", json!(0.02)),
                ("maxmem", json!(node.memory)),
                ("mem", json!((2 << 30) + memory / 3)),
                ("maxdisk", json!(100_u64 << 30)),
                ("disk", json!(8_u64 << 30)),
                ("uptime", json!(self.now.as_second() - node.since.as_second() + 2_400)),
                ("cgroup-mode", json!(2)),
            ] {
                entry[key] = value;
            }
        }
        entry
    }
}

fn storages(state: &State) -> Vec<Value> {
    let mut entries = Vec::new();
    for storage in state.storages.values().filter(|storage| !storage.disabled) {
        for name in state.nodes.keys().filter(|name| storage.is_on(name)) {
            let mut entry = json!({
                "id": format!("storage/{name}/{}", storage.id), "type": "storage", "storage": storage.id, "node": name,
                "plugintype": storage.kind.as_str(), "status": "unknown", "shared": u8::from(storage.shared),
                "content": super::storage::content_text(storage, state.rng.clone()),
            });
            if state.statistics && state.nodes.get(name).is_some_and(|node| node.online) {
                entry["status"] = json!("available");
                entry["disk"] = json!(storage.used());
                entry["maxdisk"] = json!(storage.total);
            }
            entries.push(entry);
        }
    }
    entries
}
