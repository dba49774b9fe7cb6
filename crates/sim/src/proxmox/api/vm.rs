//! Looking at VMs.

use serde_json::{Value, json};

use super::{Call, no_config};
use crate::proxmox::control::FaultId;
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::model::{Config, State};

pub(super) fn list(call: &Call) -> Value {
    let ids: Vec<u32> = {
        let state = call.world.state();
        state.vms.iter().filter(|(_, vm)| vm.node == call.node()).map(|(vmid, _)| *vmid).collect()
    };
    let may = |vmid: &u32| call.world.check(&call.who, &format!("/vms/{vmid}"), &["VM.Audit"]).is_ok();
    let visible: Vec<u32> = ids.into_iter().filter(may).collect();
    let (now, release) = (call.world.now(), call.world.release);
    let state = call.world.state();
    let cpus = host_cpus(&state, call.node());
    let entries = visible.iter().filter_map(|vmid| Some((vmid, state.vms.get(vmid)?)));
    Value::Array(entries.map(|(vmid, vm)| vm.listed(*vmid, cpus, release, now)).collect())
}

fn host_cpus(state: &State, node: &str) -> u64 {
    state.nodes.get(node).map_or(1, |node| node.cpus)
}

pub(super) fn current(call: &Call) -> Outcome {
    denied(call)?;
    let (now, release) = (call.world.now(), call.world.release);
    let state = call.world.state();
    let (node, vmid) = (call.node(), call.vmid());
    let vm = state.vm_on(node, vmid).ok_or_else(|| no_config(node, vmid))?;
    Ok(vm.current(vmid, host_cpus(&state, node), release, now))
}

pub(super) fn config(call: &Call) -> Outcome {
    denied(call)?;
    let (catalogue, current) = (call.world.catalogue(), call.params.flag("current"));
    call.with_vm(|vm| vm.config.json(catalogue, current))
}

/// Rights that have gone missing.
fn denied(call: &Call) -> Outcome<()> {
    match call.fault(FaultId::F28) {
        Some(_) => Err(Failure::Denied(Some(format!("/vms/{}, VM.Audit", call.vmid())))),
        None => Ok(()),
    }
}

pub(super) fn pending(call: &Call) -> Outcome {
    let catalogue = call.world.catalogue();
    call.with_vm(|vm| Value::Array(vm.config.pending_json(catalogue)))
}

pub(super) fn feature(call: &Call) -> Outcome {
    let (node, vmid) = (call.node(), call.vmid());
    let wanted = call.params.get("feature").unwrap_or_default();
    let (able, nodes) = {
        let state = call.world.state();
        let vm = state.vm_on(node, vmid).ok_or_else(|| no_config(node, vmid))?;
        (has_feature(&state, &vm.config, node, wanted), shared_nodes(&state, &vm.config, node))
    };
    let has = able && call.fault(FaultId::F07).is_none();
    Ok(json!({ "hasFeature": u8::from(has), "nodes": nodes }))
}

fn has_feature(state: &State, config: &Config, node: &str, wanted: &str) -> bool {
    config.drives().iter().filter(|(_, drive)| !drive.is_cd()).all(|(_, drive)| {
        let Some((storage, name)) = drive.volume() else { return false };
        let Some(storage) = state.storages.get(storage) else { return false };
        let format = storage.volume(node, name).map_or("raw", |volume| volume.format);
        match wanted {
            "clone" => is_image_volume(name) && storage.kind.links(),
            "snapshot" => !storage.kind.is_files() || format == "qcow2",
            _ => true,
        }
    })
}

/// Whether a volume's name says that it belongs to an image.
pub(super) fn is_image_volume(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|file| file.starts_with("base-"))
}

/// The nodes that have every storage of a VM.
pub(super) fn shared_nodes(state: &State, config: &Config, node: &str) -> Vec<String> {
    let volumes: Vec<String> =
        config.drives().iter().filter_map(|(_, drive)| drive.volume().map(|(storage, _)| storage.to_owned())).collect();
    let fits = |name: &str| {
        volumes
            .iter()
            .filter_map(|id| state.storages.get(id))
            .all(|storage| name == node || (storage.shared && storage.is_on(name)))
    };
    state.nodes.keys().filter(|name| fits(name)).cloned().collect()
}

/// What is below a path that is only a place.
pub(super) fn index(rest: &str) -> Value {
    let names: &[&str] = match rest {
        "" => &["config", "pending", "status", "clone", "resize", "template", "agent", "cloudinit", "feature"],
        "/status" => &["current", "start", "stop", "reset", "shutdown", "suspend", "resume", "reboot"],
        _ => &[],
    };
    Value::Array(names.iter().map(|name| json!({ "subdir": name })).collect())
}
