//! What an onlooker sees.

use std::sync::PoisonError;

use serde_json::{Value, json};

use crate::proxmox::model::{Life, Run, Task};
use crate::proxmox::world::World;

/// Everything there is, for tests and curious people.
pub(super) fn state(world: &World) -> Value {
    let state = world.state();
    let vms: Vec<Value> = state
        .vms
        .iter()
        .map(|(vmid, vm)| {
            json!({
                "vmid": vmid, "node": vm.node, "name": vm.config.get("name"), "status": vm.status(),
                "template": vm.is_template(), "lock": vm.config.lock(), "pool": state.pool_of(*vmid),
                "digest": vm.config.digest(),
                "qmp": match vm.run { Run::Running { qmp, .. } => Some(qmp), Run::Stopped => None },
            })
        })
        .collect();
    let volumes: Vec<Value> = state
        .storages
        .values()
        .flat_map(|storage| {
            storage.everything().map(|(node, name, volume)| {
                json!({
                    "volid": format!("{}:{name}", storage.id), "node": node, "vmid": volume.vmid,
                    "size": volume.size, "content": volume.content.as_str(),
                })
            })
        })
        .collect();
    let running: Vec<Value> = state.tasks.values().filter(|task| task.end.is_none()).map(Task::status).collect();
    // A member that does not exist any more would come back with the next VM of its number.
    let pools: Vec<Value> =
        state.pools.iter().map(|(name, pool)| json!({ "pool": name, "members": pool.vms })).collect();
    let nodes: Vec<Value> =
        state.nodes.iter().map(|(name, node)| json!({ "node": name, "online": node.online })).collect();
    json!({
        "release": world.release.version(), "profile": world.profile.name, "quorate": state.quorate,
        "nodes": nodes, "vms": vms, "volumes": volumes, "pools": pools, "runningTasks": running,
        "heldLocks": world.locks.held(),
    })
}

/// Every VM that a call ever made: when it was made, and when it was removed.
pub(super) fn history(world: &World) -> Value {
    let state = world.state();
    let tell =
        |life: &Life| json!({ "vmid": life.vmid, "name": life.name, "made": life.made, "removed": life.removed });
    json!({ "vms": state.lives.iter().map(tell).collect::<Vec<_>>() })
}

/// The calls that were made.
pub(super) fn calls(world: &World) -> Value {
    let calls = world.calls.lock().unwrap_or_else(PoisonError::into_inner);
    json!({ "total": calls.total, "calls": calls.recent })
}
