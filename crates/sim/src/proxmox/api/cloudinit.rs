//! The generated cloud-init drive.

use serde_json::{Value, json};

use super::Call;
use crate::proxmox::failure::Outcome;
use crate::proxmox::model::{instance_id, network_text, shown_value, user_text};

const OPTIONS: &[&str] =
    &["cicustom", "cipassword", "citype", "ciupgrade", "ciuser", "nameserver", "searchdomain", "sshkeys"];

pub(super) fn options(call: &Call) -> Outcome {
    let catalogue = call.world.catalogue();
    call.with_vm(|vm| {
        let set = OPTIONS.iter().filter_map(|name| Some((name, vm.config.get(name)?)));
        Value::Array(
            set.map(|(name, value)| json!({ "key": name, "value": shown_value(catalogue, name, value) })).collect(),
        )
    })
}

pub(super) fn dump(call: &Call) -> Outcome {
    let vmid = call.vmid();
    let kind = call.params.get("type").unwrap_or_default().to_owned();
    call.with_vm(|vm| {
        let (user, network) = (user_text(&vm.config, vmid), network_text(&vm.config));
        match kind.as_str() {
            "network" => json!(network),
            "meta" => json!(format!("instance-id: {}\n", instance_id(&user, &network))),
            _ => json!(user),
        }
    })
}
