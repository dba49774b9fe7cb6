//! The stories in `examples/`, as a user starts from them, with the addresses and names of a town.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::{Value, json};

use super::Town;
use crate::demand::demand;

/// What a town's hypervisor knows its operator by.
const TOKEN: [&str; 2] = ["op@pve!hf", "11111111-1111-4111-8111-111111111111"];

/// Everything in a story's folder, in the order in which it is applied. What is about the hypervisor is the town's; all else is
/// as a reader finds it.
pub fn story(town: &Town, folder: &Path) -> Vec<Value> {
    let listed = demand("read a story", std::fs::read_dir(folder).context(folder.display().to_string()));
    let mut files: Vec<PathBuf> = listed.map(|entry| demand("read a story", entry).path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    let objects = files.iter().flat_map(|path| {
        let text = demand("read a story", std::fs::read_to_string(path));
        demand("read a story's objects", serde_saphyr::from_multiple::<Value>(&text))
    });
    objects.map(|object| settled(town, object)).collect()
}

fn settled(town: &Town, mut object: Value) -> Value {
    let [id, secret] = TOKEN;
    match object["kind"].as_str().unwrap_or_default() {
        "Secret" if !object["stringData"]["tokenId"].is_null() => {
            object["stringData"] = json!({ "tokenId": id, "tokenSecret": secret, "ca.crt": town.hypervisor.ca() });
        }
        "HypervisorCluster" => {
            object["spec"]["endpoint"] = json!(town.hypervisor.address);
            object["spec"]["defaultStorage"] = json!("disks");
            object["spec"]["proxmox"] = json!({
                "vmidRange": { "first": 6000, "last": 6999 }, "pool": "hf", "isoStorage": "shared",
            });
        }
        "HypervisorMachineTemplate" => {
            object["spec"]["template"]["proxmox"] = json!({ "templateId": 9000 });
            object["spec"]["resources"] = json!({ "cpu": 2, "memory": "2Gi", "disk": "20Gi" });
        }
        _ => {}
    }
    object
}
