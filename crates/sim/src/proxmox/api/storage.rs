//! Storages and what is on them.

use serde_json::{Value, json};

use super::disks::{self, Hands};
use super::{Call, upload};
use crate::proxmox::Release;
use crate::proxmox::control::FaultId;
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::model::{Content, Storage, Volume, owner_of, parse_size};
use crate::proxmox::rng::Rng;
use crate::proxmox::schema::split_list;

pub(super) async fn call(verb: &str, template: &str, call: Call) -> Outcome {
    const ONE: &str = "/nodes/{node}/storage/{storage}";
    match (verb, template.strip_prefix(ONE).unwrap_or(template)) {
        ("GET", "/nodes/{node}/storage") => list(&call),
        ("GET", "/status") => status(&call),
        ("GET", "/content") => content(&call),
        ("POST", "/content") => allocate(&call).await,
        ("POST", "/upload") => upload::upload(&call),
        ("GET", "/content/{volume}") => attributes(&call),
        ("DELETE", "/content/{volume}") => delete(&call).await,
        ("GET", "/storage") => Ok(definitions(&call)),
        ("GET", "/storage/{storage}") => definition(&call),
        ("GET", "") => Ok(json!([{ "subdir": "content" }, { "subdir": "status" }, { "subdir": "upload" }])),
        (verb, _) => Err(Failure::died(format!("Method '{verb} {template}' is not simulated"))),
    }
}

/// The kinds of content of a storage, in no order.
pub(super) fn content_text(storage: &Storage, mut rng: Rng) -> String {
    let mut content = storage.content.clone();
    rng.shuffle(&mut content);
    content.join(",")
}

fn may(call: &Call, storage: &str) -> bool {
    let path = format!("/storage/{storage}");
    call.world.check_any(&call.who, &path, &["Datastore.Audit", "Datastore.AllocateSpace"]).is_ok()
}

fn list(call: &Call) -> Outcome {
    let params = &call.params;
    let wanted: Vec<String> =
        params.get("content").map(|list| split_list(list).map(str::to_owned).collect()).unwrap_or_default();
    let storages: Vec<Storage> = call.world.state().storages.values().cloned().collect();
    if let Some(one) = params.get("storage")
        && !storages.iter().any(|storage| storage.id == one)
    {
        return Err(Failure::param("storage", "No such storage."));
    }
    let shown = |storage: &Storage| {
        let on = !storage.disabled && storage.is_on(call.node());
        let content = wanted.is_empty() || (on && wanted.iter().any(|content| storage.holds(content)));
        let enabled = !params.flag("enabled") || on;
        let one = params.get("storage").is_none_or(|one| one == storage.id);
        let target = params.get("target").is_none_or(|target| storage.shared && storage.is_on(target));
        content && enabled && one && target && may(call, &storage.id)
    };
    let entries = storages.iter().filter(|storage| shown(storage)).map(|storage| {
        let mut entry = entry(call, storage);
        if let Some(total) = entry["total"].as_f64().filter(|total| *total > 0.0) {
            entry["used_fraction"] = json!(entry["used"].as_f64().unwrap_or(0.0) / total);
        }
        if params.flag("format") {
            formats(&mut entry, storage, call.world.release);
        }
        entry
    });
    Ok(Value::Array(entries.collect()))
}

fn entry(call: &Call, storage: &Storage) -> Value {
    let rng = Rng::new(call.world.state().rng.next());
    storage.listed(call.node(), &content_text(storage, rng))
}

fn formats(entry: &mut Value, storage: &Storage, release: Release) {
    let supported: &[&str] = if storage.kind.is_files() { &["qcow2", "raw", "subvol", "vmdk"] } else { &["raw"] };
    let flags: serde_json::Map<String, Value> =
        supported.iter().map(|format| ((*format).to_owned(), json!(1))).collect();
    entry["format"] = json!([flags, "raw"]);
    if release == Release::V9 {
        entry["formats"] = json!({ "default": "raw", "supported": supported });
    }
}

fn storage_of(call: &Call) -> Outcome<Storage> {
    let id = call.params.get("storage").unwrap_or_default();
    call.world.state().storages.get(id).cloned().ok_or_else(|| Failure::died(format!("storage '{id}' does not exist")))
}

fn status(call: &Call) -> Outcome {
    let storage = storage_of(call).map_err(|_| Failure::param("storage", "No such storage."))?;
    let mut entry = entry(call, &storage);
    if let Some(members) = entry.as_object_mut() {
        members.remove("storage");
    }
    Ok(entry)
}

fn content(call: &Call) -> Outcome {
    let storage = storage_of(call)?;
    disks::usable(&call.world.state(), &storage.id, call.node())?;
    let wanted = call.params.get("content").and_then(Content::named);
    let vmid: Option<u32> = call.params.number("vmid");
    let shown = |volume: &Volume| {
        let kind = call.params.get("content").is_none() || wanted == Some(volume.content);
        kind && vmid.is_none_or(|vmid| volume.vmid == Some(vmid))
    };
    let mut entries: Vec<Value> = storage
        .volumes(call.node())
        .filter(|(_, volume)| shown(volume))
        .map(|(name, volume)| volume.listed(&storage.id, name))
        .collect();
    entries.sort_by(|a, b| a["volid"].as_str().cmp(&b["volid"].as_str()));
    Ok(Value::Array(entries))
}

async fn allocate(call: &Call) -> Outcome {
    let storage = storage_of(call)?;
    let text = |name: &str| call.params.get(name).unwrap_or_default();
    let (vmid, file) = (call.vmid(), text("filename"));
    let size = parse_size(text("size"))
        .map(|size| if text("size").bytes().all(|b| b.is_ascii_digit()) { size << 10 } else { size });
    let format = storage.format(call.params.get("format"));
    let name = if storage.kind.is_files() { format!("{vmid}/{file}") } else { file.to_owned() };
    let hands = Hands::Call(&call.world);
    disks::allocate(hands, call.node(), &storage.id, vmid, &name, format, size.unwrap_or(0)).await?;
    Ok(json!(format!("{}:{name}", storage.id)))
}

/// The name of the volume in the path, with or without its storage.
fn volume_name(call: &Call, storage: &Storage) -> String {
    let volume = call.params.get("volume").unwrap_or_default();
    volume.strip_prefix(&format!("{}:", storage.id)).unwrap_or(volume).to_owned()
}

fn attributes(call: &Call) -> Outcome {
    let storage = storage_of(call)?;
    let name = volume_name(call, &storage);
    let volume = storage.volume(call.node(), &name);
    let volume = volume.ok_or_else(|| Failure::died(format!("volume '{}:{name}' does not exist", storage.id)))?;
    Ok(json!({ "path": storage.path(&name), "size": volume.size, "used": volume.used, "format": volume.format }))
}

async fn delete(call: &Call) -> Outcome {
    let storage = storage_of(call)?;
    let (node, name) = (call.node().to_owned(), volume_name(call, &storage));
    call.world.check(&call.who, &format!("/storage/{}", storage.id), &["Datastore.Allocate"])?;
    let stuck = name.starts_with("iso/") && call.fault(FaultId::F35).is_some();
    let file = format!("{}/template/{name}", storage.root);
    let id = format!("{}:{name}", storage.id);
    let label = owner_of(&name).map_or_else(|| storage.id.clone(), |owner| format!("{}@{}", owner.vmid, storage.id));
    let upid = call.fork("imgdel", &label, move |worker| async move {
        if stuck {
            return Err(Failure::died(format!("unlink '{file}' failed - Device or resource busy")));
        }
        disks::free(Hands::Task(&worker), &node, &id).await?;
        worker.log(format!("Removed volume '{id}'"));
        Ok(())
    })?;
    match call.params.number::<u64>("delay") {
        None => Ok(upid),
        Some(seconds) => {
            let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(seconds);
            while tokio::time::Instant::now() < deadline {
                let ended =
                    call.world.state().tasks.get(upid.as_str().unwrap_or_default()).is_none_or(|t| t.end.is_some());
                if ended {
                    return Ok(Value::Null);
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            Ok(upid)
        }
    }
}

fn defined(storage: &Storage) -> Value {
    let mut entry = json!({
        "storage": storage.id, "type": storage.kind.as_str(), "content": storage.content.join(","),
        "digest": "da39a3ee5e6b4b0d3255bfef95601890afd80709",
    });
    if storage.kind.is_files() {
        entry["path"] = json!(storage.root);
    }
    if storage.shared {
        entry["shared"] = json!(1);
    }
    if storage.disabled {
        entry["disable"] = json!(1);
    }
    if let Some(nodes) = &storage.nodes {
        entry["nodes"] = json!(nodes.join(","));
    }
    entry
}

fn definitions(call: &Call) -> Value {
    let storages: Vec<Storage> = call.world.state().storages.values().cloned().collect();
    Value::Array(storages.iter().filter(|storage| may(call, &storage.id)).map(defined).collect())
}

fn definition(call: &Call) -> Outcome {
    let id = call.params.get("storage").unwrap_or_default();
    let state = call.world.state();
    let storage = state.storages.get(id).ok_or_else(|| Failure::died(format!("storage '{id}' does not exist")))?;
    Ok(defined(storage))
}
