//! Calls about the cluster as a whole.

use serde_json::{Value, json};

use super::{Call, resources};
use crate::proxmox::Release;
use crate::proxmox::failure::{Failure, Outcome};

pub(super) fn call(template: &str, call: &Call) -> Outcome {
    match template {
        "/version" => Ok(version(call.world.release)),
        "/cluster/nextid" => next_id(call),
        "/cluster/resources" => Ok(resources::list(call)),
        "/cluster/status" => Ok(status(call)),
        "/cluster/tasks" => Ok(tasks(call)),
        "/cluster/options" => Ok(json!({ "keyboard": "en-us", "mac_prefix": "BC:24:11" })),
        "/cluster/ha/status/manager_status" => Ok(maintenance(call)),
        _ => Ok(json!([])),
    }
}

/// What a server says of itself.
pub(super) fn version(release: Release) -> Value {
    json!({ "version": release.version(), "release": release.name(), "repoid": "14a22df3deadbeef" })
}

fn next_id(call: &Call) -> Outcome {
    let state = call.world.state();
    match call.params.number::<u32>("vmid") {
        Some(vmid) if state.vms.contains_key(&vmid) => Err(Failure::param("vmid", format!("VM {vmid} already exists"))),
        Some(vmid) => Ok(json!(vmid.to_string())),
        None => {
            let free = (100..1_000_000).find(|vmid| !state.vms.contains_key(vmid));
            free.map(|vmid| json!(vmid.to_string()))
                .ok_or_else(|| Failure::died("unable to get any free VMID in range [100, 1000000]"))
        }
    }
}

fn status(call: &Call) -> Value {
    let state = call.world.state();
    let nodes: Vec<Value> = state
        .nodes
        .iter()
        .zip(1..)
        .map(|((name, node), number)| {
            json!({
                "type": "node", "id": format!("node/{name}"), "name": name, "nodeid": number, "ip": node.address,
                "local": u8::from(number == 1), "online": u8::from(node.online), "level": "",
            })
        })
        .collect();
    let cluster = json!({
        "type": "cluster", "id": "cluster", "name": "hyperfleet", "nodes": nodes.len(), "version": nodes.len(),
        "quorate": u8::from(state.quorate),
    });
    Value::Array(std::iter::once(cluster).chain(nodes).collect())
}

/// Recent tasks of all nodes; a token sees none, since its name is compared with that of its user.
fn tasks(call: &Call) -> Value {
    let sees_all = call.world.check(&call.who, "/", &["Sys.Audit"]).is_ok();
    let state = call.world.state();
    if !state.statistics {
        return json!([]);
    }
    let mine = |user: &str| sees_all || call.who.full() == user;
    let tasks = state.history.iter().rev().filter_map(|upid| state.tasks.get(upid));
    Value::Array(tasks.filter(|task| mine(&task.user)).take(25).map(crate::proxmox::model::Task::listed).collect())
}

/// Where nodes in maintenance mode show.
fn maintenance(call: &Call) -> Value {
    let state = call.world.state();
    let mode = |maintenance: bool| if maintenance { "maintenance" } else { "online" };
    let nodes: serde_json::Map<String, Value> =
        state.nodes.iter().map(|(name, node)| (name.clone(), json!(mode(node.maintenance)))).collect();
    json!({ "manager_status": { "node_status": nodes } })
}
