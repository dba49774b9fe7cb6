//! Calls about nodes.

use serde_json::{Value, json};

use super::resources::View;
use super::{Call, cluster, tasks};
use crate::proxmox::failure::{Failure, Outcome};

pub(super) fn call(verb: &str, template: &str, call: &Call) -> Outcome {
    match (verb, template) {
        ("GET", "/nodes") => Ok(list(call)),
        ("GET", "/nodes/{node}/status") => status(call),
        ("GET", "/nodes/{node}/version") => {
            let own = call.world.state().nodes.get(call.node()).and_then(|node| node.release);
            Ok(cluster::version(own.unwrap_or(call.world.release)))
        }
        ("GET", "/nodes/{node}/network") => Ok(network(call)),
        ("GET", "/nodes/{node}/tasks/{upid}/status") => tasks::status(call),
        ("DELETE", "/nodes/{node}/tasks/{upid}") => tasks::stop(call),
        ("GET", "/nodes/{node}") => {
            let names = ["apt", "network", "qemu", "lxc", "status", "storage", "tasks", "version"];
            Ok(Value::Array(names.iter().map(|name| json!({ "name": name })).collect()))
        }
        _ => Err(Failure::died(format!("Method '{verb} {template}' is not simulated"))),
    }
}

fn list(call: &Call) -> Value {
    let names: Vec<String> = call.world.state().nodes.keys().cloned().collect();
    let may = |name: &String| call.world.check(&call.who, &format!("/nodes/{name}"), &["Sys.Audit"]).is_ok();
    let audited: Vec<String> = names.into_iter().filter(may).collect();
    let view = View::of(&call.world);
    let state = call.world.state();
    let nodes = state.nodes.iter().map(|(name, node)| {
        let mut entry = view.node(&state, name, node, audited.contains(name));
        entry["ssl_fingerprint"] = json!("AA:BB");
        if let Some(members) = entry.as_object_mut() {
            members.remove("cgroup-mode");
        }
        entry
    });
    Value::Array(nodes.collect())
}

fn status(call: &Call) -> Outcome {
    let (now, state) = (call.world.now(), call.world.state());
    let node = state.nodes.get(call.node()).ok_or_else(|| Failure::died("no such node"))?;
    let release = node.release.unwrap_or(call.world.release);
    let used: u64 = state
        .vms
        .values()
        .filter(|vm| vm.node == call.node() && vm.is_running())
        .map(|vm| vm.config.memory() << 20)
        .sum();
    let used = (2 << 30) + used / 3;
    Ok(json!({
        "uptime": now.as_second() - node.since.as_second() + 2_400, "idle": 0, "cpu": 0.02, "wait": 0,
        "loadavg": ["0.10", "0.12", "0.09"], "kversion": "Linux 6.14.8-2-pve #1 SMP",
        "current-kernel": { "sysname": "Linux", "release": "6.14.8-2-pve", "version": "#1 SMP", "machine": "x86_64" },
        "boot-info": { "mode": "efi", "secureboot": 0 },
        "cpuinfo": {
            "cpus": node.cpus, "cores": node.cpus / 2, "sockets": 1, "model": "Simulated", "mhz": "3000.000",
            "flags": "vmx", "hvm": "1", "user_hz": 100,
        },
        "memory": { "total": node.memory, "used": used, "free": node.memory - used, "available": node.memory - used },
        "swap": { "total": 0, "used": 0, "free": 0 },
        "rootfs": { "total": 100_u64 << 30, "used": 8_u64 << 30, "avail": 92_u64 << 30, "free": 92_u64 << 30 },
        "ksm": { "shared": 0 },
        "pveversion": format!("pve-manager/{}/14a22df3deadbeef", release.version()),
    }))
}

fn network(call: &Call) -> Value {
    let bridges: Vec<String> = {
        let state = call.world.state();
        state.nodes.get(call.node()).map(|node| node.bridges.clone()).unwrap_or_default()
    };
    let wanted = call.params.get("type");
    if wanted.is_some_and(|wanted| !["bridge", "any_bridge", "any_local_bridge"].contains(&wanted)) {
        return json!([]);
    }
    let may = |bridge: &String| {
        let path = format!("/sdn/zones/localnetwork/{bridge}");
        call.world.check_any(&call.who, &path, &["SDN.Audit", "SDN.Use"]).is_ok()
    };
    let entry = |(bridge, number): (String, u32)| {
        json!({
            "iface": bridge, "type": "bridge", "active": 1, "autostart": 1, "method": "manual", "method6": "manual",
            "bridge_ports": format!("eno{number}"), "bridge_fd": "0", "bridge_stp": "off", "families": ["inet"],
            "priority": 3 + number,
        })
    };
    Value::Array(bridges.into_iter().filter(may).zip(1..).map(entry).collect())
}
