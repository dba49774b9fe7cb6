//! Calls to the agent in the guest.

use serde_json::{Value, json};

use super::Call;
use crate::proxmox::control::FaultId;
use crate::proxmox::failure::{Failure, Outcome};

pub(super) async fn call(call: &Call, rest: &str) -> Outcome {
    if rest.is_empty() && call.params.get("command").is_none() {
        return Ok(json!([]));
    }
    let vmid = call.vmid();
    let (configured, running, up) = call.with_vm(|vm| (vm.config.has_agent(), vm.is_running(), vm.agent_up))?;
    if !configured {
        return Err(Failure::died("No QEMU guest agent configured"));
    }
    if !running {
        return Err(Failure::died(format!("VM {vmid} is not running")));
    }
    if !up || call.fault(FaultId::F20).is_some() {
        // Meanwhile one of the few places in the node's daemon is taken.
        tokio::time::sleep(call.world.limits.agent).await;
        return Err(Failure::died("QEMU guest agent is not running"));
    }
    match rest.trim_start_matches('/') {
        "ping" => Ok(json!({ "result": {} })),
        "network-get-interfaces" => Ok(json!({ "result": interfaces(call)? })),
        // A made-up answer would be believed.
        other => Err(Failure::died(format!("guest agent command '{other}' is not simulated"))),
    }
}

fn interfaces(call: &Call) -> Outcome<Value> {
    let net = call.with_vm(|vm| vm.config.get("net0").unwrap_or_default().to_owned())?;
    let mac = net.split(',').next().and_then(|model| model.split_once('=')).map_or("", |(_, mac)| mac).to_lowercase();
    let (vmid, address) =
        (call.vmid(), |ip: String| json!([{ "ip-address": ip, "ip-address-type": "ipv4", "prefix": 24 }]));
    Ok(json!([
        { "name": "lo", "hardware-address": "00:00:00:00:00:00", "ip-addresses": address("127.0.0.1".to_owned()) },
        { "name": "eth0", "hardware-address": mac,
          "ip-addresses": address(format!("10.1.{}.{}", vmid / 250 % 250, vmid % 250 + 1)) },
    ]))
}
